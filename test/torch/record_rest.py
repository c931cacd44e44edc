"""Records what PyTorch gives for operators that no other recording calls: products in another dtype, gradients of composites,
the CTC loss, einsum, fake quantization with an observer, tensors with strides that a call names. The cases have the form of the
operator cases in test/data/oracle (`lazuli test ops` runs them).

    record_rest.py OUT      writes OUT.jsonl.gz and OUT.bin.gz"""
import itertools
import sys
import warnings

import torch

from record_corners import BF16, BOOL, F16, F32, F64, I32, I64, INF, U8
from record_lists import ListWriter
from record_questions import QuestionWriter

warnings.simplefilter("ignore")
MAKE = torch.Generator().manual_seed(215)


class RestWriter(ListWriter, QuestionWriter):
    """Lists what an operator wrote, and knows memory formats and strides."""


def rand(*sizes, dtype=F32):
    return (torch.randn(sizes, generator=MAKE) * 4).round().div(4).to(dtype)


def gradients(w):
    x, y = rand(3, 4), torch.ones(3, 4, dtype=I64)
    for name in ("_cummax_helper", "_cummin_helper"):
        for d in (0, 1):
            w.case(name, x, torch.zeros(3, 4), y.clone(), d)
    for sizes, to in (((2, 3, 4, 5, 6), (2, 3, 2)), ((7, 5, 3, 2), (3, 5, 2))):
        g = rand(*sizes[:-3], *to)
        w.case("adaptive_avg_pool3d_backward.grad_input", g, rand(*sizes), grad_input=torch.zeros(sizes))
    x2, k2 = rand(2, 3, 6, 5), rand(4, 3, 3, 2)
    g = torch.ones_like(torch.ops.aten.thnn_conv2d(x2, k2, [3, 2], None, [2, 1], [1, 0]))
    w.case("_slow_conv2d_backward.grad_input", g, x2, k2, [3, 2], [2, 1], [1, 0], grad_input=torch.zeros_like(x2),
           grad_weight=torch.zeros_like(k2), grad_bias=torch.zeros(4))
    b = rand(2, 3, 4)
    m, v = rand(3), rand(3).abs() + 1
    for p in (None, rand(3)):
        for train in (True, False):
            out = torch.ops.aten._batch_norm_impl_index(b, p, p, None if train else m, None if train else v, train, 0.1, 1e-5, False)
            w.case("_batch_norm_impl_index", b, p, p, None if train else m, None if train else v, train, 0.1, 1e-5, False)
            for mask in ([True, True, True], [True, False, False]):
                if p is not None or not mask[1]:
                    w.case("_batch_norm_impl_index_backward", 0, b, rand(2, 3, 4), p, m, v, out[1], out[2], train, 1e-5, mask, out[3])
    w.case("_batch_norm_impl_index", b, None, None, None, None, False, 0.1, 1e-5, True)
    for dim in ([0], [0, 1], [], [-1], [0, 1, 2]):
        w.case("frobenius_norm.dim", rand(3, 4), dim, True)
        w.case("frobenius_norm.out", rand(3, 4), dim, False, out=torch.zeros(0))
    w.case("frobenius_norm.dim", rand(3, 4).long(), [0])
    w.case("frobenius_norm.dim", rand(2, 3, 4), [])
    w.case("frobenius_norm.dim", rand(2, 3, 4), [0, 1, 2])
    for x in (rand(3, 4), rand(1, 3, 4), rand(2, 2, 3, 4), rand(0, 3)):
        for pad in ([1, 2], [5, 2], [-1, 2], [1, 2, 1, 1], [-3, -2], [-1, 0], [0, 0], []):
            if len(pad) <= 2 * x.dim():
                w.case("_pad_circular", x, pad)


