"""Records what PyTorch's composites give that random programs do not call: parts of other operators, and convolutions under
the names of their implementations. The cases have the form of the operator cases in test/data/oracle (`lazuli test ops`).

    record_composed.py OUT      writes OUT.jsonl.gz and OUT.bin.gz"""
import itertools
import sys

import torch

from record_corners import BF16, BOOL, F16, F32, F64, I32, I64, INF
from record_lists import ListWriter

MAKE = torch.Generator().manual_seed(19)


def rand(*sizes, dtype=F32):
    return (torch.randn(sizes, generator=MAKE) * 4).round().div(4).to(dtype)


def pointwise(w):
    for dt in (F32, F64, torch.int8, I32, I64):
        x, y = rand(2, 3, dtype=dt), rand(3, dtype=dt)
        w.case("_add_relu.Tensor", x, y)
        w.case("_add_relu.Tensor", x, y, alpha=2)
        w.case("_add_relu.Scalar", x, 1)
        w.case("_add_relu.Scalar", x, -1, 2)
    for x in ([], [True, True], [True, False], [False]):
        w.case("_is_all_true", torch.tensor(x, dtype=BOOL))
        w.case("_is_any_true", torch.tensor(x, dtype=BOOL))
    w.case("infinitely_differentiable_gelu_backward", rand(2, 3), rand(2, 3))
    for d in (-1, 0, 1):
        x, dx = rand(2, 4, dtype=F64), rand(2, 4, dtype=F64)
        g = torch.nn.functional.glu(x, d)
        w.case("glu_jvp", g, x, dx, d)
        w.case("glu_backward_jvp", rand(2, 4, dtype=F64), torch.ones_like(g), x, torch.ones_like(g) * 2, dx, d)


def softmax(w):
    x, g = rand(2, 3, 4, 4), rand(2, 3, 4, 4)
    choice = rand(2, 3, 4, 4) > 0
    choice[0, 0, 0] = True
    for dim in (None, -1, 1):
        w.case("_masked_softmax", x, choice, dim, 2)
        w.case("_masked_softmax_backward", g, torch.softmax(x, -1 if dim is None else dim), choice, dim)
    w.case("_masked_softmax", x, choice[0, 0], None, 0)
    w.case("_masked_softmax", x, choice[:, 0, 0], None, 1)
    w.case("_masked_softmax", x, choice.float(), None, 2)
    w.case("_masked_softmax", x, choice, None, 3)


def norms(w):
    v = rand(3, 4, 2) + 5
    for dim in (0, 2):
        g = rand(*[v.shape[i] if i == dim else 1 for i in range(3)])
        out, size = torch.ops.aten._weight_norm_interface(v, g, dim)
        w.case("_weight_norm_interface", v, g, dim)
        w.case("_weight_norm", v, g, dim)
        w.case("_weight_norm_interface_backward", rand(3, 4, 2), v, g, size, dim)
        w.case("_weight_norm_differentiable_backward", rand(3, 4, 2), v, g, size, dim)
    w.case("_weight_norm", v, rand(1, 4, 1), 1)
    w.case("_weight_norm_interface", v, rand(1, 4, 1), 1)


