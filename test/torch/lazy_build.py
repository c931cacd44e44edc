#!/usr/bin/env python3
"""lazy_build.py LAZULI: what `lazuli gen torch-lazy` writes for a small backend compiles against an installed torch, is
loaded, and computes.

The operators come from the packaged operator files of the torch wheel. The backend adds lazy kernels, nodes and TorchScript
lowerings for operators that the wheel's own lazy backend has none for; results are compared with those of the CPU.
Exit status 77: there is no torch, no torchgen or no compiler.
"""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

BACKEND = """\
backend: Lazy
cpp_namespace: torch::lazy
full_codegen:
  - aminmax
  - atan2
  - erfc
  - logaddexp
  - roll
"""

# Declarations are found by their line. Operators with a meta kernel need none.
SHAPES_H = """\
#pragma once
#include <torch/csrc/lazy/core/shape.h>
#include <torch/csrc/lazy/core/shape_inference.h>
namespace torch::lazy {
TORCH_API std::vector<torch::lazy::Shape> compute_shape_roll(const at::Tensor & self, at::IntArrayRef shifts, at::IntArrayRef dims);
}
"""

GLUE = """\
#include "shapes.h"
namespace torch::lazy {
std::vector<Shape> compute_shape_roll(const at::Tensor &self, at::IntArrayRef, at::IntArrayRef)
{
    return { Shape(self.scalar_type(), self.sizes().vec()) };
}
}
namespace at {
void RegisterSmallLazyNativeFunctions();
}
extern "C" void register_small()
{
    at::RegisterSmallLazyNativeFunctions();
}
"""


def skip(why):
    print(f"lazy_build: skipped: {why}")
    sys.exit(77)


try:
    import torch
    import torch._lazy
    import torch._lazy.metrics
    import torch._lazy.ts_backend
    import torchgen
except ImportError as e:
    skip(e)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def generate(lazuli, aten, tmp):
    write(os.path.join(tmp, "backend.yaml"), BACKEND)
    write(os.path.join(tmp, "shapes.h"), SHAPES_H)
    subprocess.check_call(
        [lazuli, "gen", "torch-lazy", "--source-path", aten, "--source-yaml", f"{tmp}/backend.yaml", "--output-dir", f"{tmp}/out"]
        + ["--shape-inference-hdr", f"{tmp}/shapes.h", "--backend-name", "Small", "--gen-ts-lowerings", "--node-base", "TsNode"]
        + ["--node-base-hdr", "torch/csrc/lazy/ts_backend/ts_node.h"],
        env={**os.environ, "LAZULI_CACHE": "off"},
    )


def compile_and_link(compiler, tmp):
    root = os.path.dirname(torch.__file__)
    write(os.path.join(tmp, "glue.cpp"), GLUE)
    flags = ["-std=c++20", "-fPIC", "-O0", "-w", f"-I{tmp}", f"-I{root}/include", f"-I{root}/include/torch/csrc/api/include"]
    flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
    sources = ["out/LazyNativeFunctions.cpp", "out/RegisterLazy.cpp", "glue.cpp"]
    for i, source in enumerate(sources):
        subprocess.check_call([compiler, *flags, "-c", os.path.join(tmp, source), "-o", f"{tmp}/{i}.o"])
    library = os.path.join(tmp, "small.so")
    objects = [f"{tmp}/{i}.o" for i in range(len(sources))]
    subprocess.check_call([compiler, "-shared", *objects, f"-L{root}/lib", "-ltorch_cpu", "-lc10", "-o", library])
    return library


def compare(name, fn, *args):
    if torch._C._dispatch_has_kernel_for_dispatch_key(name, "Lazy") is False:
        sys.exit(f"lazy_build: {name} has no kernel for Lazy after the registration")
    torch._lazy.metrics.reset()
    want = fn(*args)
    got = fn(*[a.to("lazy") if isinstance(a, torch.Tensor) else a for a in args])
    want, got = (x if isinstance(x, tuple) else (x,) for x in (want, got))
    for w, g in zip(want, got):
        if g.device.type != "lazy" or not torch.equal(w, g.cpu()):
            sys.exit(f"lazy_build: {name}: {g.cpu()} instead of {w}")
    counters = torch._lazy.metrics.counter_names()
    if name in counters or name.replace("aten", "lazy") not in counters:
        sys.exit(f"lazy_build: {name} did not run in its own kernel: {counters}")


def run(library):
    torch._lazy.ts_backend.init()
    for name in ("aten::atan2", "aten::roll"):
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "Lazy"):
            skip(f"this torch has a lazy kernel for {name}")
    ctypes.CDLL(library).register_small()
    a, b = torch.randn(4, 5), torch.randn(5)
    compare("aten::atan2", torch.atan2, a, b)
    compare("aten::logaddexp", torch.logaddexp, a, b)
    compare("aten::erfc", torch.erfc, a)
    compare("aten::aminmax", lambda x: tuple(torch.aminmax(x, dim=1, keepdim=True)), a)
    compare("aten::roll", lambda x: torch.roll(x, (1, 2), (0, 1)), a)


def main(lazuli):
    aten = os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not os.path.isdir(aten) or not compiler:
        skip("no packaged operator files, or no C++ compiler")
    with tempfile.TemporaryDirectory() as tmp:
        generate(lazuli, aten, tmp)
        run(compile_and_link(compiler, tmp))
    print("lazy_build: 5 operators of a generated lazy backend compute what the CPU does")


main(sys.argv[1])
