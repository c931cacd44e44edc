"""Records how PyTorch lays out results: sizes, strides, storage offset, and whose storage a result shares.

    record_layouts.py LAZULI DATA OUT.jsonl.gz [OPERATOR...]

LAZULI is the command (`lazuli ops --json` says which operators to ask about), DATA the folder test/data, whose operator
cases give the arguments. Each call is made with its tensors in several layouts (row-major, dimensions reversed or rotated,
channels last, cut out of something larger, expanded, without elements, without dimensions), without and with gradients.
One line per call:

    {"op", "a": arguments in the order of the schema, "t": tensors, "o": results, "g": results with gradients if others}

An argument is written as in the operator cases. A tensor is [dtype, sizes, strides, offset, elements of its storage, the
storage's values or 0 for the pattern of `ramp`]. A result is [sizes, strides, offset, shared, same]: `shared` is the number
of the tensor whose storage it has, -1 none, -2 - k that of result k; `same` is 1 if the result is the argument itself.
Results are "refused" where PyTorch refuses the call; "g" is 0 where it has no gradient for what it computes without."""
import difflib
import glob
import gzip
import itertools
import json
import os
import re
import subprocess
import sys
import traceback
import warnings

import torch

warnings.simplefilter("ignore")
torch.set_num_threads(1)
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
ABBR = {v: k for k, v in DTYPES.items()}
MOST = 400          # elements of a tensor
CALLS = 4           # calls from the cases, and as many made up
LENGTH = 40         # of a list of results


# ---- operators ----

def split(text):
    out, depth, word = [], 0, ""
    for ch in text:
        depth += (ch in "([") - (ch in ")]")
        if ch == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += ch
    return out + [word.strip()] if word.strip() else out


class Arg:
    def __init__(self, text, keyword):
        left, _, default = text.partition("=")
        kind, self.name = left.rsplit(" ", 1)
        self.write, self.keyword = "!" in kind, keyword
        self.default = default if _ else None
        while "(" in kind:
            kind = kind[:kind.index("(")] + kind[kind.index(")") + 1:]
        self.kind = kind.replace("SymInt", "int")


class Op:
    def __init__(self, entry):
        self.name, rest = entry["schema"].split("(", 1)
        body = rest[:rest.rindex(") ->")]
        self.args, keyword = [], False
        for a in split(body):
            if a == "*":
                keyword = True
            else:
                self.args.append(Arg(a, keyword))
        base, _, overload = self.name.partition(".")
        self.base = base
        try:
            self.fn = getattr(getattr(torch.ops.aten, base), overload or "default")
            known = [a.name for a in self.fn._schema.arguments] == [a.name for a in self.args]
        except AttributeError:
            known = False
        if not known:
            self.fn = None
        self.outs = [a for a in self.args if a.write and a.keyword]
        self.writes = any(a.write for a in self.args)

    def signature(self):
        return tuple(a.kind for a in self.args if a not in self.outs)


# ---- tensors ----

def ramp(dtype, n):
    i = torch.arange(n)
    if dtype == torch.bool:
        return i % 3 != 0
    if dtype.is_floating_point:
        return (((i * 37 + 11) % 101).to(torch.float64) / 101).to(dtype)
    return (i % 2).to(dtype)  # also an index


