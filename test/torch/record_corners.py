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
    space = "aten"

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
        op = getattr(getattr(getattr(torch.ops, self.space), base), overload or "default")
        args, kwargs = complete(op._schema, args, kwargs)
        k = self.count[name] = self.count.get(name, -1) + 1
        line = {"id": "%s#%d" % (name, k), "op": self.space + "::" + name, "src": "corners", "phase": "fwd",
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


def weights(w):
    """Norms and convolutions whose parameters have another dtype or shape, and dimensions without elements."""
    x = torch.ones(2, 4, 3)  # no rounding of halves shows in what is made of it
    for a, b in itertools.product((F32, F16, BF16, F64), repeat=2):
        p = torch.ones(4, dtype=b)
        w.case("batch_norm", x.to(a), p, p, None, None, True, 0.1, 1e-5, False)
        w.case("batch_norm", x.to(a), None, None, p, p, False, 0.1, 1e-5, False)
        w.case("batch_norm", x.to(a), p, p, p.float(), p.float(), False, 0.1, 1e-5, False)
        w.case("instance_norm", x.to(a), p, p, None, None, True, 0.1, 1e-5, False)
        w.case("group_norm", x.to(a), 2, p, p)
        w.case("group_norm", x.to(a), 2, p, p.float())
        w.case("rms_norm", torch.ones(2, 3, dtype=a), [3], torch.ones(3, dtype=b))
        w.case("native_batch_norm", torch.ones(2, 2, 2, dtype=a), torch.ones(2, dtype=b), None, None, None, True, 0.1, 1e-5)
    for n in (1, 3, 4, 5):
        p = torch.ones(n)
        for some in ((p, None, None, None, True), (None, p, None, None, True), (None, None, p, None, True),
                     (None, None, None, p, True), (None, None, p, p, False)):
            w.case("batch_norm", x, *some, 0.1, 1e-5, False)
            w.case("instance_norm", x, *some, 0.1, 1e-5, False)
    w.case("group_norm", x, 2, torch.ones(2, 2), None)
    w.case("rms_norm", x, [])
    for sizes in ([2, 0, 3], [0, 2, 3], [2, 2, 0]):
        w.case("batch_norm", torch.ones(sizes), None, None, None, None, True, 0.1, 1e-5, False)
        w.case("batch_norm", torch.ones(sizes), torch.ones(2), torch.ones(2), None, None, True, 0.1, 1e-5, False)
        w.case("instance_norm", torch.ones(sizes), None, None, None, None, True, 0.1, 1e-5, False)
    image, kernel = torch.ones(1, 2, 4), torch.ones(3, 2, 2)
    for d in (F32, F64, F16, I64):
        w.case("conv1d", image, kernel, torch.ones(3, dtype=d))
        w.case("convolution", image, kernel, torch.ones(3, dtype=d), [1], [0], [1], False, [0], 1)
        w.case("conv2d", torch.ones(1, 2, 4, 4), torch.ones(3, 2, 2, 2), torch.ones(3, dtype=d))
        w.case("conv_transpose2d.input", torch.ones(1, 2, 4, 4), torch.ones(2, 3, 2, 2), torch.ones(3, dtype=d))
    for more, stride, gap in itertools.product((0, 1, 2), (1, 2), (1, 2, 3)):
        w.case("conv_transpose1d", image, torch.ones(2, 3, 2), None, [stride], [0], [more], 1, [gap])
    for name, n in (("adaptive_max_pool2d", 2), ("adaptive_max_pool3d", 3), ("adaptive_avg_pool2d", 2), ("adaptive_avg_pool3d", 3)):
        for sizes in itertools.product((0, 2), repeat=n + 1):
            w.case(name, torch.ones(sizes), [1] * n)
            w.case(name, torch.ones((2,) + sizes), [1] * n)


def pads(w):
    for mode, rank, n in itertools.product(("reflect", "replicate", "circular"), (1, 2, 3, 4, 6), (0, 1, 2, 4, 6, 8)):
        w.case("pad", torch.ones([2] * rank), [1] * n, mode)
    for kind, n in itertools.product(("reflection", "replication"), (1, 2, 3)):
        name = "%s_pad%dd" % (kind, n)
        for sizes in itertools.product((0, 2), repeat=n + 1):
            w.case(name, torch.ones(sizes), [1] * (2 * n))
        for first in (-1, -2, -3):
            w.case(name, torch.ones([2] * (n + 2)), [first, 0 if first < -1 else -1] + [1] * (2 * n - 2))


def numbers(w):
    """Numbers that do not fit a dtype, and kinds of numbers that an operator does not take."""
    mask, at = torch.tensor([True, False]), torch.tensor([0])
    for d in (F32, F16, BF16, F64, I64, I32, torch.int16, torch.int8, U8, BOOL):
        x = torch.ones(2, dtype=d)
        for v in (1e39, 1e19, INF, float("nan"), 300, -1, 70000, 1.5):
            if isinstance(v, int) or v == v and abs(v) != INF:  # the conversion of others depends on the processor
                w.case("where.ScalarOther", mask, x, v)
            w.case("full", [2], v, dtype=d)
            w.case("masked_fill.Scalar", x, mask, v)
            w.case("scatter.value", x, 0, at, v)
            w.case("index_fill.int_Scalar", x, 0, at, v)
            w.case("constant_pad_nd", x, [1, 1], v)
    for d, v, steps in itertools.product((F32, I64), (INF, float("nan"), 1e39, 1e19, 7.5), (0, 1, 2, 3)):
        w.case("linspace", v, 1.0, steps, dtype=d)
        w.case("linspace", 1.0, v, steps, dtype=d)
    whole, truth = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[True, False], [True, True]])
    for v in (1, 1.5, 2.0, True):
        for x in (whole, truth, whole.float()):
            w.case("addr", x, whole[0], whole[1], beta=v)
            w.case("addr", x, whole[0], whole[1], alpha=v)
        w.case("addr", truth, truth[0], truth[1], alpha=v)
    for v in (-1.0, 0.0, float("nan")):
        w.case("isclose", torch.ones(2), torch.ones(2), v)
        w.case("isclose", torch.ones(2), torch.ones(2), 1e-5, v)
        w.case("cosine_similarity", torch.ones(2, 2), torch.ones(2, 2), 1, v)


