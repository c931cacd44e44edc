"""Random TorchScript programs with views, writes, in-place shape changes, loops and branches, against PyTorch.

    view_programs.py LAZULI [--count N] [--seed S] [--keep DIR] [--show I]

Each program is a Python function. PyTorch runs it three times: as Python, as a scripted function, and from the text of
its graph (torch._C.parse_ir); where these disagree PyTorch has no answer, and the program is left out and counted. So is
a program that writes to elements which it reads at other places in the same call, or which lie at one address: what
PyTorch gives then depends on the order in which it walks. Then `LAZULI test graphs` runs all texts, and some of them again as passes print them. A program that PyTorch refuses must be
refused. A program that differs is reduced to fewer lines and printed.
Exit status: 0 all equal, 1 a difference, 77 no torch."""
import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    print("test-torch: view programs skipped, this Python has no torch (choose another with PYTHON=...)")
    sys.exit(77)

import texts
import values

warnings.simplefilter("ignore")

HEAD = "def f(x: Tensor, y: Tensor, z: Tensor, n: int, b: bool):"
PASSES = ["constprop", "cse", "dce", "peephole,constprop,peephole,cse,dce"]

# Numbers are compared with fractions that no program computes: after a norm the answer would depend on rounding.
# New tensors of the same sizes; {0} and {1} have equal sizes.
FRESH = ["{0} + {1}", "{0} * 2", "{0} - {1} * 0.5", "{0}.relu()", "{0}.clone()", "{0}.contiguous()", "{0}.neg()", "torch.zeros_like({0})",
         "{0}.to(torch.int64)", "{0}.to(torch.float32)", "torch.where({0} > {1}, {0}, {1})", "{0}.flip(0)", "{0}.cumsum(0)", "{0}.abs() + n",
         "torch.maximum({0}, {1})", "{0}.clamp(-3, 3)", "torch.ones_like({0}) + {1}", "{0}.masked_fill({0} > 1.3, 7)", "{0}.detach()", "{0}.roll(1, 0)"]
# Writes that any sizes allow.
WRITE = ["{0}.add_(1)", "{0}.mul_(-1)", "{0}.zero_()", "{0}.fill_(n)", "{0}.clamp_(-2, 2)", "{0}.relu_()", "{0}.neg_()", "{0}.sub_(n)", "{0}.abs_()",
         "{0}.masked_fill_({0} > 2.3, 5)", "{0}.add_({0})", "{0}.copy_({0})", "{0}.add_({0}.sum())", "{0}.mul_({0} > 0.3)"]
# Writes with a tensor of the same sizes.
WRITE_WITH = ["{0}.add_({1})", "{0}.copy_({1})", "{0}.sub_({1}, alpha=2)", "{0}.mul_({1})", "{0}.masked_fill_({1} > 0.3, -4)", "{0}.addcmul_({1}, {1})",
              "torch.add({1}, 1, out={0})", "torch.maximum({0}, {1}, out={0})", "torch.neg({1}, out={0})"]
# In-place shape changes of tensors whose sizes nobody counts on afterwards.
RESHAPE = ["{0}.t_()", "{0}.transpose_(0, -1)", "{0}.squeeze_()", "{0}.unsqueeze_(0)", "{0}.unsqueeze_(-1)", "{0}.swapaxes_(0, -1)", "{0}.squeeze_(0)"]


def row_major(sizes):
    strides, run = [], 1
    for size in reversed(sizes):
        strides.insert(0, run)
        run *= max(size, 1)
    return strides


