"""Records what PyTorch does in corners where Lazuli once differed: results of mixed dtypes, arguments without elements,
refusals. The cases have the form of the operator cases in test/data/oracle (`lazuli test ops` runs them).

    record_corners.py OUT      writes OUT.jsonl.gz and OUT.bin.gz

A case whose call PyTorch refuses has "error" instead of outputs."""
import gzip
import itertools
import json
import sys
import warnings

import torch

warnings.simplefilter("ignore")
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
F32, F16, BF16, F64 = torch.float32, torch.float16, torch.bfloat16, torch.float64
I64, I32, U8, BOOL = torch.int64, torch.int32, torch.uint8, torch.bool
INF = float("inf")


def complete(schema, args, kwargs):
    """All arguments by value, those that were left out with their defaults."""
    args, kwargs = list(args), dict(kwargs)
    for a in schema.arguments[len(args):]:
        if a.kwarg_only:
            kwargs.setdefault(a.name, a.default_value)
        else:
            args.append(kwargs.pop(a.name, a.default_value))
    return args, kwargs


class Writer:
    def __init__(self):
        self.lines, self.raw, self.count = [], bytearray(), {}

    def tensor(self, t, tensors):
        data = t.detach().contiguous()
        raw = data.flatten().view(torch.uint8).numpy().tobytes() if data.numel() else b""
        tensors.append({"dt": NAMES[t.dtype], "shape": list(t.shape), "off": len(self.raw), "n": len(raw)})
        self.raw += raw
        return len(tensors) - 1

    def value(self, v, tensors):
        if v is None:
            return None
        if isinstance(v, torch.Tensor):
            return {"T": self.tensor(v, tensors)}
        if isinstance(v, (list, tuple)):
            if any(isinstance(x, torch.Tensor) for x in v):
                return {"TL": [None if x is None else self.tensor(x, tensors) for x in v]}
            return {"l": [self.value(x, tensors) for x in v]}
        if isinstance(v, bool):
            return {"b": v}
        if isinstance(v, int):
            return {"i": v}
        if isinstance(v, float):
            return {"f": v if v == v and abs(v) != INF else str(v)}
        if isinstance(v, torch.dtype):
            return {"dt": NAMES[v]}
        return {"s": v}

    def case(self, name, *args, **kwargs):
        tensors = []
        base, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
        args, kwargs = complete(op._schema, args, kwargs)
        k = self.count[name] = self.count.get(name, -1) + 1
        line = {"id": "%s#%d" % (name, k), "op": "aten::" + name, "src": "corners", "phase": "fwd",
                "args": [self.value(v, tensors) for v in args],
                "kwargs": {n: self.value(v, tensors) for n, v in kwargs.items()}, "outputs": []}
        try:
            out = op(*args, **kwargs)
            line["outputs"] = [self.value(r, tensors) for r in (out if isinstance(out, (tuple, list)) else [out])]
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:
            line["error"] = str(e).split("\n")[0]
        line["tensors"] = tensors
        self.lines.append(json.dumps(line, separators=(",", ":")))

    def save(self, out):
        for name, data in ((".jsonl.gz", ("\n".join(self.lines) + "\n").encode()), (".bin.gz", bytes(self.raw))):
            with gzip.GzipFile(out + name, "wb", 9, mtime=0) as f:
                f.write(data)


