#!/usr/bin/env python3
"""Records what PyTorch's layers, losses, optimisers and schedules compute, for test/unit/nn.

    python test/torch/nn_facts.py test/data/nn

layers.npz, layers_more.npz
              NAME/x (input), NAME/p/... (state before), NAME/y, NAME/w (y is weighted by it and summed),
              NAME/gx, NAME/g/... (gradients), NAME/b/... (buffers afterwards), NAME/a/... (parameters afterwards)
optim.npz, optim_more.npz, optim_options.npz
              NAME/p (start), NAME/g (a gradient for each step), NAME/s (parameters after each step);
              of LBFGS: also NAME/loss (before each step), NAME/evals (calls of the closure, iterations)
schedules.npz NAME: a rate for each step
"""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)


def array(t):
    return t.detach().clone().numpy()


class Facts(dict):
    def save(self, path):
        np.savez_compressed(path, **self)


# ---- layers ----


def record_layer(out, name, module, inputs, call=None, eval_too=False):
    for p in module.parameters():
        if p.dim() < 2:
            p.data = torch.randn_like(p)
    for k, v in module.state_dict().items():
        out[f"{name}/p/{k}"] = array(v)
    xs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    y = call(module, *xs) if call else module(*xs)
    w = torch.randn_like(y)
    (y * w).sum().backward()
    out[f"{name}/y"], out[f"{name}/w"] = array(y), array(w)
    for i, x in enumerate(xs):
        out[f"{name}/x{i or ''}"] = array(x)
        if x.requires_grad:
            out[f"{name}/gx{i or ''}"] = array(x.grad)
    for k, p in module.named_parameters():
        out[f"{name}/g/{k}"] = array(torch.zeros_like(p) if p.grad is None else p.grad)
    for k, b in module.named_buffers():
        out[f"{name}/b/{k}"] = array(b)
    if eval_too:
        module.eval()
        out[f"{name}/eval"] = array(module(*inputs))


def recurrent(out):
    """Outputs and last states, one behind the other."""
    r = torch.randn

    def flat(m, x, *states):
        y, last = m(x, *([states if isinstance(m, nn.LSTM) else states[0]] if states else []))
        last = last if isinstance(m, nn.LSTM) else (last,)
        return torch.cat([t.flatten() for t in (y, *last)])

    record_layer(out, "lstm", nn.LSTM(3, 4), [r(5, 2, 3)], flat)
    record_layer(out, "lstm_deep", nn.LSTM(3, 2, 2, batch_first=True, bidirectional=True), [r(2, 4, 3), r(4, 2, 2), r(4, 2, 2)], flat)
    record_layer(out, "gru", nn.GRU(3, 4, bias=False), [r(5, 2, 3), r(1, 2, 4)], flat)
    record_layer(out, "gru_single", nn.GRU(3, 2, bidirectional=True), [r(4, 3), r(2, 2)], flat)
    record_layer(out, "rnn", nn.RNN(2, 3, 2), [r(4, 3, 2)], flat)
    record_layer(out, "rnn_relu", nn.RNN(2, 3, nonlinearity="relu"), [r(4, 3, 2)], flat)


def layers():
    out, r = Facts(), torch.randn
    record_layer(out, "linear", nn.Linear(5, 3), [r(4, 5)])
    record_layer(out, "linear_plain", nn.Linear(5, 3, bias=False), [r(2, 4, 5)])
    record_layer(out, "conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [r(2, 4, 9)])
    record_layer(out, "conv2d", nn.Conv2d(2, 4, 3, padding=1), [r(2, 2, 5, 6)])
    record_layer(out, "conv2d_each", nn.Conv2d(2, 3, (3, 2), (2, 1), (1, 0), (1, 2), bias=False), [r(2, 2, 7, 6)])
    record_layer(out, "conv2d_same", nn.Conv2d(2, 3, 4, padding="same", dilation=2), [r(1, 2, 6, 5)])
    record_layer(out, "conv_transpose1d", nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1), [r(2, 3, 5)])
    record_layer(out, "conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), [r(1, 4, 3, 4)])
    record_layer(out, "batch_norm1d", nn.BatchNorm1d(3), [r(6, 3)], eval_too=True)
    record_layer(out, "batch_norm1d_long", nn.BatchNorm1d(3, momentum=0.3, eps=1e-3), [r(4, 3, 5)], eval_too=True)
    record_layer(out, "batch_norm2d", nn.BatchNorm2d(3), [r(2, 3, 4, 4) * 2 + 1], eval_too=True)
    record_layer(out, "batch_norm2d_plain", nn.BatchNorm2d(3, affine=False, track_running_stats=False), [r(2, 3, 4, 4)],
                 eval_too=True)
    record_layer(out, "layer_norm", nn.LayerNorm((3, 4)), [r(2, 3, 4)])
    record_layer(out, "layer_norm_plain", nn.LayerNorm(4, bias=False), [r(2, 3, 4)])
    record_layer(out, "group_norm", nn.GroupNorm(2, 6), [r(2, 6, 3, 3)])
    record_layer(out, "embedding", nn.Embedding(7, 3), [torch.tensor([[1, 2, 6], [0, 2, 2]])])
    record_layer(out, "embedding_pad", nn.Embedding(7, 3, padding_idx=2), [torch.tensor([[1, 2, 6], [0, 2, 1]])])
    record_layer(out, "max_pool1d", nn.MaxPool1d(3, stride=2, padding=1), [r(2, 3, 8)])
    record_layer(out, "max_pool2d", nn.MaxPool2d(2), [r(2, 3, 6, 5)])
    record_layer(out, "avg_pool1d", nn.AvgPool1d(3, padding=1), [r(2, 3, 8)])
    record_layer(out, "avg_pool2d", nn.AvgPool2d((3, 2), stride=(2, 1), padding=1, count_include_pad=False), [r(2, 3, 6, 5)])
    record_layer(out, "adaptive_avg", nn.AdaptiveAvgPool2d((2, 3)), [r(2, 3, 5, 7)])
    record_layer(out, "adaptive_max", nn.AdaptiveMaxPool2d((2, 3)), [r(2, 3, 5, 7)])
    seq = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 2))
    record_layer(out, "sequential", seq, [r(3, 4)])
    attention(out)
    losses(out)
    recurrent(out)
    return out


