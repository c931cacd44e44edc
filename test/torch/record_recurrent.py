"""Records what PyTorch's recurrent operators, packed sequences, bags of embeddings and resizing with antialiasing give. The
cases have the form of the operator cases in test/data/oracle (`lazuli test ops` runs them).

    record_recurrent.py OUT      writes OUT.jsonl.gz and OUT.bin.gz
"""
import sys
import warnings

import torch

from record_corners import BF16, F16, F32, F64, I32, I64, Writer

warnings.simplefilter("ignore")
FLOATS = (F32, F64, F16, BF16)


def make(seed):
    """Tensors of normal numbers, each call the next ones."""
    g = torch.Generator().manual_seed(seed)
    return lambda *sizes, dtype=F32: torch.randn(sizes, generator=g, dtype=F64).to(dtype)


def case(w, name, *args):
    """Unless the result in this dtype depends on which of the values between are rounded."""
    op = getattr(torch.ops.aten, name)
    wide = lambda a: [wide(x) for x in a] if isinstance(a, list) else a.double()
    near = zip(op(*args) if name == "lstm_cell" else [op(*args)], op(*wide(list(args))) if name == "lstm_cell" else [op(*wide(list(args)))])
    if all(torch.allclose(a.double(), b, torch.finfo(a.dtype).eps, 0) for a, b in near):
        w.case(name, *args)