def reductions(w):
    for sizes in ([0], [2, 0], [0, 3]):
        for keep in (False, True):
            w.case("logsumexp", torch.zeros(sizes), [], keep)
    w.case("logsumexp", torch.zeros(2, 0), [1])
    w.case("logsumexp", torch.zeros(2, 0), [0])
    one = torch.tensor([9.0])
    for n in (0, 1, 2, 4, 5, 6):
        w.case("diff", torch.tensor([1.0, 4.0, 9.0, 16.0]), n, -1, one, None)
        w.case("diff", torch.tensor([1.0, 4.0, 9.0, 16.0]), n, -1, None, one)
        w.case("diff", torch.tensor([1.0, 4.0, 9.0, 16.0]), n)
    w.case("diff", torch.tensor([1.0, 4.0]), -1)
    for x in ([1.0, 1.0, 1.0], [0.0, 0.0], [-2.5]):
        for density in (False, True):
            w.case("histogram.bin_ct", torch.tensor(x), 4, density=density)
        w.case("histc", torch.tensor(x), 4)
    w.case("histogram.bin_ct", torch.zeros(0), 4)
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (-0.01, 1.01):
            w.case("quantile", torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.5, q]), interpolation=how)
            w.case("nanquantile", torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.5, q]), interpolation=how)
    for q in (-0.1, 0.0, 1.0, 1.1, float("nan")):
        w.case("quantile.scalar", torch.tensor([1.0, 2.0, 4.0]), q)
        w.case("nanquantile.scalar", torch.tensor([1.0, 2.0, 4.0]), q)
        w.case("quantile", torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.5, q]))
    for most in (-1.0, 0.0, 1.0):
        w.case("renorm", torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, most)
    w.case("renorm", torch.tensor([[3.0, 4.0]]), -1.0, 0, 1.0)
    w.case("renorm", torch.tensor([3.0, 4.0]), 2, 0, 1.0)


def losses(w):
    x, y = torch.tensor([0, 1, 1]), torch.tensor([1, 0, 1])
    far, unit = torch.tensor([128, -128, 256]), torch.tensor([[0, 1, 0]])  # no rounding of halves shows in these results
    for a, b in itertools.product((F32, F16, BF16, F64, I64, U8, BOOL), repeat=2):
        p, q = x.to(a), y.to(b)
        for r in (0, 1):
            w.case("hinge_embedding_loss", p, q, 1.0, r)
            w.case("huber_loss", p, q, r, 1.0)
            w.case("smooth_l1_loss", p, q, r, 1.0)
            w.case("mse_loss", p, q, r)
            w.case("binary_cross_entropy_with_logits", far.to(a), q, None, None, r)
            w.case("binary_cross_entropy", p, q, None, r)
            w.case("soft_margin_loss", p, q, r)
            w.case("kl_div", p, q, r)
            w.case("margin_ranking_loss", p, q, q, 0.5, r)
            w.case("poisson_nll_loss", torch.zeros(3, dtype=a), q, True, False, 1e-8, r)
        w.case("cosine_similarity", unit.to(a), unit.to(b))
        w.case("layer_norm", p[None], [3], y.to(b), None)
        w.case("layer_norm", p[None], [3], None, y.to(b))
        w.case("layer_norm", p[None], [3], y.to(b), x.to(b))
    for v in (-0.1, 0.0, 1.0, 1.1, float("nan")):
        w.case("binary_cross_entropy", torch.tensor([0.5, v]), torch.tensor([0.0, 1.0]))
    w.case("binary_cross_entropy", torch.tensor([0.5, 0.5]), torch.tensor([0.0, 2.0]))
    for target in ([1, 3], [1, -1], [1, -100], [0, 2]):
        w.case("nll_loss", torch.zeros(2, 3), torch.tensor(target))
        w.case("cross_entropy_loss", torch.zeros(2, 3), torch.tensor(target))


