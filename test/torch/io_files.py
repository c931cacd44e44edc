"""Writes the files of test/data/io with NumPy and safetensors: io_files.py FOLDER.

Element number k in row-major order is (k - 3) / 2 of floats, k - 3 of signed and k of unsigned integers, k % 3 == 0 of
bool, (k - 3) / 2 - kj of complex; test/unit/io/stored_elements.h knows it too.
"""
import io
import os
import sys
import zipfile

import numpy as np


def elements(dtype, *sizes):
    k = np.arange(int(np.prod(sizes)))
    kind = np.dtype(dtype).kind
    if kind == "b":
        v = k % 3 == 0
    elif kind == "c":
        v = (k - 3) / 2 - 1j * k
    elif kind == "u":
        v = k
    else:
        v = (k - 3) / 2 if kind == "f" else k - 3
    return np.asarray(v).astype(dtype).reshape(sizes)


def arrays():
    return {
        "param/c1.weight": elements("f4", 6, 1, 5, 5),
        "param/c1.bias": elements("f4", 6),
        "fortran": np.asfortranarray(elements("f8", 3, 4)),
        "big": elements(">i4", 5),
        "bools": elements("?", 7),
        "scalar": elements("i8"),
        "none": elements("f4", 0, 3),
        "größe": elements("c8", 2, 2),
    }


class Pipe(io.RawIOBase):
    """Where nobody can go back: zipfile then writes sizes behind the members."""

    def __init__(self):
        self.bytes = bytearray()

    def writable(self):
        return True

    def write(self, b):
        self.bytes += b
        return len(b)


def streamed(path):
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as z:
        for name, a in arrays().items():
            with z.open(name + ".npy", "w") as f:
                np.lib.format.write_array(f, a)
    with open(path, "wb") as f:
        f.write(pipe.bytes)


def mixed(path):
    """Arrays that can be read, others, and what is no array."""
    with zipfile.ZipFile(path, "w") as z:
        z.mkdir("folder")
        z.writestr("folder/readme.txt", "not an array")
        for name, a in {"x": elements("f4", 3), "words": np.array(["a", "bc"]), "u2": np.arange(3, dtype="u2")}.items():
            with z.open("folder/" + name + ".npy", "w") as f:
                np.lib.format.write_array(f, a)
        z.comment = b"a comment with PK\5\6 in it"


def npz(folder):
    np.savez(os.path.join(folder, "stored.npz"), **arrays())
    np.savez_compressed(os.path.join(folder, "packed.npz"), **arrays())
    np.savez(os.path.join(folder, "empty.npz"))
    streamed(os.path.join(folder, "streamed.npz"))
    mixed(os.path.join(folder, "mixed.npz"))


def safetensors(folder):
    import torch
    from safetensors.torch import save_file

    tensors = {"bf16": torch.from_numpy(elements("f4", 5)).to(torch.bfloat16)}
    for name, dtype in [("f16", "f2"), ("f32", "f4"), ("f64", "f8"), ("c64", "c8"), ("i8", "i1"), ("u8", "u1"),
                        ("i16", "i2"), ("i32", "i4"), ("i64", "i8"), ("bool", "?")]:
        tensors[name] = torch.from_numpy(elements(dtype, 2, 3))
    tensors["layer.0/größe"] = torch.from_numpy(elements("f4", 3, 1, 2))
    tensors["scalar"] = torch.from_numpy(elements("f4"))
    tensors["none"] = torch.from_numpy(elements("f4", 0, 3))
    save_file(tensors, os.path.join(folder, "all.safetensors"), {"format": "pt", "step": "17", "größe": "\"ä\"\n"})
    save_file({}, os.path.join(folder, "empty.safetensors"))
    others = {"x": torch.from_numpy(elements("f4", 3)), "u32": torch.zeros(3, dtype=torch.uint32),
              "f8": torch.zeros(5, dtype=torch.float8_e4m3fn)}
    save_file(others, os.path.join(folder, "others.safetensors"))


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    npz(sys.argv[1])
    safetensors(sys.argv[1])