def kinds(w):
    """Tensors of several dtypes."""
    for a, b in itertools.product((F32, F64, I64, F16), repeat=2):
        p, q = torch.ones(2, 3, dtype=a), torch.ones(2, 3, dtype=b)
        w.case("linalg_cross", p, q)
        w.case("linalg_vecdot", p, q)
        w.case("bilinear", p, torch.ones(2, 4), torch.ones(5, 3, 4, dtype=b))
    for bias in (torch.ones(5), torch.ones(5, dtype=F64), torch.ones(1), torch.ones(5, 1)):
        w.case("bilinear", torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4), bias)
    for a, b in itertools.product((F32, F64, I64), repeat=2):
        w.case("histogram.bins_tensor", torch.ones(3, dtype=a), torch.arange(3).to(b))
        w.case("histogram.bin_ct", torch.ones(3, dtype=a), 3, weight=torch.ones(3, dtype=b))
    for d in (U8, I32, BOOL, I64):
        w.case("nll_loss", torch.zeros(2, 3), torch.tensor([1, 0]).to(d))
        w.case("cross_entropy_loss", torch.zeros(2, 3), torch.tensor([1, 0]).to(d))
        w.case("nll_loss2d", torch.zeros(2, 3, 1, 1), torch.zeros(2, 1, 1, dtype=d))
        w.case("multi_margin_loss", torch.zeros(2, 3), torch.tensor([1, 0]).to(d))
        w.case("multilabel_margin_loss", torch.zeros(2, 3), torch.zeros(2, 3, dtype=d))
        for n in (0, 1, 2):
            w.case("pdist", torch.ones(n, 3, dtype=d))
        for name in ("softmax.int", "log_softmax.int", "special_softmax"):
            w.case(name, torch.zeros(0, 2, dtype=d), 0)
            w.case(name, torch.zeros(1, 2, dtype=d), 0)
    for d, n in itertools.product((F16, BF16), (0, 1)):
        w.case("pdist", torch.ones(n, 3, dtype=d))
    for target in ([[0, 1]], [[2, -1]], [[-2, 0]], [[-1, 5]], [[1, -5]]):
        w.case("multilabel_margin_loss", torch.ones(1, 2), torch.tensor(target))
    w.case("embedding", torch.zeros(3, 2), torch.zeros(0))
    for d in (F16, F32, F64):
        w.case("binary_cross_entropy", torch.tensor([0.5, 0.25]), torch.tensor([0.0, 1.0]), torch.ones(1, dtype=d))
    for n in (0, 1, 2):
        w.case("unfold", torch.tensor(1.0), 0, n, 1)
        w.case("unfold_copy", torch.tensor(1.0), 0, n, 1)
    for order in (-1, -INF, 0, 2, INF):
        for sizes, dim in (([0], None), ([2, 0], [1]), ([2, 0], [0]), ([0, 3], []), ([2], None)):
            w.case("linalg_vector_norm", torch.ones(sizes), order, dim)
    w.case("linalg_vector_norm", torch.ones(2, dtype=BOOL), 1, None, False, dtype=F64)
    for p in (0.5, 1, 1.5, 2, 2.5, 3):
        w.case("multi_margin_loss", torch.tensor([[0.5, 1.0, 2.0]]), torch.tensor([1]), p)
    for start in (-INF, 1.0):
        w.case("linspace.Tensor_Scalar", torch.tensor(start), 0, 1, dtype=F32)
    for a, b, c in ((F32, F32, F64), (F32, F64, F32), (F64, F64, F64)):
        w.case("linear", torch.ones(2, 3, dtype=a), torch.ones(4, 3, dtype=b), torch.ones(4, dtype=c))
    w.case("relu6", torch.ones(2, dtype=BOOL))
    for name in ("argmin", "argmax", "min.dim", "max.dim"):
        for dim in (0, 1, 2):
            w.case(name, torch.zeros(3, 0, 0), dim)
    for pad, gap in ((1, 1), (2, 1), (2, 2)):
        w.case("max_pool1d", torch.arange(12.0).reshape(1, 12), [3], [1], [pad], [gap])
        w.case("max_pool2d_with_indices", torch.arange(64.0).reshape(1, 8, 8), [3, 3], [1, 1], [pad, pad], [gap, gap])
    for factor in (-1, 300, 1.5, INF):
        whole = torch.ones(2, 2, dtype=U8)
        w.case("addmm", whole, whole, whole, beta=factor)
        w.case("addmm", whole, whole, whole, alpha=factor)
        w.case("baddbmm", whole[None], whole[None], whole[None], alpha=factor)
        w.case("addbmm", whole, whole[None], whole[None], alpha=factor)
    for lengths in ([1, 1], [2, 2], [3, 1], [0, 4], [-1, 5], [5, 0]):
        for unsafe in (False, True):
            if sum(lengths) == 4 and min(lengths) >= 0 or not unsafe:
                w.case("segment_reduce", torch.arange(4.0), "sum", lengths=torch.tensor(lengths), unsafe=unsafe)