def norms(w):
    for n in (1, 2, 4):
        v = torch.ones(n)
        w.case("layer_norm", torch.zeros(2, 3), [3], v, None)
        w.case("layer_norm", torch.zeros(2, 3), [3], None, v)
        w.case("group_norm", torch.zeros(2, 3, 4), 1, v, None)
        w.case("group_norm", torch.zeros(2, 3, 4), 1, None, v)
        w.case("batch_norm", torch.zeros(2, 3, 4), v, None, None, None, True, 0.1, 1e-5, False)
        w.case("batch_norm", torch.zeros(2, 3, 4), None, v, None, None, True, 0.1, 1e-5, False)
        w.case("batch_norm", torch.zeros(2, 3, 4), None, None, v, v, False, 0.1, 1e-5, False)
        w.case("instance_norm", torch.zeros(2, 3, 4), v, None, None, None, True, 0.1, 1e-5, False)
        w.case("rms_norm", torch.ones(2, 3), [3], v)
    w.case("layer_norm", torch.zeros(2, 3), [3], torch.ones(1, 3), None)
    w.case("layer_norm", torch.zeros(2, 3), [2], None, None)
    w.case("group_norm", torch.zeros(2, 3, 4), 2, None, None)


def empties(w):
    for sizes in ([0, 1, 4, 4], [1, 0, 4, 4], [1, 1, 0, 4], [1, 1, 0, 0]):
        w.case("pixel_unshuffle", torch.zeros(sizes), 2)
    for sizes in ([0, 4, 2, 2], [1, 0, 2, 2], [1, 4, 0, 2]):
        w.case("pixel_shuffle", torch.zeros(sizes), 2)
    for x, k in (([0, 2, 4, 4], [3, 2, 2, 2]), ([1, 0, 4, 4], [3, 0, 2, 2]), ([1, 2, 0, 4], [3, 2, 1, 1]),
                 ([1, 2, 4, 4], [0, 2, 2, 2]), ([1, 2, 0, 4], [3, 2, 2, 2]), ([0, 0, 4, 4], [3, 0, 2, 2]),
                 ([1, 2, 4, 4], [3, 2, 0, 2]), ([2, 4, 4], [3, 2, 2, 2])):
        w.case("conv2d", torch.zeros(x), torch.zeros(k))
        w.case("conv2d", torch.zeros(x), torch.zeros(k), None, [1, 1], [1, 1])
    index = torch.tensor([0, 0, 0])
    empty, source = torch.zeros(0), torch.ones(3)
    w.case("index_select", empty, 0, index)
    w.case("index_add", empty, 0, index, source)
    w.case("index_copy", empty, 0, index, source)
    w.case("index_fill.int_Scalar", empty, 0, index, 1.0)
    w.case("gather", empty, 0, index)
    w.case("scatter.src", empty, 0, index, source)
    w.case("scatter.value", empty, 0, index, 1.0)
    w.case("scatter_add", empty, 0, index, source)
    w.case("scatter_reduce.two", empty, 0, index, source, "sum")
    w.case("take", empty, index)
    w.case("put", empty, index, source)
    w.case("index.Tensor", empty, [index])
    w.case("index.Tensor", torch.zeros(0, 0), [index])
    w.case("index.Tensor", torch.zeros(2, 0), [None, index])
    w.case("index_put", empty, [index], source)
    w.case("embedding", torch.zeros(0, 3), index)
    w.case("index_select", torch.zeros(0, 2), 0, index)
    w.case("index_select", torch.zeros(2, 0), 0, torch.tensor([1]))
    for n in range(5):
        w.case("masked_scatter", torch.zeros(4), torch.tensor([True, True, False, True]), torch.ones(n))
    w.case("masked_scatter", torch.zeros(4), torch.zeros(4, dtype=BOOL), torch.ones(0))


def indices(w):
    x, short = torch.arange(6.0), torch.tensor([1, 4], dtype=I32)
    for dtype in (I64, I32, torch.int16, U8, F32):
        at = short.to(dtype)
        w.case("take", x, at)
        w.case("put", x, at, torch.ones(2))
        w.case("index_copy", x, 0, at, torch.ones(2))
        w.case("index_add", x, 0, at, torch.ones(2))
        w.case("index_fill.int_Scalar", x, 0, at, 7.0)
        w.case("index_select", x, 0, at)
        w.case("gather", x, 0, at)
        w.case("scatter.src", x, 0, at, torch.ones(2))
        w.case("scatter_add", x, 0, at, torch.ones(2))
        w.case("index.Tensor", x, [at])
        w.case("embedding", torch.ones(6, 2), at)
        w.case("take_along_dim", x, at, 0)