class Tensor:
    """A tensor as a line has it; values are of the storage, or None for the pattern."""

    def __init__(self, dtype, sizes, values=None, strides=None, offset=0, room=None):
        self.dtype, self.sizes = dtype, list(sizes)
        self.strides = list(strides) if strides is not None else row_major(self.sizes)
        self.offset = offset
        self.room = room if room is not None else offset + extent(self.sizes, self.strides)
        self.values = values

    def plain(self):
        return self.offset == 0 and self.strides == row_major(self.sizes) and self.room == numel(self.sizes)

    def logical(self):
        flat = ramp(self.dtype, self.room) if self.values is None else torch.tensor(self.values, dtype=self.dtype)
        return flat.as_strided(self.sizes, self.strides, self.offset)

    def laid_out(self, strides, offset, room, source=None):
        if self.values is None:
            return Tensor(self.dtype, self.sizes, None, strides, offset, room)
        flat = torch.zeros(room, dtype=self.dtype)
        if numel(self.sizes):
            flat.as_strided(self.sizes, strides, offset).copy_(self.logical() if source is None else source)
        return Tensor(self.dtype, self.sizes, flat.tolist(), strides, offset, room)

    def make(self, grad):
        flat = ramp(self.dtype, self.room) if self.values is None else torch.tensor(self.values, dtype=self.dtype)
        if self.plain():
            flat = flat.new_empty(self.sizes).copy_(flat.view(self.sizes))
        if grad and self.dtype.is_floating_point:
            flat = flat.requires_grad_().clone()
        return flat if self.plain() else flat.as_strided(self.sizes, self.strides, self.offset)

    def line(self):
        v = self.values
        if v is not None and self.dtype == torch.bool:
            v = [int(x) for x in v]
        if v is not None and self.dtype.is_floating_point:
            v = [float("%.6g" % x) if x == x and abs(x) != float("inf") else str(x) for x in v]
        return [ABBR[self.dtype], self.sizes, self.strides, self.offset, self.room, 0 if v is None else v]

    def key(self):
        return json.dumps([self.sizes, self.strides, self.offset])


def numel(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def row_major(sizes):
    out, run = [], 1
    for s in reversed(sizes):
        out.insert(0, run)
        run *= max(s, 1)
    return out


def extent(sizes, strides):
    return 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))


def in_order(sizes, order):
    """Dense strides with the dimensions in this order, outermost first."""
    strides, run = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = run
        run *= max(sizes[d], 1)
    return strides


LAST = {3: [0, 2, 1], 4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}


def layout(t, how):
    n = len(t.sizes)
    if how == "row":
        return t
    if how == "reversed" and n >= 2:
        return t.laid_out(in_order(t.sizes, list(reversed(range(n)))), 0, max(numel(t.sizes), 0))
    if how == "rotated" and n >= 3:
        return t.laid_out(in_order(t.sizes, [n - 1] + list(range(n - 1))), 0, numel(t.sizes))
    if how == "last" and n in LAST:
        return t.laid_out(in_order(t.sizes, LAST[n]), 0, numel(t.sizes))
    if how == "cut" and n >= 1 and numel(t.sizes):
        strides = [2 * s for s in row_major(t.sizes)]
        return t.laid_out(strides, 3, 3 + extent(t.sizes, strides) + 1)
    if how == "cut_reversed" and n >= 2 and numel(t.sizes):
        strides = in_order([s + 1 for s in t.sizes], list(reversed(range(n))))
        return t.laid_out(strides, 1, 1 + extent(t.sizes, strides))
    if how in ("expanded", "expanded_last") and n >= 1 and numel(t.sizes):
        d = 0 if how == "expanded" else n - 1
        rest = t.sizes[:d] + [1] + t.sizes[d + 1:]
        strides = row_major(rest)
        strides[d] = 0
        source = t.logical().narrow(d, 0, 1).expand(t.sizes) if t.values is not None else None
        if t.sizes[d] == 1 or source is not None and numel(rest) == 0:
            return t
        flat = None
        if source is not None:
            flat = source.narrow(d, 0, 1).reshape(-1).tolist()
        return Tensor(t.dtype, t.sizes, flat, strides, 0, numel(rest))
    if how == "odd" and 1 in t.sizes and numel(t.sizes):
        strides = [7 + 2 * i if s == 1 else k for i, (s, k) in enumerate(zip(t.sizes, t.strides))]
        return t.laid_out(strides, 0, max(numel(t.sizes), 1))
    return t


# ---- calls ----

class Call:
    def __init__(self, args, tensors):
        self.args, self.tensors = args, tensors

    def with_tensors(self, tensors):
        return Call(self.args, tensors)

    def key(self):
        return json.dumps(self.args) + "".join(t.key() + ABBR[t.dtype] for t in self.tensors)


def number(v):
    return {"nan": float("nan"), "inf": float("inf"), "-inf": -float("inf")}.get(v, v) if isinstance(v, str) else v