def covariance(w):
    x = torch.tensor([[1.0, 2.0, 4.0], [3.0, 1.0, 5.0]])
    for f in ([1, 2, 1], [1, -1, 1], [0, 0, 0], [1, 1], [1.0, 1.0, 1.0], [True, True, True], [[1, 1, 1]]):
        w.case("cov", x, fweights=torch.tensor(f))
    for a in ([1.0, 2.0, 0.5], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0], [1, 1, 1], [[1.0, 1.0, 1.0]]):
        w.case("cov", x, aweights=torch.tensor(a))
    w.case("cov", x, aweights=torch.tensor([1.0, 2.0, 1.0], dtype=F64))
    w.case("cov", x.long(), aweights=torch.tensor([1.0, 2.0, 1.0]))



def long_attention(w):
    """Lengths that are no multiples of a tile, rows that see nothing, infinities."""
    generator = torch.Generator().manual_seed(18)

    def make(*sizes, dtype=F32):
        return torch.randn(sizes, generator=generator).to(dtype)

    name, flash = "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"
    q, k, v = make(1, 2, 97, 4), make(1, 2, 130, 4), make(1, 2, 130, 4)
    choice, added = make(97, 130) > 0.5, make(97, 130).round()
    choice[5], added[5] = False, -INF
    added[7, 129] = INF
    w.case(name, q, k, v)
    w.case(name, q, k, v, None, 0.0, True, scale=0.3)
    w.case(name, q, k, v, choice)
    w.case(name, q, k, v, added)
    w.case(name, q, k, v, choice[:, :1])
    w.case(name, q, k[:, :1], v[:, :1], choice[None, None], 0.0, False, enable_gqa=True)
    w.case(name, q, k, make(1, 2, 130, 7))
    w.case(name, q[:, :1], k, v)
    w.case(name, q.double(), k.double(), v.double(), None, 0.0, True)
    grad = make(1, 2, 97, 4)
    for values in ((q, k, v), (q[:, :1].double(), k[:, :1].double(), v[:, :1].double()), (q, k[:, :1], v[:, :1])):
        mask = added.clone().to(values[0].dtype)
        mask[7, 129] = 0
        for causal, given in ((False, None), (True, mask)):
            out, lse = getattr(torch.ops.aten, flash)(*values, 0.0, causal, attn_mask=given)
            w.case(flash, *values, 0.0, causal, attn_mask=given)
            w.case(flash + "_backward", grad[:, :len(out[0])].to(out.dtype), *values, out, lse, 0.0, causal, attn_mask=given)
    w.case(flash, q, k, v, 0.1)
    w.case(flash, q[0], k[0], v[0])
    w.case(flash, q, k[..., :3], v)
    w.case(flash, q, k, v, attn_mask=added.double())
    w.case(flash, q, k, v, attn_mask=added[None])
    w.case(flash, q.long(), k.long(), v.long())