def first(m, q, k, v, **kw):
    return m(q, k, v, need_weights=False, **kw)[0]


def attention(out):
    r = torch.randn
    x = r(5, 2, 8)
    self_ = lambda m, x: first(m, x, x, x)
    record_layer(out, "attention", nn.MultiheadAttention(8, 2), [x], self_)
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    record_layer(out, "attention_causal", nn.MultiheadAttention(8, 4, batch_first=True), [r(2, 5, 8)],
                 lambda m, x: first(m, x, x, x, attn_mask=causal))
    mask = r(4, 5, 5)
    pad = torch.tensor([[False, False, False, True, True], [False] * 5])
    out["attention_masks/mask"], out["attention_masks/pad"] = array(mask), array(pad)
    bias = torch.zeros(2, 5).masked_fill(pad, float("-inf"))
    record_layer(out, "attention_masks", nn.MultiheadAttention(8, 2, bias=False), [x],
                 lambda m, x: first(m, x, x, x, attn_mask=mask, key_padding_mask=bias))
    record_layer(out, "attention_other", nn.MultiheadAttention(8, 2, kdim=6, vdim=7), [r(3, 2, 8), r(4, 2, 6), r(4, 2, 7)], first)
    record_layer(out, "attention_single", nn.MultiheadAttention(8, 2), [r(3, 8), r(4, 8)], lambda m, q, k: first(m, q, k, k))
    record_weights(out, "attention_weights", nn.MultiheadAttention(8, 2), x)


def record_weights(out, name, m, x):
    record_layer(out, name, m, [x], lambda m, x: m(x, x, x)[0])
    out[f"{name}/mean"] = array(m(x, x, x)[1])
    out[f"{name}/each"] = array(m(x, x, x, average_attn_weights=False)[1])


def record_masked(out, name, m, x, mask, pad):
    out[f"{name}/mask"], out[f"{name}/pad"] = array(mask), array(pad)
    call = lambda m, x, **k: m(x, x, x, attn_mask=mask, key_padding_mask=pad, **k)
    record_layer(out, name, m, [x], lambda m, x: call(m, x, need_weights=False)[0])
    out[f"{name}/mean"] = array(call(m, x)[1])


class Nothing(nn.Module):
    pass


def losses(out):
    r = torch.randn
    t = torch.tensor([1.0, -1, -1, 1])
    for how in ("none", "mean", "sum"):
        record_layer(out, f"cosine_embedding_{how}", Nothing(), [r(4, 3), r(4, 3), t],
                     lambda m, a, b, t: F.cosine_embedding_loss(a, b, t.detach(), margin=0.1, reduction=how) + 0 * t.sum())
    record_layer(out, "gaussian_nll", Nothing(), [r(4, 3), r(4, 3), torch.rand(4, 3)],
                 lambda m, a, b, v: F.gaussian_nll_loss(a, b, v, full=True, eps=0.3))
    record_layer(out, "kl_batchmean", Nothing(), [r(4, 3), torch.rand(4, 3)],
                 lambda m, a, b: F.kl_div(F.log_softmax(a, 1), b, reduction="batchmean"))


# ---- rarer options ----