class Writer:
    """Lines of a program. A name's sizes are known, or None where a loop or branch may have changed them."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.sizes = {"x": (2, 3), "y": (3, 4), "z": (2, 1, 3)}
        self.lists = []
        self.same = {}  # names that may be one tensor: contiguous and to may return what they are given

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def new(self, prefix="t"):
        self.count += 1
        return f"{prefix}{self.count}"

    def any(self):
        return self.rng.choice(list(self.sizes))

    def known(self):
        return self.rng.choice([k for k, s in self.sizes.items() if s is not None] or ["x"])

    def like(self, name):
        return self.rng.choice([k for k, s in self.sizes.items() if s == self.sizes[name]])

    def define(self, depth, text, sizes):
        name = self.new()
        self.put(depth, f"{name} = {text}")
        self.sizes[name] = sizes

    def fresh(self, depth):
        a = self.known()
        if self.sizes[a] is None:
            return self.write(depth)
        form = self.rng.choice(FRESH)
        if not self.sizes[a] and any(w in form for w in ("flip", "cumsum", "roll")):
            form = "{0} + {1}"
        self.define(depth, form.format(a, self.like(a)), self.sizes[a])
        if "contiguous" in form or ".to(" in form:
            self.same[f"t{self.count}"] = self.root(a)

    def root(self, name):
        return self.same.get(name, name)

    def resize(self, name, sizes):
        """After an in-place shape change: whether other names are the same tensor is not known."""
        for k in self.sizes:
            if self.root(k) == self.root(name):
                self.sizes[k] = None
        self.sizes[name] = sizes

    def view(self, depth):
        a = self.known()
        s = self.sizes[a]
        if s is None:
            return self.write(depth)
        made = self.view_of(a, list(s))
        if made:
            self.define(depth, made[0], tuple(made[1]))

    def view_of(self, a, s):
        r, n = self.rng, len(s)
        numel = 1
        for size in s:
            numel *= size
        d = r.randrange(n) if n else 0
        kind = r.choice(["t", "transpose", "permute", "select", "slice", "narrow", "unsqueeze", "squeeze", "view", "reshape", "flatten", "expand",
                         "diagonal", "as_strided", "chunk", "unbind", "unfold", "alias", "view_as", "movedim", "split"])
        if kind == "t" and n == 2:
            return f"{a}.t()", s[::-1]
        if kind == "transpose" and n > 1:
            e = r.randrange(n)
            s[d], s[e] = s[e], s[d]
            return f"{a}.transpose({d}, {e - n if r.random() < 0.3 else e})", s
        if kind == "permute" and n:
            p = r.sample(range(n), n)
            return f"{a}.permute({p})", [s[i] for i in p]
        if kind == "select" and n and s[d]:
            return f"{a}.select({d}, {r.randrange(-s[d], s[d])})", s[:d] + s[d + 1:]
        if kind == "slice" and n:
            start, step = r.randrange(0, s[d] + 1), r.choice([1, 1, 2])
            end = r.randrange(start, s[d] + 1)
            return f"torch.slice_copy({a}, {d}, {start}, {end}, {step})" if r.random() < 0.1 else \
                self.sliced(a, n, d, start, end, step), s[:d] + [len(range(start, end, step))] + s[d + 1:]
        if kind == "narrow" and n and s[d]:
            start = r.randrange(s[d])
            length = r.randint(1, s[d] - start)
            return f"{a}.narrow({d}, {start}, {length})", s[:d] + [length] + s[d + 1:]
        if kind == "unsqueeze" and n < 4:
            e = r.randint(0, n)
            return f"{a}.unsqueeze({e})", s[:e] + [1] + s[e:]
        if kind == "squeeze":
            return f"{a}.squeeze()", [size for size in s if size != 1]
        if kind in ("view", "reshape", "flatten"):
            to = [numel] if kind == "flatten" or r.random() < 0.4 else self.factors(numel)
            return f"{a}.{kind}({'' if kind == 'flatten' else to})", to
        if kind == "expand" and n < 4:
            k = r.choice([1, 2])
            return f"{a}.expand({[k] + s})", [k] + s
        if kind == "diagonal" and n == 2:
            return f"{a}.diagonal()", [min(s)]
        if kind == "as_strided" and numel:
            return self.strided(a, numel)
        if kind == "chunk" and n and s[d]:
            sizes = [len(c) for c in torch.arange(s[d]).chunk(2)]
            i = r.randrange(len(sizes))
            return f"{a}.chunk(2, {d})[{i}]", s[:d] + [sizes[i]] + s[d + 1:]
        if kind == "split" and n and s[d] > 1:
            return f"{a}.split([1, {s[d] - 1}], {d})[1]", s[:d] + [s[d] - 1] + s[d + 1:]
        if kind == "unbind" and n and s[d]:
            return f"{a}.unbind({d})[{r.randrange(s[d])}]", s[:d] + s[d + 1:]
        if kind == "unfold" and n and s[d] > 1 and n < 4:
            return f"{a}.unfold({d}, 2, 1)", s[:d] + [s[d] - 1] + s[d + 1:] + [2]
        if kind == "movedim" and n > 1:
            return f"{a}.movedim(0, -1)", s[1:] + s[:1]
        if kind == "view_as" and n:
            b = self.like(a)
            return f"{a}.view_as({b})", s
        return f"torch.ops.aten.alias({a})" if kind == "alias" else f"{a}.detach()", s

    def sliced(self, a, n, d, start, end, step):
        parts = [":"] * n
        parts[d] = f"{start}:{end}" + (f":{step}" if step > 1 else "")
        return f"{a}[{', '.join(parts)}]"

    def factors(self, numel):
        if numel == 0:
            return [0, 2]
        a = self.rng.choice([k for k in range(1, numel + 1) if numel % k == 0])
        return [a, numel // a]

    def strided(self, a, numel):
        r = self.rng
        sizes = [r.randint(1, 3) for _ in range(r.randint(1, 2))]
        strides = [r.randint(0 if r.random() < 0.1 else 1, 3) for _ in sizes]
        offset = r.randint(0, 2)
        tail = f", {offset}" if r.random() < 0.7 else ""
        return f"{a}.as_strided({sizes}, {strides}{tail})", sizes

    def write(self, depth):
        a = self.any()
        if self.sizes[a] is not None and self.rng.random() < 0.5:
            self.put(depth, self.rng.choice(WRITE_WITH).format(a, self.like(a)))
        else:
            self.put(depth, self.rng.choice(WRITE).format(a))

    def index_write(self, depth):
        a = self.known()
        s = self.sizes[a]
        if not s or not s[0]:
            return self.write(depth)
        i = self.rng.randrange(-s[0], s[0])
        form = self.rng.choice(["{0}[{1}] = n", "{0}[{1}] += 2", "{0}.index_fill_(0, torch.tensor([{2}]), 3)", "{0}[{0} > 1.3] = -2", "{0}[torch.tensor([{2}])] = 9",
                                "{0}.index_add_(0, torch.tensor([{2}]), {0}[{2}:{3}].clone())", "{0}.index_copy_(0, torch.tensor([{2}]), {0}[{2}:{3}] * 2)"])
        self.put(depth, form.format(a, i, i % s[0], i % s[0] + 1))

    def reshape(self, depth):
        a = self.any()
        self.put(depth, self.rng.choice(RESHAPE).format(a))
        self.resize(a, None)

    def reshape_known(self, depth):
        """The same where the sizes afterwards are known; not in a loop or branch."""
        a = self.known()
        s = self.sizes[a]
        if s is None:
            return self.write(depth)
        d = self.rng.randint(0, len(s))
        forms = [(f"{a}.unsqueeze_({d})", s[:d] + (1,) + s[d:]), (f"{a}.squeeze_()", tuple(v for v in s if v != 1))]
        if len(s) == 2:
            forms += [(f"{a}.t_()", s[::-1]), (f"{a}.transpose_(0, 1)", s[::-1])]
        if len(s) and 0 not in s:
            flat = 1
            for v in s:
                flat *= v
            forms.append((f"{a}.as_strided_([{flat}], [1])", None))
        line, sizes = self.rng.choice(forms)
        if len(s) < 4 or "unsqueeze" not in line:
            self.put(depth, line)
            self.resize(a, sizes)

    def dynamic(self, depth):
        a = self.known()
        name = self.new()
        self.put(depth, f"{name} = " + self.rng.choice(["{0}.nonzero()", "{0}.masked_select({0} > 0.3)", "{0}[{0} > 0.3]"]).format(a))
        self.sizes[name] = None

    def norm(self, depth):
        """Running statistics, which a batch norm in training writes without a mark: new ones, rows of one tensor, or every other element."""
        a = self.known()
        s = self.sizes[a]
        if s is None or len(s) < 2 or s[0] < 2 or not all(s):
            return self.write(depth)
        c, r = s[1], self.rng
        made = r.choice([f"torch.arange({2 * c}).to(torch.float32)", f"torch.ones([{2 * c}])"])
        whole = self.new()
        mean, var = self.new(), self.new()
        rows = r.random() < 0.5
        self.put(depth, f"{whole} = {made}" + (f".view(2, {c})" if rows else ""))
        self.put(depth, f"{mean} = {whole}" + ("[0]" if rows else "[::2]"))
        self.put(depth, f"{var} = {whole}" + ("[1]" if rows else "[1::2]"))
        forms = ["torch.batch_norm({0}, None, None, {1}, {2}, {3}, 0.5, 0.5, False)", "torch.native_batch_norm({0}, None, None, {1}, {2}, {3}, 0.25, 0.5)[0]"]
        if len(s) > 2 and len(s) < 6 and s[2] > 1:
            forms.append("torch.instance_norm({0}, None, None, {1}, {2}, {3}, 0.5, 0.5, False)")
        train = r.choice(["True", "True", "True", "b", "False"])
        self.put(depth, f"{a}.copy_({r.choice(forms).format(f'{a}.to(torch.float32)', mean, var, train)})")
        self.sizes.update({whole: (2, c) if rows else (2 * c,), mean: (c,), var: (c,)})

    def keep(self, depth):
        """Tensors in lists are the same objects."""
        if not self.lists or self.rng.random() < 0.3:
            name = self.new("l")
            self.put(depth, f"{name} = [{self.any()}, {self.any()}]")
            self.lists.append(name)
            return
        name = self.rng.choice(self.lists)
        form = self.rng.choice(["{0}.append({1})", "{0}[0].add_(1)", "{0}[-1].mul_(2)", "{0}[0] = {1}"])
        self.put(depth, form.format(name, self.any()))

    def condition(self):
        return self.rng.choice(["b", "n > 1", "n % 2 == 0", "bool(({0} > 0.3).any())", "bool({0}.sum() > 2.3)", "{0}.dim() > 1", "{0}.is_contiguous()"]).format(self.any())

    def body(self, depth):
        """Sizes of outer names that change in it are unknown afterwards, and were so in a loop's later trips."""
        saved, lists = dict(self.sizes), list(self.lists)
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth)
        changed = [k for k in saved if self.sizes[k] != saved[k]]
        self.sizes = {k: None if k in changed else s for k, s in saved.items()}
        self.lists = lists

    def branch(self, depth):
        self.put(depth, f"if {self.condition()}:")
        self.body(depth + 1)
        if self.rng.random() < 0.5:
            self.put(depth, "else:")
            self.body(depth + 1)

    def rebind(self, depth):
        """A name becomes a view of itself, or something new: what loops carry."""
        a = self.any()
        self.put(depth, f"{a} = " + self.rng.choice(["{0} + 1", "{0}.view(-1)", "{0}.unsqueeze(0)", "{0}.clone()", "{0}.detach()", "{0} * {0}", "{0}.reshape(-1)"]).format(a))
        self.sizes[a] = None

    def loop(self, depth):
        self.put(depth, f"for {self.new('i')} in range({self.rng.choice(['2', '3', 'n', 'n % 3'])}):")
        self.body(depth + 1)

    def statement(self, depth):
        r = self.rng.random()
        choices = [(0.28, self.view), (0.48, self.write), (0.60, self.fresh), (0.66, self.index_write), (0.70, self.keep), (0.72, self.dynamic), (0.75, self.rebind), (0.79, self.norm)]
        for limit, act in choices:
            if r < limit:
                return act(depth)
        if r < 0.83:
            return self.reshape_known(depth) if depth == 1 and self.rng.random() < 0.7 else self.reshape(depth)
        if depth < 3 and r < 0.90:
            return self.branch(depth)
        if depth < 3 and r < 0.96:
            return self.loop(depth)
        return self.write(depth)


