"""Graph texts between Lazuli and PyTorch.

    check.py LAZULI [--random N] [--seed S] [--folder RECORDED] [--keep DIR] [MORE.py ...]

Every text is run by PyTorch, whose results are the truth. Then PyTorch parses and runs what `LAZULI graph TEXT --passes
... --print` makes of it, `LAZULI test graphs` runs it, and so does `LAZULI graph TEXT --run` where it gives one tensor.
Prints each difference, and last the counts.
Exit status: 0 all equal, 1 a difference, 77 no torch."""
import argparse
import gzip
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import torch
except ImportError:
    print("test-torch: skipped, this Python has no torch or no numpy (choose another with PYTHON=...)")
    sys.exit(77)

import texts
import values

warnings.simplefilter("ignore")

PASSES = ["", "constprop", "cse", "dce", "peephole", "peephole,constprop,peephole,cse,dce", "dce,cse,peephole,constprop,peephole,dce"]


class Case:
    """A text, and for each call its inputs with PyTorch's verdict. Of the text a variant is taken, if PyTorch can run it.
    fn: what the text was made from; PyTorch may fail to read its own text, or read something else."""

    def __init__(self, name, how, text, calls, rng=None, fn=None):
        self.name, self.how, self.text, self.calls = name, how, text, calls
        self.results = self.run(text)
        if fn and not all(map(equal, self.results, [texts.call(fn, inputs) for inputs in calls])):
            raise RuntimeError("it does not read its own text as what it was made from")
        other = rng.choice(texts.VARIANTS)(text, rng) if rng else text
        if other != text and all(map(equal, self.run(other), self.results)):
            self.text = other

    def run(self, text):
        fn = texts.parse(text)
        return [texts.call(fn, inputs) for inputs in self.calls]

    def record(self):
        tensors, cases = [], []
        for inputs, (kind, result) in zip(self.calls, self.results):
            case = {"inputs": [values.encode(v, tensors) for v in inputs]}
            case[kind] = values.encode(result, tensors) if kind == "output" else result
            cases.append(case)
        return {"id": self.name, "name": self.name, "how": self.how, "text": self.text, "cases": cases, "tensors": tensors}


def equal(a, b):
    return a[0] == b[0] and (a[0] == "raises" or values.same(a[1], b[1]))


def of_program(name, how, fn, calls, rng):
    if isinstance(fn, torch.nn.Module):
        text, inputs = texts.of_module(fn, name, calls[0], how)
        return Case(name, how, text, [inputs], rng)
    text = texts.scripted(fn, name) if how == "script" else texts.traced(fn, name, calls[0], rng.random() < 0.7)
    return Case(name, how, text, list(calls), rng, fn if how == "trace" else torch.jit.script(fn))


def of_file(path, rng):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for program in module.PROGRAMS:
        try:
            yield of_program(*program, rng)
        except Exception as e:
            print(f"{program[0]}: PyTorch itself: {str(e).strip()}")


def at_random(count, rng):
    import randoms
    for i in range(count):
        source, calls = randoms.program(rng)
        try:
            fn = torch.jit.CompilationUnit(source).f
            yield Case(f"random{i}", "script", texts.readable(fn.inlined_graph, "random"), calls, rng, fn)
        except RuntimeError as e:
            print(f"random program: PyTorch itself: {e}\n{source}")


def recorded(folder):
    """Texts that came from PyTorch once; their inputs, and its results of today."""
    with gzip.open(os.path.join(folder, "graphs.jsonl.gz"), "rt") as lines:
        for line in lines:
            case = json.loads(line)
            calls = [tuple(values.decode(v, case["tensors"]) for v in c["inputs"]) for c in case["cases"]]
            yield Case(case["id"] + " " + case["name"], case["how"], case["text"], calls)