def options():
    out, r = Facts(), torch.randn
    cumulative = nn.BatchNorm1d(3, momentum=None)
    for _ in range(4):
        cumulative(r(5, 3) * 3 + 1)
    record_layer(out, "batch_norm1d_cumulative", cumulative, [r(6, 3)], eval_too=True)
    record_layer(out, "rms_norm", nn.RMSNorm((3, 4)), [r(2, 3, 4)])
    record_layer(out, "rms_norm_plain", nn.RMSNorm(4, eps=0.1, elementwise_affine=False), [r(2, 3, 4)])
    record_layer(out, "group_norm_plain", nn.GroupNorm(3, 6, eps=0.1, affine=False), [r(2, 6, 3)])
    record_layer(out, "conv1d_circular", nn.Conv1d(2, 3, 3, stride=2, padding=2, padding_mode="circular"), [r(2, 2, 5)])
    record_layer(out, "conv2d_reflect", nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect"), [r(2, 2, 4, 5)])
    same = nn.Conv2d(2, 3, (4, 3), padding="same", dilation=(1, 2), padding_mode="replicate", bias=False)
    record_layer(out, "conv2d_replicate_same", same, [r(2, 2, 4, 5)])
    record_layer(out, "conv3d", nn.Conv3d(2, 2, 2, padding=1, padding_mode="circular"), [r(1, 2, 3, 2, 2)])
    record_layer(out, "conv_transpose3d", nn.ConvTranspose3d(2, 2, 2, stride=2), [r(1, 2, 2, 1, 2)])
    index = torch.tensor([[1, 2, 6], [0, 2, 2]])
    record_layer(out, "embedding_freq", nn.Embedding(7, 3, scale_grad_by_freq=True), [index])
    for name, kind in (("embedding_max_norm", 2.0), ("embedding_max_norm1", 1.0)):
        m = nn.Embedding(7, 3, max_norm=1.3, norm_type=kind)
        record_layer(out, name, m, [index])
        out[f"{name}/a/weight"] = array(m.weight)
    record_layer(out, "max_pool1d_ceil", nn.MaxPool1d(3, 2, dilation=2, ceil_mode=True), [r(2, 3, 8)])
    record_layer(out, "max_pool2d_all", nn.MaxPool2d((3, 2), (2, 3), (1, 0), (1, 2), ceil_mode=True), [r(2, 3, 6, 7)])
    record_layer(out, "avg_pool1d_ceil", nn.AvgPool1d(3, 2, 1, ceil_mode=True, count_include_pad=False), [r(2, 3, 8)])
    record_layer(out, "avg_pool2d_divisor", nn.AvgPool2d(3, 2, 1, ceil_mode=True, divisor_override=5), [r(2, 3, 6, 5)])
    record_layer(out, "flatten_some", nn.Flatten(0, 1), [r(2, 3, 4)])
    record_layer(out, "gelu_tanh", nn.GELU(approximate="tanh"), [r(2, 3)])
    attention_options(out)
    loss_options(out)
    record_layer(out, "adaptive_own", nn.AdaptiveAvgPool2d((None, 3)), [r(2, 3, 5, 7)])
    record_layer(out, "adaptive_own_max", nn.AdaptiveMaxPool2d((2, None)), [r(2, 3, 5, 7)])
    return out


def attention_options(out):
    r, A = torch.randn, nn.MultiheadAttention
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    pad = torch.tensor([[False, False, False, True, True], [False] * 5])
    each = torch.rand(4, 5, 5) > 0.7
    each[:, :, 0] = False
    record_masked(out, "attention_bools", A(8, 2), r(5, 2, 8), each, pad)
    record_masked(out, "attention_floats", A(8, 4, batch_first=True), r(2, 5, 8), r(5, 5), r(2, 5))
    record_masked(out, "attention_bias_kv", A(8, 2, add_bias_kv=True), r(5, 2, 8), r(4, 5, 5), r(2, 5))
    record_masked(out, "attention_zero_attn", A(8, 2, add_zero_attn=True, bias=False), r(5, 2, 8), causal, pad)
    record_masked(out, "attention_pad_single", A(8, 2, add_zero_attn=True), r(5, 8), causal, pad[0])
    both = A(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True, kdim=6, vdim=7)
    record_layer(out, "attention_more", both, [r(2, 3, 8), r(2, 4, 6), r(2, 4, 7)], first)
    record_layer(out, "attention_more_causal", A(8, 2, add_bias_kv=True, add_zero_attn=True), [r(5, 2, 8)],
                 lambda m, x: first(m, x, x, x, attn_mask=causal))
    record_weights(out, "attention_weights_single", A(8, 2, batch_first=True), r(5, 8))


def loss_options(out):
    r = torch.randn
    record_layer(out, "gaussian_nll_rows", Nothing(), [r(4, 3), r(4, 3), torch.rand(4)],
                 lambda m, a, b, v: F.gaussian_nll_loss(a, b, v, reduction="none"))
    record_layer(out, "kl_batchmean_log", Nothing(), [r(4, 3), r(4, 3)],
                 lambda m, a, b: F.kl_div(F.log_softmax(a, 1), b, reduction="batchmean", log_target=True))
    y = torch.tensor([2, 0, 1, 1, 2])
    w = torch.tensor([0.5, 2.0, 1.5])
    out["cross_entropy/t"], out["cross_entropy/weight"] = array(y), array(w)
    for how in ("none", "mean", "sum"):
        record_layer(out, f"cross_entropy_{how}", Nothing(), [r(5, 3)], lambda m, a: F.cross_entropy(
            a, y, weight=w, ignore_index=1, label_smoothing=0.2, reduction=how))


# ---- layers of layers.h and transformer.h, losses.h: in a file of their own, so that the numbers of the others stay ----


def more_layers():
    out = Facts()
    activations(out)
    norms(out)
    pools(out)
    shapes(out)
    two_inputs(out)
    cells(out)
    projections(out)
    transformers(out)
    more_losses(out)
    return out


def activations(out):
    x = torch.randn(2, 4, 3, 2) * 2
    for name, m in {
        "elu": nn.ELU(), "elu_half": nn.ELU(0.5), "celu": nn.CELU(1.5), "leaky_relu": nn.LeakyReLU(), "leaky_relu_all": nn.LeakyReLU(0.3),
        "hardtanh": nn.Hardtanh(), "hardtanh_all": nn.Hardtanh(-0.3, 1.2), "hardshrink": nn.Hardshrink(),
        "softshrink": nn.Softshrink(0.7), "softplus": nn.Softplus(), "softplus_all": nn.Softplus(2, 1.5), "threshold": nn.Threshold(0.1, 20),
        "glu": nn.GLU(), "glu_one": nn.GLU(1), "softmax": nn.Softmax(1), "softmin": nn.Softmin(-1), "log_softmax": nn.LogSoftmax(2),
        "softmax2d": nn.Softmax2d(), "softsign": nn.Softsign(), "tanhshrink": nn.Tanhshrink(), "relu6": nn.ReLU6(),
        "log_sigmoid": nn.LogSigmoid(), "mish": nn.Mish(), "selu": nn.SELU(), "hardswish": nn.Hardswish(),
        "hardsigmoid": nn.Hardsigmoid(), "silu": nn.SiLU(), "identity": nn.Identity(),
    }.items():
        record_layer(out, name, m, [x])
    record_layer(out, "prelu", nn.PReLU(), [x])
    record_layer(out, "prelu_each", nn.PReLU(4, 0.1), [x])


def norms(out):
    r = torch.randn
    record_layer(out, "batch_norm3d", nn.BatchNorm3d(2, eps=1e-3, momentum=0.2), [r(2, 2, 2, 3, 2) * 2 + 1], eval_too=True)
    record_layer(out, "instance_norm1d", nn.InstanceNorm1d(3), [r(2, 3, 5)], eval_too=True)
    record_layer(out, "instance_norm1d_single", nn.InstanceNorm1d(3, affine=True), [r(3, 5)], eval_too=True)
    record_layer(out, "instance_norm2d", nn.InstanceNorm2d(2, eps=1e-2, momentum=0.3, affine=True, track_running_stats=True),
                 [r(3, 2, 3, 4) * 2 + 1], eval_too=True)
    record_layer(out, "instance_norm3d", nn.InstanceNorm3d(2, affine=True, bias=False), [r(2, 2, 2, 2, 3)], eval_too=True)
    record_layer(out, "instance_norm3d_stats", nn.InstanceNorm3d(2, track_running_stats=True), [r(2, 2, 2, 2, 3)], eval_too=True)
    record_layer(out, "response_norm", nn.LocalResponseNorm(2), [r(2, 5, 3)])
    record_layer(out, "response_norm_all", nn.LocalResponseNorm(3, alpha=0.2, beta=1.5, k=2), [r(2, 5, 2, 2, 2)])


def pools(out):
    r = torch.randn
    record_layer(out, "max_pool3d", nn.MaxPool3d(2, padding=1), [r(1, 2, 4, 5, 3)])
    record_layer(out, "max_pool3d_all", nn.MaxPool3d((2, 1, 3), (2, 1, 2), (1, 0, 1), (1, 2, 1), ceil_mode=True), [r(2, 4, 5, 6)])
    record_layer(out, "avg_pool3d", nn.AvgPool3d(2), [r(1, 2, 4, 5, 3)])
    record_layer(out, "avg_pool3d_all", nn.AvgPool3d((3, 2, 2), (2, 1, 2), (1, 0, 1), ceil_mode=True, count_include_pad=False,
                                                     divisor_override=5), [r(1, 2, 4, 5, 3)])
    record_layer(out, "adaptive_avg3d", nn.AdaptiveAvgPool3d((2, 3, None)), [r(1, 2, 4, 5, 3)])
    record_layer(out, "adaptive_max1d", nn.AdaptiveMaxPool1d(3), [r(2, 3, 7)])
    record_layer(out, "adaptive_max3d", nn.AdaptiveMaxPool3d((2, None, 1)), [r(1, 2, 4, 3, 3)])
    record_layer(out, "lp_pool1d", nn.LPPool1d(2, 3), [r(2, 3, 8)])
    record_layer(out, "lp_pool2d", nn.LPPool2d(3, (2, 3), (2, 1), ceil_mode=True), [torch.rand(1, 2, 5, 6)])
    record_layer(out, "lp_pool2d_infinite", nn.LPPool2d(float("inf"), 2), [r(1, 2, 5, 6)])
    record_layer(out, "lp_pool3d", nn.LPPool3d(1.5, 2, stride=1), [torch.rand(1, 2, 3, 4, 3)])
    for dims, kernel, size in ((2, (2, 3), (3, 2)), (3, 2, (2, 3, 2))):
        cls = getattr(nn, f"FractionalMaxPool{dims}d")
        u = torch.rand(2, 2, dims)
        record_layer(out, f"fractional{dims}d", cls(kernel, output_size=size, _random_samples=u), [r(2, 2, *([7] * dims))])
        out[f"fractional{dims}d/u"] = array(u)
    u = torch.rand(1, 2, 2)
    record_layer(out, "fractional2d_ratio", nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.7), _random_samples=u), [r(2, 8, 9)])
    out["fractional2d_ratio/u"] = array(u)
    with_indices(out)


