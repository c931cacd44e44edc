"""Records what PyTorch's operators that return numbers, bools and dtypes give. The cases have the form of the operator cases
in test/data/oracle (`lazuli test ops` runs them).

    record_questions.py OUT      writes OUT.jsonl.gz and OUT.bin.gz"""
import sys
import warnings

import torch

from record_corners import BF16, BOOL, F16, F32, F64, I32, I64, INF, U8, Writer

warnings.simplefilter("ignore")
NAN = float("nan")
DTYPES = (F32, F64, F16, BF16, I64, I32, torch.int16, torch.int8, U8, BOOL)


class QuestionWriter(Writer):
    """Tensors keep their strides."""

    def tensor(self, t, tensors):
        k = super().tensor(t, tensors)
        if t.numel() and not t.is_contiguous():
            tensors[k]["strides"] = list(t.stride())
        return k

    def value(self, v, tensors):
        if isinstance(v, torch.memory_format):
            return {"mf": str(v).split(".")[1]}
        return super().value(v, tensors)


def shapes():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    return [x, x.to(memory_format=torch.channels_last), x.transpose(0, 1), x[:, :1], x[..., :1, :1], x[:0], x[0], x[0, 0, 0, 0],
            torch.arange(3.0).expand(2, 3), torch.ones(1, 1, 1, 1), torch.ones(2, 1, 4, 5), torch.ones(2, 0).t(),
            torch.ones(2, 3, 2, 1, 2).to(memory_format=torch.channels_last_3d), torch.ones(2, 3).to(F16).t(), torch.ones(2, 3, dtype=BF16)]


def layouts(w):
    for x in shapes():
        w.case("numel", x)
        w.case("dim", x)
        for d in (0, -1, 3, 7):
            w.case("size.int", x, d)
            if x.numel() and (x.dim() == 0 or all(n != 1 for n in x.shape)):
                w.case("stride.int", x, d)
        if x.numel():
            w.case("is_contiguous", x)
            for f in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d, torch.preserve_format):
                w.case("is_contiguous.memory_format", x, f)
        for y in shapes()[:3]:
            w.case("is_same_size", x, y)


def dtypes(w):
    for d in DTYPES:
        x = torch.ones(2, dtype=d)
        for name in ("is_floating_point", "is_complex", "is_signed", "is_neg", "is_conj", "_is_zerotensor", "is_distributed"):
            w.case(name, x)
        for e in DTYPES:
            w.case("can_cast", d, e)
            w.case("promote_types", d, e)
            w.case("result_type.Tensor", x, torch.tensor(1, dtype=e))
        for v in (1, 1.5, True):
            w.case("result_type.Scalar", x, v)
            w.case("result_type.Scalar", x[0], v)
            w.case("result_type.Scalar_Tensor", v, x)
            w.case("result_type.Scalar_Scalar", v, 2.5)
            w.case("result_type.Scalar_Scalar", True, v)


def elements(w):
    for d in DTYPES:
        for x in (torch.tensor(3).to(d), torch.tensor([[0]], dtype=d), torch.ones(2, dtype=d), torch.ones(0, dtype=d)):
            w.case("item", x)
            w.case("is_nonzero", x)
        for e in DTYPES:
            w.case("equal", torch.tensor([1, 0], dtype=d), torch.tensor([1, 0], dtype=e))
    for v in (NAN, INF, -0.0, 1e300):
        w.case("item", torch.tensor(v, dtype=F64))
        w.case("is_nonzero", torch.tensor(v))
        w.case("equal", torch.tensor([v]), torch.tensor([v]))
        for nan in (False, True):
            w.case("allclose", torch.tensor([v, 1]), torch.tensor([v, 1]), equal_nan=nan)
    x = torch.tensor([1.0, 2.0, 3.0])
    for y in (x, x + 1e-9, x * 1.001, x[:2], x[:1], x.double(), torch.ones(2, 3), x.to(I64)):
        w.case("equal", x, y)
        w.case("allclose", x, y)
        w.case("allclose", x, y, rtol=0.01)
        w.case("allclose", x, y, atol=-1.0)
    w.case("allclose", torch.tensor([5, 7]), torch.tensor([5, 8]), rtol=0.2)
    w.case("allclose", torch.zeros(0), torch.zeros(0))
    w.case("equal", torch.zeros(0), torch.zeros(0))
    w.case("item", torch.tensor(2**53 + 1))


def main():
    w = QuestionWriter()
    for part in (layouts, dtypes, elements):
        part(w)
    w.save(sys.argv[1])


if __name__ == "__main__":
    main()