def parts(w):
    x = rand(3, 6)
    for by in (torch.tensor(2), torch.tensor(8), torch.tensor([1, 4]), torch.tensor([-1, 9]), torch.tensor([5, 2]), torch.tensor([], dtype=I64),
               torch.tensor(0), torch.tensor(-1), torch.tensor([[1]]), torch.tensor(2.0), torch.tensor([1], dtype=I32)):
        for d in (1, -2):
            w.case("tensor_split.tensor_indices_or_sections", x, by, d)
    for start in (torch.tensor(1), torch.tensor(-2), torch.tensor(1, dtype=I32), torch.tensor(6), torch.tensor(5), torch.tensor(-7), torch.tensor(1.0),
                  torch.tensor([1]), torch.tensor(True)):
        w.case("narrow.Tensor", x, 1, start, 2)
    w.case("unbind_copy.int_out", x, 1, out=[torch.zeros(0) for _ in range(6)])
    w.case("split_copy.Tensor_out", x, 4, 1, out=[torch.zeros(3, 4), torch.zeros(3, 2)])
    image, weight, g = rand(1, 4, 5, 5), rand(2, 2, 3, 3), rand(1, 2, 3, 3)
    for gi, gw, gb in itertools.product((None, rand(1, 4, 5, 5)), (None, rand(2, 2, 3, 3)), (None, rand(2))):
        if gi is not None or gw is not None:
            w.case("_convolution_double_backward", gi, gw, gb, g, weight, image, [1, 1], [0, 0], [1, 1], False, [0, 0], 2, [True, True, True])


def bits(w):
    for d in (I32, I64, torch.int8, U8):
        x, y = torch.tensor([1, 2, 30], dtype=d), torch.tensor([1, 0, 2], dtype=d)
        for name in ("__lshift__", "__rshift__"):
            w.case(name + ".Tensor_out", x, y, out=torch.zeros(3, dtype=d))
            w.case(name + ".Scalar_out", x, 2, out=torch.zeros(3, dtype=d))
    for d in (F32, I32):
        w.case("_add_relu.Scalar_out", torch.tensor([-3, 1, 2]).to(d), 1, 2, out=torch.zeros(3, dtype=d))


def layouts(w):
    """Elements are arbitrary, so sizes and dtypes are compared: each tensor is filled by another operator in other tests."""
    x = torch.arange(24.0)
    for args in (([3, 4], [4, 1]), ([4, 3], [1, 4]), ([2, 2], [4, 1]), ([3], [2]), ([], []), ([2, 3], [0, 0])):
        w.case("_reshape_alias", x, *args)
        w.case("_reshape_alias_copy", x, *args)
    w.case("_reshape_alias", x, [4, 4], [1])
    for size in ([2, 3], [3, 2], [6], [1, 6, 1], []):
        for x in (rand(2, 3), rand(2, 3).t(), rand(1, 6), rand(6)):
            if x.numel() >= torch.Size(size).numel():
                w.case("resize", x, size)
                w.case("resize.out", x, size, out=torch.zeros(0))
                w.case("resize_as", x, torch.zeros(size))
    w.case("resize", rand(1, 2, 3, 4), [1, 2, 3, 4], memory_format=torch.channels_last)
    w.case("resize", rand(4, 3, 2, 1), [1, 2, 3, 4], memory_format=torch.channels_last)
    w.case("resize", rand(4), [2, 2], memory_format=torch.preserve_format)
    w.case("resize", rand(4), [2, 2], memory_format=torch.channels_last)
    for args in (([2], [1, 1]), ([2, 3], [1])):
        w.case("empty_strided", *args)
    for args in (([2, 3], [1]), ([2, 3], [1, 1]), ([2, 3], [0, 2]), ([2, 3], [-1, 0])):
        w.case("empty_permuted", *args)