def with_indices(out):
    """Maxima, their places, and what comes back from them."""
    r = torch.randn
    for dims, x in ((1, r(2, 2, 9)), (2, r(2, 2, 7, 8)), (3, r(1, 2, 5, 4, 6))):
        pool = getattr(nn, f"MaxPool{dims}d")(3, 2, 1, return_indices=True)
        back = getattr(nn, f"MaxUnpool{dims}d")(3, 2, 1)
        out[f"unpool{dims}d/i"] = array(pool(x)[1])
        sizes = x.shape[2:]
        out[f"unpool{dims}d/plain"] = array(getattr(nn, f"MaxUnpool{dims}d")(2)(*getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)(x)))
        record_layer(out, f"unpool{dims}d", Nothing(), [x], lambda m, x: back(*pool(x), output_size=sizes))
    adaptive = nn.AdaptiveMaxPool2d((2, 3), return_indices=True)
    x = r(2, 3, 5, 7)
    out["adaptive_indices/i"] = array(adaptive(x)[1])
    record_layer(out, "adaptive_indices", Nothing(), [x], lambda m, x: adaptive(x)[0])


def shapes(out):
    r = torch.randn
    inputs = {1: r(2, 2, 4), 2: r(2, 2, 4, 3), 3: r(1, 2, 3, 4, 3)}
    for dims, x in inputs.items():
        each = tuple([1, 2, 0, 1, 2, 1][: 2 * dims])
        for kind in ("Reflection", "Replication", "Circular", "Zero"):
            record_layer(out, f"{kind.lower()}_pad{dims}d", getattr(nn, f"{kind}Pad{dims}d")(each), [x])
        record_layer(out, f"constant_pad{dims}d", getattr(nn, f"ConstantPad{dims}d")(1, 3.5), [x])
        record_layer(out, f"cut_pad{dims}d", getattr(nn, f"ConstantPad{dims}d")(tuple([-1, 1] * dims), 0.5), [x[0]])
    record_layer(out, "unflatten", nn.Unflatten(1, (2, -1)), [r(2, 6, 3)])
    record_layer(out, "pixel_shuffle", nn.PixelShuffle(2), [r(2, 8, 3, 2)])
    record_layer(out, "pixel_unshuffle", nn.PixelUnshuffle(3), [r(2, 6, 3)])
    record_layer(out, "channel_shuffle", nn.ChannelShuffle(2), [r(2, 6, 3)])
    record_layer(out, "unfold", nn.Unfold((2, 3), dilation=(1, 2), padding=1, stride=(2, 1)), [r(2, 2, 5, 6)])
    record_layer(out, "fold", nn.Fold((4, 5), 2, padding=1, stride=2), [r(2, 8, 9)])
    upsampling(out, inputs)


