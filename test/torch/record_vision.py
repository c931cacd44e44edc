"""Records what torchvision's nms, roi_align and deform_conv2d give. The cases have the form of the operator cases in
test/data/oracle (`lazuli test ops` runs them).

    record_vision.py OUT      writes OUT.jsonl.gz and OUT.bin.gz"""
import itertools
import sys

import torch
import torchvision

from record_corners import BF16, F32, F64, I64, Writer

MAKE = torch.Generator().manual_seed(29)


class VisionWriter(Writer):
    space = "torchvision"


def rand(*sizes, dtype=F32):
    return torch.randn(sizes, generator=MAKE, dtype=F64).to(dtype)


def boxes(n, size, dtype):
    at = torch.rand(n, 2, generator=MAKE, dtype=F64) * size
    return torch.cat([at, at + torch.rand(n, 2, generator=MAKE, dtype=F64) * size / 2], 1).to(dtype)


def suppression(w):
    for d, n, most in itertools.product((F32, F64), (0, 1, 5, 60), (0.0, 0.3, 0.7, 1.0)):
        w.case("nms", boxes(n, 10, d), rand(n, dtype=d), most)
    same = torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]])
    w.case("nms", same, torch.tensor([1.0, 2, 2, 2, 1]), 0.5)
    w.case("nms", same, torch.tensor([1.0, 2, float("nan"), 2, 1]), 0.5)
    for args in ((same[:, :3], torch.ones(5), 0.5), (same[0], torch.ones(4), 0.5), (same, torch.ones(4), 0.5), (same, torch.ones(5, 1), 0.5),
                 (same, torch.ones(5).double(), 0.5), (same.long(), torch.ones(5, dtype=I64), 0.5)):
        w.case("nms", *args)


def alignment(w):
    for d, scale, rows, cols, samples, aligned in itertools.product((F32, F64), (1.0, 0.5), (1, 3), (2,), (0, 1, 2, -1), (False, True)):
        x = rand(2, 3, 7, 6, dtype=d)
        rois = torch.cat([torch.tensor([[0], [1], [1], [0]], dtype=d), boxes(4, 8, d) - 1], 1)
        w.case("roi_align", x, rois, scale, rows, cols, samples, aligned)
        w.case("_roi_align_backward", rand(4, 3, rows, cols, dtype=d), rois, scale, rows, cols, 2, 3, 7, 6, samples, aligned)
    x = rand(1, 2, 5, 5)
    for box in ([0, 0, 0, 0, 0], [0, 3, 3, 1, 1], [0, -9, -9, -5, -5], [0, -2, -2, 9, 9], [0, 4, 4, 5, 5]):
        for aligned in (False, True):
            w.case("roi_align", x, torch.tensor([box], dtype=F32), 1.0, 2, 2, 0, aligned)
    w.case("roi_align", x, torch.zeros(0, 5), 1.0, 2, 2, 0, True)
    w.case("roi_align", x.transpose(2, 3), torch.tensor([[0.0, 1, 2, 4, 5]]), 1.0, 2, 2, 0, True)
    w.case("roi_align", x, torch.zeros(2, 4), 1.0, 2, 2, 0, True)
    w.case("roi_align", x.double(), torch.zeros(2, 5), 1.0, 2, 2, 0, True)


def deformation(w):
    for d in (F32, F64):
        for groups, parts, k, stride, pad, dil in ((1, 1, (3, 3), (1, 1), (0, 0), (1, 1)), (2, 2, (3, 2), (2, 1), (1, 0), (1, 1)),
                                                   (1, 2, (2, 2), (1, 2), (1, 1), (2, 1)), (2, 1, (1, 1), (1, 1), (0, 0), (1, 1))):
            x = rand(2, 4, 7, 6, dtype=d)
            weight = rand(6, 4 // groups, *k, dtype=d)
            h = (7 + 2 * pad[0] - dil[0] * (k[0] - 1) - 1) // stride[0] + 1
            v = (6 + 2 * pad[1] - dil[1] * (k[1] - 1) - 1) // stride[1] + 1
            offset, mask = rand(2, parts * 2 * k[0] * k[1], h, v, dtype=d) * 2, rand(2, parts * k[0] * k[1], h, v, dtype=d)
            for use in (True, False):
                w.case("deform_conv2d", x, weight, offset, mask if use else torch.zeros(2, 1, dtype=d), rand(6, dtype=d), *stride, *pad, *dil,
                       groups, parts, use)
    x, weight, bias, zero = rand(1, 2, 5, 5), rand(3, 2, 3, 3), rand(3), torch.zeros(1, 1)
    for offset, args in ((rand(1, 18, 3, 3), (1, 1, 0, 0, 1, 1, 1, 1)), (rand(1, 16, 3, 3), (1, 1, 0, 0, 1, 1, 1, 1)), (rand(2, 18, 3, 3), (1, 1, 0, 0, 1, 1, 1, 1)),
                         (rand(1, 18, 2, 3), (1, 1, 0, 0, 1, 1, 1, 1)), (rand(1, 18, 3, 3), (1, 1, -1, 0, 1, 1, 1, 1)),
                         (rand(1, 18, 3, 3), (1, 1, 0, 0, 0, 1, 1, 1)), (rand(1, 18, 3, 3), (1, 1, 0, 0, 1, 1, 2, 1)), (rand(1, 18, 3, 3), (1, 1, 0, 0, 3, 3, 1, 1))):
        w.case("deform_conv2d", x, weight, offset, zero, bias, *args, False)
    w.case("deform_conv2d", x, weight, rand(1, 18, 3, 3), rand(1, 8, 3, 3), bias, 1, 1, 0, 0, 1, 1, 1, 1, True)


def main(out):
    w = VisionWriter()
    for family in (suppression, alignment, deformation):
        family(w)
    w.save(out)
    print(len(w.lines), "cases with torchvision", torchvision.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