def value(v, tensors):
    if v is None:
        return None
    (k, x), = v.items()
    if k == "T":
        return tensors[x]
    if k == "TL":
        return [None if i is None else tensors[i] for i in x]
    if k == "l":
        return [value(i, tensors) for i in x]
    if k == "f":
        return float(number(x))
    if k == "dt":
        return DTYPES[x]
    if k == "dev":
        return torch.device("cpu")
    if k == "lay":
        return torch.strided
    if k == "mf":
        return getattr(torch, x)
    return x


def flatten(result):
    out = []
    for r in result if isinstance(result, (list, tuple)) else [result]:
        out += flatten(r) if isinstance(r, (list, tuple)) else [r]
    return out


def invoke(op, call, grad):
    """What PyTorch gives: (refused, results as tensors, arguments as tensors)."""
    tensors = [t.make(grad) for t in call.tensors]
    args = [value(v, tensors) for v in call.args]
    pos = [a for a, s in zip(args, op.args) if not s.keyword]
    named = {s.name: a for a, s in zip(args, op.args) if s.keyword}
    try:
        return None, flatten(op.fn(*pos, **named)), tensors
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ZeroDivisionError) as e:
        return str(e), None, tensors


def storage(t):
    return t.untyped_storage()._cdata


def describe(results, tensors):
    out = []
    for k, r in enumerate(results):
        if not isinstance(r, torch.Tensor):
            out.append(None)
            continue
        shared = next((i for i, t in enumerate(tensors) if storage(t) == storage(r)), -1)
        same = next((i for i, t in enumerate(tensors) if t is r), -1)
        if same >= 0:
            shared = same
        if shared < 0:
            earlier = next((i for i in range(k) if isinstance(results[i], torch.Tensor) and storage(results[i]) == storage(r)), -1)
            shared = -2 - earlier if earlier >= 0 else -1
        out.append([list(r.shape), list(r.stride()), r.storage_offset(), shared, int(same >= 0)])
    return out


def outcome(op, call, grad):
    refused, results, tensors = invoke(op, call, grad)
    if refused is not None:
        return "refused"
    if any(isinstance(r, torch.Tensor) and (r.layout != torch.strided or r.is_quantized or r.is_conj() or r.is_neg()) for r in results):
        return None
    return describe(results, tensors)


# ---- arguments from the cases ----

def read_cases(data):
    pool = {}
    files = [f for name in ("oracle/opinfo*", "composites", "corners", "random")
             for f in sorted(glob.glob(os.path.join(data, name + ".jsonl.gz")))]
    for file in files:
        with gzip.open(file.replace(".jsonl.gz", ".bin.gz")) as f:
            raw = f.read()
        with gzip.open(file, "rt") as f:
            for line in f:
                case = json.loads(line)
                if "error" not in case:
                    pool.setdefault(case["op"].removeprefix("aten::"), []).append((case, raw))
    with open(os.path.join(data, "gradient_cases.jsonl")) as f:
        for line in f:
            case = json.loads(line)
            pool.setdefault(case["op"].removeprefix("aten::"), []).append((case, None))
    return pool


def tensor_of(t, raw, most):
    if t["dt"] not in DTYPES:
        return None
    dtype, sizes = DTYPES[t["dt"]], t["shape"]
    if numel(sizes) > most:
        return None
    if raw is None or "off" not in t:
        values = t.get("v") or t.get("data")
        return Tensor(dtype, sizes, values)
    flat = torch.frombuffer(bytearray(raw[t["off"]:t["off"] + t["n"]] or bytes(16)), dtype=dtype)[:numel(sizes)]
    return Tensor(dtype, sizes, flat.tolist())