def upsampling(out, inputs):
    up = nn.Upsample
    for dims, x in inputs.items():
        for mode in ("nearest", "nearest-exact", "area"):
            record_layer(out, f"{mode.replace('-', '_')}{dims}d_scale", up(scale_factor=1.7, mode=mode), [x])
            record_layer(out, f"{mode.replace('-', '_')}{dims}d_size", up(size=5, mode=mode), [x])
    modes = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}
    for dims, names in modes.items():
        for mode in names:
            record_layer(out, f"{mode}_scale", up(scale_factor=tuple([1.6, 2, 1.3][:dims]), mode=mode), [inputs[dims]])
            record_layer(out, f"{mode}_align", up(size=tuple([5, 6, 4][:dims]), mode=mode, align_corners=True), [inputs[dims]])
            record_layer(out, f"{mode}_recompute", up(scale_factor=1.6, mode=mode, align_corners=False, recompute_scale_factor=True),
                         [inputs[dims]])


def two_inputs(out):
    r = torch.randn
    record_layer(out, "bilinear_layer", nn.Bilinear(3, 4, 2), [r(5, 3), r(5, 4)])
    record_layer(out, "bilinear_layer_plain", nn.Bilinear(3, 2, 4, bias=False), [r(2, 3, 3), r(2, 3, 2)])
    bags = torch.tensor([[1, 2, 6], [0, 2, 2]])
    flat, offsets = torch.tensor([1, 2, 6, 0, 2, 2, 5]), torch.tensor([0, 2, 2, 5])
    record_layer(out, "bag_mean", nn.EmbeddingBag(7, 3), [bags])
    record_layer(out, "bag_sum", nn.EmbeddingBag(7, 3, mode="sum", padding_idx=2), [bags])
    record_layer(out, "bag_max", nn.EmbeddingBag(7, 3, mode="max"), [flat, offsets])
    record_layer(out, "bag_last", nn.EmbeddingBag(7, 3, include_last_offset=True, padding_idx=-1), [flat, torch.tensor([0, 3, 7])])
    record_layer(out, "bag_freq", nn.EmbeddingBag(7, 3, mode="sum", scale_grad_by_freq=True), [flat, offsets])
    record_layer(out, "bag_weights", nn.EmbeddingBag(7, 3, mode="sum"), [flat, offsets, torch.rand(7)])
    m = nn.EmbeddingBag(7, 3, max_norm=1.1, norm_type=1.0)
    record_layer(out, "bag_norm", m, [bags])
    out["bag_norm/a/weight"] = array(m.weight)


