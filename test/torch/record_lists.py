"""Records what PyTorch's operators on lists of tensors give: _foreach_*, the fused optimisers, gradient scaling. The cases
have the form of the operator cases in test/data/oracle (`lazuli test ops` runs them).

    record_lists.py OUT      writes OUT.jsonl.gz and OUT.bin.gz

What an operator writes is "mutated": the written arguments after the call."""
import json
import sys
import warnings

import torch

from record_corners import BF16, BOOL, F16, F32, F64, I64, Writer

warnings.simplefilter("ignore")
NAN, INF = float("nan"), float("inf")


class ListWriter(Writer):
    """An operator that returns nothing gives what it wrote."""

    def case(self, name, *args, **kwargs):
        base, _, overload = name.partition(".")
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
        written = [a.name for a in op._schema.arguments if a.alias_info and a.alias_info.is_write]
        names = [a.name for a in op._schema.arguments]
        super().case(name, *args, **kwargs)
        line = json.loads(self.lines[-1])
        if "error" in line:
            return
        if any("TL" in (o or {}) or "l" in (o or {}) for o in line["outputs"]):
            line["outputs"] = [{"T": k} for o in line["outputs"] for k in ([o["T"]] if "T" in o else o.get("TL", []))]
            self.lines[-1] = json.dumps(line, separators=(",", ":"))
        if not written or any(r.alias_info for r in op._schema.returns):
            return
        line["mutated"] = []
        for n in written:
            v = kwargs[n] if n in kwargs else args[names.index(n)]
            new = [{"T": self.tensor(t, line["tensors"])} for t in (v if isinstance(v, (list, tuple)) else [v])]
            line["mutated"].append({"arg": n, "v": {"l": new} if isinstance(v, (list, tuple)) else new[0]})
        line["outputs"] = line["outputs"] if op._schema.returns else []
        self.lines[-1] = json.dumps(line, separators=(",", ":"))


def some(dtype, seed, positive=False):
    """Tensors of one dtype: a matrix, a strided vector, one without dimensions, one without elements."""
    g = torch.Generator().manual_seed(seed)
    made = []
    for sizes in ((2, 3), (4,), (), (0,)):
        x = torch.rand(sizes, generator=g) * 4 - (0 if positive else 2) + (0.25 if positive else 0)
        made.append((x * 2).to(dtype) if dtype in (I64, BOOL) else x.to(dtype))
    return made


def copies(list_):
    return [t.clone() for t in list_]


def both(w, name, *args, **kwargs):
    """The operator and its in-place form."""
    base, _, overload = name.partition(".")
    w.case(name, *args, **kwargs)
    fine = '"error":' not in w.lines[-1]
    if hasattr(torch.ops.aten, base + "_") and (not overload or overload in getattr(torch.ops.aten, base + "_").overloads()):
        w.case(base + "_" + ("." + overload if overload else ""), copies(args[0]), *args[1:], **kwargs)
        if fine and '"error":' in w.lines[-1]:
            w.lines.pop()  # the rules for writing are not part of these cases


UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
         "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc").split()
DTYPES = (F32, F64, F16, BF16, I64, BOOL)


def unary(w):
    for name in UNARY:
        for d in DTYPES:
            both(w, "_foreach_" + name, some(d, 1, positive=name in ("log", "sqrt", "lgamma", "rsqrt")))
        both(w, "_foreach_" + name, [torch.tensor([1, 0]), torch.tensor([0.5, NAN, -INF])])
        both(w, "_foreach_" + name, [])
    for d in DTYPES:
        both(w, "_foreach_zero", some(d, 2))
        w.case("_foreach_clone", some(d, 2))
        both(w, "_foreach_copy", some(d, 2), some(F32, 3))
        w.case("_foreach_max", some(d, 2)[:3])
    both(w, "_foreach_copy", [torch.zeros(2, 3)], [torch.tensor([1.0, 2.0, 3.0])])
    both(w, "_foreach_copy", [torch.zeros(3)], [torch.zeros(2)])
    w.case("_foreach_max", [torch.zeros(0)])
    w.case("_foreach_max", [])