def source_of(lines, names, lists):
    seen = [f"{k}" for k in names]
    facts = [f"{k}.size()" for k in names] + [f"{k}.stride()" for k in names]
    return "\n".join([HEAD] + lines + ["    return " + ", ".join(seen + lists + facts)]) + "\n"


def program(rng):
    w = Writer(rng)
    for _ in range(rng.randint(4, 14)):
        w.statement(1)
    names = list(w.sizes)
    kept = list(dict.fromkeys(["x", "y"] + rng.sample(names, min(4, len(names)))))
    return w.lines, kept, w.lists[:1]


def inputs_of(rng):
    def tensor(*sizes):
        t = torch.tensor([rng.randint(-4, 4) for _ in range(torch.Size(sizes).numel())], dtype=torch.float32).reshape(sizes)
        return t if rng.random() < 0.8 else t.to(torch.int64)
    x, y, z = tensor(2, 3), tensor(3, 4), tensor(2, 1, 3)
    return x, y, z, rng.randint(0, 3), rng.random() < 0.5


def as_python(source):
    space = {"torch": torch, "Tensor": torch.Tensor}
    exec(source, space)
    return space["f"]


def plain(v):
    """Sizes are lists of numbers in TorchScript; tuples of Python are tuples."""
    if isinstance(v, torch.Size):
        return list(v)
    if isinstance(v, tuple) and v and all(isinstance(i, int) for i in v):
        return list(v)
    return v