def cells(out):
    r = torch.randn
    record_layer(out, "rnn_cell", nn.RNNCell(3, 4), [r(2, 3), r(2, 4)])
    record_layer(out, "rnn_cell_relu", nn.RNNCell(3, 4, nonlinearity="relu"), [r(2, 3)])
    record_layer(out, "gru_cell", nn.GRUCell(3, 4), [r(3), r(4)])
    record_layer(out, "gru_cell_plain", nn.GRUCell(3, 4, bias=False), [r(2, 3), r(2, 4)])
    both = lambda m, x, *s: torch.cat(m(x, s if s else None), -1)
    record_layer(out, "lstm_cell", nn.LSTMCell(3, 4), [r(2, 3), r(2, 4), r(2, 4)], both)
    record_layer(out, "lstm_cell_single", nn.LSTMCell(3, 4), [r(3)], both)


def projections(out):
    r = torch.randn

    def flat(m, x, *states):
        y, last = m(x, states if states else None)
        return torch.cat([t.flatten() for t in (y, *last)])

    record_layer(out, "lstm_proj", nn.LSTM(3, 5, proj_size=2), [r(4, 2, 3)], flat)
    deep = nn.LSTM(3, 4, 2, bias=False, batch_first=True, bidirectional=True, proj_size=2)
    record_layer(out, "lstm_proj_deep", deep, [r(2, 4, 3), r(4, 2, 2), r(4, 2, 4)], flat)


def transformers(out):
    r, E, D = torch.randn, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    plain = dict(dropout=0.0)
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    pad = torch.tensor([[False, False, False, True, True], [False] * 5])
    out["encoder_layer/pad"] = out["encoder/pad"] = out["transformer/pad"] = array(pad)
    record_layer(out, "encoder_layer", E(8, 2, 12, **plain), [r(5, 2, 8)], lambda m, x: m(x, src_key_padding_mask=pad))
    record_layer(out, "encoder_layer_first", E(8, 2, 6, **plain, activation="gelu", norm_first=True, batch_first=True, bias=False,
                                               layer_norm_eps=1e-3), [r(2, 5, 8)], lambda m, x: m(x, src_mask=causal))
    record_layer(out, "encoder_layer_own", E(8, 2, 6, **plain, activation=torch.tanh), [r(5, 8)])
    memory = r(4, 2, 8)
    mask = r(5, 4)
    out["decoder_layer/mask"] = array(mask)
    record_layer(out, "decoder_layer", D(8, 2, 12, **plain), [r(5, 2, 8), memory],
                 lambda m, x, y: m(x, y, tgt_mask=causal, memory_mask=mask))
    record_layer(out, "decoder_layer_first", D(8, 4, 6, **plain, norm_first=True, batch_first=True), [r(2, 5, 8), r(2, 4, 8)])
    stack = nn.TransformerEncoder(E(8, 2, 6, **plain), 2, enable_nested_tensor=False)
    record_layer(out, "encoder", stack, [r(5, 2, 8)], lambda m, x: m(x, mask=causal, src_key_padding_mask=pad))
    normed = nn.TransformerDecoder(D(8, 2, 6, **plain), 2, nn.LayerNorm(8))
    record_layer(out, "decoder", normed, [r(5, 2, 8), r(4, 2, 8)], lambda m, x, y: m(x, y, tgt_mask=causal))
    whole = nn.Transformer(8, 2, 1, 2, 6, **plain)
    record_layer(out, "transformer", whole, [r(5, 2, 8), r(5, 2, 8)],
                 lambda m, x, y: m(x, y, tgt_mask=causal, src_key_padding_mask=pad, memory_key_padding_mask=pad))


def more_losses(out):
    r = torch.randn
    y, w = torch.randint(0, 2, (4, 3)).double(), torch.rand(3)
    out["multilabel/t"], out["multilabel/weight"] = array(y), array(w)
    for how in ("none", "mean", "sum"):
        record_layer(out, f"multilabel_soft_margin_{how}", Nothing(), [r(4, 3)],
                     lambda m, a: F.multilabel_soft_margin_loss(a, y, weight=w if how == "none" else None, reduction=how))
        record_layer(out, f"triplet_{how}", Nothing(), [r(4, 3), r(4, 3), r(4, 3)],
                     lambda m, a, p, n: F.triplet_margin_with_distance_loss(a, p, n, margin=0.7, swap=how == "sum", reduction=how))
    far = lambda a, b: (a - b).abs().amax(-1)
    record_layer(out, "triplet_own", Nothing(), [r(4, 3), r(4, 3), r(4, 3)],
                 lambda m, a, p, n: F.triplet_margin_with_distance_loss(a, p, n, distance_function=far))
    target = torch.tensor([2, 0, 1, 1, 2])
    out["linear_loss/t"] = array(target)
    out["linear_loss_more/t"] = array(torch.randint(0, 3, (5, 2)))
    loss = nn.LinearCrossEntropyLoss(4, 3, bias=True, weight=w, ignore_index=1, label_smoothing=0.2, reduction="sum")
    record_layer(out, "linear_loss", loss, [r(5, 4)], lambda m, x: m(x, target))
    record_layer(out, "linear_loss_more", nn.LinearCrossEntropyLoss(4, 3, out_features=(2,)), [r(5, 4)],
                 lambda m, x: m(x, torch.from_numpy(out["linear_loss_more/t"])))
    soft = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0, head_bias=True)
    chosen = torch.tensor([0, 2, 5, 11, 6, 3])
    x = r(6, 8)
    out["adaptive_softmax/t"] = array(chosen)
    record_layer(out, "adaptive_softmax", soft, [x], lambda m, x: m(x, chosen).loss)
    out["adaptive_softmax/output"], out["adaptive_softmax/log_prob"] = array(soft(x, chosen).output), array(soft.log_prob(x))
    out["adaptive_softmax/predict"] = array(soft.predict(x))
    record_layer(out, "adaptive_softmax_single", nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7]), [r(8)],
                 lambda m, x: m(x, torch.tensor(9)).loss)