def cells(w):
    for d in FLOATS:
        x = make(1)
        for n, m, h in ((2, 3, 4), (1, 1, 1), (0, 3, 2)):
            for name, gates in (("lstm_cell", 4), ("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
                state = x(n, h, dtype=d)
                state = [state, x(n, h, dtype=d)] if gates == 4 else state
                weights = [x(gates * h, m, dtype=d), x(gates * h, h, dtype=d)]
                biases = [x(gates * h, dtype=d), x(gates * h, dtype=d)]
                case(w, name, x(n, m, dtype=d), state, *weights)
                case(w, name, x(n, m, dtype=d), state, *weights, *biases)
                case(w, name, x(n, m, dtype=d), state, *weights, biases[0])
    x = make(2)
    w.case("gru_cell", x(2, 3), x(2, 4), x(12, 2), x(12, 4))
    w.case("gru_cell", x(2, 3), x(3, 4), x(12, 3), x(12, 4))
    w.case("rnn_tanh_cell", x(2, 3), x(2, 4), x(4, 3), x(4, 3))
    w.case("lstm_cell", x(2, 3), [x(2, 4)], x(16, 3), x(16, 4))
    w.case("lstm_cell", x(2, 3), [x(2, 4), x(3, 4)], x(16, 3), x(16, 4))


KINDS = (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))


def weights(x, d, features, hidden, layers, ways, gates, biases):
    """The parameters of a recurrent layer, in PyTorch's order."""
    made = []
    for l in range(layers):
        for _ in range(ways):
            width = features if l == 0 else hidden * ways
            made += [x(gates * hidden, width, dtype=d) * 0.5, x(gates * hidden, hidden, dtype=d) * 0.5]
            made += [x(gates * hidden, dtype=d), x(gates * hidden, dtype=d)] if biases else []
    return made


def layers(w):
    for name, gates in KINDS:
        for d in (F32, F64):
            x = make(11)
            for times, batch, features, hidden, deep, ways, biases, first in (
                    (3, 2, 3, 4, 1, 1, True, False), (5, 3, 2, 3, 2, 2, True, True), (1, 1, 1, 1, 1, 2, False, False),
                    (4, 0, 2, 3, 1, 1, True, False), (2, 4, 3, 2, 3, 1, False, True), (7, 1, 4, 5, 1, 2, True, False)):
                state = [x(deep * ways, batch, hidden, dtype=d) for _ in range(2)]
                params = weights(x, d, features, hidden, deep, ways, gates, biases)
                data = x(batch, times, features, dtype=d) if first else x(times, batch, features, dtype=d)
                state = state if name == "lstm" else state[0]
                w.case(name + ".input", data, state, params, biases, deep, 0.0, False, ways == 2, first)
            for sizes in ([3, 2, 2, 1], [2, 2], [1, 1, 1], [4, 1]):
                for deep, ways in ((1, 1), (2, 2)):
                    state = [x(deep * ways, sizes[0], 3, dtype=d) for _ in range(2)]
                    params = weights(x, d, 2, 3, deep, ways, gates, True)
                    state = state if name == "lstm" else state[0]
                    w.case(name + ".data", x(sum(sizes), 2, dtype=d), torch.tensor(sizes), state, params, True, deep, 0.0, False, ways == 2)
        x = make(12)
        state = [x(1, 2, 3), x(1, 2, 3)] if name == "lstm" else x(1, 2, 3)
        params = weights(x, F32, 4, 3, 1, 1, gates, True)
        w.case(name + ".input", x(0, 2, 4), state, params, True, 1, 0.0, False, False, False)
        w.case(name + ".input", x(5, 2, 4), state, params[:3], True, 1, 0.0, False, False, False)
        if name != "lstm":  # PyTorch reads beyond the input here
            w.case(name + ".input", x(5, 2, 3), state, params, True, 1, 0.0, False, False, False)
        w.case(name + ".input", x(5, 2, 4).double(), state, params, True, 1, 0.0, False, False, False)
    w.case("lstm.input", x(5, 2, 4), [x(1, 2, 3)], weights(x, F32, 4, 3, 1, 1, 4, True), True, 1, 0.0, False, False, False)


def packing(w):
    for d in (F32, F64, BF16, I64):
        x = make(3)
        for lengths in ([4, 2, 1], [4, 4, 4], [3, 1, 1], [1, 1, 1]):
            n = torch.tensor(lengths)
            for sizes in ((4, 3), (4, 3, 2), (4, 3, 2, 2)):
                data = (x(*sizes) * 4).to(d)
                for first in (False, True):
                    given = data.transpose(0, 1).contiguous() if first else data
                    w.case("_pack_padded_sequence", given, n, first)
                    packed, sizes_at = torch.ops.aten._pack_padded_sequence(given, n, first)
                    w.case("_pack_padded_sequence_backward", packed, list(given.shape), sizes_at, first)
                    w.case("_pad_packed_sequence", packed, sizes_at, first, -1.5, 0)
                    w.case("_pad_packed_sequence", packed, sizes_at, first, 0, 6)
    x = make(4)
    for lengths in ([2, 4, 1], [4, 2, 0], [4, 2], [4.0, 2.0, 1.0]):
        w.case("_pack_padded_sequence", x(4, 3), torch.tensor(lengths), False)
    w.case("_pack_padded_sequence", x(0, 3), torch.tensor([1, 1, 1]), False)
    w.case("_pad_packed_sequence", x(7, 2), torch.tensor([3, 2, 1, 1]), False, 0, 3)


def bags(w):
    for d in FLOATS:
        for kind in (I64, I32):
            x = make(5)
            table = x(6, 3, dtype=d)
            at = torch.tensor([1, 2, 4, 5, 4, 3, 2, 0], dtype=kind)
            for mode in (0, 1, 2):
                for starts, last in (([0, 2, 5], False), ([0, 2, 2, 8], True), ([0], False), ([0, 0, 8, 8], False)):
                    w.case("_embedding_bag", table, at, torch.tensor(starts, dtype=kind), False, mode, False, None, last)
                    w.case("_embedding_bag_forward_only", table, at, torch.tensor(starts, dtype=kind), False, mode, False, None, last, 2)
            w.case("_embedding_bag", table, at, torch.tensor([0, 3], dtype=kind), False, 0, False, x(8, dtype=d), False, 4)
    x = make(6)
    at, starts = torch.tensor([1, 2, 4]), torch.tensor([0, 2])
    for args in ((x(6, 3), at, torch.tensor([1, 2])), (x(6, 3), at, torch.tensor([0, 4])), (x(6, 3), at.float(), starts),
                 (x(6, 3), at, starts.float()), ((x(6, 3) * 9).long(), at, starts), (x(6, 3), torch.tensor([1, 2, 6]), starts)):
        w.case("_embedding_bag", *args)
    for p in (None, 2, -2, 5, 6, -7):
        w.case("embedding_bag.padding_idx", x(6, 3).requires_grad_(False), at, starts, False, 1, False, None, False, p)
    w.case("embedding_bag", x(6, 3), at, starts, False, 2)
    w.case("embedding_bag", x(6, 3), at, starts, True, 2)


def resizing(w):
    for kind in ("bilinear", "bicubic", "lanczos"):
        name = f"_upsample_{kind}2d_aa"
        for d in (F32, F64, BF16, torch.uint8):
            x = make(7)
            for sizes, to in (((1, 2, 7, 9), (3, 4)), ((2, 1, 4, 5), (9, 5)), ((1, 1, 1, 6), (2, 1)), ((1, 3, 5, 5), (5, 7))):
                data = (x(*sizes) * 40 + 128).to(d) if d == torch.uint8 else x(*sizes, dtype=d)
                for align in (False, True):
                    w.case(name, data, to, align)
                    if d != torch.uint8:
                        w.case(name + "_backward", x(*sizes[:2], *to, dtype=d), to, sizes, align)
                scales = to[0] / sizes[2] * 1.1, to[1] / sizes[3]
                w.case(name, data, to, False, *scales)
                if d != torch.uint8 and to[0] != sizes[2]:  # PyTorch scales a dimension of one size only in the backward
                    w.case(name + "_backward", x(*sizes[:2], *to, dtype=d), to, sizes, False, *scales)
                w.case(name + ".vec", data, None, False, [0.6, 1.7])
                w.case(name + ".vec", data, to, True, None)
        x = make(8)
        w.case(name, x(1, 2, 7, 9).to(memory_format=torch.channels_last), (3, 4), False)
        w.case(name, x(2, 7, 9), (3, 4), False)
        w.case(name, x(1, 2, 7, 9), (3,), False)
        w.case(name, x(1, 2, 7, 9), (0, 4), False)
        w.case(name, x(0, 2, 7, 9), (3, 4), False)
        w.case(name, x(1, 0, 7, 9), (3, 4), False)
        w.case(name, (x(1, 1, 7, 9) * 9).to(I32), (3, 4), False)
        w.case(name + "_backward", x(1, 2, 3, 4), (3, 5), (1, 2, 7, 9), False)
        w.case(name + ".vec", x(1, 2, 7, 9), None, False, None)


def grids(w):
    for d in (F32, F64, BF16):
        x = make(9)
        for align in (False, True):
            for size in ([2, 3, 4, 5], [1, 1, 1, 3], [2, 1, 2, 3, 4], [0, 1, 2, 2]):
                n = len(size) - 2
                w.case("affine_grid_generator", x(size[0], n, n + 1, dtype=d), size, align)
                w.case("affine_grid_generator_backward", x(size[0], *size[2:], n, dtype=d), size, align)
            for how in (0, 1, 2):
                for pad in (0, 1, 2):
                    if d != BF16:
                        image, points = x(1, 2, 4, 5, dtype=d), x(1, 3, 2, 2, dtype=d)
                        w.case("_grid_sampler_2d_cpu_fallback", image, points, how, pad, align)
                        w.case("_grid_sampler_2d_cpu_fallback_backward", x(1, 2, 3, 2, dtype=d), image, points, how, pad, align)
    w.case("affine_grid_generator", x(2, 2, 3), [2, 3, 4], False)
    w.case("affine_grid_generator", x(2, 2, 2), [2, 3, 4, 5], False)


def main(out):
    w = Writer()
    for family in (cells, layers, packing, bags, resizing, grids):
        family(w)
    w.save(out)
    print(len(w.lines), "cases")


if __name__ == "__main__":
    main(sys.argv[1])