def differences(lazuli, case, path):
    """What PyTorch makes of the texts that Lazuli prints."""
    for passes in PASSES:
        done = subprocess.run([lazuli, "graph", path, "--passes", passes, "--print"], capture_output=True, text=True)
        if done.returncode:
            yield f"passes '{passes}': {done.stderr.strip()}"
            continue
        try:
            fn = texts.parse(done.stdout)
        except RuntimeError as e:
            yield f"passes '{passes}': PyTorch refuses the text: {str(e).strip().splitlines()[0]}"
            continue
        for i, inputs in enumerate(case.calls):
            got, want = texts.call(fn, inputs), case.results[i]
            if not equal(got, want):
                yield f"passes '{passes}', call {i}: {got}, not {want}"


def compare(lazuli, cases, folder):
    wrong, asked, path = 0, 0, os.path.join(folder, "graph.ir")
    for case in cases:
        with open(path, "w") as file:
            file.write(texts.as_printed(case.text))
        for what in differences(lazuli, case, path):
            wrong += 1
            print(f"{case.name}: {what}")
            break
        got = run_command(lazuli, case, path, folder)
        asked += got is not None
        if got is not None and not values.same(got, case.results[0][1]):
            wrong += 1
            print(f"{case.name}: --run gives {got}, not {case.results[0][1]}")
    print(f"{asked} graphs run by the command on .npy files")
    return wrong


def literal(v):
    """An argument of --input, or None if there is no such literal."""
    text = {bool: lambda: str(v), int: lambda: str(v), float: lambda: repr(v), str: lambda: json.dumps(v),
            type(None): lambda: "None"}.get(type(v), lambda: None)()
    return text if text is None or text.isascii() else None


def run_command(lazuli, case, path, folder):
    """`LAZULI graph TEXT --run` on the first call, its result from a .npy file; None where it cannot be asked that way."""
    kind, want = case.results[0]
    if kind != "output" or not isinstance(want, torch.Tensor) or want.dtype == torch.bfloat16:
        return None
    args = [lazuli, "graph", path, "--run"]
    for i, v in enumerate(case.calls[0]):
        if isinstance(v, torch.Tensor) and v.dtype != torch.bfloat16:
            name = os.path.join(folder, f"{i}.npy")
            numpy.save(name, v.numpy())
        else:
            name = literal(v)
        if name is None:
            return None
        args += ["--input", name]
    out = os.path.join(folder, "out.npy")
    done = subprocess.run(args + ["--output", out], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else torch.from_numpy(numpy.load(out))


def replay(lazuli, cases, folder):
    """What Lazuli computes, against what PyTorch did."""
    with gzip.open(os.path.join(folder, "graphs.jsonl.gz"), "wt") as file:
        for case in cases:
            file.write(json.dumps(case.record()) + "\n")
    done = subprocess.run([lazuli, "test", "graphs", folder, "-v"], capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    for line in lines[:-1]:
        if "failed" in line or "unsupported" in line:
            print(line)
    return lines[-1]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ask = argparse.ArgumentParser()
    ask.add_argument("lazuli")
    ask.add_argument("more", nargs="*", default=[])
    ask.add_argument("--random", type=int, default=50)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--folder", action="append", default=[])
    ask.add_argument("--keep")
    a = ask.parse_args()
    rng = random.Random(a.seed)
    cases = []
    for path in a.more or [os.path.join(here, "programs.py")]:
        cases += of_file(path, rng)
    cases += at_random(a.random, rng)
    for folder in a.folder:
        cases += recorded(folder)
    with tempfile.TemporaryDirectory() as made:
        folder = a.keep or made
        os.makedirs(folder, exist_ok=True)
        wrong = compare(a.lazuli, cases, made)
        verdict = replay(a.lazuli, cases, folder)
    print(f"{len(cases)} graphs in {len(PASSES)} orders of passes, printed, parsed and run by PyTorch {torch.__version__}: {wrong} differences")
    print(f"run by Lazuli: {verdict}")
    return 1 if wrong or ", 0 failed, 0 unsupported" not in verdict else 0


if __name__ == "__main__":
    sys.exit(main())
