"""Random programs for PyTorch and Lazuli at once; whatever differs is reduced and written down.

    fuzz.py LAZULI DRIVER DATA [--seconds 60] [--seed 1] [--known FILE] [--out FILE.jsonl] [--record FILE.jsonl] [OPERATOR...]

LAZULI is the command, whose table (`lazuli ops --json`) says which operators there are; DRIVER is build/test/fuzz_driver,
which runs statements (fuzz_driver.c says what a statement is); DATA is the folder test/data, whose recorded operator
cases give arguments that make sense. A program mixes views, in-place writes, out=, gradients, ten dtypes, NaN and
tensors without elements. After each statement dtype, sizes, strides, offset, aliasing and requires_grad of the results are
compared, at the end all values and gradients, and always who refuses. PyTorch also runs each program in float64: where
that differs, or where rounding the arguments in another way changes a result, the values depend on rounding and are not
compared. A program may make PyTorch crash, so they run in a child.

KNOWN lists differences that stay, a line each: kind, operator ("A after B": A in a program that also calls B), a piece of
the description ("" for any), reason. OUT gets one line for each other difference: a program that `fuzz_driver OUT` replays. The status is 1 if there were any.
RECORD gets programs without a difference in the same form, four for each operator: tests that need no PyTorch."""
import argparse
import collections
import json
import math
import mmap
import os
import pickle
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings

try:
    import torch
except ImportError:
    print("skipped: this Python has no torch")
    sys.exit(77)

from record_layouts import ABBR, DTYPES, MOST, Op, Pool, Tensor, flatten, layout, numel, own_calls, storage

warnings.simplefilter("ignore")
torch.set_num_threads(1)
TWIN = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}
CLOSE = {torch.float64: (1e-11, 1e-9), torch.float32: (2e-5, 2e-4), torch.float16: (3e-3, 1e-2), torch.bfloat16: (2e-2, 6e-2)}
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ZeroDivisionError, OverflowError)
LIVE = 30               # variables of a program
EACH, LONGEST = 4, 24   # recorded programs of an operator, and their statements
SCALAR_TYPES = {0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 11: "bool", 15: "bf16"}  # PyTorch's
PATIENCE = 60           # seconds for one answer
MEMORY = 6 << 30        # bytes that PyTorch may take


# ---- which operators ----

# Values that nobody defines, of which all but the values is compared: memory that nobody has written, vectors whose sign or
# basis is free. Random draws are known by their tag.
UNDEFINED = re.compile(r"^_?philox|empty|resize|svd$|eigh$|^linalg_eig$|_sobol|^_?histogramdd_bin_edges$")
# Arguments without which a random operator draws nothing.
CERTAIN = {"train": {"b": False}, "training": {"b": False}, "p": {"f": 0.0}, "dropout": {"f": 0.0}, "dropout_p": {"f": 0.0}}
# Gets recorded arguments only: what PyTorch's own operators call with arguments that fit, while others may crash it, and where
# PyTorch takes as many steps as an argument says, of 1e18 too.
EXACT = re.compile(r"^_(?!_)|backward|^sym_|_forward$|^native_|_unsafe|unsafe_|^lift|segment_reduce|_jvp$"
                   r"|(laguerre|legendre)_polynomial|^linalg_ldl|^ormqr|^lu_|^cholesky_(solve|inverse)|^embedding_bag|^fractional"
                   r"|packed|^(lstm|gru|rnn_)|^fake_quantize|^multinomial|^slow_conv|^thnn_conv|^conv_depthwise|jvp$|^lu_unpack")
# Of these, what a user may call: in any layout. The kernels of the others count on row-major arguments.
ANY_LAYOUT = re.compile(r"polynomial|^linalg_ldl|^ormqr|^lu_|^cholesky_(solve|inverse)|^fractional.*[23]d$|\.input$|^fake_quantize.*affine$"
                        r"|^multinomial|^slow_conv(?!.*ward)|^_foreach_(?!.*\.Tensor)")
# The order of equal elements, and where a NaN goes, is not defined.
TIES = re.compile(r"^_?(sort|argsort|topk|kthvalue|median|nanmedian|mode|msort|unique)")
# Where infinities meet in an order that nobody promises: a mean that is updated, a scale and a shift computed in advance,
# products in the cheapest order, a neighbour whose weight is 0 or a rounding error, zeros between elements.
INFINITE = re.compile(r"^(std|var)(_mean)?$|^(batch|instance|group|layer)_norm$|^chain_matmul$|^linalg_multi_dot$|^conv_transpose"
                      r"|upsample_(bi|tri)?(linear|cubic)|^bilinear$|^_trilinear$|linalg_|^svd$|^pinverse$|^nuclear_norm$"
                      r"|^(lu|chol|qr|geq|orm|orgqr)|^matrix_power$")
# What these write without saying so: running statistics.
HIDDEN = {"batch_norm": (3, 4), "instance_norm": (3, 4), "native_batch_norm": (3, 4), "_batch_norm_impl_index": (3, 4)}
# PyTorch lacks a kernel, or its own checks fail: says nothing about the operator.
NO_KERNEL = re.compile(r"not implemented for|not implemented yet|INTERNAL ASSERT|not currently implemented|is not supported on"
                       r"|unsupported dtype|Unsupported dtype|does not support automatic differentiation|not supported for (half|bf)"
                       r"|only (be )?(support|implement)|\"[a-z_]+\" not|mkldnn|MKL|could not create a primitive"
                       r"|is being modified inplace|derivative for|Unsupported TypeMeta|does not have a deterministic|functorch|vmap|can't allocate memory")


