#!/usr/bin/env python3
"""Errors of sums, scans, variances and norms: Lazuli's beside PyTorch's, both against exact values.

    python3 test/torch/sums.py build/lazuli [--large]      prints the table of docs/accuracy.md

Ends with status 1 where Lazuli's error is more than twice PyTorch's and more than one unit in the last place.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

F = torch.nn.functional
HALF_ULP = 2.0 ** -24


def uniform(n):
    return np.random.default_rng(1).random(n, dtype=np.float32)


def signed(n):
    return np.random.default_rng(2).standard_normal(n).astype(np.float32)


def constant(shape, value):
    return np.full(shape, value, np.float32)


def exact_sum(x):
    """By halves in extended precision: exact enough for n up to 2^30."""
    return np.add.reduce(x.astype(np.longdouble)) if x.size < 1 << 24 else sum(
        exact_sum(part) for part in np.array_split(x, 64))


def mean(x):
    return exact_sum(x) / x.size


def variance(x):
    d = x.astype(np.longdouble) - mean(x)
    return np.add.reduce(d * d) / (x.size - 1)


def normalised(x):
    d = x.astype(np.longdouble) - mean(x)
    return d / np.sqrt(np.add.reduce(d * d) / x.size + np.longdouble(np.float64(1e-5)))


CONSTANTS = """  %none : NoneType = prim::Constant()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : float = prim::Constant[value=2.]()
  %eps : float = prim::Constant[value=1.0000000000000001e-05]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %sizes : int[] = prim::ListConstruct(%n)