def binary(w):
    numbers = (2, -1.5, 0, True, 1e300)
    for name in ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow"):
        base = "_foreach_" + name
        for d in DTYPES:
            x = some(d, 4, positive=name == "pow")
            for v in numbers[:4] if d is not F64 else numbers:
                if d is BOOL and v is True and name in ("maximum", "minimum"):
                    continue  # PyTorch has no kernel for this one
                both(w, base + ".Scalar", x, v)
            both(w, base + ".ScalarList", x, [1.5, 2, 3, -1] if d.is_floating_point else [1, 2, 3, 1])
            for e in (d, F32, I64):
                y = some(e, 5, positive=True)
                both(w, base + ".List", x, y)
            if name in ("add", "sub"):
                both(w, base + ".List", x, some(d, 5), alpha=2)
            if name in ("add", "mul", "div"):
                both(w, base + ".Tensor", x, torch.tensor(3.0))
                both(w, base + ".Tensor", x, torch.tensor(3.0, dtype=F64))
        x = some(F32, 6)
        both(w, base + ".Scalar", [], 1.0)
        both(w, base + ".List", x, x[:2])
        both(w, base + ".List", [], x)
        both(w, base + ".ScalarList", x, [1.0])
        both(w, base + ".List", [torch.zeros(2)], [torch.zeros(3)])
        both(w, base + ".List", [torch.ones(3)], [torch.ones(2, 3)])
    for n in (1, 2):
        both(w, "_foreach_add.Tensor", some(F32, 6), torch.ones(n))
        both(w, "_foreach_mul.Tensor", some(F32, 6), torch.ones(n))
    both(w, "_foreach_add.Tensor", some(F32, 6), torch.tensor(2.0), alpha=3)
    for d in DTYPES:
        w.case("_foreach_pow.ScalarAndTensor", 2.5, some(d, 6))
    w.case("_foreach_pow.ScalarAndTensor", 2, [])
    w.case("_foreach_mm", [torch.ones(2, 3), torch.eye(2)], [torch.ones(3, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])])
    w.case("_foreach_mm", [torch.ones(2, 3)], [torch.ones(2, 3)])


def ternary(w):
    for name in ("addcdiv", "addcmul"):
        base = "_foreach_" + name
        for d in (F32, F64, F16, BF16, I64):
            x, y, z = some(d, 7), some(d, 8), some(d, 9, positive=True)
            z = [t + 1 for t in z]
            both(w, base + ".Scalar", x, y, z)
            both(w, base + ".Scalar", x, y, z, 0.5)
            both(w, base + ".ScalarList", x, y, z, [1, 0.5, -2.0, 3])
            both(w, base + ".Tensor", x, y, z, torch.tensor([1, 0.5, -2.0, 3]))
            both(w, base + ".Scalar", x, some(F32, 8), z, 2)
        x = some(F32, 7)
        for s in (torch.tensor(1.0), torch.ones(2), torch.ones(1, 4)):
            both(w, base + ".Tensor", x, x, x, s)
        both(w, base + ".Scalar", x, x[:1], x)
        both(w, base + ".ScalarList", x, x, x, [1.0])
        both(w, base + ".Scalar", [], [], [])
    for d in (F32, F64, F16, BF16, I64):
        x, y = some(d, 10), some(d, 11)
        for v in (0.25, 0.75, 2, True):
            both(w, "_foreach_lerp.Scalar", x, y, v)
        both(w, "_foreach_lerp.ScalarList", x, y, [0.25, 0.5, 0.75, 1])
        both(w, "_foreach_lerp.List", x, y, some(d, 12))
    both(w, "_foreach_lerp.List", some(F32, 10), some(F64, 11), some(F32, 12))
    both(w, "_foreach_lerp.List", some(F32, 10), some(F32, 11), some(F32, 12)[:2])


def norms(w):
    for d in DTYPES:
        for ord in (2, 1, 0, 0.5, 3, INF, -1):
            w.case("_foreach_norm.Scalar", some(d, 13)[:3], ord)
            w.case("_foreach_powsum.Scalar", some(d, 13), ord)
        w.case("_foreach_norm.Scalar", some(d, 13), 2, F64)
        w.case("_foreach_powsum.Scalar", some(d, 13), 2, F64)
    w.case("_foreach_norm.Scalar", [])
    w.case("_foreach_norm.Scalar", [torch.zeros(0)], INF)


def writes(w, name, *args, **kwargs):
    """An operator that writes several lists, and what computes them."""
    base, _, overload = name.partition(".")
    end = "." + overload if overload else ""
    w.case(base + end, *args, **kwargs)
    w.case(base + "_" + end, *[copies(a) if isinstance(a, list) else a for a in args], **kwargs)


