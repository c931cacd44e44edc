#!/usr/bin/env python3
"""backend_stubs.py LAZULI: `lazuli gen torch-backend-stubs` for a small backend is compiled with its kernels against the
headers of the installed torch, loaded, and run. Also the forms that have no kernel: inplace and out operators are made from
functional kernels. Ends with 77 if torch, torchgen's files or a C++ compiler are missing."""
import os, shutil, subprocess, sys, tempfile, types

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "backend_stubs")


def skip(why):
    print(f"backend_stubs: skipped: {why}")
    sys.exit(77)


def generate(lazuli, aten, out):
    for name in ("backend.yaml", "kernels.cpp"):
        shutil.copy(os.path.join(here, name), out)
    command = [lazuli, "gen", "torch-backend-stubs", "--source-path", aten, "--source-yaml", "backend.yaml", "--output-dir", ".",
               "--impl-path", "kernels.cpp"]
    subprocess.run(command, cwd=out, check=True, env={**os.environ, "LAZULI_CACHE_DIR": os.path.join(out, "cache")})


def compile_library(cxx, site, out):
    """Without debug information and optimisation: what takes time is torch's headers."""
    include, lib = (os.path.join(site, "torch", d) for d in ("include", "lib"))
    flags = ["-std=c++20", "-O0", "-fPIC", "-I.", "-I" + include, "-I" + os.path.join(include, "torch", "csrc", "api", "include")]
    for source in ("RegisterPrivateUse1.cpp", "kernels.cpp"):
        subprocess.run([cxx, *flags, "-c", source], cwd=out, check=True)
    subprocess.run([cxx, "-shared", "RegisterPrivateUse1.o", "kernels.o", "-L" + lib, "-ltorch_cpu", "-lc10", "-o", "libmirror.so"],
                   cwd=out, check=True)
    return os.path.join(out, "libmirror.so")


def run(torch, library):
    torch._register_device_module("privateuseone", types.ModuleType("privateuseone"))
    torch.ops.load_library(library)
    x, y = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-10.0, 20.0, -30.0])
    a, b = x.to("privateuseone"), y.to("privateuseone")
    checks = {
        "add": (torch.add(a, b, alpha=2), torch.add(x, y, alpha=2)),
        "abs": (torch.abs(a), torch.abs(x)),
        "abs_": (x.to("privateuseone").abs_(), torch.abs(x)),
        "add_": (x.to("privateuseone").add_(b), x + y),
        "abs.out": (torch.abs(a, out=torch.empty(3, device="privateuseone")), torch.abs(x)),
    }
    for name, (got, want) in checks.items():
        if got.device.type != "privateuseone" or not torch.equal(got.cpu(), want):
            sys.exit(f"backend_stubs: {name}: {got.cpu()}, not {want}")
    print(f"backend_stubs: {len(checks)} operators ran on the backend")


def main(lazuli):
    try:
        import torch
    except ImportError:
        skip("no torch")
    site = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    aten = os.path.join(site, "torchgen", "packaged", "ATen")
    cxx = shutil.which(os.environ.get("CXX", "c++"))
    if not os.path.exists(os.path.join(aten, "templates")):
        skip("torch has no torchgen")
    if not cxx:
        skip("no C++ compiler")
    with tempfile.TemporaryDirectory() as out:
        generate(os.path.abspath(lazuli), aten, out)
        run(torch, compile_library(cxx, site, out))


main(*sys.argv[1:])