def specials(w):
    """Windows, special functions at infinities, and the dtypes that they refuse."""
    for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"):
        for length in (0, 1, 2, 7, 8, -1):
            w.case(name, length)
            # of kaiser_window PyTorch computes 8 digits only, in float64 too
            w.case(name + ".periodic", length, False, dtype=F32 if name == "kaiser_window" else F64)
        w.case(name, 6, dtype=I64)
    w.case("hamming_window.periodic_alpha", 9, True, 0.6)
    w.case("hamming_window.periodic_alpha_beta", 9, False, 0.6, 0.3, dtype=F64)
    w.case("kaiser_window.beta", 10, False, 3.5)
    for n in (0, 1, 6, 7):
        w.case("fft_fftfreq", n, 0.5)
        w.case("fft_rfftfreq", n, 0.5, dtype=F64)
    w.case("fft_fftfreq", 4, dtype=I64)
    grid = torch.arange(24.0).reshape(2, 3, 4)
    for name in ("fft_fftshift", "fft_ifftshift"):
        for dim in (None, [1], [0, 2], [], [3]):
            w.case(name, grid, dim)
        w.case(name, torch.tensor(1.0))
    w.case("native_channel_shuffle", grid, 3)
    w.case("native_channel_shuffle", grid, 2)
    # not at -2.5, where PyTorch's airy_ai has 5 digits, nor far from 0, where its float32 Bessel functions have few
    edges = torch.tensor([0.0, -0.0, INF, -INF, float("nan"), 1.0, -1.5, 20.0, 1e-20], dtype=F64)
    names = ["i0", "special_i0e", "special_i1", "special_i1e", "special_erfcx", "special_log_ndtr", "special_ndtri",
             "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1", "special_airy_ai",
             "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
             "special_modified_bessel_k1", "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1",
             "special_spherical_bessel_j0", "frexp.Tensor"]
    for name in names:
        for x in (edges, edges.float(), torch.tensor([0.5, 2.0], dtype=F16), torch.tensor([0.5, 2.0], dtype=BF16),
                  torch.tensor([0, 1, 2], dtype=I64), torch.tensor([True, False]), torch.ones(0)):
            w.case(name, x)
    w.case("frexp.Tensor", torch.tensor([5e-324, 1e-310, -3.0, 2.0 ** 1000, -0.1], dtype=F64))
    w.case("frexp.Tensor", torch.tensor([1e-45, 1e-39, -3.0, 2.0 ** 100, -0.1]))
    a = torch.tensor([0.0, 1.0, INF, float("nan"), 2.5, 0.3, 300.0, -1.0], dtype=F64)
    polynomials = ["chebyshev_polynomial_" + k for k in "tuvw"] + ["hermite_polynomial_h", "hermite_polynomial_he",
                                                                   "laguerre_polynomial_l", "legendre_polynomial_p"]
    polynomials += ["shifted_" + p for p in polynomials[:4]]
    for name in ["igamma", "igammac", "special_zeta"]:
        w.case(name, a[:, None], a)
        w.case(name, a[:, None].float(), a.float())
        w.case(name, torch.ones(2, dtype=I64), torch.ones(2, dtype=I64))
        w.case(name, torch.ones(2, dtype=F16), torch.ones(2, dtype=F16))
        w.case(name, torch.ones(2, dtype=F16), torch.full((2,), 2.0))
    for name in polynomials:
        degrees = torch.tensor([-1.0, 0.0, 1.0, 2.7, 7.0, 12.0, float("nan"), INF], dtype=F64)
        at = torch.tensor([-1.0, 1.0, 0.0, 0.3, -0.9, 2.5, -2.5, float("nan")], dtype=F64)
        w.case("special_" + name, at[:, None], degrees)
        w.case("special_" + name + ".x_scalar", 0.3, torch.tensor([0, 3, 9], dtype=I64))
        w.case("special_" + name + ".n_scalar", torch.tensor([0.3, 2.0]), 5)
        w.case("special_" + name, torch.ones(2, dtype=BF16), torch.ones(2, dtype=BF16))
    for n in (0, 1, 2, 5, -1):
        w.case("polygamma", n, torch.tensor([0.0, INF, -INF, float("nan"), 0.5, -2.5, 40.0], dtype=F64))
        w.case("polygamma", n, torch.tensor([1, 2], dtype=I64))
        w.case("polygamma", n, torch.tensor([0.5, 2.0], dtype=F16))


def int_products(w):
    def make(rows, cols, low=-128, dtype=torch.int8):
        return ((torch.arange(rows * cols) * 37 % 256 + low).reshape(rows, cols)).to(dtype)

    for rows, shared, cols in ((3, 4, 5), (17, 33, 2), (0, 4, 5), (3, 0, 5), (3, 4, 0)):
        w.case("_int_mm", make(rows, shared), make(shared, cols))
        w.case("_int_mm", make(rows, shared, 0, U8), make(shared, cols))
    w.case("_int_mm", make(4, 3).t(), make(5, 4).t())
    w.case("_int_mm", make(3, 4), make(5, 6))
    w.case("_int_mm", make(3, 4).float(), make(4, 5))
    w.case("_int_mm", make(3, 4), make(4, 5).int())
    w.case("_int_mm", make(3, 4)[None], make(4, 5))


def main():
    w = Writer()
    for part in (reductions, losses, norms, empties, indices, others, attention, weights, pads, numbers, kinds, covariance,
                 long_attention, specials, int_products):
        part(w)
    w.save(sys.argv[1])
    print("%d cases, %d of them refused" % (len(w.lines), sum('"error"' in line for line in w.lines)))


if __name__ == "__main__":
    main()