class LeftOut(BaseException):
    """PyTorch's answer depends on the order in which elements are walked."""


def addresses(t):
    """Of all elements, in bytes; as often as they are reached."""
    found = [t.storage_offset()]
    for size, stride in zip(t.size(), t.stride()):
        found = [a + i * stride for a in found for i in range(size)]
    return found


def same_look(a, b):
    return a.storage_offset() == b.storage_offset() and a.size() == b.size() and a.stride() == b.stride()


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))  # what PyTorch refuses is refused
        given = list(zip(func._schema.arguments, args)) + [(a, (kwargs or {})[a.name]) for a in func._schema.arguments if a.name in (kwargs or {})]
        if not torch.Tag.inplace_view in func.tags:
            for a, t in given:
                if isinstance(t, torch.Tensor) and a.alias_info and a.alias_info.is_write:
                    self.check(t, [x for b, x in given if isinstance(x, torch.Tensor) and x is not t])
        return result

    def check(self, written, others):
        to = addresses(written)
        if len(set(to)) < len(to):
            raise LeftOut
        for x in others:
            if x.untyped_storage().data_ptr() == written.untyped_storage().data_ptr() and not same_look(x, written) and set(addresses(x)) & set(to):
                raise LeftOut


def python_call(source, inputs):
    with Watch():
        kind, result = texts.call(as_python(source), inputs)
    return (kind, tuple(plain(v) for v in result)) if kind == "output" else (kind, result)