def default_of(a):
    d = a.default
    if d is None or d == "None":
        return None
    if d in ("True", "False"):
        return {"b": d == "True"}
    if d.startswith("["):
        inner = d[1:-1].split(",") if d != "[]" else []
        return {"l": [{"i": int(x)} if x.strip() not in ("True", "False") else {"b": x.strip() == "True"} for x in inner]}
    if d[0] in "'\"":
        return {"s": d[1:-1]}
    if d in ("Mean", "Sum"):
        return {"i": 1 if d == "Mean" else 2}
    if d == "contiguous_format":
        return {"mf": d}
    if d == "long":
        return {"dt": "i64"}
    if a.kind.startswith("int[") and a.kind[4:-1].isdigit():
        return {"l": [{"i": int(d)}] * int(a.kind[4:-1])}
    try:
        return {"i": int(d)} if a.kind != "float" else {"f": float(d)}
    except ValueError:
        return {"f": float(d)}


def used(v):
    if not isinstance(v, dict):
        return []
    return [v["T"]] if "T" in v else [i for i in v["TL"] if i is not None] if "TL" in v else []


def renumber(v, names):
    if isinstance(v, dict) and "T" in v:
        return {"T": names[v["T"]]}
    if isinstance(v, dict) and "TL" in v:
        return {"TL": [None if i is None else names[i] for i in v["TL"]]}
    return v


def arguments(op, source, case):
    """The values of op's arguments in a case of an operator `source`: by place if both take the same, else by name."""
    given = dict(zip([a.name for a in source.args], case["args"]), **case["kwargs"])
    values = [given.get(a.name, default_of(a)) for a in source.args if a not in source.outs]
    if op.signature() != source.signature():
        return ["out" if a in op.outs else given.get(a.name, default_of(a)) for a in op.args]
    return ["out" if a in op.outs else values.pop(0) for a in op.args]


def fits(op, args):
    """Nothing is missing, no number is in the place of a tensor, which has no layout, and no tensor in that of a number."""
    def fit(kind, v):
        tensors = kind.startswith("Tensor") and kind.endswith("]")
        return ("T" in v) == (kind == "Tensor") and ("TL" in v) == tensors and ("s" in v) == (kind == "str")
    return all(a.kind.endswith("?") if v is None else v == "out" or fit(a.kind.rstrip("?"), v) for a, v in zip(op.args, args))


def call_of(op, source, case, raw, most):
    """The call of `op` with the arguments of a case, which may be one of another operator."""
    args = arguments(op, source, case)
    if not fits(op, args):
        return None
    numbers = sorted({i for v in args for i in used(v)})
    tensors = [tensor_of(case["tensors"][i], raw, most) for i in numbers]
    if any(t is None for t in tensors):
        return None
    for t in tensors:
        if t.values is not None and any(isinstance(x, float) and x != x for x in t.values):
            return None
    names = {n: i for i, n in enumerate(numbers)}
    return Call([renumber(v, names) for v in args], tensors)


# ---- out= ----

def with_outs(op, call, sizes=None, dtypes=None, how="row"):
    tensors, args = list(call.tensors), []
    k = 0
    for v in call.args:
        if v == "out":
            t = Tensor(dtypes[k], sizes[k] if sizes else [0], None)
            tensors.append(layout(t, how))
            args.append({"T": len(tensors) - 1})
            k += 1
        else:
            args.append(v)
    return Call(args, tensors)


def out_calls(op, call):
    n = len(op.outs)
    if n == 0:
        return [call]
    if any(a.kind != "Tensor" for a in op.outs):
        return []
    kinds = [torch.float32, torch.int64, torch.bool, torch.float64]
    for dtypes in itertools.product(kinds, repeat=n) if n <= 3 else [[torch.float32] * n]:
        trial = with_outs(op, call, None, dtypes)
        refused, results, tensors = invoke(op, trial, False)
        if refused is None:
            sizes = [list(t.shape) for t in tensors[-n:]]
            return [trial] + [with_outs(op, call, sizes, dtypes, how) for how in ("row", "reversed")]
    return []


# ---- which calls ----

def plain_pattern(call):
    """The same call with the pattern instead of its floating-point values."""
    return call.with_tensors([Tensor(t.dtype, t.sizes) if t.dtype.is_floating_point else t for t in call.tensors])


def accepted(op, call):
    calls = out_calls(op, call)
    return bool(calls) and invoke(op, calls[0], False)[0] is None