def ctc(w):
    for d, n, times, classes, most in itertools.product((F32, F64), (1, 3), (1, 7), (2, 5), (1, 3)):
        if d == F64 and times * most != 21:
            continue
        x = torch.log_softmax(rand(times, n, classes, dtype=d), -1)
        goal = torch.randint(1, classes, (n, most), generator=MAKE)
        ins = torch.randint(0, times + 1, (n,), generator=MAKE)
        outs = torch.randint(0, most + 1, (n,), generator=MAKE)
        flat = torch.cat([goal[i, :outs[i]] for i in range(n)])
        # lengths as lists are part of the graph, as tensors they are not
        for targets, zero in itertools.product((goal, flat, goal.int()), (False, True)):
            loss, alpha = torch.ops.aten._ctc_loss(x, targets, ins.tolist(), outs.tolist(), 0, zero)
            for r in (0, 1, 2):
                w.case("ctc_loss.IntList", x, targets, ins.tolist(), outs.tolist(), 0, r, zero)
                w.case("ctc_loss.Tensor", x, targets, ins, outs.int(), 0, r, zero)
            w.case("_ctc_loss_backward", torch.ones(n, dtype=d), x, targets, ins.tolist(), outs.tolist(), loss, alpha, 0, zero)
            w.case("_ctc_loss_backward.Tensor", torch.ones(n, dtype=d), x, targets, ins, outs, loss, alpha, 0, zero)
    x = torch.log_softmax(rand(4, 2, 5), -1)
    goal = torch.tensor([[1, 2], [3, 3]])
    w.case("ctc_loss.IntList", x, goal, [4, 4], [2, 2], 4)
    w.case("ctc_loss.IntList", x[:, 0], goal[0], [4], [2], 0, 0)
    w.case("ctc_loss.Tensor", x[:, 0], goal[0], torch.tensor(4), torch.tensor(2), 0, 0)
    for targets, ins, outs, blank in ((goal, [4], [2, 2], 0), (goal, [4, 4], [2], 0), (goal, [4, 5], [2, 2], 0), (goal, [4, 4], [2, 3], 0),
                                      (goal, [4, 4], [2, 2], 5), (goal, [4, 4], [2, 2], -1), (goal, [4, 4], [2, -1], 0),
                                      (goal.view(4), [4, 4], [2, 1], 0), (goal[None], [4, 4], [2, 2], 0), (goal.float(), [4, 4], [2, 2], 0),
                                      (goal[:1], [4, 4], [2, 2], 0)):
        w.case("ctc_loss.IntList", x, targets, ins, outs, blank)
    w.case("ctc_loss.IntList", x.half(), goal, [4, 4], [2, 2])
    w.case("ctc_loss.Tensor", x, goal, torch.tensor([4.0, 4.0]), torch.tensor([2, 2]))
    w.case("ctc_loss.Tensor", x, goal, torch.tensor([4, 4]), torch.tensor([2.0, 2.0]))