# ---- optimisers ----

STEPS = 12
OPTIMS = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "sgd_momentum": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, weight_decay=0.01)),
    "sgd_dampened": (torch.optim.SGD, dict(lr=0.05, momentum=0.8, dampening=0.3, maximize=True)),
    "sgd_nesterov": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1)),
    "adam": (torch.optim.Adam, dict()),
    "adam_all": (torch.optim.Adam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, amsgrad=True)),
    "adamw": (torch.optim.AdamW, dict()),
    "adamw_all": (torch.optim.AdamW, dict(lr=0.02, betas=(0.8, 0.95), weight_decay=0.2, amsgrad=True, maximize=True)),
    "rmsprop": (torch.optim.RMSprop, dict()),
    "rmsprop_all": (torch.optim.RMSprop, dict(lr=0.02, alpha=0.9, momentum=0.7, centered=True, weight_decay=0.1, eps=1e-4)),
    "adagrad": (torch.optim.Adagrad, dict()),
    "adagrad_all": (torch.optim.Adagrad, dict(lr=0.1, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.3, eps=1e-4)),
}


SIZE_OF_VECTOR = 12
# In a file of their own, so that the numbers of the others stay.
MORE_OPTIMS = {
    "adadelta": (torch.optim.Adadelta, dict()),
    "adadelta_all": (torch.optim.Adadelta, dict(lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True)),
    "adamax": (torch.optim.Adamax, dict()),
    "adamax_all": (torch.optim.Adamax, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, maximize=True)),
    "asgd": (torch.optim.ASGD, dict()),
    "asgd_all": (torch.optim.ASGD, dict(lr=0.05, lambd=0.02, alpha=0.6, t0=4, weight_decay=0.1, maximize=True)),
    "nadam": (torch.optim.NAdam, dict()),
    "nadam_all": (torch.optim.NAdam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, momentum_decay=0.02,
                                          decoupled_weight_decay=True, maximize=True)),
    "radam": (torch.optim.RAdam, dict()),
    "radam_all": (torch.optim.RAdam, dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1, decoupled_weight_decay=True,
                                          maximize=True)),
    "rprop": (torch.optim.Rprop, dict()),
    "rprop_all": (torch.optim.Rprop, dict(lr=0.02, etas=(0.4, 1.5), step_sizes=(0.005, 0.1), maximize=True)),
    "adafactor": (torch.optim.Adafactor, dict()),
    "adafactor_all": (torch.optim.Adafactor, dict(lr=0.2, beta2_decay=-0.5, eps=(1e-3, 0.01), d=1.5, weight_decay=0.1,
                                                  maximize=True)),
    "muon": (torch.optim.Muon, dict()),
    "muon_all": (torch.optim.Muon, dict(lr=0.05, weight_decay=0.2, momentum=0.8, nesterov=False, ns_steps=3,
                                        adjust_lr_fn="match_rms_adamw")),
}


def more_optimisers():
    out = trajectories(MORE_OPTIMS)
    p = nn.Parameter(torch.randn(SIZE_OF_VECTOR))
    o = torch.optim.Adafactor([p], lr=0.1)
    grads, seen = torch.randn(STEPS, SIZE_OF_VECTOR), []
    out["vector/p"], out["vector/g"] = array(p), array(grads)
    for g in grads:
        p.grad = g.clone()
        o.step()
        seen.append(array(p))
    out["vector/s"] = np.stack(seen)
    return out