SHAPES = [
    lambda i: [2, 3, 4, 5], lambda i: [3, 4] if i else [2, 3, 4], lambda i: [2, 5, 1, 3] if i else [2, 1, 4, 3],
    lambda i: [2, 2, 3, 3, 2], lambda i: [], lambda i: [2, 0, 3], lambda i: [1, 3, 1, 2],
]


def made_up(op, call):
    """The call with other shapes, for operators that take any."""
    out = []
    for shape in SHAPES:
        if not call.tensors:
            break
        tensors = [Tensor(t.dtype, shape(i)) for i, t in enumerate(call.tensors)]
        trial = call.with_tensors(tensors)
        if accepted(op, trial):
            out.append(trial)
    return out


def kind_of(v):
    """Of an argument: calls that differ in no kind lie alike."""
    return v if not isinstance(v, dict) or "b" in v or "s" in v or "mf" in v else list(v)[0]


class Pool:
    """Cases by operator, and which operators take the same arguments."""

    def __init__(self, data, table):
        self.table, self.cases = table, read_cases(data)
        self.same = {}
        for name in self.cases:
            if name in table:
                self.same.setdefault(table[name].signature(), []).append(name)

    def sources(self, op):
        if op.name in self.cases:
            return [op.name]
        base = [n for n in self.cases if n in self.table and n.partition(".")[0].strip("_") == op.base.strip("_")]
        near = sorted(self.same.get(op.signature(), []),
                      key=lambda n: -difflib.SequenceMatcher(None, n.strip("_"), op.name.strip("_")).ratio())
        return [n for n in base if n in near] + near[:4] + base

    def calls(self, op, most):
        out = [call_of(op, self.table[n], case, raw, most) for n in self.sources(op) for case, raw in self.cases[n][:40]]
        return [c for c in out if c]


def chosen(op, calls):
    """Calls that PyTorch takes, of different kinds, those with most dimensions first."""
    found, kinds = [], set()
    calls.sort(key=lambda c: (-min(len(c.tensors[0].sizes), 5) if c.tensors else 0, sum(numel(t.sizes) for t in c.tensors)))
    for c in calls:
        kind = json.dumps([[len(t.sizes) for t in c.tensors], [kind_of(v) for v in c.args]])
        if kind in kinds or len(found) >= CALLS:
            continue
        simple = plain_pattern(c)
        c = simple if accepted(op, simple) else c
        if accepted(op, c):
            kinds.add(kind)
            found.append(c)
    return found


def base_calls(op, pool, invent):
    found = chosen(op, pool.calls(op, MOST)) or chosen(op, pool.calls(op, 10 * MOST)) or chosen(op, own_calls(op))
    extra = made_up(op, found[0]) if found and invent else []
    seen = {c.key() for c in found}
    return found + [c for c in extra if c.key() not in seen]