def operators(lazuli, data, only):
    """The table, those of its operators that are drawn, with calls that make sense, and why the others are not."""
    text = subprocess.run([lazuli, "ops", "--json"], capture_output=True, text=True, check=True).stdout
    table = {}
    for entry in json.loads(text):
        op = Op(entry)
        returns = entry["schema"].rsplit("->", 1)[1]
        op.fresh = "Tensor" in returns and "!" not in returns
        op.random = op.fn is not None and torch.Tag.nondeterministic_seeded in op.fn.tags
        op.view = "(a" in entry["schema"] and not op.writes
        op.inplace = op.writes and not op.outs
        op.elementwise = op.fn is not None and torch.Tag.pointwise in op.fn.tags and not op.outs
        table[op.name] = op

    pool, chosen, why = Pool(data, table), [], {}
    for op in table.values():
        if only and op.name not in only:
            continue
        op.calls = [] if op.fn is None or "prim_" in op.name else pool.calls(op, MOST) or pool.calls(op, 10 * MOST) or own_calls(op)
        if op.calls:
            chosen.append(op)
        else:
            why[op.name] = "not PyTorch's" if op.fn is None else "only TorchScript's" if "prim_" in op.name else "no recorded call"
    return table, chosen, why


# ---- the driver ----

class Died(Exception):
    pass


def limit_memory(most):
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))