def others(w):
    for steps in (0, 1, 2):
        for a, b in ((INF, 1.0), (1.0, INF), (-INF, INF), (2.0, 3.0), (float("nan"), 1.0)):
            w.case("linspace", a, b, steps)
    for dtype in (F16, BF16, F32, F64):
        a = torch.tensor([0.0, 1.0, -1.0, 65504.0, INF, 0.5, -0.0, float("nan")]).to(dtype)
        b = torch.tensor([1.0, 2.0, 0.0, INF, 0.0, 0.5, -1.0, 1.0]).to(dtype)
        w.case("nextafter", a, b)
        w.case("nextafter", b, a)
    w.case("nextafter", torch.ones(2, dtype=F16), torch.ones(2))
    w.case("nextafter", torch.ones(2, dtype=I64), torch.ones(2, dtype=I64))
    for name in ("mT", "mH", "adjoint"):
        w.case(name, torch.tensor(1.0))
        w.case(name, torch.ones(2))
        w.case(name, torch.ones(2, 3))
        w.case(name, torch.ones(2, 3, 1))
    for name in ("numpy_T", "matrix_H"):
        w.case(name, torch.tensor(1.0))
        w.case(name, torch.ones(2))
        w.case(name, torch.ones(2, 3))
    w.case("reshape_as", torch.ones(2, 3), torch.ones(3, 2))
    w.case("reshape_as", torch.ones(2, 3), torch.ones(4, 2))
    w.case("row_stack", [torch.ones(2), torch.zeros(3, 2), torch.ones(2)])
    w.case("row_stack", [torch.tensor(1.0), torch.tensor(2.0)])
    w.case("isreal", torch.tensor([1.0, float("nan")]))
    for c in (torch.tensor([[True, False], [True, True]]), torch.tensor([0.0, 2.0]), torch.tensor(True), torch.zeros(0)):
        w.case("where", c)


def attention(w):
    def make(*sizes):
        n = 1
        for s in sizes:
            n *= s
        return ((torch.arange(float(n)) * 37 + 11) % 101 / 101).reshape(sizes)

    q, k, v = make(1, 4, 3, 2), make(1, 4, 5, 2), make(1, 4, 5, 2) * 2
    grouped, wide = (make(1, 2, 5, 2), make(1, 2, 5, 2) * 2), make(3, 5) > 0.5
    name = "scaled_dot_product_attention"
    w.case(name, q, k, v)
    w.case(name, q, k, v, None, 0.0, True)
    w.case(name, q, k, v, wide)
    w.case(name, q, k, v, make(3, 5))
    w.case(name, q, k, v, wide, 0.0, True)
    w.case(name, q, k, v, None, 0.0, False, scale=0.3)
    w.case(name, q, *grouped, None, 0.0, False, enable_gqa=True)
    w.case(name, q, *grouped, None, 0.0, True, enable_gqa=True)
    w.case(name, q, *grouped, wide, 0.0, False, enable_gqa=True)
    w.case(name, q, *grouped)
    w.case(name, q, make(1, 3, 5, 2), make(1, 3, 5, 2), enable_gqa=True)
    w.case(name, q[0], k[0], v[0])
    w.case(name, q[0, 0], k[0, 0], v[0, 0])
    w.case(name, q, k, v, torch.zeros(3, 5, dtype=BOOL))
    w.case(name, q, k.double(), v)
    w.case(name, q[0, 0, 0], k[0, 0, 0], v[0, 0, 0])


def main():
    w = Writer()
    for part in (reductions, losses, norms, empties, indices, others, attention):
        part(w)
    w.save(sys.argv[1])
    print("%d cases, %d of them refused" % (len(w.lines), sum('"error"' in line for line in w.lines)))


if __name__ == "__main__":
    main()