def more_options():
    """Options that came later, and LBFGS: parameters and losses after each step, for a function with a narrow valley."""
    out = trajectories({
        "adam_decoupled": (torch.optim.Adam, dict(lr=0.02, weight_decay=0.2, decoupled_weight_decay=True)),
        "muon_spectral": (torch.optim.Muon, dict(lr=0.05, adjust_lr_fn="spectral_unclamped")),
    })
    for name, options in {
        "lbfgs": dict(lr=0.01, max_iter=6),
        "lbfgs_wolfe": dict(line_search_fn="strong_wolfe", max_iter=7),
        "lbfgs_all": dict(lr=0.3, max_iter=5, max_eval=4, tolerance_grad=1e-3, tolerance_change=1e-4, history_size=3, maximize=True),
        "lbfgs_short": dict(lr=0.8, line_search_fn="strong_wolfe", max_iter=4, max_eval=6, history_size=2, tolerance_change=1e-12),
        "lbfgs_far": dict(lr=40.0, line_search_fn="strong_wolfe", max_iter=6, max_eval=30),
    }.items():
        a, b = nn.Parameter(torch.tensor([-1.2, 1.0, -0.7])), nn.Parameter(torch.tensor([[0.5, 2.0]]))
        o, seen, losses = torch.optim.LBFGS([a, b], **options), [], []
        sign = -1 if options.get("maximize") else 1

        def closure():
            o.zero_grad()
            x = torch.cat([a, b.flatten()])
            loss = sign * (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(STEPS):
            losses.append(float(o.step(closure)))
            seen.append(np.concatenate([array(a), array(b).ravel()]))
        out[f"{name}/s"], out[f"{name}/loss"] = np.stack(seen), np.array(losses)
        state = o.state[a]
        out[f"{name}/evals"] = np.array([state["func_evals"], state["n_iter"]], dtype=np.float64)
    return out


def trajectories(kinds):
    """The third gradient is missing, and the rate halves after half of the steps."""
    out = Facts()
    for name, (kind, options) in kinds.items():
        p = nn.Parameter(torch.randn(3, 4))
        o = kind([p], **options)
        grads, seen = torch.randn(STEPS, 3, 4), []
        out[f"{name}/p"], out[f"{name}/g"] = array(p), array(grads)
        for i in range(STEPS):
            if i == STEPS // 2:
                o.param_groups[0]["lr"] *= 0.5
            p.grad = None if i == 2 else grads[i].clone()
            o.step()
            seen.append(array(p))
        out[f"{name}/s"] = np.stack(seen)
    return out


def optimisers():
    out = trajectories(OPTIMS)
    out["clip/g0"], out["clip/g1"] = array(torch.randn(3, 4)), array(torch.randn(5))
    for name, kind in (("2", 2.0), ("1", 1.0), ("inf", float("inf"))):
        ps = [nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(5))]
        for p, k in zip(ps, ("g0", "g1")):
            p.grad = torch.from_numpy(out["clip/" + k].copy())
        out[f"clip/norm_{name}"] = array(torch.nn.utils.clip_grad_norm_(ps, 0.7, norm_type=kind))
        out[f"clip/c0_{name}"], out[f"clip/c1_{name}"] = array(ps[0].grad), array(ps[1].grad)
    return out


# ---- schedules ----


def rates(make, steps=300, metric=None, key="lr"):
    o = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3, momentum=0.9)
    s, seen = make(o), []
    for i in range(steps):
        seen.append(o.param_groups[0][key])
        o.step()
        s.step(metric[i]) if metric is not None else s.step()
    return np.array(seen)


def schedules():
    L, out = torch.optim.lr_scheduler, Facts()
    out["step"] = rates(lambda o: L.StepLR(o, 30, 0.5))
    out["multistep"] = rates(lambda o: L.MultiStepLR(o, [20, 90, 91, 250], 0.3))
    out["exponential"] = rates(lambda o: L.ExponentialLR(o, 0.97))
    out["cosine"] = rates(lambda o: L.CosineAnnealingLR(o, 100, 0.01), 101)
    out["restarts"] = rates(lambda o: L.CosineAnnealingWarmRestarts(o, 40, 1, 0.02))
    out["restarts_grow"] = rates(lambda o: L.CosineAnnealingWarmRestarts(o, 10, 2, 0.02))
    out["constant"] = rates(lambda o: L.ConstantLR(o, 0.25, 17))
    out["linear"] = rates(lambda o: L.LinearLR(o, 0.1, 0.9, 50))
    out["polynomial"] = rates(lambda o: L.PolynomialLR(o, 120, 2.0))
    cycle = lambda **k: rates(lambda o: L.OneCycleLR(o, 0.3, 300, cycle_momentum=False, **k))
    out["one_cycle"] = cycle()
    out["one_cycle_linear"] = cycle(anneal_strategy="linear", pct_start=0.21, div_factor=10, final_div_factor=100)
    out["one_cycle_three"] = cycle(three_phase=True, pct_start=0.4)
    out["momentum"] = rates(lambda o: L.OneCycleLR(o, 0.3, 300), key="momentum")
    out["momentum_three"] = rates(lambda o: L.OneCycleLR(o, 0.3, 300, three_phase=True, pct_start=0.4), key="momentum")
    cyclic = lambda *a, **k: rates(lambda o: L.CyclicLR(o, 0.1, 0.5, *a, cycle_momentum=False, **k))
    out["cyclic"] = cyclic(20)
    out["cyclic_halves"] = cyclic(7, 19, mode="triangular2")
    out["cyclic_gamma"] = cyclic(30, 5, mode="exp_range", gamma=0.98)
    metric = np.abs(np.random.default_rng(1).normal(size=300)) * np.linspace(3, 0.2, 300) + 1
    out["metric"] = metric
    plateau = lambda **k: rates(lambda o: L.ReduceLROnPlateau(o, **k), metric=metric)
    out["plateau"] = plateau()
    out["plateau_all"] = plateau(factor=0.5, patience=3, threshold=0.01, threshold_mode="abs", cooldown=4, min_lr=1e-3)
    out["plateau_max"] = plateau(mode="max", factor=0.7, patience=5)
    return out


if __name__ == "__main__":
    torch.manual_seed(1)
    facts = layers()
    optimisers().save(sys.argv[1] + "/optim.npz")
    schedules().save(sys.argv[1] + "/schedules.npz")
    torch.manual_seed(2)
    facts.update(options())
    facts.save(sys.argv[1] + "/layers.npz")
    torch.manual_seed(3)
    more_optimisers().save(sys.argv[1] + "/optim_more.npz")
    torch.manual_seed(5)
    more_options().save(sys.argv[1] + "/optim_options.npz")
    torch.manual_seed(4)
    more_layers().save(sys.argv[1] + "/layers_more.npz")