class Driver:
    def __init__(self, program):
        self.program, self.process = program, None

    def ask(self, statement):
        if self.process is None:
            env = dict(os.environ, LAZULI_LOG="")
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                                            preexec_fn=lambda: limit_memory(resource.RLIM_INFINITY))
        try:
            self.process.stdin.write(json.dumps(statement).encode() + b"\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                self.process.kill()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            status = self.process.wait()
            self.process = None
            raise Died("the driver ended with status %s" % status)
        return json.loads(line)


# ---- values ----

def plain_number(x):
    return x if not isinstance(x, float) or math.isfinite(x) else "nan" if x != x else "inf" if x > 0 else "-inf"


def python_number(x):
    return float(x) if isinstance(x, str) else x


def numbers(t):
    flat = t.detach().reshape(-1)
    try:
        return [plain_number(x) for x in (flat.to(torch.int64) if t.dtype == torch.bool else flat).tolist()]
    except RuntimeError:  # a gradient of PyTorch's without memory
        raise Stop


def decode(v, env, twin):
    """An argument in PyTorch's form."""
    if v is None:
        return None
    (k, x), = v.items()
    if k == "T":
        return env[x]
    if k == "TL":
        return [None if i is None else env[i] for i in x]
    if k == "l":
        return [decode(i, env, twin) for i in x]
    if k == "f":
        return float(x)
    if k == "dt":
        return TWIN.get(DTYPES[x], DTYPES[x]) if twin else DTYPES[x]
    return {"dev": torch.device("cpu"), "lay": torch.strided}.get(k) or (getattr(torch, x) if k == "mf" else x)


def used(v):
    if not isinstance(v, dict):
        return []
    return [v["T"]] if "T" in v else [i for i in v["TL"] if i is not None] if "TL" in v else []


def addresses(t):
    at = torch.tensor(t.storage_offset())
    for d, (n, s) in enumerate(zip(t.shape, t.stride())):
        at = at + (torch.arange(n) * s).reshape([-1 if i == d else 1 for i in range(t.dim())])
    return at


def refusal(call):
    """The first line of PyTorch's refusal; None if it took the call."""
    try:
        call()
        return None
    except REFUSALS as e:
        return str(e).split("\n")[0][:200]


def close(got, want, rel):
    if got.shape != want.shape:
        return False
    if not want.is_floating_point():
        return torch.equal(got, want)
    return torch.allclose(got.double(), want.double(), rtol=rel, atol=rel * .2, equal_nan=True)


def plain_result(r):
    """A result that is no tensor, as the driver writes it."""
    return ABBR.get(r, str(r)) if isinstance(r, torch.dtype) else plain_number(int(r) if isinstance(r, bool) else r)


def facts(t):
    return [ABBR[t.dtype], list(t.shape), list(t.stride()), t.storage_offset(), t.requires_grad]


# ---- running a program on both sides ----

LAST_CALL = mmap.mmap(-1, 128)  # shared with the parent: the operator that PyTorch was called with last

class Stop(Exception):
    """Nothing more can be said of this program."""


class Found(Exception):
    def __init__(self, kind, op, text):
        self.kind, self.op, self.text = kind, op, text

    def key(self):
        return self.kind, self.op, re.sub(r"\d+", "#", self.text)[:80]


class Run:
    """The state of one program. A statement that PyTorch has nothing to say to is left out of `done`."""

    def __init__(self, driver, table, counts):
        self.driver, self.table, self.counts = driver, table, counts
        self.live, self.twin, self.leaves, self.done = {}, {}, [], []
        self.computed = set()       # storages that an operator wrote to
        self.rough = torch.float64  # the least exact dtype so far: f64 values may come from it

    def note(self, statement, want=None):
        self.done.append(dict(statement, want=want) if want is not None else dict(statement))

    def execute(self, s):
        getattr(self, "do_" + s["do"])({k: v for k, v in s.items() if k != "want"})

    def plain(self, s):
        self.note(s)
        a = self.driver.ask(s)
        if "error" in a:
            raise Found("refused", s["do"], a["error"])

    def do_open(self, s):
        self.plain(s)

    def do_step(self, s):
        self.plain(s)

    def do_release(self, s):
        if s["id"] in self.live:
            del self.live[s["id"]], self.twin[s["id"]]
            self.plain(s)

    def roughen(self, dtype):
        if dtype.is_floating_point and CLOSE[dtype] > CLOSE[self.rough]:
            self.rough = dtype

    def do_input(self, s):
        d = DTYPES[s["dt"]]
        self.roughen(d)
        t = torch.tensor([python_number(x) for x in s["v"]], dtype=torch.float64 if d.is_floating_point else torch.int64)
        t = t.to(d).reshape(s["sizes"]).clone()
        twin = t.to(TWIN.get(d, d), copy=True)
        if s["grad"]:
            t.requires_grad_()
            twin.requires_grad_()
            self.leaves.append((s["id"], t, twin))
        self.live[s["id"]], self.twin[s["id"]] = t, twin
        self.plain(s)

    # calls

    def overlap(self, op, s):
        """Does the call write an element twice, or one that it also reads from another place?"""
        reads = [self.live[i] for a, v in zip(op.args, s["a"]) if not a.write for i in used(v)]
        written = [self.live[i] for a, v in zip(op.args, s["a"]) if a.write for i in used(v)]
        if len({storage(t) for t in written}) < len(written):
            return True
        for t in written:
            at = addresses(t)
            if len(torch.unique(at)) < at.numel():
                return True
            for r in reads:
                if r.numel() and t.numel() and storage(r) == storage(t):
                    from_ = addresses(r)
                    same = from_.shape == at.shape and torch.equal(from_, at) and op.elementwise
                    if not same and torch.isin(from_, at).any():
                        return True
        return False

    def resized_over(self, op, s, before):
        """Was a tensor resized whose storage the call also reads? PyTorch may have read what it had written."""
        reads = [storage(self.live[i]) for a, v in zip(op.args, s["a"]) if not a.write for i in used(v)]
        return any(t.shape != b.shape and storage(t) in reads for t, b in before)

    def invoke(self, op, s, env, twin):
        LAST_CALL[:] = op.name.encode()[:128].ljust(128)
        args = [decode(v, env, twin) for v in s["a"]]
        signal.alarm(PATIENCE)  # ends the child: PyTorch may take as many steps as an argument says
        try:
            with torch.set_grad_enabled(s["grad"]):
                r = op.fn(*[a for a, x in zip(args, op.args) if not x.keyword],
                          **{x.name: a for a, x in zip(args, op.args) if x.keyword})
        finally:
            signal.alarm(0)
        return [] if r is None and op.writes else flatten(r)

    def certain(self, op, s):
        """Has the call a defined result?"""
        if not op.random:
            return not UNDEFINED.search(op.base)
        return any(CERTAIN.get(a.name) == v for a, v in zip(op.args, s["a"]) if v is not None)

    def describable(self, results):
        results = [r for r in results if isinstance(r, torch.Tensor)]
        if any(r.layout != torch.strided or r.dtype not in ABBR or r.is_quantized or r.numel() > 50000 or r.dim() > 12 for r in results):
            return False
        return not any(min(r.shape, default=0) < 0 for r in results)  # as_strided lets PyTorch have a negative size

    def comparable(self, op, s, before, results, twins):
        if len(results) != len(twins) or len(results) > 100 or not self.describable(results):
            return False
        if not self.certain(op, s):
            return True
        if any(plain_result(r) != plain_result(t) for r, t in zip(results, twins) if not isinstance(r, (float, torch.Tensor, torch.dtype))):
            return False
        results, twins = ([r for r in x if isinstance(r, torch.Tensor)] for x in (results, twins))
        inputs = [self.live[i].detach() for v in s["a"] for i in used(v)]
        floats = [t.double().abs().max().item() for t in inputs if t.is_floating_point() and t.numel()]
        if any(r.dtype not in TWIN and r.dtype not in (torch.bool, torch.float64) for r in results) and not all(f < 100 for f in floats):
            return False  # whether a large number, a NaN or a negative one fits an integer depends on the processor
        if TIES.match(op.base) and any(len(torch.unique(t)) < t.numel() or not all(f < math.inf for f in floats) for t in inputs[:1]):
            return False
        if INFINITE.search(op.base) and any(r.is_floating_point() and not r.detach().isfinite().all() for r in results):
            return False
        if op.base.rstrip("_") in ("copysign", "signbit") and any(t.is_floating_point() and t.isnan().any() for t in inputs):
            return False  # the sign of a NaN
        if op.base.startswith("grid_sampler") and not inputs[1].isfinite().all():
            return False  # a place that is converted to an integer
        if op.base == "mse_loss" and len({t.shape for t in inputs}) > 1:
            return False  # docs/autograd.md: PyTorch's Python function expands the arguments first, its operator does not
        if op.base == "block_diag" and any(tuple(t.shape) == (0,) for t in inputs):
            return False  # PyTorch's derivative leaves out the row that such an argument has
        if op.base == "topk" and s["a"][4:5] == [{"b": False}]:
            return False  # sorted=False: the order is not defined
        return all(self.rounded_alike(r, t) for r, t in zip(results, twins)) and self.steady(op, s, before, results)

    def moved(self, t, value, sign):
        """The value of t, if an operator computed it, as another way of rounding may give it."""
        computed, t = storage(t) in self.computed, value.detach()
        exact = (t * 1024 == (t * 1024).round()) & (t.abs() * torch.finfo(t.dtype).eps < 1) if t.is_floating_point() else None
        if exact is None or not computed or exact.all():
            return t.clone()
        finite = t[t.isfinite()].abs()
        unit = (finite.max().item() if finite.numel() else 0) * 4 * torch.finfo(t.dtype).eps
        noise = torch.rand(t.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2 - 1
        return t + (noise.sign() * (1 + noise.abs()) * unit * sign).to(t.dtype)

    def steady(self, op, s, before, results):
        """Are the results about the same if the arguments are rounded in another way? floor, ne, argmax and others jump."""
        ids = sorted({i for v in s["a"] for i in used(v)})
        if op.view or op.base.startswith("as_strided") or not any(storage(self.live[i]) in self.computed for i in ids):
            return True
        old = {id(t): b for t, b in before}
        for sign in (1, -1):
            env = {i: self.moved(self.live[i], old.get(id(self.live[i]), self.live[i]), sign) for i in ids}
            try:
                again = self.invoke(op, dict(s, grad=False), env, False)
            except REFUSALS:
                return False
            again = [a for a in again if isinstance(a, torch.Tensor)]
            if any(not close(a.detach(), r.detach(), CLOSE[self.rough][1]) for a, r in zip(again, results)):
                return False
        return True

    def rounded_alike(self, t, twin):
        if twin is None or t.shape != twin.shape:
            return False
        t, twin = t.detach(), twin.detach()
        return close(t, twin if t.is_floating_point() else twin.to(t.dtype), CLOSE[self.rough][0])

    def hidden(self, op, s):
        """Statistics that the call writes: are they apart from everything else?"""
        written = [self.live[i] for k in HIDDEN.get(op.base, ()) if k < len(s["a"]) for i in used(s["a"][k])]
        others = {storage(self.live[i]) for k, v in enumerate(s["a"]) if k not in HIDDEN.get(op.base, ()) for i in used(v)}
        return written, all(storage(t) not in others and len(torch.unique(addresses(t))) == t.numel() for t in written)

    def do_call(self, s):
        op = self.table[s["op"]]
        if any(i not in self.live for v in s["a"] for i in used(v)):
            return
        undefined = op.writes and self.overlap(op, s)
        statistics, apart = self.hidden(op, s)
        if not apart:
            return
        before = [(self.live[i], self.live[i].detach().clone()) for a, v in zip(op.args, s["a"]) if a.write for i in used(v)]
        strides = [t.stride() for t, _ in before]
        try:
            results = self.invoke(op, s, self.live, False)
        except REFUSALS as e:
            if any(t.shape != b.shape or t.stride() != old or not close(t.detach(), b, 0) for (t, b), old in zip(before, strides)):
                raise Stop  # PyTorch failed half-way
            return self.refused(op, s, str(e))
        try:
            twins = None if undefined or self.resized_over(op, s, before) else self.invoke(op, s, self.twin, True)
        except REFUSALS:
            twins = None
        if not all(t.detach().isfinite().all() for t in statistics):
            raise Stop
        if twins is None or not self.comparable(op, s, before, results, twins):
            if op.writes or statistics:
                raise Stop
            return
        self.compare(op, s, results, twins)
        if not self.certain(op, s):
            self.forget(op, s, len(results))

    def forget(self, op, s, count):
        """Takes values that nobody defines out of the program."""
        for i in range(count if op.fresh or not op.writes else 0):
            self.do_release({"do": "release", "id": s["ids"][0] + i})
        for i in sorted({i for a, v in zip(op.args, s["a"]) if a.write for i in used(v)}):
            self.do_call({"do": "call", "op": "fill_.Scalar", "a": [{"T": i}, {"i": 1}], "ids": [0], "grad": False})

    def refused(self, op, s, message):
        if NO_KERNEL.search(message):
            return
        self.counts["refusals"] += 1
        self.note(s, {"error": message.split("\n")[0][:200]})
        a = self.driver.ask(s)
        if "error" not in a and "error" not in self.driver.ask({"do": "step"}):
            raise Found("taken", op.name, message.split("\n")[0][:200])
        if op.writes and "error" not in a:
            raise Stop
        for i in s["ids"]:
            self.driver.ask({"do": "release", "id": i})
        if not op.writes and op.base not in HIDDEN:
            self.done.pop()  # a refused write should have changed nothing: the program that shows that it did needs it

    def shares(self, t, own):
        return [i for i, x in sorted(self.live.items()) if i != own and x is not t and storage(x) == storage(t)]

    def compare(self, op, s, results, twins):
        s = dict(s, ids=[s["ids"][0] + k for k in range(len(results))] if op.fresh or not op.writes else [])
        reads = [self.live[i] for a, v in zip(op.args, s["a"]) if not a.write for i in used(v)]
        for d in [r.dtype for r in results if isinstance(r, torch.Tensor)]:
            self.roughen(d)
        if reads and not any(t.is_floating_point() for t in reads):
            self.roughen(torch.get_default_dtype())  # what is computed of integers, whatever the dtype of out
        tensors = [isinstance(r, torch.Tensor) for r in results]
        for i, r, t in zip(s["ids"], results, twins):
            if isinstance(r, torch.Tensor):
                self.live[i], self.twin[i] = r, t
        if not op.view:
            self.computed |= {storage(r) for r, is_tensor in zip(results, tensors) if is_tensor}
        ids = s["ids"] or [None] * len(results)
        want = [facts(r) + [self.shares(r, i)] if is_tensor else plain_result(r) for i, r, is_tensor in zip(ids, results, tensors)]
        self.note(s, {"r": want})
        self.counts["statements"] += 1
        self.counts[op.name] += 1
        a = self.driver.ask(s)
        if "error" in a:
            raise Found("refused", op.name, a["error"])
        if len(a["r"]) != len(want):
            raise Found("count", op.name, "%d results, PyTorch: %d" % (len(a["r"]), len(want)))
        names = ["dtype", "sizes", "strides", "offset", "requires_grad", "aliasing"]
        for i, got, due, is_tensor in zip(ids, a["r"], want, tensors):
            if not is_tensor:
                self.compare_plain(op, got, due)
                continue
            if got and got[4] < due[4] and not op.writes and self.constant(i):
                due[4] = got[4]
            for name, g, w in zip(names, got or [None] * 6, due):
                if g != w:
                    raise Found(name, op.name, "%s, PyTorch: %s (sizes %s)" % (g, w, due[1]))

    def constant(self, i):
        """PyTorch says that a result requires a gradient. Is that gradient zero everywhere, or does PyTorch fail to compute it? Then
        the program goes on without it."""
        r, leaves = self.live[i], [t for _, t, _ in self.leaves]
        try:
            weight = torch.rand(r.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + .5
            found = torch.autograd.grad((r * weight.to(r.dtype)).sum(), leaves, allow_unused=True, retain_graph=True)
        except REFUSALS:
            found = []
        if any(g is not None and g.any() for g in found):
            return False
        self.live[i], self.twin[i] = r.detach(), self.twin[i].detach()
        return True

    def compare_plain(self, op, got, due):
        if isinstance(got, str) and isinstance(due, int):
            due = SCALAR_TYPES.get(due)
        number = not isinstance(got, str) and isinstance(due, float) and got is not None
        if got != due and not (number and abs(got - due) <= CLOSE[self.rough][1] * (abs(due) + .2)):
            raise Found("number", op.name, "%s, PyTorch: %s" % (got, due))

    def do_read(self, s):
        if s["id"] not in self.live:
            return
        t = self.live[s["id"]]
        m = facts(t)
        self.note(s, {"m": m, "v": numbers(t)})
        self.counts["reads"] += 1
        a = self.driver.ask(s)
        last = self.maker(s["id"])
        if "error" in a:
            raise Found("unreadable", last, a["error"])
        if a["m"] != m:
            raise Found("changed", last, "%s, PyTorch: %s" % (a["m"], m))
        self.compare_values("values", last, a["v"], t)

    def maker(self, i):
        """The operator that made or last wrote a variable."""
        for s in reversed(self.done):
            if s["do"] == "call" and (i in s["ids"] or i in self.written(s)):
                return s["op"]
        return "input"

    def written(self, s):
        return {i for a, v in zip(self.table[s["op"]].args, s["a"]) if a.write for i in used(v)}

    def compare_values(self, kind, op, got, want):
        want = want.detach()
        g = torch.tensor([python_number(x) for x in got], dtype=torch.float64 if want.is_floating_point() else torch.int64)
        g = g.to(want.dtype).reshape(want.shape)
        rel = CLOSE[self.rough][1]
        if not close(g, want, rel):
            same = [close(a, b, rel) for a, b in zip(g.reshape(-1), want.reshape(-1))]
            bad = [(i, x, y) for i, (x, y) in enumerate(zip(got, numbers(want))) if not same[i]][:3]
            raise Found(kind, op, "; ".join("[%d] %s, PyTorch: %s" % b for b in bad))

    # gradients

    def do_backward(self, s):
        if s["id"] not in self.live or not self.live[s["id"]].requires_grad:
            return
        message = refusal(self.live[s["id"]].backward)
        self.note(s, {"error": message} if message else {})
        self.counts["backwards"] += 1
        a = self.driver.ask(s)
        if message and ("error" in a or NO_KERNEL.search(message)):
            raise Stop
        if message or "error" in a:
            raise Found("backward taken" if message else "backward refused", "", message or a["error"])
        if refusal(self.twin[s["id"]].backward):
            raise Stop  # in float64 an operator returned its argument where the program's made a copy

    def do_grad(self, s):
        for i, t, twin in self.leaves:
            if i == s["id"] and i in self.live:
                self.compare_grad(s, t.grad, twin.grad)

    def compare_grad(self, s, grad, twin):
        if grad is not None and (grad.layout != torch.strided or not self.rounded_alike(grad, twin)):
            return
        if grad is not None and grad.untyped_storage().nbytes() == 0 and grad.numel():
            return  # PyTorch's zeros that nobody stored
        self.note(s, {"none": True} if grad is None else {"dt": ABBR[grad.dtype], "v": numbers(grad)})
        self.counts["gradients"] += 1
        a = self.driver.ask(s)
        if "error" in a:
            raise Found("gradient", "", a["error"])
        if "none" in a and grad is not None and not grad.any():
            self.done[-1]["want"] = {"none": True}
            return
        if ("none" in a) != (grad is None):
            raise Found("gradient", "", "%s, PyTorch: %s" % tuple("none" if x else "there" for x in ("none" in a, grad is None)))
        if grad is not None:
            if a["dt"] != ABBR[grad.dtype]:
                raise Found("gradient", "", "%s, PyTorch: %s" % (a["dt"], ABBR[grad.dtype]))
            self.compare_values("gradient", "", a["v"], grad)


# ---- making programs up ----

class Maker:
    def __init__(self, run, rng, ops):
        self.run, self.rng, self.ops = run, rng, ops
        self.next = 0
        self.grad = rng.random() < .4
        self.special = rng.random() < .15
        floats = rng.choice([["f32"], ["f32"], ["f32", "f64"], ["f32", "f16", "bf16", "f64"]])
        others = rng.choice([["i64"], ["i64", "bool"], ["i64", "i32", "u8"], ["i8", "i16", "i32", "i64", "u8"]])
        self.dtypes = {"float": floats, "int": others, "bool": ["bool"]}
        self.when = rng.choice(["end", "end", "each", "some"])

    def do(self, **s):
        self.run.execute(s)

    def go(self):
        r = self.rng
        self.do(do="open", **{"async": r.random() < .2, "threads": r.choice([1, 1, 2, 3])})
        for _ in range(r.randint(1, 3)):
            self.input([r.choice([1, 2, 3, 4, 5]) for _ in range(r.choice([1, 2, 2, 3, 4]))], "float")
        for _ in range(r.randint(3, 30)):
            self.step()
            if self.when == "each" or self.when == "some" and r.random() < .15:
                self.do(do="step")
            if r.random() < .1 and self.run.live:
                self.do(do="read", id=r.choice(list(self.run.live)))
            while len(self.run.live) > LIVE:
                self.do(do="release", id=r.choice(list(self.run.live)))
        if self.grad:
            self.backward()
        for i in list(self.run.live):
            self.do(do="read", id=i)

    def new_id(self, n=1):
        self.next += n
        return self.next - n

    # tensors

    def kind_of(self, dtype):
        return "bool" if dtype == torch.bool else "float" if dtype.is_floating_point else "int"

    def values(self, dtype, n):
        r = self.rng
        if dtype == torch.bool:
            return [r.randint(0, 1) for _ in range(n)]
        if not dtype.is_floating_point:
            low, high = (0, 5) if dtype == torch.uint8 else (-9, 9)
            return [r.randint(low, high) for _ in range(n)]
        how = r.choice([lambda: r.randint(-12, 12) / 4, lambda: r.randint(-12, 12) / 4, r.random, lambda: r.gauss(0, 3)])
        v = torch.tensor([how() for _ in range(n)], dtype=torch.float64).to(dtype).tolist()
        if self.special and n and r.random() < .5:
            v[r.randrange(n)] = r.choice([math.nan, math.inf, -math.inf, -0.0, 65504.0])
        return v

    def input(self, sizes, kind, values=None, dtype=None):
        r, i = self.rng, self.new_id()
        dtype = dtype or DTYPES[r.choice(self.dtypes[kind])]
        grad = self.grad and dtype.is_floating_point and r.random() < .6
        values = self.values(dtype, numel(sizes)) if values is None else values
        self.do(do="input", id=i, dt=ABBR[dtype], sizes=list(sizes), v=[plain_number(x) for x in values], grad=grad)
        return i

    def laid_out(self, spec, as_is=False):
        """A tensor with these sizes, sometimes a view of a storage in another order, and of another dtype unless `as_is`."""
        r, kind = self.rng, self.kind_of(spec.dtype)
        if not as_is and (kind == "float" or spec.values is None):
            spec = Tensor(DTYPES[r.choice(self.dtypes[kind])] if r.random() < .8 else spec.dtype, spec.sizes)
        if r.random() < .6:
            return self.input(spec.sizes, kind, spec.values, spec.dtype)
        spec = layout(spec, r.choice(["reversed", "rotated", "last", "cut", "cut_reversed", "expanded", "odd"]))
        base = self.input([spec.room], kind, spec.values if spec.values is None or len(spec.values) == spec.room else None, spec.dtype)
        ints = lambda v: {"l": [{"i": x} for x in v]}
        i = self.new_id()
        self.do(do="call", op="as_strided", a=[{"T": base}, ints(spec.sizes), ints(spec.strides), {"i": spec.offset}], ids=[i], grad=True)
        return i if i in self.run.live else base

    def pick(self, test):
        found = [i for i, t in self.run.live.items() if test(t)]
        return self.rng.choice(found[-4:] if self.rng.random() < .5 else found) if found else None

    # arguments

    def exact(self, op, specs):
        """Variables like the tensors of a recorded call, in one floating-point dtype."""
        if self.rng.random() < .5 or not ANY_LAYOUT.search(op.name):
            if self.rng.random() < .5:
                dtype = DTYPES[self.rng.choice(self.dtypes["float"])]
                specs = [Tensor(dtype, t.sizes, t.values) if t.dtype.is_floating_point else t for t in specs]
            return [self.input(t.sizes, self.kind_of(t.dtype), t.values, t.dtype) for t in specs]
        dtype = DTYPES[self.rng.choice(self.dtypes["float"])]
        return [self.laid_out(Tensor(dtype, t.sizes) if t.dtype.is_floating_point else t, True) for t in specs]

    def tensors(self, op, call):
        """Which variables stand for the tensors of a recorded call."""
        r, specs = self.rng, call.tensors
        if EXACT.search(op.base):
            return self.exact(op, specs)
        chosen, first = [], None
        for k, spec in enumerate(specs):
            kind = self.kind_of(spec.dtype)
            sizes = list(self.run.live[first].shape) if first is not None and spec.sizes == specs[0].sizes else spec.sizes
            fits = lambda t: list(t.shape) == sizes and self.kind_of(t.dtype) == kind
            v = None
            if k == 0 and r.random() < .75:
                same_rank = r.random() < .8
                v = self.pick(lambda t: (t.dim() == len(spec.sizes) or not same_rank) and (self.kind_of(t.dtype) == kind or r.random() < .2))
            elif r.random() < .75:
                v = self.pick(fits if r.random() < .9 else lambda t: t.dim() == len(sizes))
            if v is None:
                v = self.laid_out(spec if sizes == spec.sizes else Tensor(spec.dtype, sizes))
            first = v if k == 0 else first
            chosen.append(v)
        return chosen

    def outs(self, op, args, first):
        """Variables for an argument out that is a list: as many as there are results."""
        base, _, overload = op.name.partition(".")
        functional = self.run.table.get(base + "." * (overload not in ("out", "")) + re.sub(r"_?out$", "", overload))
        count = 1
        if functional is not None and functional.fn is not None:
            plain = [v for a, v in zip(op.args, args) if not a.write]
            try:
                count = len(self.run.invoke(functional, {"a": plain, "grad": False}, self.run.live, False))
            except REFUSALS:
                pass
        shape = list(first.shape) if first is not None else [2]
        return [self.out([0] if self.rng.random() < .5 else shape) for _ in range(min(count, LIVE))]

    def out(self, sizes):
        """A new variable for an argument out: indices are integers, and some results are bools."""
        return self.input(sizes, self.rng.choice(["float", "float", "float", "int", "int", "bool"]))

    def fitted(self, op, a, v, spec, t):
        """The argument v of a recorded call, whose first tensor was `spec`, made to fit tensor t."""
        r = self.rng
        if a.kind.rstrip("?") in ("Device", "Layout", "Generator") or a.name == "pin_memory":
            return None
        if not isinstance(v, dict) or EXACT.search(op.base):
            return v
        if "l" in v and v["l"] and all("i" in x for x in v["l"]) and spec is not None and t is not None:
            n = [x["i"] for x in v["l"]]
            if sorted(n) == list(range(len(spec.sizes))):
                n = r.sample(range(t.dim()), t.dim())
            elif numel(n) == numel(spec.sizes) and "size" in a.name or a.name == "shape" and -1 in n:
                n = self.factors(t.numel())
            elif "size" in a.name and op.view and len(n) >= len(spec.sizes):
                n = [2] * r.randint(0, 1) + [k if k != 1 else r.choice([1, 2, 3, -1]) for k in t.shape]
            elif r.random() < .15:
                n[r.randrange(len(n))] += r.choice([-1, 1])
            return {"l": [{"i": x} for x in n]}
        if r.random() > .3:
            return v
        if a.kind.endswith("?") and r.random() < .2:
            return None
        if "b" in v:
            return {"b": r.random() < .5}
        if "i" in v and a.kind.rstrip("?") == "int":
            rank = t.dim() if t is not None else 2
            return {"i": r.randint(-rank - (r.random() < .1), rank) if "dim" in a.name else v["i"] + r.choice([-2, -1, 1, 2])}
        if "i" in v or "f" in v:
            x = r.choice([0, 1, -1, 2, 0.5, -0.5, 1.5, 3] + ([math.nan, math.inf] if self.special else []))
            if a.kind.rstrip("?") == "float":
                x = float(x)
            return {"f": plain_number(x)} if isinstance(x, float) else {"i": x}
        if "dt" in v:
            return {"dt": r.choice(list(DTYPES))}
        return v

    def factors(self, n):
        r, out = self.rng, []
        while n > 1 and len(out) < 4:
            k = r.choice([d for d in range(1, n + 1) if n % d == 0])
            out.append(k)
            n //= k
        out = out + [n] if n != 1 or not out else out
        r.shuffle(out)
        if 0 not in out and r.random() < .2:
            out[r.randrange(len(out))] = -1
        return out

    def step(self):
        r, k = self.rng, self.rng.random()
        some = [o for o in self.ops if (o.view if k < .25 else o.inplace if k < .42 else o.outs if k < .54 else not o.writes)]
        op = r.choice(some or self.ops)
        call = r.choice(op.calls)
        chosen = self.tensors(op, call)
        first = self.run.live.get(chosen[0]) if chosen else None
        args = []
        for a, v in zip(op.args, call.args):
            if v == "out" and a.kind != "Tensor":
                args.append({"TL": self.outs(op, args, first)})
            elif v == "out":
                i = self.pick(lambda t: first is not None and t.shape == first.shape) if r.random() < .6 else None
                sizes = [0] if r.random() < .3 else list(first.shape) if first is not None else [2]
                args.append({"T": i if i is not None else self.out(sizes)})
            elif isinstance(v, dict) and "T" in v:
                args.append({"T": chosen[v["T"]]})
            elif isinstance(v, dict) and "TL" in v:
                args.append({"TL": [None if i is None else chosen[i] for i in v["TL"]]})
            else:
                args.append(self.fitted(op, a, v, call.tensors[0] if call.tensors else None, first))
        self.do(do="call", op=op.name, a=args, ids=[self.new_id()], grad=not self.grad or r.random() > .06)
        self.next = max([self.next] + [i + 1 for i in self.run.live])  # more results have the numbers behind it

    def backward(self):
        r, terms = self.rng, []
        found = [i for i, t in self.run.live.items() if t.requires_grad and t.numel()]
        for i in r.sample(found, min(len(found), 3)):
            weight = self.input(list(self.run.live[i].shape), "float", dtype=torch.float32)
            product, total = self.new_id(), self.new_id()
            self.do(do="call", op="mul.Tensor", a=[{"T": i}, {"T": weight}], ids=[product], grad=True)
            self.do(do="call", op="sum", a=[{"T": product}, None], ids=[total], grad=True)
            terms.append(total)
        for i in terms:
            self.do(do="backward", id=i)
        for i, _, _ in list(self.run.leaves):
            self.do(do="grad", id=i)


# ---- reducing ----

def replay(driver, table, program):
    """The difference that the program shows, and the program as it ran."""
    run = Run(driver, table, collections.Counter())
    try:
        for s in program:
            run.execute(s)
    except Found as f:
        return f, run.done
    except Died as e:
        return Found("crash", "", str(e)), run.done
    except Stop:
        pass
    return None, run.done


def reduced(driver, table, program, found):
    """A shorter program that shows the same kind of difference."""
    def shows(p):
        f, done = replay(driver, table, [{"do": "open", "async": False, "threads": 1}] + p)
        return done[1:] if f and f.kind == found.kind and f.op == found.op else None
    body = [s for s in program if s["do"] != "open"]
    best = shows(body)
    if best is None:
        return program
    size = max(len(best) // 2, 1)
    while size:
        i = 0
        while i < len(best):
            shorter = shows(best[:i] + best[i + size:]) if len(best) > size else None
            if shorter is not None and len(shorter) < len(best):
                best = shorter
            else:
                i += size
        size //= 2
    return [{"do": "open", "async": False, "threads": 1}] + best


# ---- the loop ----

class Known:
    def __init__(self, path):
        self.rows = []
        if path:
            with open(path) as f:
                rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
                self.rows = [(kind, op.split(" after "), piece) for kind, op, piece, _ in rows]

    def covers(self, f, ops=()):
        """A difference that no single operator shows is known if one of the program's operators is."""
        names = [f.op] if f.op or not ops else ops
        earlier = lambda op: not op[1:] or any(re.fullmatch(op[1], name) for name in ops or [])
        return any(f.kind == kind and re.fullmatch(op[0], name) and earlier(op) and piece in f.text
                   for kind, op, piece in self.rows for name in names)


def totals(counts, table):
    ran = sum(1 for name in table if counts[name])
    return ("%d programs, %d statements of %d overloads, %d refusals, %d reads, %d gradients; %d differ, %d more are known;"
            " PyTorch crashed in %d" % (counts["programs"], counts["statements"], ran, counts["refusals"], counts["reads"],
                                        counts["gradients"], counts["found"], counts["known"], counts["crashed"]))


class Tally:
    """What was done and seen so far."""

    def __init__(self):
        self.counts, self.seen, self.listed = collections.Counter(), collections.Counter(), {}
        self.kept = collections.Counter()  # programs recorded, by operator


def record(args, program, tally):
    """Keeps a program that is short and calls an operator of which fewer than EACH programs are kept."""
    if not args.record or len(program) > LONGEST:
        return
    called = {s["op"] for s in program if s["do"] == "call"}
    if not any(wanted(name, args.operator) and tally.kept[name] < EACH for name in called):
        return
    for name in called:
        tally.kept[name] += 1
    with open(args.record, "a") as out:
        out.write(json.dumps({"name": "+".join(sorted(called)), "s": program}) + "\n")


def wanted(name, only):
    return not only or name in only or name.split(".")[0] in only


def try_program(args, setting, tally, driver, out):
    table, ops, known = setting
    rng = random.Random((args.seed << 32) + tally.counts["programs"])
    run = Run(driver, table, tally.counts)
    tally.counts["programs"] += 1
    found = None
    try:
        Maker(run, rng, ops).go()
    except Stop:
        tally.counts["stopped"] += 1
    except Died as e:
        found = Found("crash", run.done[-1].get("op", ""), str(e))
    except Found as f:
        found = f
    if found is None:
        record(args, run.done, tally)
        return
    key = found.key()
    tally.seen[key] += 1
    new = tally.seen[key] == 1
    if new:
        tally.listed[key] = known.covers(found)
    if new and not tally.listed[key]:
        program = reduced(driver, table, run.done, found)
        tally.listed[key] = known.covers(found, [s["op"] for s in program if s["do"] == "call"])
    tally.counts["known" if tally.listed[key] else "found"] += 1
    if new and not tally.listed[key]:
        print("%s %s: %s" % (found.kind, found.op, found.text[:200]), flush=True)
        why = "%s: %s" % (found.kind, found.text[:300])
        out.write(json.dumps({"name": found.op or found.kind, "why": why, "s": program}) + "\n")
        out.flush()


def in_child(args, setting, tally, end, out):
    """Programs until `end`, or until PyTorch crashes. Returns the last tally that the child sent."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            limit_memory(MEMORY)
            driver = Driver(args.driver)
            with os.fdopen(writer, "wb") as tell:
                while time.time() < end:
                    try_program(args, setting, tally, driver, out)
                    pickle.dump(tally, tell)
                    tell.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        try:
            while True:
                tally = pickle.load(told)
                if tally.counts["programs"] % 200 == 0:
                    print(totals(tally.counts, setting[0]), flush=True)
        except (EOFError, pickle.UnpicklingError):
            pass
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status > 0:
        sys.exit(2)
    if status < 0:
        last = LAST_CALL[:].decode().strip()
        print("PyTorch crashed in program %d, %s (signal %d)" % (tally.counts["programs"], last, -status), flush=True)
        tally.counts["programs"] += 1
        tally.counts["crashed"] += 1
    return tally


def fuzz(args):
    table, ops, why = operators(args.lazuli, args.data, args.operator)
    for reason in sorted(set(why.values())):
        names = [name for name in why if why[name] == reason]
        print("%d overloads are not drawn, %s: %s" % (len(names), reason, " ".join(names)))
    setting = table, ops, Known(args.known)
    tally, end = Tally(), time.time() + args.seconds
    with open(args.out or os.devnull, "w") as out:
        while time.time() < end:
            tally = in_child(args, setting, tally, end, out)
    return tally.counts, tally.seen, table, [op.name for op in ops if not tally.counts[op.name]]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("lazuli", "driver", "data"):
        p.add_argument(name)
    p.add_argument("operator", nargs="*")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--known")
    p.add_argument("--out")
    p.add_argument("--record")
    args = p.parse_args()
    counts, seen, table, silent = fuzz(args)
    print(totals(counts, table))
    print("%d overloads were drawn without a call to compare: %s" % (len(silent), " ".join(silent)))
    for (kind, op, text), n in seen.most_common():
        print("%6d %s %s: %s" % (n, kind, op, text))
    return 1 if counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
