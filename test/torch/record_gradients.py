"""Records gradients of PyTorch: first and second ones of every operator, at ordinary points, at kinks, and with arguments
that are broadcast.

    record_gradients.py LAZULI DATA OUT.jsonl.gz [OPERATOR...]

LAZULI is the command (`lazuli ops --json` lists the operators), DATA the folder test/data, whose operator cases give the
arguments. Floating-point tensors are taken in f64. One line per call:

    {"op", "args", "kwargs", "tensors": [{"dt", "shape", "data"}], "outs", "first": gradients, "second": gradients}

"outs" has 1 for each floating-point result that requires a gradient, 0 for the others. "first" has a list of numbers for each
floating-point tensor, or null where PyTorch refuses to differentiate: the gradient of a linear function of these results. "second" has
the gradient of a linear function of "first"; it is absent where PyTorch has no second derivative. `coefficients` makes the
coefficients of both functions, from the seeds 7 and 11; test/recorded_gradients.c makes the same ones. A gradient that
PyTorch does not define is recorded as zeros."""
import gc
import gzip
import itertools
import json
import os
import subprocess
import sys
import traceback

import torch
import torch.fx.experimental.symbolic_shapes  # torch.autograd.grad imports these on first use, in each child anew
import torch.nested._internal.nested_tensor

from record_layouts import MOST, Call, Op, Pool, Tensor, flatten, invoke, numel, value

CASES = 3         # calls of one operator that differ in their arguments
POINTS = 9        # points for each of them
SHAPES = 16       # broadcast shapes for each of them
NUMBERS = 12      # other values of numbers
ELEMENTS = 48     # of all floating-point tensors of a call; more only if there is no smaller call
KINKS = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0]


def coefficients(n, state):
    out = []
    for _ in range(n):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) & (2 ** 64 - 1)
        out.append((state[0] >> 11) / 2.0 ** 52 - 1)
    return torch.tensor(out, dtype=torch.float64)


# ---- calls ----

def is_float(t):
    return t.dtype.is_floating_point


def in_order(call):
    """The call with its tensors numbered in the order of the arguments, one for each place."""
    tensors = []

    def number(i):
        if i is not None:
            tensors.append(call.tensors[i])
        return None if i is None else len(tensors) - 1

    def renumber(v):
        if isinstance(v, dict) and "T" in v:
            return {"T": number(v["T"])}
        if isinstance(v, dict) and "TL" in v:
            return {"TL": [number(i) for i in v["TL"]]}
        return v

    return Call([renumber(v) for v in call.args], tensors)


def as_double(call):
    """The call in f64, with values that have few digits."""
    call, tensors = in_order(call), []
    for t in call.tensors:
        if is_float(t):
            x = t.logical().to(torch.float64).reshape(-1).tolist()
            tensors.append(Tensor(torch.float64, t.sizes, [float("%.3g" % v) for v in x]))
        else:
            tensors.append(Tensor(t.dtype, t.sizes, t.logical().reshape(-1).tolist()))
    args = [{"dt": "f64"} if v in ({"dt": "f32"}, {"dt": "f16"}, {"dt": "bf16"}) else v for v in call.args]
    return Call(args, tensors)


def filled(call, fills):
    """The call with other floating-point values: fills gives those of the k-th floating-point tensor."""
    tensors, k = [], 0
    for t in call.tensors:
        if is_float(t):
            values = fills(k, t)
            tensors.append(Tensor(t.dtype, t.sizes, [float(v) for v in values]))
            k += 1
        else:
            tensors.append(t)
    return call.with_tensors(tensors)


def cycle(values, n, start=0):
    return [values[(start + i) % len(values)] for i in range(n)]


