"""Records what PyTorch's gradient, unique_dim and fake_quantize operators give, as record_corners.py does.

    record_slopes.py OUT      writes OUT.jsonl.gz and OUT.bin.gz"""
import sys
import warnings

import torch

from record_corners import BF16, F16, F32, F64, I32, I64, INF, U8
from record_lists import ListWriter

warnings.simplefilter("ignore")
NAN = float("nan")


def slopes(w):
    g = torch.Generator().manual_seed(1)
    for x in (torch.rand(5, 4, generator=g), torch.rand(3, 4, 5, generator=g).to(F64), torch.tensor([1, 4, 9, 7, 2]),
              torch.rand(6, generator=g).to(F16), torch.rand(4, generator=g).to(BF16), torch.tensor(1.0), torch.ones(3, dtype=U8),
              torch.rand(2, 3, generator=g), torch.rand(1, 3, generator=g), torch.ones(0, 3)):
        for order in (1, 2, 3):
            w.case("gradient.scalarint", x, edge_order=order)
            w.case("gradient.scalarint", x, spacing=2.5, dim=-1, edge_order=order)
            w.case("gradient.scalarint", x, spacing=2, edge_order=order)
            w.case("gradient.array", x, dim=[0], edge_order=order)
            w.case("gradient.scalararray", x, spacing=0.5, dim=[-1, 0], edge_order=order)
            w.case("gradient.scalarrayint", x, spacing=[0.5, 3][:x.dim()], edge_order=order)
            w.case("gradient.scalarrayint", x, spacing=[0.5], dim=0, edge_order=order)
            w.case("gradient.scalarrayarray", x, spacing=[0.5, 2], dim=[1, 0], edge_order=order)
            if x.dim() and x.dtype not in (F16, BF16):  # whose intermediate results PyTorch rounds
                at = torch.cumsum(torch.rand(x.shape[0], generator=g, dtype=F64) + 0.25, 0).to(F32)
                w.case("gradient.tensorarrayint", x, spacing=[at], dim=0, edge_order=order)
                w.case("gradient.tensorarray", x, spacing=[at.double()], dim=[0], edge_order=order)
    x = torch.rand(3, 4, generator=g)
    w.case("gradient.array", x, dim=[])
    w.case("gradient.array", x, dim=[0, 0])
    w.case("gradient.array", x, dim=[5])
    w.case("gradient.tensorarrayint", x, spacing=[torch.ones(1, 4)], dim=1)
    w.case("gradient.tensorarrayint", x, spacing=[torch.arange(3), torch.tensor([1.0, 2, 4, 8])])
    w.case("gradient.tensorarrayint", x, spacing=[torch.ones(3)])


def uniques(w):
    g = torch.Generator().manual_seed(2)
    for d in (F32, I64, I32, U8, torch.bool, F16):
        for sizes in ((7, 2), (2, 9), (6, 3, 2), (1, 4), (5,), (3, 0), (0, 3), (0, 0)):
            x = torch.randint(0, 2, sizes, generator=g).to(d)
            for dim in range(-1, len(sizes)):
                w.case("unique_dim", x, dim, True, True, True)
                w.case("unique_dim_consecutive", x, dim, True, True)
    x = torch.randint(-3, 3, (40, 5), generator=g)
    w.case("unique_dim", x, 0)
    w.case("unique_dim", x, 1)
    w.case("unique_dim", torch.tensor(3), 0)
    w.case("unique_dim", x, 2)
    w.case("unique_dim_consecutive", x, 0)


def grids(w):
    x = torch.tensor([[1.3, -2.6, 300, NAN], [INF, -INF, 0.05, 0.15], [-0.0, 0.25, 12.7, 25.4]])
    for d in (F32, F64, F16, BF16, I64):
        y = x.nan_to_num(9).to(d) if d is I64 else x.to(d)
        for scale, zero, low, high in ((0.1, 3, 0, 255), (0.1, 3, -128, 127), (0.25, 0, -8, 7), (0.1, 300, 0, 255), (0.1, 3, 255, 0), (-0.1, 3, 0, 255)):
            args = (scale, zero, low, high)
            w.case("fake_quantize_per_tensor_affine_cachemask", y, *args)
            w.case("fake_quantize_per_tensor_affine", y, *args)
            s, z = torch.tensor([scale]), torch.tensor([zero], dtype=I32)
            w.case("fake_quantize_per_tensor_affine.tensor_qparams", y, s, z, low, high)
            for on in (0, 1):
                w.case("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", y, s, z, torch.tensor([on]), low, high)
            s, z = torch.tensor([0.1, 0.25, scale]), torch.tensor([3, 4, zero], dtype=I32)
            w.case("fake_quantize_per_channel_affine_cachemask", y, s, z, 0, low, high)
            w.case("fake_quantize_per_channel_affine", y, s, z, 0, low, high)
            w.case("fake_quantize_per_channel_affine_cachemask", y, s, z.float() + 0.5, 0, low, high)
    s, z = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([3, 4, 5], dtype=I32)
    for args in ((s, z, 1), (s.double(), z, 0), (s, z.long(), 0), (s, z.half(), 0), (s, z, -2), (s, z, 2), (s[None], z, 0), (s, z[:2], 0)):
        w.case("fake_quantize_per_channel_affine_cachemask", x, *args, 0, 255)
    for name in ("fake_quantize_per_tensor_affine_cachemask_backward", "fake_quantize_per_channel_affine_cachemask_backward"):
        for m in (x > 1, x, (x > 1)[:2]):
            w.case(name, x, m)
    w.case("fake_quantize_per_tensor_affine_cachemask", torch.zeros(0), 0.1, 3, 0, 255)