# Operators whose arguments no case has; an out form takes those of its functional form.
OWN_CALLS = {
    "detach_": [Call([{"T": 0}], [Tensor(torch.float32, [2, 3])])],
    "isin.Tensor_Scalar": [Call([{"T": 0}, {"i": 1}, {"b": False}, {"b": False}], [Tensor(torch.int64, [2, 3, 4])])],
    "isin.Scalar_Tensor": [Call([{"i": 1}, {"T": 0}, {"b": False}, {"b": False}], [Tensor(torch.int64, [2, 3, 4])])],
    "argsort.stable": [Call([{"T": 0}, {"b": True}, {"i": 1}, {"b": False}], [Tensor(torch.float32, [2, 3, 4])])],
    "where.Scalar": [Call([{"T": 0}, {"f": 1.5}, {"f": 2.5}], [Tensor(torch.bool, [2, 3, 4])])],
    "empty.memory_format": [Call([{"l": [{"i": 2}, {"i": 3}]}, None, None, None, None, None], [])],
    "quantile.scalar": [Call([{"T": 0}, {"f": 0.3}, {"i": 1}, {"b": True}, {"s": "linear"}], [Tensor(torch.float32, [2, 3, 4])])],
    "nanquantile.scalar": [Call([{"T": 0}, {"f": 0.3}, {"i": 1}, {"b": False}, {"s": "linear"}], [Tensor(torch.float32, [2, 3, 4])])],
    "trapezoid.dx": [Call([{"T": 0}, {"f": 0.5}, {"i": 1}], [Tensor(torch.float32, [2, 3, 4])])],
    "trapz.dx": [Call([{"T": 0}, {"f": 0.5}, {"i": 1}], [Tensor(torch.float32, [2, 3, 4])])],
    "cumulative_trapezoid.dx": [Call([{"T": 0}, {"f": 0.5}, {"i": 1}], [Tensor(torch.float32, [2, 3, 4])])],
    "tensordot": [Call([{"T": 0}, {"T": 1}, {"l": [{"i": 1}]}, {"l": [{"i": 0}]}],
                       [Tensor(torch.float32, [2, 3, 4]), Tensor(torch.float32, [3, 5])])],
    "pad_sequence": [Call([{"TL": [0, 1]}, {"b": first}, {"f": 0.5}, {"s": side}],
                          [Tensor(torch.float32, [2, 3]), Tensor(torch.float32, [4, 3])])
                     for first, side in ((False, "right"), (True, "left"))],
    "fill_diagonal_": [Call([{"T": 0}, {"f": 1.5}, {"b": wrap}], [Tensor(torch.float32, sizes)])
                       for wrap in (False, True) for sizes in ([3, 4], [7, 3], [3, 3, 3])],
    "isreal": [Call([{"T": 0}], [Tensor(torch.float32, [2, 3])])],
    "is_pinned": [Call([{"T": 0}, None], [Tensor(torch.float32, [2, 3])])],
    "is_vulkan_available": [Call([], [])],
    "bucketize.Scalar": [Call([{"f": 0.5}, {"T": 0}, {"b": False}, {"b": True}], [Tensor(torch.float32, [4], [-1.0, 0.0, 0.5, 2.0])])],
    "searchsorted.Scalar": [Call([{"T": 0}, {"f": 0.5}, {"b": False}, {"b": False}, None, None],
                                 [Tensor(torch.float32, [4], [-1.0, 0.0, 0.5, 2.0])])],
    "range.out": [Call([{"i": 1}, {"i": 6}, {"i": 2}, "out"], [])],
    "empty.out": [Call([{"l": [{"i": 2}, {"i": 3}]}, None, "out"], [])],
    "fake_quantize_per_tensor_affine": [
        Call([{"T": 0}, {"f": 0.1}, {"i": 3}, {"i": -8}, {"i": 7}], [Tensor(torch.float32, [2, 3, 4])])],
    "fake_quantize_per_tensor_affine.tensor_qparams": [
        Call([{"T": 0}, {"T": 1}, {"T": 2}, {"i": -8}, {"i": 7}],
             [Tensor(torch.float32, [2, 3]), Tensor(torch.float32, [1], [.1]), Tensor(torch.int32, [1], [3])])],
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": [
        Call([{"T": 0}, {"T": 1}, {"T": 2}, {"T": 3}, {"i": -8}, {"i": 7}],
             [Tensor(torch.float32, [2, 3]), Tensor(torch.float32, [1], [.1]), Tensor(torch.int32, [1], [3]),
              Tensor(torch.int64, [1], [enabled])]) for enabled in (0, 1)],
    "fake_quantize_per_tensor_affine_cachemask_backward": [
        Call([{"T": 0}, {"T": 1}], [Tensor(torch.float32, [2, 3]), Tensor(torch.bool, [2, 3])])],
    "fake_quantize_per_channel_affine": [
        Call([{"T": 0}, {"T": 1}, {"T": 2}, {"i": 1}, {"i": -8}, {"i": 7}],
             [Tensor(torch.float32, [2, 3]), Tensor(torch.float32, [3], [.1, .2, .3]), Tensor(torch.int32, [3], [3, 0, -2])])],
    "fake_quantize_per_channel_affine_cachemask_backward": [
        Call([{"T": 0}, {"T": 1}], [Tensor(torch.float32, [2, 3]), Tensor(torch.bool, [2, 3])])],
    "_chunk_cat": [Call([{"TL": [0, 1]}, {"i": 0}, {"i": 2}], [Tensor(torch.float32, [2, 3]), Tensor(torch.float32, [4, 3])])],
}
OWN_CALLS["fake_quantize_per_channel_affine_cachemask"] = OWN_CALLS["fake_quantize_per_channel_affine"]