"""

# operator, its TorchScript call, PyTorch, exact
SUM = ("sum", "aten::sum(%x, %none)", torch.sum, exact_sum)
SUM_0 = ("sum over rows", "aten::sum(%x, %dims, %false, %none)", lambda x: torch.sum(x, 0),
         lambda x: np.add.reduce(x.astype(np.longdouble), 0))
MEAN = ("mean", "aten::mean(%x, %none)", torch.mean, mean)
CUMSUM = ("cumsum", "aten::cumsum(%x, %zero, %none)", lambda x: torch.cumsum(x, 0),
          lambda x: np.cumsum(x.astype(np.longdouble)))
CUMPROD = ("cumprod", "aten::cumprod(%x, %zero, %none)", lambda x: torch.cumprod(x, 0),
           lambda x: np.cumprod(x.astype(np.longdouble)))
LOGCUMSUMEXP = ("logcumsumexp", "aten::logcumsumexp(%x, %zero)", lambda x: torch.logcumsumexp(x, 0),
                lambda x: np.log(np.cumsum(np.exp(x.astype(np.longdouble)))))
PROD = ("prod", "aten::prod(%x, %none)", torch.prod, lambda x: np.multiply.reduce(x.astype(np.longdouble)))
VAR = ("var", "aten::var(%x, %true)", torch.var, variance)
STD = ("std", "aten::std(%x, %true)", torch.std, lambda x: np.sqrt(variance(x)))
NORM = ("linalg_vector_norm", "aten::linalg_vector_norm(%x, %two, %none, %false, %none)", torch.linalg.vector_norm,
        lambda x: np.sqrt(np.add.reduce(x.astype(np.longdouble) ** 2)))
LSE = ("logsumexp", "aten::logsumexp(%x, %dims, %false)", lambda x: torch.logsumexp(x, 0),
       lambda x: np.log(np.add.reduce(np.exp(x.astype(np.longdouble)))))
LAYER_NORM = ("layer_norm", "aten::layer_norm(%x, %sizes, %none, %none, %eps, %true)",
              lambda x: F.layer_norm(x, x.shape), normalised)

LARGE = [(SUM, "1e8 uniform in 0..1", lambda: uniform(10**8))]
CASES = [
    (SUM, "1e6 uniform in 0..1", lambda: uniform(10**6)),
    (SUM, "1e6 normal", lambda: signed(10**6)),
    (SUM, "1e6 equal, 0.1, 0.2, ..., 0.9", lambda: [constant(10**6, k / 10) for k in range(1, 10)]),
    (SUM_0, "1e5 x 16, all equal, 0.1, ..., 0.9", lambda: [constant((10**5, 16), k / 10) for k in range(1, 10)]),
    (SUM_0, "1e5 x 16 normal", lambda: signed((10**5, 16))),
    (MEAN, "1e6 uniform in 0..1", lambda: uniform(10**6)),
    (CUMSUM, "1e6 equal to 0.1", lambda: constant(10**6, 0.1)),
    (CUMSUM, "1e6 uniform in 0..1", lambda: uniform(10**6)),
    (PROD, "1e6 near 1", lambda: 1 + 1e-4 * (uniform(10**6) - np.float32(0.5))),
    (CUMPROD, "1e6 near 1", lambda: 1 + 1e-4 * (uniform(10**6) - np.float32(0.5))),
    (LOGCUMSUMEXP, "1e5 normal", lambda: signed(10**5)),
    (LSE, "1e6 normal", lambda: signed(10**6)),
    (VAR, "1e4 with mean/std 3e1", lambda: 1 + np.float32(0.1) * uniform(10**4)),
    (VAR, "1e4 with mean/std 1e4", lambda: 100 + np.float32(0.03) * uniform(10**4)),
    (VAR, "1e4 with mean/std 1e7", lambda: 10000 + np.float32(0.003) * uniform(10**4)),
    (STD, "1e6 normal", lambda: signed(10**6)),
    (STD, "1e4 of size 1e20", lambda: np.float32(1e20) * signed(10**4)),
    (NORM, "1e6 normal", lambda: signed(10**6)),
    (NORM, "1e4 of size 1e20", lambda: np.float32(1e20) * signed(10**4)),
    (NORM, "1e4 of size 1e-25", lambda: np.float32(1e-25) * signed(10**4)),
    (LAYER_NORM, "1024 equal, 0.1, 1.1, ..., 999.1", lambda: [constant(1024, k + 0.1) for k in (0, 1, 10, 99, 999)]),
    (LAYER_NORM, "1024 normal", lambda: signed(1024)),
    (LAYER_NORM, "1024 with mean/std 1e4", lambda: 100 + np.float32(0.03) * uniform(1024)),
]


def ours(lazuli, folder, call, x):
    text = f"graph(%x : Tensor):\n  %n : int = prim::Constant[value={x.size}]()\n{CONSTANTS}"
    text += f"  %dims : int[] = prim::ListConstruct(%zero)\n  %y : Tensor = {call}\n  return (%y)\n"
    (folder / "op.ir").write_text(text)
    np.save(folder / "x.npy", x)
    subprocess.run([lazuli, "graph", folder / "op.ir", "--run", "--input", folder / "x.npy", "--output",
                    folder / "y.npy"], check=True, stdout=subprocess.DEVNULL)
    return np.load(folder / "y.npy")


def error(y, exact):
    """The greatest error relative to the greatest exact value; absolute where that is 0."""
    scale = np.max(np.abs(exact))
    worst = np.max(np.abs(np.asarray(y, np.longdouble) - exact))
    return float(worst / scale) if scale else float(worst)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("lazuli", type=pathlib.Path)
    options.add_argument("--large", action="store_true")
    o = options.parse_args()
    print("| Operator | Input, f32 | Lazuli | PyTorch |\n|---|---|---|---|")
    behind = 0
    with tempfile.TemporaryDirectory() as name:
        for (op, call, reference, exact), what, make in CASES + (LARGE if o.large else []):
            made = make()
            a = b = 0.0
            for x in made if isinstance(made, list) else [made]:
                x = x.astype(np.float32)
                truth = np.asarray(exact(x), np.longdouble)
                a = max(a, error(ours(o.lazuli, pathlib.Path(name), call, x), truth))
                b = max(b, error(reference(torch.from_numpy(x)).numpy(), truth))
            worse = not a <= max(2 * b, 2 * HALF_ULP)
            behind += worse
            print(f"| {op} | {what} | {a:.1e} | {b:.1e} |{' <-- less exact than PyTorch' if worse else ''}")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