EQUATIONS = (
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ij,ij->", (3, 4), (3, 4)), ("ij->ji", (3, 4)), ("ij->", (3, 4)),
    ("ii->i", (3, 3)), ("ii", (3, 3)), ("iij->j", (3, 3, 2)), ("iji->j", (3, 2, 3)), ("i,j->ij", (3,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("b...j,jk->b...k", (2, 3, 4, 5), (5, 6)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("...ij,...jk", (2, 1, 3, 4), (5, 4, 2)),
    ("...,...", (2, 3), (3,)), ("...->", (2, 3)), ("i...->...", (2, 3)), ("i...", (2, 3)), ("ij...,jk->ik", (2, 3, 2), (3, 2)),
    ("ij,jk,kl->il", (2, 30), (30, 3), (3, 40)), ("ij,jk,kl,lm,mn->in", (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)),
    ("bn,anm,bm->ba", (3, 4), (2, 4, 5), (3, 5)), ("abc,cd,def,ea->bf", (2, 3, 4), (4, 5), (5, 6, 3), (6, 2)), ("ij,ij,ij->i", (3, 4), (3, 4), (3, 4)),
    ("ij,ij->ij", (3, 1), (3, 4)), ("ij,jk->ik", (3, 1), (4, 5)), ("ij,jk->ik", (3, 4), (1, 5)), ("ij,ji->", (1, 4), (4, 3)), ("aB,Bc->ac", (2, 3), (3, 4)),
    ("Ba", (2, 3)), ("ba", (2, 3)), ("i,i,i,i,i,i,i,i,i->i", *[(3,)] * 9), ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", *[(2, 2)] * 9),
    (" i j , j k -> k i ", (3, 4), (4, 5)), (",", (), ()), ("", ()), ("i,->i", (3,), ()), ("ij,jk->ik", (0, 4), (4, 5)), ("ij,jk->ik", (3, 0), (0, 5)),
    ("ij->jj", (3, 4)), ("ij->jk", (3, 4)), ("ij,jk", (3, 4)), ("ij", (3, 4), (3,)), ("i.j", (3, 4)), ("i..j", (3, 4)), ("......", (3, 4)), ("i1", (3, 4)),
    ("ijk", (3, 4)), ("i", (3, 4)), ("ijk...", (3, 4)), ("ii", (3, 4)), ("ii", (3, 1)), ("ij,jk", (3, 4), (5, 6)), ("ij->i->j", (3, 4)), ("ij-", (3, 4)),
    ("...i->...", (3,)), ("i->...i", (3,)), ("->", ()), ("i->i.", (3,)), ("ij,kj,lj->ikl", (2, 3), (4, 3), (5, 3)), ("nchw,ocij->nohw", (1, 2, 3, 4), (3, 2, 2, 2)))


def summation(w):
    for equation, *shapes in EQUATIONS:
        w.case("einsum", equation, [rand(*s) for s in shapes])
    for d in (F64, BF16, F16, I64, I32):
        for equation, *shapes in EQUATIONS[:12]:
            w.case("einsum", equation, [rand(*s, dtype=d) for s in shapes])
    x = [rand(2, 3), rand(3, 4), rand(4, 5)]
    for path in ([0, 1, 0, 1], [1, 2, 0, 1], [2, 0, 1, 0], [0, 1], [0, 0, 0, 1], [0, 3, 0, 1], [-1, 0, 0, 1], []):
        w.case("einsum", "ij,jk,kl->il", x, path=path)
    w.case("einsum", "ij->ji", x[:1], path=[0])
    w.case("einsum", "ij->ji", x[:1], path=[])
    w.case("einsum", "ij,jk", [x[0], x[1].double()])
    w.case("einsum", "ij,ij->ij", [x[0], x[0].double()])
    w.case("einsum", "ij,jk->ki", [x[0].t().contiguous().t(), x[1][:, ::2]])


def observers(w):
    x = torch.tensor([[-1.0, 2, 3], [0.5, -4, 1]])
    def case(x=x, on=1, fq=1, rows=False, sym=False, low=0, high=255, axis=0, was=None, name="_fused_moving_avg_obs_fq_helper"):
        n = x.shape[0] if rows else 1
        was = [INF, -INF] if was is None else was
        state = [torch.full((n,), was[0]), torch.full((n,), was[1]), torch.ones(n), torch.zeros(n, dtype=I32)]
        w.case(name, x, torch.tensor([on]), torch.tensor([fq]), *state, 0.25, low, high, axis, rows, sym)
    for name in ("_fused_moving_avg_obs_fq_helper", "fused_moving_avg_obs_fake_quant"):
        for on, fq, rows in itertools.product((0, 1), (0, 1), (False, True)):
            case(on=on, fq=fq, rows=rows, was=[-1.0, 4.0], name=name)
    for low, high, sym, rows in itertools.product((0, -128), (127, 15), (False, True), (False, True)):
        for y in (x, x.abs() + 3, -x.abs() - 3, x * 0, x * 1e-30, x * 1e-5, x * 1e6):
            case(y, low=low, high=high, sym=sym, rows=rows)
        case(x, low=low, high=high, sym=sym, rows=rows, was=[-0.5, 8.0])
    case(x.double())
    case(x[:0])
    case(x, rows=True, axis=1)
    case(rand(3, 2, 2), rows=True)


def main(out):
    w = RestWriter()
    for family in (gradients, parts, bits, layouts, ctc, summation, observers):
        family(w)
    w.save(out)
    print(len(w.lines), "cases")


if __name__ == "__main__":
    main(sys.argv[1])