def equal(a, b):
    return a[0] == b[0] and (a[0] == "raises" or values.same(list(map(plain, a[1])), list(map(plain, b[1]))))


class Case:
    """A program and PyTorch's verdict; RuntimeError where PyTorch does not agree with itself."""

    def __init__(self, name, lines, names, lists, inputs):
        self.name, self.lines, self.names, self.lists, self.inputs = name, lines, names, lists, inputs
        self.source = source_of(lines, names, lists)
        fn = torch.jit.CompilationUnit(self.source).f
        self.text = texts.readable(fn.inlined_graph, "program")
        self.result = texts.call(texts.parse(self.text), inputs)
        if not equal(python_call(self.source, inputs), self.result) or not equal(texts.call(fn, inputs), self.result):
            raise RuntimeError("PyTorch disagrees with itself")

    def record(self, text=None):
        tensors = []
        kind, result = self.result
        case = {"inputs": [values.encode(v, tensors) for v in self.inputs]}
        case[kind] = values.encode(result, tensors) if kind == "output" else result
        return {"id": self.name, "name": self.name, "how": "script", "text": text or self.text, "cases": [case], "tensors": tensors}


def verdicts(lazuli, records, folder):
    """Names of the records that Lazuli runs otherwise, with its words."""
    with gzip.open(os.path.join(folder, "graphs.jsonl.gz"), "wt") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")
    done = subprocess.run([lazuli, "test", "graphs", folder, "-v"], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    wrong = {line.split(":")[0]: line for line in lines[:-1] if "failed" in line or "unsupported" in line}
    return wrong, lines[-1] if lines else f"exit status {done.returncode}"


def printed(lazuli, case, folder, passes):
    path = os.path.join(folder, "graph.ir")
    with open(path, "w") as file:
        file.write(texts.as_printed(case.text))
    done = subprocess.run([lazuli, "graph", path, "--passes", passes, "--print"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def reduced(lazuli, case, folder):
    """The same difference with fewer lines."""
    def differs(lines):
        try:
            less = Case("reduced", lines, case.names, case.lists, case.inputs)
        except (Exception, LeftOut):
            return None
        return less if verdicts(lazuli, [less.record()], folder)[0] else None

    lines, shrunk = list(case.lines), True
    while shrunk:
        shrunk = False
        for i in range(len(lines) - 1, -1, -1):
            less = differs(lines[:i] + lines[i + 1:])
            if less:
                case, lines, shrunk = less, less.lines, True
    for names in [case.names[:k] + case.names[k + 1:] for k in range(len(case.names))]:
        if len(names):
            try:
                less = Case("reduced", lines, names, case.lists, case.inputs)
            except (Exception, LeftOut):
                continue
            if verdicts(lazuli, [less.record()], folder)[0]:
                case = less
    return case


def make(count, seed):
    cases, left_out, i = [], 0, 0
    while len(cases) < count:
        rng = random.Random(f"{seed}/{i}")
        i += 1
        try:
            lines, names, lists = program(rng)
            cases.append(Case(f"v{i}", lines, names, lists, inputs_of(rng)))
        except (Exception, LeftOut):
            left_out += 1
    return cases, left_out


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("lazuli")
    ask.add_argument("--count", type=int, default=5000)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--keep")
    ask.add_argument("--reduce", type=int, default=5, help="so many differences are reduced")
    a = ask.parse_args()
    cases, left_out = make(a.count, a.seed)
    with tempfile.TemporaryDirectory() as made:
        folder = a.keep or made
        os.makedirs(folder, exist_ok=True)
        wrong, verdict = verdicts(a.lazuli, [c.record() for c in cases], folder)
        again = [(c, PASSES[i % len(PASSES)]) for i, c in enumerate(cases[::25])]
        copies = [(c, printed(a.lazuli, c, made, p)) for c, p in again]
        passed_wrong, passed = verdicts(a.lazuli, [c.record(t) for c, t in copies if t], made)
        refused = [c.name for c, t in copies if not t]
        for case in [c for c in cases if c.name in wrong][:a.reduce]:
            less = reduced(a.lazuli, case, made)
            said = verdicts(a.lazuli, [less.record()], made)[0].get("reduced", "")
            print(f"{wrong[case.name]}\n{less.source}inputs {less.inputs}\nPyTorch: {less.result}\nLazuli: {said}\n{less.text}")
        for line in passed_wrong.values():
            print(f"after passes: {line}")
        for name in refused:
            print(f"{name}: the passes fail")
    raised = sum(c.result[0] == "raises" for c in cases)
    print(f"{len(cases)} programs with views and writes, {raised} of them refused by PyTorch {torch.__version__}; {left_out} more have no answer in PyTorch")
    print(f"run by Lazuli: {verdict}; after passes: {passed}")
    return 1 if wrong or passed_wrong or refused or ", 0 failed, 0 unsupported" not in verdict else 0


if __name__ == "__main__":
    sys.exit(main())
