"""NumPy and safetensors read what Lazuli writes: io_check.py LAZULI FOLDER, the folder that io_files.py filled.

Every file is copied by `LAZULI io copy` and compared with the original, bit by bit. Exit status: 0 all equal, 1 a
difference, 77 no NumPy."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("io_check: skipped, this Python has no numpy (choose another with PYTHON=...)")
    sys.exit(77)


def read_npz(path):
    with np.load(path) as z:
        return {n: (z[n].dtype.newbyteorder("=").str, z[n].shape, z[n].astype(z[n].dtype.newbyteorder("=")).tobytes())
                for n in z.files}


def read_safetensors(path):
    from safetensors import deserialize, safe_open

    with open(path, "rb") as f:
        found = {n: (t["dtype"], tuple(t["shape"]), bytes(t["data"])) for n, t in deserialize(f.read())}
    with safe_open(path, "np") as f:
        return found, f.metadata()


def same(what, got, want):
    if got != want:
        print(f"io_check: {what} differs\n  got  {got}\n  want {want}")
        sys.exit(1)


def main(lazuli, folder):
    checked = 0
    with tempfile.TemporaryDirectory() as tmp:
        def copy(source, name):
            target = os.path.join(tmp, name)
            subprocess.run([lazuli, "io", "copy", source, target], check=True)
            return target

        for name in ["stored.npz", "packed.npz", "streamed.npz", "empty.npz"]:
            source = os.path.join(folder, name)
            same(name, read_npz(copy(source, "out.npz")), read_npz(source))
            checked += 1
        try:
            import safetensors  # noqa: F401
        except ImportError:
            print(f"io_check: {checked} files are equal; no safetensors, so these were not read")
            return
        for name in ["all.safetensors", "empty.safetensors"]:
            source = os.path.join(folder, name)
            same(name, read_safetensors(copy(source, "out.safetensors")), read_safetensors(source))
            checked += 1
        numpy_only = copy(os.path.join(folder, "packed.npz"), "out.safetensors")
        arrays = read_npz(os.path.join(folder, "packed.npz"))
        same("packed.npz as safetensors", {n: t[1:] for n, t in read_safetensors(numpy_only)[0].items()},
             {n: t[1:] for n, t in arrays.items()})
    print(f"io_check: {checked + 1} files are equal")


main(*sys.argv[1:])