def fused(w):
    for d in (F32, F64, F16, BF16):
        p, g, m, n = some(d, 20), some(d, 21), some(d, 22), some(d, 23, True)
        steps = [torch.tensor(float(k + 1)) for k in range(len(p))]
        for scale, found in ((None, None), (torch.tensor(2.0), None), (torch.tensor([4.0]), torch.tensor(0.0)),
                             (None, torch.tensor([1.0]))):
            more = {"grad_scale": scale, "found_inf": found}
            for maximize, decay in ((False, 0.0), (True, 0.1)):
                for amsgrad in (False, True):
                    for name in ("_fused_adam", "_fused_adamw"):
                        rest = dict(beta1=0.9, beta2=0.99, weight_decay=decay, eps=1e-3, amsgrad=amsgrad, maximize=maximize)
                        top = some(d, 24, True) if amsgrad else []
                        writes(w, name, p, g, m, n, top, steps, lr=0.1, **rest, **more)
                        if d is F32:
                            writes(w, name + ".tensor_lr", p, g, m, n, top, steps, lr=torch.tensor(0.1), **rest, **more)
                rest = dict(lr_decay=0.1, weight_decay=decay, eps=1e-3, maximize=maximize)
                writes(w, "_fused_adagrad", p, g, n, steps, lr=0.1, **rest, **more)
                writes(w, "_fused_adagrad.tensor_lr", p, g, n, steps, lr=torch.tensor(0.1), **rest, **more)
                for nesterov, first in ((False, True), (False, False), (True, False)):
                    rest = dict(weight_decay=decay, momentum=0.9, dampening=0.0 if nesterov else 0.25, nesterov=nesterov,
                                maximize=maximize, is_first_step=first)
                    writes(w, "_fused_sgd", p, g, m, lr=0.1, **rest, **more)
                    writes(w, "_fused_sgd.tensor_lr", p, g, m, lr=torch.tensor(0.1), **rest, **more)
                rest = dict(weight_decay=decay, momentum=0.0, dampening=0.0, nesterov=False, maximize=maximize, is_first_step=False)
                writes(w, "_fused_sgd", p, g, [], lr=0.1, **rest, **more)
    x, step = some(F32, 20), [torch.tensor(1.0)] * 4
    adam = dict(lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False)
    for args in ((x, x[:2], x, x, [], step), (x, x, x, x, x, step), (some(I64, 1), some(I64, 1), some(I64, 1), some(I64, 1), [], step),
                 (x, some(F64, 1), x, x, [], step), ([], [], [], [], [], [])):
        writes(w, "_fused_adam", *args, **adam)
    writes(w, "_fused_adam", x, x, x, x, [], step, **{**adam, "amsgrad": True})
    sgd = dict(weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.5, nesterov=False, maximize=False, is_first_step=False)
    writes(w, "_fused_sgd", x, x, [], **sgd)
    writes(w, "_fused_sgd", x, x, x, **{**sgd, "momentum": 0.0})


def scaling(w):
    zero, half = torch.tensor(0.0), torch.tensor(0.5)
    name = "_amp_foreach_non_finite_check_and_unscale"
    for d in (F32, F64, F16, BF16, I64):
        writes(w, name, some(d, 30), zero.clone(), half)
        writes(w, name, some(d, 30)[:1] + [torch.tensor([1.0, NAN]).to(d)], torch.tensor([0.0]), torch.tensor([0.25]))
    writes(w, name, [torch.tensor([INF, 1.0])], zero.clone(), torch.tensor(1.0))
    writes(w, name, [torch.tensor([2.0, 1.0])], torch.tensor(3.0), half)
    for found, scale in ((torch.ones(2), half), (zero.clone(), torch.ones(2)), (torch.tensor(0), half), (zero.clone(), half.double())):
        writes(w, name, [torch.ones(2)], found, scale)
    for value, count, found in ((8.0, 1, 0.0), (8.0, 2, 0.0), (8.0, 2, 1.0), (3e38, 2, 0.0), (8.0, 2, 0.5)):
        for shape in ((), (1,)):
            args = [torch.full(shape, value), torch.full(shape, count, dtype=torch.int32), torch.full(shape, found)]
            w.case("_amp_update_scale", *args, 2.0, 0.5, 3)
            w.case("_amp_update_scale_", *copies(args), 2.0, 0.5, 3)
    one, count = torch.ones(1), torch.ones(1, dtype=torch.int32)
    for args in ((torch.ones(2), count, one), (one, one.long(), one), (one, count, torch.zeros(2)), (one, torch.ones(2, dtype=torch.int32), one),
                 (one.double(), count, one), (one, count, one.double())):
        w.case("_amp_update_scale", *args, 2.0, 0.5, 3)


def rms(w):
    for d in (F32, F64, F16, BF16):
        x = torch.linspace(-2, 3, 24).reshape(2, 3, 4).to(d)
        for shape in ([4], [3, 4]):
            w.case("_fused_rms_norm", x, shape, None, None)
            w.case("_fused_rms_norm", x, shape, torch.linspace(0, 1, 12)[:4 if shape == [4] else 12].reshape(shape).to(d), 1e-3)


def main():
    w = ListWriter()
    for part in (unary, binary, ternary, norms, fused, scaling, rms):
        part(w)
    w.save(sys.argv[1])
    print(len(w.lines), "cases")


if __name__ == "__main__":
    main()