def ordinary(k, t):
    return [((i * 37 + 11 + 29 * k) % 101) / 101.0 // 0.001 * 0.001 for i in range(numel(t.sizes))]


POINT_FILLS = [
    lambda k, t: ordinary(k, t),                                                    # between 0 and 1
    lambda k, t: [round(4 * v - 2, 3) for v in ordinary(k, t)],                     # of both signs
    lambda k, t: cycle(KINKS, numel(t.sizes), 0),                                   # equal in all tensors
    lambda k, t: cycle(KINKS, numel(t.sizes), 4 * k),                               # unequal
    lambda k, t: cycle([0.0], numel(t.sizes)),                                      # all zero
    lambda k, t: cycle([1.0], numel(t.sizes)),                                      # all one: constant rows, ties
    lambda k, t: cycle([0.0] if k else KINKS, numel(t.sizes)),
    lambda k, t: cycle(KINKS if k else [0.0], numel(t.sizes)),
    lambda k, t: cycle([0.5, 0.5, 0.0, 0.25, 0.5, 1.0], numel(t.sizes), 2 * k),     # probabilities, ties
]


def at_points(call):
    return [filled(call, f) for f in POINT_FILLS[:POINTS]]


def resized(t, sizes):
    if is_float(t):
        return Tensor(t.dtype, sizes, [0.0] * numel(sizes))
    old = t.values or [0]
    return Tensor(t.dtype, sizes, cycle(old, numel(sizes)))


def other_shapes(sizes):
    out = [[2] + sizes, [1] + sizes]
    if sizes:
        out += [[1] + sizes[1:], sizes[:-1] + [1], sizes[1:], []]
    return [s for i, s in enumerate(out) if s != sizes and s not in out[:i]]


def broadcast(op, call):
    """The call with one tensor, or two of them, of another shape. Formulas call backward operators with the shapes that they
    expect, and PyTorch does not check them."""
    n = len(call.tensors)
    if n < 2 or "_backward" in op.name:
        return
    for i in range(n):
        for s in other_shapes(call.tensors[i].sizes):
            yield call.with_tensors([resized(t, s) if k == i else t for k, t in enumerate(call.tensors)])
    for i, k in itertools.combinations(range(min(n, 3)), 2):
        a, b = call.tensors[i].sizes, call.tensors[k].sizes
        if len(a) >= 2 and a == b:
            yield call.with_tensors([resized(t, [1] + a[1:]) if j == i else resized(t, a[:-1] + [1]) if j == k else t
                                     for j, t in enumerate(call.tensors)])


def other_numbers(op, call):
    for i, (a, v) in enumerate(zip(op.args, call.args)):
        kind = a.kind.rstrip("?")
        if kind not in ("Scalar", "float") or v is not None and not ("i" in v or "f" in v):
            continue
        for x in (0.0, 1.0, 2.0, -1.0, 0.5, 3.0) + ((float("inf"),) if a.name in ("p", "ord") else ()):
            new = {"f": "inf" if x == float("inf") else x}
            if new != v:
                yield Call(call.args[:i] + [new] + call.args[i + 1:], call.tensors)
    for i, (a, v) in enumerate(zip(op.args, call.args)):
        if a.name == "reduction":
            for r in (0, 1, 2):
                if v != {"i": r}:
                    yield Call(call.args[:i] + [{"i": r}] + call.args[i + 1:], call.tensors)


def size_of(call):
    return sum(numel(t.sizes) for t in call.tensors if is_float(t))


def kind_of(op, call):
    plain = [v if not isinstance(v, dict) or "b" in v or "s" in v else list(v)[0] for v in call.args]
    return json.dumps([[len(t.sizes) for t in call.tensors], plain])


def base_calls(op, pool):
    found, kinds = [], set()
    calls = [as_double(c) for c in pool.calls(op, MOST)]
    calls = [c for c in calls if 0 < size_of(c)]
    calls.sort(key=lambda c: (size_of(c) > ELEMENTS, size_of(c) < 6, sum(t.sizes.count(1) for t in c.tensors),
                              abs(2 - len(c.tensors[0].sizes)), size_of(c)))
    for c in calls:
        kind = kind_of(op, c)
        if kind in kinds or len(found) >= CASES or found and size_of(c) > ELEMENTS:
            continue
        if outcome(op, c) is not None and not is_random(op, c):
            kinds.add(kind)
            found.append(c)
    return found


def limited(op, calls, most, seen):
    """The first calls for which PyTorch has gradients."""
    n = 0
    for c in calls:
        key = json.dumps([c.args, [t.line() for t in c.tensors]])
        if n == most or key in seen:
            continue
        seen.add(key)
        got = outcome(op, c)
        if got is not None and not is_random(op, c):
            n += 1
            yield c, got


def all_calls(op, pool):
    seen = set()
    for k, base in enumerate(base_calls(op, pool)):
        part = 4 if size_of(base) > ELEMENTS else 1 if k == 0 else 2
        yield from limited(op, [base] + at_points(base), (1 + POINTS) // part, seen)
        both = [filled(c, POINT_FILLS[i]) for c in broadcast(op, base) for i in (1, 3)]
        yield from limited(op, both, SHAPES // part, seen)
        kinks = [filled(c, POINT_FILLS[i]) for c in other_numbers(op, base) for i in (0, 3)]
        yield from limited(op, kinks, NUMBERS // part, seen)


# ---- gradients ----

# Where the target of these is broadcast, aten:: divides the gradient by the elements of the input instead of those of the
# result; torch.nn.functional broadcasts first, and its gradient is the derivative.
BROADCAST_FIRST = ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")


def results_of(op, call, tensors):
    args = [value(v, tensors) for v in call.args]
    if op.name in BROADCAST_FIRST:
        args[:2] = torch.broadcast_tensors(*args[:2])
    pos = [a for a, s in zip(args, op.args) if not s.keyword]
    named = {s.name: a for a, s in zip(args, op.args) if s.keyword}
    return flatten(op.fn(*pos, **named))


def is_random(op, call):
    got = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        refused, results, _ = invoke(op, call, False)
        got.append(None if refused else [r for r in results if isinstance(r, torch.Tensor)])
    return got[0] is not None and not all(torch.equal(torch.nan_to_num(a.double()), torch.nan_to_num(b.double()))
                                          for a, b in zip(*got))


def gradients(pairs, leaves, create):
    wanted = [x for x in leaves if x.requires_grad]
    got = torch.autograd.grad([y for y, _ in pairs], wanted, [w for _, w in pairs], allow_unused=True, create_graph=create)
    found = iter(torch.zeros_like(x) if g is None else g + torch.zeros(g.shape, dtype=g.dtype) for x, g in zip(wanted, got))
    return [next(found) if x.requires_grad else None for x in leaves]


def linear(values, sizes, seed):
    """Values that require gradients, with their coefficients."""
    state, pairs, which = [seed], [], []
    for v, n in zip(values, sizes):
        w = coefficients(n, state)
        which.append(v is not None and v.requires_grad)
        if which[-1]:
            pairs.append((v, w.reshape(v.shape)))
    return pairs, which


REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ZeroDivisionError)


def differentiate(op, call, wanted):
    """(which results have gradients, first gradients, second gradients or None), None if there is nothing to record."""
    tensors = [t.make(False) for t in call.tensors]
    leaves = [t for t in tensors if t.dtype == torch.float64]
    sizes = [t.numel() for t in leaves]
    for i, t in enumerate(leaves):
        t.requires_grad_(wanted[i])
    results = [r for r in results_of(op, call, tensors) if isinstance(r, torch.Tensor) and r.is_floating_point()]
    if any(r.dtype != torch.float64 or r.numel() > 4096 for r in results):
        return None
    pairs, which = linear(results, [r.numel() for r in results], 7)
    if not pairs:
        return None
    first = gradients(pairs, leaves, True)
    try:
        pairs, _ = linear(first, sizes, 11)
        second = gradients(pairs, leaves, False) if pairs else [None if g is None else torch.zeros_like(g) for g in first]
    except REFUSALS:
        second = None
    return which, first, second


def choices(n):
    """Which of n tensors require gradients: all, all but one, one."""
    out = [[True] * n] + [[k != i for k in range(n)] for i in range(n)] + [[k == i for k in range(n)] for i in range(n)]
    return [w for w in out if any(w)]


def outcome(op, call):
    n = sum(is_float(t) for t in call.tensors)
    for wanted in choices(n) if n <= 8 else [[True] * n]:
        try:
            return differentiate(op, call, wanted)
        except REFUSALS as e:
            if "differentiable" not in str(e) and "derivative" not in str(e):
                return None
    return None


def numbers(t):
    return [float("%.9g" % v) if v == v and abs(v) != float("inf") else str(v) for v in t.reshape(-1).tolist()]


def line_of(op, call, got):
    which, first, second = got
    tensors = []
    for t in call.tensors:
        dtype, sizes, _, _, _, data = t.line()
        tensors.append({"dt": dtype, "shape": sizes, "data": data})
    line = {"op": op.name, "args": call.args, "kwargs": {}, "tensors": tensors, "outs": [int(w) for w in which],
            "first": [g if g is None else numbers(g) for g in first]}
    if second is not None:
        line["second"] = [g if g is None else numbers(g) for g in second]
    return json.dumps(line, separators=(",", ":"))


def lines_of(op, pool):
    for call, got in all_calls(op, pool):
        yield line_of(op, call, got)


# ---- each operator in a process of its own, as in record_layouts.py ----

def in_child(op, pool):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(w, "w") as f:
                for line in lines_of(op, pool):
                    f.write(line + "\n")
                    f.flush()
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
    gc.freeze()  # children leave the pages of the cases alone
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        for op in ops:
            if op.fn is None or op.writes or only and op.name not in only:
                continue
            lines, status = in_child(op, pool)
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