def own_calls(op):
    base, _, overload = op.name.partition(".")
    kind = re.sub("_?out$", "", overload)
    calls = OWN_CALLS.get(base + "." * (kind != "") + kind, []) if op.outs else []
    return OWN_CALLS.get(op.name) or [Call(c.args + ["out"] * len(op.outs), c.tensors) for c in calls]


def variants(op, call):
    """The call with its tensors in other layouts."""
    n, hows = len(call.tensors), ["row", "reversed", "rotated", "last", "cut", "cut_reversed", "expanded", "expanded_last", "odd"]
    rows = [[h] * n for h in hows]
    if n > 1:
        rows += [["reversed"] + ["row"] * (n - 1), ["row"] + ["reversed"] * (n - 1), ["last"] + ["row"] * (n - 1),
                 ["row"] + ["last"] * (n - 1), ["reversed"] + ["rotated"] * (n - 1), ["expanded"] + ["reversed"] * (n - 1),
                 ["row"] + ["expanded_last"] * (n - 1), ["row"] * (n - 1) + ["reversed"]]
    if op.outs:
        rows = [r for r in rows if set(r) <= {"row"} or len(set(r)) == 1 and r[0] in ("reversed", "last")]
    elif op.writes:
        rows = [r for r in rows if len(set(r)) <= 1 and set(r) <= {"row", "reversed", "expanded", "cut"}]
    seen = set()
    for row in rows:
        c = call.with_tensors([layout(t, h) for t, h in zip(call.tensors, row)])
        if c.key() not in seen:
            seen.add(c.key())
            yield c


def lines_of(op, pool, invent):
    calls = base_calls(op, pool, invent)
    if op.writes:
        calls = calls[:2]
    for base in calls:
        for laid in variants(op, base):
            for call in out_calls(op, laid) if op.outs else [laid]:
                plain = outcome(op, call, False)
                if plain is None or isinstance(plain, list) and len(plain) > LENGTH:
                    continue
                if plain == "refused" and all(t.plain() for t in call.tensors):
                    continue
                line = {"op": op.name, "a": call.args, "t": [t.line() for t in call.tensors], "o": plain}
                grads = outcome(op, call, True) if not op.outs else plain
                if grads is None or grads == "refused" != plain:
                    line["g"] = 0
                elif grads != plain:
                    line["g"] = grads
                yield json.dumps(line, separators=(",", ":"))


# ---- each operator in a process of its own: internal operators may crash on arguments that nobody gives them ----

def write_lines(fd, lines):
    with os.fdopen(fd, "w") as f:
        for line in lines:
            f.write(line + "\n")
            f.flush()


def in_child(op, pool, invent=True):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write_lines(w, lines_of(op, pool, invent))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(w)
    with os.fdopen(r) as f:
        lines = f.read().split("\n")[:-1]
    return lines, os.waitpid(pid, 0)[1]


def main():
    lazuli, data, out, *only = sys.argv[1:]
    text = subprocess.run([lazuli, "ops", "--json"], capture_output=True, text=True, check=True).stdout
    ops = [Op(e) for e in json.loads(text)]
    pool = Pool(data, {o.name: o for o in ops})
    count, silent = 0, []
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        for op in ops:
            if op.fn is None or only and op.name not in only:
                if not only:
                    silent.append(op.name + " (not PyTorch's)")
                continue
            lines, status = in_child(op, pool)
            if status:
                lines, status = in_child(op, pool, False)
            if status:
                print("%s: PyTorch ended with status %d after %d calls" % (op.name, status, len(lines)))
            if not lines:
                silent.append(op.name)
            for line in lines:
                f.write(line.encode() + b"\n")
            count += len(lines)
    print("%d calls; nothing for %d operators: %s" % (count, len(silent), " ".join(silent)))


if __name__ == "__main__":
    main()