def gradients(w):
    x = rand(4, 3)
    index = torch.tensor([[0, 2, 1], [3, 0, 0]])
    w.case("trace_backward", torch.tensor(2.0), [3, 4])
    w.case("trace_backward", torch.tensor(2.0), [3])
    w.case("index_select_backward", rand(2, 3), [4, 3], 0, torch.tensor([1, 1]))
    w.case("masked_select_backward", rand(12)[:int((x > 0).sum())], x, x > 0)
    w.case("gather_backward", rand(2, 3), x, 0, index, False)
    w.case("cummaxmin_backward", rand(4, 3), x, torch.cummax(x, 0).indices, 0)
    for values in (x, x + 5, x.long().double()):
        w.case("cumprod_backward", torch.ones_like(values), values, 0, torch.cumprod(values, 0))
    for keep in (False, True):
        best = torch.max(x, 1, keep)
        w.case("value_selecting_reduction_backward", torch.ones_like(best.values), 1, best.indices, [4, 3], keep)
    w.case("embedding_backward", rand(2, 3, 5), index, 6, 1, True, False)
    w.case("_logcumsumexp", x, 0)
    w.case("_aminmax", x)
    w.case("_aminmax.dim", x, 1, True)
    w.case("_euclidean_dist", rand(3, 4), rand(5, 4))
    w.case("_reshape_copy", x.t(), [2, -1])
    w.case("_stack", [x, x + 1], 1)
    w.case("flatten_dense_tensors", [x, rand(2), torch.zeros(0)])
    w.case("unflatten_dense_tensors", rand(8), [rand(2, 3), rand(2), torch.zeros(0)])
    w.case("nonzero_numpy", x)
    for dtype, on in itertools.product((F32, F16, F64, I64), (True, False)):
        w.case("_autocast_to_reduced_precision", x.to(dtype), True, on, F16, BF16)
        w.case("_autocast_to_full_precision", x.to(dtype), True, on)


def convolutions(w):
    x2, k2, b = rand(2, 3, 6, 5), rand(4, 3, 3, 2), rand(4)
    t2 = rand(3, 4, 3, 2)
    x3, k3, t3 = rand(1, 2, 4, 5, 3), rand(3, 2, 2, 3, 1), rand(2, 3, 2, 3, 1)
    for bias in (b, None):
        w.case("thnn_conv2d", x2, k2, [3, 2], bias, [2, 1], [1, 0])
        w.case("_slow_conv2d_forward", x2, k2, [3, 2], bias, [2, 1], [1, 0])
        w.case("slow_conv_dilated2d", x2, k2, [3, 2], bias, [1, 1], [1, 0], [2, 3])
        w.case("slow_conv_transpose2d", x2, t2, [3, 2], bias, [2, 1], [1, 0], [1, 0], [1, 1])
        w.case("_convolution.deprecated", x2, k2, bias, [2, 1], [1, 0], [1, 1], False, [0, 0], 1, False, False, False)
        c = bias[:3] if bias is not None else None
        w.case("slow_conv3d", x3, k3, [2, 3, 1], c, [1, 2, 1], [0, 1, 0])
        w.case("slow_conv3d_forward", x3, k3, [2, 3, 1], c, [1, 2, 1], [0, 1, 0])
        w.case("slow_conv_dilated3d", x3, k3, [2, 3, 1], c, [1, 1, 1], [1, 0, 0], [1, 2, 1])
        w.case("slow_conv_transpose3d", x3, t3, [2, 3, 1], c, [2, 1, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1])
    w.case("thnn_conv2d", x2[0], k2, [3, 2], b, [1, 1], [0, 0])
    w.case("slow_conv_transpose2d", x2[0], t2, [3, 2], b, [1, 1], [0, 0], [0, 0], [1, 1])
    y = torch.ops.aten.thnn_conv2d(x2, k2, [3, 2], b, [2, 1], [1, 0])
    for mask in ([True, True, True], [True, False, True], [False, True, False]):
        w.case("_slow_conv2d_backward.output_mask", torch.ones_like(y), x2, k2, [3, 2], [2, 1], [1, 0], mask)
    t, k = rand(5, 2, 3), rand(3, 3, 4)
    w.case("conv_tbc", t, k, rand(4), 1)
    w.case("conv_tbc", t, k, rand(4), 0)
    w.case("conv_tbc", t, k, rand(3), 0)
    w.case("conv_tbc", t[0], k, rand(4), 0)
    w.case("conv_tbc_backward", torch.ones(5, 2, 4), t, k, rand(4), 1)


def main():
    w = ListWriter()
    for part in (pointwise, softmax, norms, gradients, convolutions):
        part(w)
    w.save(sys.argv[1])
    print("%d cases, %d of them refused" % (len(w.lines), sum('"error"' in line for line in w.lines)))


if __name__ == "__main__":
    main()
