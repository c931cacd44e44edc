"""Gradients of Lazuli and of PyTorch.

    build/test/gradients -d FILE CASES...; gradients.py FILE

FILE has, for each case, the elements of its tensors and the gradients of a linear function of its results, whose
coefficients both sides make up alike. Prints the operators whose gradients differ, with one example each, then those
that PyTorch does not differentiate. Exit status: 0 all equal, 1 a difference, 77 no torch."""
import collections
import json
import sys
import warnings

try:
    import torch
except ImportError:
    print("gradients: skipped, this Python has no torch")
    sys.exit(77)

warnings.simplefilter("ignore")
DTYPES = {"f64": torch.float64, "f32": torch.float32, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
          "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}

# Differences on purpose, or by chance.
EXPECTED = {
    "native_layer_norm": "mean and rstd have gradients here",
    "native_batch_norm": "mean and rstd have gradients here",
    "_native_batch_norm_legit.no_stats": "the same",
    "_native_batch_norm_legit_functional": "the same",
    "_batch_norm_with_update_functional": "the same",
    "native_dropout": "other random numbers", "dropout": "the same", "feature_dropout": "the same",
    "as_strided_scatter": "PyTorch's gradient for self has its zeros in the wrong places",
    "atan2": "PyTorch negates u8",
    "log_sigmoid_backward": "PyTorch reads the buffer, which cases have in lower precision",
    "to.prim_other": "PyTorch records nothing for it",
    "div.Tensor": "the sign of a zero is lost in JSON", "log": "the same",
}


def coefficients(n, state):
    out = []
    for _ in range(n):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) & (2 ** 64 - 1)
        out.append((state[0] >> 11) / 2.0 ** 52 - 1)
    return torch.tensor(out, dtype=torch.float64)


def operator(name):
    base, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


class Case:
    def __init__(self, line):
        entry = json.loads(line)
        self.case, self.grads, self.failed = entry["case"], entry["grads"], entry["error"]
        self.elements, self.leaves = iter(entry["leaves"]), []

    def leaf(self, i):
        dtype, data = next(self.elements)
        data = [int(x) for x in data] if dtype[0] not in "f" else data
        t = torch.tensor(data, dtype=DTYPES[dtype]).reshape(self.case["tensors"][i]["shape"])
        self.leaves.append(t)
        return t

    def value(self, v):
        if v is None:
            return None
        (kind, x), = v.items()
        if kind == "T":
            return self.leaf(x)
        if kind == "TL":
            return [None if i is None else self.leaf(i) for i in x]
        if kind == "l":
            return [self.value(y) for y in x]
        if kind == "dt":
            return torch.float64 if x in ("f16", "bf16", "f32", "f64") else DTYPES.get(x)
        return {"f": float, "dev": torch.device}.get(kind, lambda y: y)(x) if kind not in ("lay", "mf") else None

    def call(self):
        op = operator(self.case["op"])
        args = [self.value(v) for v in self.case["args"]]
        kwargs = {k: self.value(v) for k, v in self.case["kwargs"].items()}
        for t, g in zip(self.leaves, self.grads):
            if g is not None and t.is_floating_point():
                t.requires_grad_(True)
        out = op(*args, **{k: v for k, v in kwargs.items() if v is not None})
        return [t for t in (out if isinstance(out, (tuple, list)) else [out]) if t.is_floating_point()]


def compare(case):
    """None: equal; else where they differ."""
    state, pairs = [7], []
    for y in case.call():
        w = coefficients(y.numel(), state).reshape(y.shape)
        if y.requires_grad:
            pairs.append((y, w))
    inputs = [t for t in case.leaves if t.requires_grad]
    due = iter(torch.autograd.grad([y for y, _ in pairs], inputs, [w for _, w in pairs], allow_unused=True))
    for i, (t, g) in enumerate(zip(case.leaves, case.grads)):
        if not t.requires_grad:
            continue
        want, got = next(due), torch.tensor(g, dtype=torch.float64).reshape(t.shape)
        want = torch.zeros(t.shape, dtype=torch.float64) if want is None else want
        if not torch.allclose(got, want, rtol=1e-7, atol=1e-9, equal_nan=True):
            return f"tensor {i}: {got.reshape(-1)[:4].tolist()}, PyTorch {want.reshape(-1)[:4].tolist()}"
    return None


def main():
    equal, different, refused = 0, {}, collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8"):
        case = Case(line)
        name = case.case["op"].removeprefix("aten::")
        if case.failed:
            continue
        try:
            why = compare(case)
        except Exception:  # an operator that PyTorch has no derivative of, or another form of the call
            refused[name] += 1
            continue
        equal += why is None
        if why is not None and name not in EXPECTED:
            different.setdefault(name, f"{case.case.get('id')} {why}")
    for name, why in different.items():
        print(f"{name}: {why}")
    print("not differentiated by PyTorch:", ", ".join(f"{n} ({k})" for n, k in refused.items()))
    print(f"{equal} equal, {len(different)} operators differ")
    return 1 if different else 0


sys.exit(main())