def trained(w):
    g = torch.Generator().manual_seed(3)
    x, grad = torch.rand(3, 4, generator=g) * 8 - 2, torch.rand(3, 4, generator=g) - 0.5
    for zero in (3.2, 3.6, -3.0, 300.0, 2.5):
        for low, high, factor in ((0, 255, 1.0), (-4, 7, 0.25)):
            s, z = torch.tensor([0.1]), torch.tensor([zero])
            for d in (F32, F64, F16):
                w.case("_fake_quantize_learnable_per_tensor_affine", x.to(d), s, z, low, high, factor)
            w.case("_fake_quantize_learnable_per_tensor_affine_backward", grad, x, s, z, low, high, factor)
            s, z = torch.tensor([0.1, 0.25, 0.03]), torch.tensor([1.0, 2.5, zero])
            w.case("_fake_quantize_learnable_per_channel_affine", x, s, z, 0, low, high, factor)
            w.case("_fake_quantize_learnable_per_channel_affine_backward", grad, x, s, z, 0, low, high, factor)
            w.case("_fake_quantize_learnable_per_channel_affine_backward", grad.t(), x.t(), s, z, 1, low, high, factor)
    w.case("_fake_quantize_learnable_per_tensor_affine", x, s[0], z, 0, 255)


def repeats(w):
    x = torch.arange(6.0).reshape(2, 3)
    for r in ([1, 2], [0, 3], [0, 0], [1, -1], [], [70000, 2]):
        for d in (I64, I32):
            w.case("repeat_interleave.Tensor", torch.tensor(r, dtype=d))
    w.case("repeat_interleave.Tensor", torch.tensor([1.0, 2]))
    w.case("repeat_interleave.Tensor", torch.tensor([[1, 2]]))
    w.case("repeat_interleave.Tensor", torch.tensor([1, 2]), output_size=3)
    w.case("repeat_interleave.Tensor", torch.tensor([1, 2]), output_size=4)
    for r, dim in (([1, 2], 0), ([1, 2], None), ([2], 0), ([0, 1, 3], 1), ([0, 1, 3], -1), ([1, 2], 1), ([0, 1, 2, 3, 0, 1], None), ([1, 2], 5)):
        w.case("repeat_interleave.self_Tensor", x, torch.tensor(r), dim)
    w.case("repeat_interleave.self_Tensor", x, torch.tensor(2), 1)
    w.case("repeat_interleave.self_Tensor", x, torch.tensor([[1, 2]]), 0)
    w.case("repeat_interleave.self_Tensor", x, torch.tensor([1, 2]), 0, output_size=3)
    w.case("repeat_interleave.self_Tensor", torch.tensor(3.0), torch.tensor([2]))
    w.case("repeat_interleave.self_Tensor", torch.tensor(3.0), torch.tensor([2]), 0)


def histograms(w):
    g = torch.Generator().manual_seed(4)
    for d in (F32, F64):
        x = torch.randint(0, 5, (20, 2), generator=g).to(d)
        weight = torch.rand(20, generator=g).to(d)
        b = [torch.tensor([0.0, 1, 2.5, 4], dtype=d), torch.tensor([1.0, 3], dtype=d)]
        for density in (False, True):
            for args in ([3, 2], [4, 4]):
                for span in (None, [0.0, 3.0, 1.0, 4.0], [1.0, 1.0, 0.0, 4.0]):
                    for name in ("_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "histogramdd"):
                        w.case(name, x, args, range=span, weight=weight, density=density)
            w.case("histogramdd.int_bins", x, 3, density=density)
            w.case("histogramdd.int_bins", x.reshape(4, 5, 2), 2, weight=weight.reshape(4, 5), density=density)
            w.case("histogramdd.TensorList_bins", x, b, weight=weight, density=density)
            w.case("_histogramdd_from_bin_tensors", x, b, density=density)
    x, b = torch.tensor([[0.0, 1], [1, 0], [2, 1], [2, 2]]), [torch.tensor([0.0, 1, 2]), torch.tensor([0.0, 2])]
    w.case("_histogramdd_from_bin_cts", torch.rand(50, 3, generator=g), [2, 3, 4])
    w.case("histogramdd", x[:0], [3, 2])
    w.case("histogramdd", torch.ones(2, 2), [3, 2])
    w.case("histogramdd", x, [3])
    w.case("histogramdd", x, [3, 0])
    w.case("histogramdd", x, [3, 2], [0.0, 1.0])
    w.case("histogramdd", x, [3, 2], [0.0, 1.0, 2.0, 1.0])
    w.case("histogramdd", x, [3, 2], weight=torch.ones(3))
    w.case("histogramdd", x, [3, 2], weight=torch.ones(4, dtype=F64))
    w.case("histogramdd", x.to(I64), [3, 2])
    w.case("histogramdd", x[0], [3, 2])
    w.case("histogramdd", torch.tensor([[NAN, 1.0]]), [3, 2])
    for bad in (b[:1], [b[0], b[1][:0]], [b[0].double(), b[1]], [b[0][:, None], b[1]], [b[0][:1], b[1]]):
        w.case("histogramdd.TensorList_bins", x, bad)


def puts(w):
    x, at = torch.arange(6.0), torch.tensor([0, 2, 2])
    for accumulate in (False, True):
        w.case("_index_put_impl", x, [at[1:] if not accumulate else at], torch.tensor(5.0), accumulate)
        w.case("_index_put_impl_", x.clone(), [at[:2]], torch.tensor([5.0, 6.0]), accumulate, True)
    w.case("_index_put_impl", x, [torch.tensor([9])], torch.tensor(5.0))


def main():
    w = ListWriter()
    for part in (slopes, uniques, grids, puts, trained, repeats, histograms):
        part(w)
    w.save(sys.argv[1])


if __name__ == "__main__":
    main()
