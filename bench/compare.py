#!/usr/bin/env python3
"""Lazuli beside its peers: the same expressions, in turns, on the same CPUs; one table with ratios.

    bench/compare.py --setup --venv DIR             makes a virtual environment with the peers
    bench/compare.py --venv DIR [--python PYTHON]   whatever these can import is compared with
    bench/compare.py --builds OLD NEW [suites]      two builds of the command, figure by figure

A peer lives in a process of its own (a worker), which makes its inputs and compiled functions once and is then asked for
times in turns with `lazuli bench`. Of each the least is shown; a ratio is the median of those of the rounds, because a
machine may be faster in one round than in the next. On one thread the time is the CPU's, so that other programs do
not count; on more it is the clock's. A peer that is missing is said to be missing.

Two builds run in turns, a new process for each suite and turn, all on the same CPU: OLD, NEW and once more OLD, whose
figures say how far two runs of one build differ. A figure is worse if its least value is more than --within percent
above OLD's, and further than OLD's is from its own.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["torch", "jax[cpu]", "numpy", "onnxruntime", "onnx"]

# suite, what --n means there by default, the unit of the table
CASES = [
    ("fused", [1000, 100000, 1000000, 20000000], "us"),
    ("softmax", [4096], "ms"),
    ("layernorm", [4096], "ms"),
    ("sum0", [4096], "ms"),
    ("sum1", [4096], "ms"),
    ("matmul", [64, 256, 1024, 2048], "us"),
    ("shapes", [30], "ms"),
    ("start", [3], "ms"),
    ("mlp", [64], "ms"),
    ("lenet", [64], "ms"),
    ("gpt", [8], "ms"),
    ("gpt_long", [1], "ms"),
    ("lstm", [16, 256], "ms"),
    ("gru", [16, 256], "ms"),
    ("adam", [200], "us"),
    ("ops", [1000], "us"),
]
RECURRENT = ["lstm", "gru"]  # by torch alone
TRAINING = ["mlp", "lenet", "gpt", "gpt_long"] + RECURRENT
IN_WORKER = ["fused", "softmax", "layernorm", "sum0", "sum1", "matmul"]
COLS = 1024
WIDE, HIDDEN = 784, 512


# ---- inputs ----


def shapes_of(suite, n):
    """The shapes of the inputs."""
    return {
        "fused": [(n,)] * 4,
        "softmax": [(n, COLS)],
        "layernorm": [(n, COLS), (COLS,), (COLS,)],
        "sum0": [(n, n)],
        "sum1": [(n, n)],
        "matmul": [(n, n)] * 2,
    }[suite]


def elements(np, shape):
    """What lz_bench_input makes."""
    n = 1
    for s in shape:
        n *= s
    i = np.arange(n, dtype=np.int64)
    return ((i * 7919 % 8191).astype(np.float32) / 2048 - 2).reshape(shape)


# ---- training: models as docs/performance.md describes them; one call is one step ----


class TorchTraining:
    """The three models in torch, eager or compiled."""

    def __init__(self, torch, compiled):
        self.torch, self.compiled = torch, compiled

    def mlp(self, n):
        nn, torch = self.torch.nn, self.torch
        model = nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        )
        return model, torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(n, 784), torch.randint(0, 10, (n,))

    def lenet(self, n):
        nn, torch = self.torch.nn, self.torch
        model = nn.Sequential(
            nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
        x, y = torch.randn(n, 1, 28, 28), torch.randint(0, 10, (n,))
        return model, torch.optim.SGD(model.parameters(), lr=0.01), x, y

    def gpt_long(self, n):
        return self.gpt(n, 4096)

    def gpt(self, n, length=128):
        torch = self.torch
        nn, f = torch.nn, torch.nn.functional

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.ln1, self.ln2 = nn.LayerNorm(256), nn.LayerNorm(256)
                self.qkv, self.proj = nn.Linear(256, 768), nn.Linear(256, 256)
                self.fc, self.fc2 = nn.Linear(256, 1024), nn.Linear(1024, 256)

            def forward(self, x):
                parts = self.qkv(self.ln1(x)).split(256, 2)
                q, k, v = (p.view(n, length, 4, 64).transpose(1, 2) for p in parts)
                o = f.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.proj(o.transpose(1, 2).reshape(n, length, 256))
                return x + self.fc2(f.gelu(self.fc(self.ln2(x))))

        class Gpt(nn.Module):
            def __init__(self):
                super().__init__()
                self.wte, self.wpe = nn.Embedding(96, 256), nn.Parameter(torch.randn(length, 256) * 0.02)
                self.blocks = nn.Sequential(*(Block() for _ in range(4)))
                self.lnf, self.head = nn.LayerNorm(256), nn.Linear(256, 96, bias=False)

            def forward(self, x):
                return self.head(self.lnf(self.blocks(self.wte(x) + self.wpe))).view(n * length, 96)

        model = Gpt()
        x, y = torch.randint(0, 96, (n, length)), torch.randint(0, 96, (n * length,))
        return model, torch.optim.Adam(model.parameters(), lr=3e-4), x, y

    def lstm(self, n):
        return self.recurrent(self.torch.nn.LSTM, n)

    def gru(self, n):
        return self.recurrent(self.torch.nn.GRU, n)

    def recurrent(self, layer, n):
        """The loss is the mean of squares: there are no targets."""
        model = layer(128, 256)
        return model, self.torch.optim.SGD(model.parameters(), lr=0.01), self.torch.randn(n, 16, 128), None

    def loss(self, z, y):
        return self.torch.nn.functional.cross_entropy(z, y) if y is not None else z[0].square().mean()

    def make(self, suite, n):
        torch = self.torch
        torch.set_grad_enabled(True)
        torch.manual_seed(1)
        model, optimiser, x, y = getattr(self, suite)(n)
        call = torch.compile(model) if self.compiled else model

        def step():
            optimiser.zero_grad()
            loss = self.loss(call(x), y)
            loss.backward()
            optimiser.step()
            return loss.item()

        return step


class JaxTraining:
    """The same in JAX: parameters are a list of arrays, a step is one compiled function."""

    def __init__(self, jax, np):
        self.jax, self.np, self.random = jax, np, np.random.RandomState(1)

    def weight(self, *shape):
        fan = 1
        for s in shape[:-1] if len(shape) == 2 else shape[1:]:
            fan *= s
        return ((self.random.rand(*shape) * 2 - 1) / fan**0.5).astype("float32")

    def dense(self, a, b):
        return [self.weight(a, b), self.np.zeros(b, "float32")]

    def mlp(self, n):
        jax = self.jax
        params = self.dense(784, 512) + self.dense(512, 512) + self.dense(512, 10)

        def forward(p, x):
            x = jax.nn.relu(x @ p[0] + p[1])
            x = jax.nn.relu(x @ p[2] + p[3])
            return x @ p[4] + p[5]

        return params, forward, self.random.randn(n, 784).astype("float32"), self.random.randint(0, 10, n)

    def lenet(self, n):
        jax, jnp, np = self.jax, self.jax.numpy, self.np
        params = [self.weight(32, 1, 5, 5), np.zeros(32, "float32"), self.weight(64, 32, 5, 5), np.zeros(64, "float32")]
        params += self.dense(1024, 128) + self.dense(128, 10)

        def layer(x, w, b):
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "VALID") + b[None, :, None, None])
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

        def forward(p, x):
            x = layer(layer(x, p[0], p[1]), p[2], p[3]).reshape(n, 1024)
            return jax.nn.relu(x @ p[4] + p[5]) @ p[6] + p[7]

        return params, forward, self.random.randn(n, 1, 28, 28).astype("float32"), self.random.randint(0, 10, n)

    def gpt_long(self, n):
        return self.gpt(n, 4096)

    def gpt(self, n, length=128):
        jax, jnp, np = self.jax, self.jax.numpy, self.np
        ones = [np.ones(256, "float32"), np.zeros(256, "float32")]
        block = lambda: ones + self.dense(256, 768) + self.dense(256, 256) + ones + self.dense(256, 1024) + self.dense(1024, 256)
        blocks = [block() for _ in range(4)]
        params = [self.weight(96, 256), self.weight(length, 256) * 0.02, blocks, ones, self.weight(256, 96)]

        def norm(x, w, b):
            d = x - x.mean(-1, keepdims=True)
            return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b

        def attend(qkv):
            q, k, v = (p.reshape(n, length, 4, 64).transpose(0, 2, 1, 3) for p in jnp.split(qkv, 3, axis=2))
            a = jnp.where(jnp.tril(jnp.ones((length, length), bool)), q @ k.transpose(0, 1, 3, 2) / 8, -jnp.inf)
            return (jax.nn.softmax(a, -1) @ v).transpose(0, 2, 1, 3).reshape(n, length, 256)

        def forward(p, x):
            h = p[0][x] + p[1]
            for b in p[2]:
                h = h + attend(norm(h, b[0], b[1]) @ b[2] + b[3]) @ b[4] + b[5]
                h = h + jax.nn.gelu(norm(h, b[6], b[7]) @ b[8] + b[9], approximate=False) @ b[10] + b[11]
            return (norm(h, *p[3]) @ p[4]).reshape(n * length, 96)

        return params, forward, self.random.randint(0, 96, (n, length)), self.random.randint(0, 96, n * length)

    def update(self, suite):
        """(parameters, state, gradients, step) -> (parameters, state); SGD, or Adam for gpt."""
        jnp, tree = self.jax.numpy, self.jax.tree_util.tree_map
        if suite not in ("gpt", "gpt_long"):
            return lambda p, s, g, t: (tree(lambda w, d: w - 0.01 * d, p, g), s)

        def adam(p, s, g, t):
            m = tree(lambda a, d: 0.9 * a + 0.1 * d, s[0], g)
            v = tree(lambda a, d: 0.999 * a + 0.001 * d * d, s[1], g)
            rate, scale = 3e-4 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
            return tree(lambda w, a, b: w - rate * a / (jnp.sqrt(b) / scale + 1e-8), p, m, v), (m, v)

        return adam

    def make(self, suite, n):
        jax, jnp = self.jax, self.jax.numpy
        params, forward, x, y = getattr(self, suite)(n)
        x, y, update = jnp.asarray(x), jnp.asarray(y), self.update(suite)
        params = jax.tree_util.tree_map(jnp.array, params)
        zeros = lambda: jax.tree_util.tree_map(jnp.zeros_like, params)
        now = {"p": params, "s": (zeros(), zeros()) if suite in ("gpt", "gpt_long") else (), "t": 0}

        def loss(p):
            return -jnp.take_along_axis(jax.nn.log_softmax(forward(p, x)), y[:, None], 1).mean()

        def step(p, s, t):
            value, g = jax.value_and_grad(loss)(p)
            return value, update(p, s, g, t)

        compiled = jax.jit(step, donate_argnums=(0, 1))

        def run():
            now["t"] += 1
            value, (now["p"], now["s"]) = compiled(now["p"], now["s"], float(now["t"]))
            jax.block_until_ready(now["p"])
            return float(value)

        return run


# ---- single operators ----


def torch_operators(torch, n):
    """The rows of `lazuli bench ops`: name -> a function of no arguments."""
    f, rand, randn = torch.nn.functional, torch.rand, torch.randn
    torch.manual_seed(0)
    x, m, y, weights = randn(n * n), randn(n, n), randn(n, n), rand(1000)
    ids, places = (rand(n * n) * n).long(), (rand(n * n) * n * n).long()
    row_ids, tokens, matrix_ids = ids[:n], ids[:4096], ids.reshape(n, n).clone()
    mask, u8, i32, sorted = x > 0, (rand(n * n) * 255).to(torch.uint8), ids.int(), x.sort().values
    m_f64, m_bf16, m_i8, table = m.double(), m.bfloat16(), (m * 40).to(torch.int8), randn(n, 256)
    p, q, b1, b2 = randn(2 * n, 16), randn((n + 1) // 2, 16), randn(64, 64, 64), randn(64, 64, 64)
    img, w1, w3, w5 = randn(8, 16, 64, 64), randn(16, 16, 1, 1), randn(16, 16, 3, 3), randn(16, 16, 5, 5)
    w_depth, w_transposed, heads = randn(16, 1, 3, 3), randn(16, 16, 2, 2), randn(4, 32, 128, 64)
    longs = randn(1, 4, 2048, 64)
    return {
        "sort_1e6": lambda: x.sort(),
        "sort_rows": lambda: m.sort(),
        "sort_cols": lambda: m.sort(0),
        "argsort_i64": lambda: ids.argsort(),
        "topk5_1e6": lambda: x.topk(min(5, n * n)),
        "topk10_rows": lambda: m.topk(min(10, n)),
        "topk100_rows": lambda: m.topk(min(100, n)),
        "kthvalue_1e6": lambda: x.kthvalue((n * n + 1) // 2),
        "median_1e6": lambda: x.median(),
        "unique_1e6": lambda: ids.unique(),
        "bincount": lambda: ids.bincount(minlength=n),
        "histc": lambda: x.histc(100),
        "scatter_add_1e6": lambda: torch.zeros(n).scatter_add(0, ids, x),
        "index_add_1e6": lambda: torch.zeros(n).index_add(0, ids, x),
        "index_add_rows": lambda: torch.zeros(n, n).index_add(0, row_ids, m),
        "index_put_acc": lambda: torch.zeros(n).index_put((ids,), x, accumulate=True),
        "gather_1e6": lambda: x.gather(0, places),
        "gather_rows": lambda: m.gather(1, matrix_ids),
        "index_select_rows": lambda: m.index_select(0, row_ids),
        "index_1e6": lambda: x[places],
        "cumsum_1e6": lambda: x.cumsum(0),
        "cumsum_rows": lambda: m.cumsum(1),
        "cumsum_cols": lambda: m.cumsum(0),
        "cumprod_rows": lambda: m.cumprod(1),
        "cummax_rows": lambda: m.cummax(1),
        "nonzero_1e6": lambda: mask.nonzero(),
        "masked_select_1e6": lambda: x.masked_select(mask),
        "searchsorted_1e6": lambda: torch.searchsorted(sorted, x),
        "where": lambda: torch.where(mask, x, sorted),
        "argmax_rows": lambda: m.argmax(1),
        "argmax_cols": lambda: m.argmax(0),
        "argmax_all": lambda: m.argmax(),
        "max_dim_rows": lambda: m.max(1),
        "sum_all": lambda: m.sum(),
        "sum_rows": lambda: m.sum(1),
        "sum_cols": lambda: m.sum(0),
        "sum_mid": lambda: img.sum((0, 2, 3)),
        "sum_i64": lambda: matrix_ids.sum(),
        "sum_u8": lambda: u8.sum(),
        "sum_bf16_rows": lambda: m_bf16.sum(1),
        "var_rows": lambda: m.var(1),
        "std_all": lambda: m.std(),
        "norm_all": lambda: torch.linalg.vector_norm(m),
        "prod_rows": lambda: m.prod(1),
        "any_rows": lambda: (m > 3).any(1),
        "logsumexp_rows": lambda: m.logsumexp(1),
        "softmax_rows": lambda: m.softmax(1),
        "softmax_cols": lambda: m.softmax(0),
        "softmax_d64": lambda: m_f64.softmax(1),
        "transpose_copy": lambda: m.t().contiguous(),
        "permute_copy": lambda: heads.permute(0, 2, 1, 3).contiguous(),
        "nchw_nhwc": lambda: img.permute(0, 2, 3, 1).contiguous(),
        "flip_rows": lambda: m.flip(1),
        "roll": lambda: m.roll(3, 1),
        "cat_0": lambda: torch.cat([m, y]),
        "cat_1": lambda: torch.cat([m, y], 1),
        "stack_2": lambda: torch.stack([m, y], 2),
        "repeat": lambda: table.repeat(4, 1),
        "tril": lambda: m.tril(),
        "one_hot": lambda: f.one_hot(tokens, n),
        "add": lambda: m + y,
        "add_t": lambda: m + y.t(),
        "add_bcast_col": lambda: m + y[:, :1],
        "exp": lambda: m.exp(),
        "tanh": lambda: m.tanh(),
        "gelu": lambda: f.gelu(m),
        "pow_2_5": lambda: m.abs().pow(2.5),
        "sin": lambda: m.sin(),
        "erf": lambda: m.erf(),
        "lgamma": lambda: m.abs().lgamma(),
        "sin_d64": lambda: m_f64.sin(),
        "exp_d64": lambda: m_f64.exp(),
        "div_i32": lambda: i32 // (i32 + 1),
        "remainder_i64": lambda: ids % 7,
        "to_f64": lambda: m.double(),
        "to_bf16": lambda: m.bfloat16(),
        "u8_to_f32": lambda: u8.float(),
        "rand_1e6": lambda: torch.rand(n * n),
        "randn_1e6": lambda: torch.randn(n * n),
        "uniform_1e6": lambda: torch.empty_like(x).uniform_(2, 5),
        "exponential_1e6": lambda: torch.empty_like(x).exponential_(),
        "bernoulli_1e6": lambda: torch.empty_like(x).bernoulli_(0.3),
        "randint_1e6": lambda: torch.randint(1000, (n * n,)),
        "randperm_1e6": lambda: torch.randperm(n * n),
        "multinomial_1e6": lambda: torch.multinomial(weights, n * n, True),
        "multinomial_rows": lambda: torch.multinomial(m.abs(), 1),
        "poisson_1e6": lambda: torch.poisson(torch.full_like(x, 5)),
        "dropout": lambda: f.dropout(m, 0.5),
        "mm_1000": lambda: m @ y,
        "mm_d64_1000": lambda: m_f64 @ m_f64,
        "mm_bf16_1000": lambda: m_bf16 @ m_bf16,
        "int_mm_1000": lambda: torch._int_mm(m_i8, m_i8),
        "mv_1000": lambda: m @ y[0],
        "mtv_1000": lambda: m.t() @ y[0],
        "dot_1e6": lambda: x.dot(sorted),
        "outer": lambda: torch.outer(y[0], y[1]),
        "bmm_64": lambda: b1.bmm(b2),
        "bmm_t": lambda: b1.bmm(b2.transpose(1, 2)),
        "mm_i64_200": lambda: matrix_ids[:200, :200] @ matrix_ids[:200, :200],
        "cdist": lambda: torch.cdist(p, q),
        "cdist_p1": lambda: torch.cdist(p, q, 1.0),
        "conv3x3": lambda: f.conv2d(img, w3, padding=1),
        "conv5x5": lambda: f.conv2d(img, w5, padding=2),
        "conv1x1": lambda: f.conv2d(img, w1),
        "conv_dw": lambda: f.conv2d(img, w_depth, padding=1, groups=16),
        "conv_s2": lambda: f.conv2d(img, w3, padding=1, stride=2),
        "conv_dil": lambda: f.conv2d(img, w3, padding=2, dilation=2),
        "conv_d64": lambda: f.conv2d(img.double(), w3.double(), padding=1),
        "convT_2": lambda: f.conv_transpose2d(img, w_transposed, stride=2),
        "conv1d": lambda: f.conv1d(img.reshape(8, 16, 4096), w3[:, :, 0], padding=1),
        "maxpool2": lambda: f.max_pool2d(img, 2),
        "maxpool3s2": lambda: f.max_pool2d(img, 3, 2, 1),
        "avgpool2": lambda: f.avg_pool2d(img, 2),
        "adaptive1": lambda: f.adaptive_avg_pool2d(img, 1),
        "bilinear2": lambda: f.interpolate(img, (128, 128), mode="bilinear"),
        "nearest2": lambda: f.interpolate(img, (128, 128)),
        "im2col": lambda: f.unfold(img, 3, padding=1),
        "pad_reflect": lambda: f.pad(img, (2, 2, 2, 2), mode="reflect"),
        "embedding": lambda: f.embedding(tokens, table),
        "layer_norm": lambda: f.layer_norm(m, (n,)),
        "sdpa": lambda: f.scaled_dot_product_attention(heads, heads, heads),
        "sdpa_long": lambda: f.scaled_dot_product_attention(longs, longs, longs, is_causal=True),
        "quantile_rows": lambda: m.quantile(0.9, dim=1),
        "kron": lambda: torch.kron(m[:30, :30], m[:30, :30]),
        "diff": lambda: m.diff(),
        "isin": lambda: torch.isin(ids, row_ids),
        "masked_fill": lambda: x.masked_fill(mask, 0),
        "lerp": lambda: m.lerp(y, 0.3),
    }


# ---- peers: each gives, for a suite and n, a function of no arguments that computes it once ----


class Numpy:
    def __init__(self, threads):
        import numpy as np

        self.np, self.version = np, np.__version__

    def make(self, suite, n):
        np = self.np
        x = [elements(np, s) for s in shapes_of(suite, n)]

        def fused(a, b, c, d):
            u = a * b + c
            g = 0.5 * u * (1 + np.tanh(0.7978845608 * (u + 0.044715 * u * u * u)))
            return g / (1 + np.exp(-d))

        def softmax(x):
            e = np.exp(x - x.max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)

        def layernorm(x, w, b):
            d = x - x.mean(axis=-1, keepdims=True)
            return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * w + b

        f = {
            "fused": fused,
            "softmax": softmax,
            "layernorm": layernorm,
            "sum0": lambda x: x.sum(axis=0),
            "sum1": lambda x: x.sum(axis=1),
            "matmul": lambda x, y: x @ y,
        }[suite]
        return lambda: f(*x)


def torch_adam(torch, np, n):
    """A step over the parameters of the suite `adam`, all of them in a few calls (`foreach`)."""
    params = []
    for i in range(n):
        rows = 16 * (1 + i % 8)
        p = torch.from_numpy(elements(np, (rows, 16) if i % 2 else (rows,))).requires_grad_()
        p.grad = torch.from_numpy(elements(np, tuple(p.shape)))
        params.append(p)
    return torch.optim.Adam(params, foreach=True).step


class Torch:
    compiled = False

    def __init__(self, threads):
        import numpy as np
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.np, self.torch, self.version = np, torch, torch.__version__

    def make(self, suite, n):
        if suite in TRAINING:
            return TorchTraining(self.torch, self.compiled).make(suite, n)
        torch = self.torch
        if suite == "adam":
            return torch_adam(torch, self.np, n)
        nn = torch.nn.functional
        x = [torch.from_numpy(elements(self.np, s)) for s in shapes_of(suite, n)]
        f = {
            "fused": lambda a, b, c, d: nn.gelu(a * b + c, approximate="tanh") * torch.sigmoid(d),
            "softmax": lambda x: torch.softmax(x, -1),
            "layernorm": lambda x, w, b: nn.layer_norm(x, (COLS,), w, b),
            "sum0": lambda x: x.sum(0),
            "sum1": lambda x: x.sum(1),
            "matmul": torch.mm,
        }[suite]
        return lambda: f(*x)

    def batches(self):
        torch = self.torch
        w = torch.from_numpy(elements(self.np, (WIDE, HIDDEN)))
        return lambda b: (lambda x=torch.from_numpy(elements(self.np, (b, WIDE))): torch.softmax(x @ w, -1))


    def operators(self, n):
        return torch_operators(self.torch, n)


class TorchCompile(Torch):
    compiled = True


class Jax:
    def __init__(self, threads):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import numpy as np

        self.np, self.jax, self.version = np, jax, jax.__version__

    def make(self, suite, n):
        jax, jnp = self.jax, self.jax.numpy
        if suite in TRAINING:
            return JaxTraining(jax, self.np).make(suite, n)
        x = [jnp.asarray(elements(self.np, s)) for s in shapes_of(suite, n)]

        def layernorm(x, w, b):
            d = x - x.mean(-1, keepdims=True)
            return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b

        f = jax.jit(
            {
                "fused": lambda a, b, c, d: jax.nn.gelu(a * b + c, approximate=True) * jax.nn.sigmoid(d),
                "softmax": lambda x: jax.nn.softmax(x, -1),
                "layernorm": layernorm,
                "sum0": lambda x: x.sum(0),
                "sum1": lambda x: x.sum(1),
                "matmul": lambda x, y: x @ y,
            }[suite]
        )
        return lambda: f(*x).block_until_ready()

    def batches(self):
        jax, jnp = self.jax, self.jax.numpy
        w = jnp.asarray(elements(self.np, (WIDE, HIDDEN)))
        f = jax.jit(lambda x, w: jax.nn.softmax(x @ w, -1))
        return lambda b: (lambda x=jnp.asarray(elements(self.np, (b, WIDE))): f(x, w).block_until_ready())


class Onnxruntime:
    def __init__(self, threads):
        import numpy as np
        import onnx
        import onnxruntime as ort

        self.np, self.onnx, self.ort, self.version = np, onnx, ort, ort.__version__
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3

    def graph(self, suite, x):
        node, make = self.onnx.helper.make_node, self.onnx.helper.make_tensor
        names = "abcd"[: len(x)]
        axes = [make("axes", self.onnx.TensorProto.INT64, [1], [int(suite == "sum1")])]
        nodes = {
            "fused": [
                node("Mul", ["a", "b"], ["ab"]),
                node("Add", ["ab", "c"], ["u"]),
                node("Gelu", ["u"], ["g"], approximate="tanh"),
                node("Sigmoid", ["d"], ["s"]),
                node("Mul", ["g", "s"], ["y"]),
            ],
            "softmax": [node("Softmax", ["a"], ["y"], axis=-1)],
            "layernorm": [node("LayerNormalization", ["a", "b", "c"], ["y"])],
            "sum0": [node("ReduceSum", ["a", "axes"], ["y"], keepdims=0)],
            "sum1": [node("ReduceSum", ["a", "axes"], ["y"], keepdims=0)],
            "matmul": [node("MatMul", ["a", "b"], ["y"])],
        }[suite]
        value = self.onnx.helper.make_tensor_value_info
        ins = [value(n, self.onnx.TensorProto.FLOAT, list(v.shape)) for n, v in zip(names, x)]
        out = [value("y", self.onnx.TensorProto.FLOAT, None)]
        return self.onnx.helper.make_graph(nodes, suite, ins, out, axes if suite.startswith("sum") else [])

    def make(self, suite, n):
        x = [elements(self.np, s) for s in shapes_of(suite, n)]
        model = self.onnx.helper.make_model(
            self.graph(suite, x), opset_imports=[self.onnx.helper.make_opsetid("", 20)], ir_version=9
        )
        session = self.ort.InferenceSession(
            model.SerializeToString(), self.options, providers=["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        for name, v in zip("abcd", x):
            binding.bind_ortvalue_input(name, self.ort.OrtValue.ortvalue_from_numpy(v))
        binding.bind_output("y")
        return lambda: session.run_with_iobinding(binding)


class Stub:
    """For --selftest: takes as long as it says."""

    version = "0"

    def __init__(self, threads):
        pass

    def make(self, suite, n):
        return lambda: time.sleep(1e-4)

    def operators(self, n):
        return {name: self.make("ops", n) for name in ("topk10_rows", "sort_rows", "topk1_no_row_of_ours")}


PEERS = {"torch": Torch, "torch.compile": TorchCompile, "jax": Jax, "numpy": Numpy, "onnxruntime": Onnxruntime}
NEEDS = {
    "torch": "torch, numpy",
    "torch.compile": "torch, numpy",
    "jax": "jax",
    "numpy": "numpy",
    "onnxruntime": "onnxruntime, onnx",
}
TRAINERS = ["torch", "torch.compile", "jax", "stub"]

FIRST = {
    "torch": "import torch; x = torch.rand(256); print((torch.tanh((x*x+x)*torch.sigmoid(x)).exp()+torch.relu(x)).abs().sqrt()-x)",
    "jax": "import os; os.environ['JAX_PLATFORMS']='cpu'\nimport jax, jax.numpy as np\nx = np.ones(256)\n"
    "print(jax.jit(lambda x: np.sqrt(np.abs(np.exp(np.tanh((x*x+x)*jax.nn.sigmoid(x)))+jax.nn.relu(x)))-x)(x))",
    "numpy": "import numpy as np; x = np.ones(256, np.float32); print(np.sqrt(np.abs(np.exp(np.tanh((x*x+x)/(1+np.exp(-x))))+np.maximum(x,0)))-x)",
}


# ---- the worker: one peer, asked over a pipe ----


def least(f, threads, seconds):
    """Seconds of one call that follows others: turns of a millisecond for each thread, as lz_measure has them."""
    clock = time.process_time if threads == 1 else time.perf_counter
    f()
    best, start, turns = 1e9, clock(), 0
    while turns < 6 or clock() - start < seconds:
        calls = 1 if turns == 0 else int(1e-3 * threads / (best + 1e-8)) + 1
        begin = clock()
        for _ in range(calls):
            f()
        best = min(best, (clock() - begin) / calls)
        turns += 1
    return best


def first_calls(peer, threads, n):
    """Seconds of the first calls at n batch sizes together, and of the second ones."""
    clock = time.process_time if threads == 1 else time.perf_counter
    make = peer.batches()
    calls = [make(3 + 7 * i) for i in range(n)]
    took = []
    for _ in range(6):
        start = clock()
        for call in calls:
            call()
        took.append(clock() - start)
    return took[0], min(took[1:])


def operator_times(made, peer, threads, q):
    """By row: the least seconds. The inputs are made once."""
    if not hasattr(peer, "operators"):
        return {}
    key = "ops", q["n"]
    if key not in made:
        made.clear()
        made[key] = peer.operators(q["n"])
    rows = made[key].items()
    return {name: least(call, threads, q["seconds"]) for name, call in rows if q["only"] in name}


def work(name, threads):
    peer = (PEERS | {"stub": Stub})[name](threads)
    made, first = {}, 0
    clock = time.process_time if threads == 1 else time.perf_counter
    print(json.dumps({"version": peer.version}), flush=True)
    for line in sys.stdin:
        q = json.loads(line)
        key = q["suite"], q["n"]
        if key[0] == "shapes":
            first, second = first_calls(peer, threads, key[1]) if hasattr(peer, "batches") else (0, 0)
            print(json.dumps({"seconds": first, "second": second}), flush=True)
            continue
        if key[0] == "ops":
            print(json.dumps({"rows": operator_times(made, peer, threads, q)}), flush=True)
            continue
        if key not in made:
            made.clear()  # of the large ones only one at a time
            made[key] = peer.make(*key)
            start = clock()
            made[key]()
            first = clock() - start
        best = least(made[key], threads, q["seconds"])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": best, "first": first, "memory": memory}), flush=True)


# ---- the driver ----


def cpus(threads):
    return sorted(os.sched_getaffinity(0))[-threads:]


def pinned(threads):
    chosen = cpus(threads)
    return lambda: os.sched_setaffinity(0, chosen)


class Worker:
    def __init__(self, python, name, threads):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
        self.name, self.python = name, python
        self.p = subprocess.Popen(
            [python, os.path.abspath(__file__), "--worker", name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
            preexec_fn=pinned(threads),
        )
        line = self.p.stdout.readline()
        self.version = json.loads(line)["version"] if line else None

    def ask(self, suite, n, seconds, only=""):
        if self.p.poll() is not None:
            return None
        self.p.stdin.write(json.dumps({"suite": suite, "n": n, "seconds": seconds, "only": only}) + "\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        return json.loads(line) if line else None

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def find_peers(pythons, names):
    """The first Python that can import it, for each peer; and what no one can."""
    found, missing = {}, []
    for name in names:
        for python in pythons:
            test = subprocess.run(
                [python, "-c", "import " + NEEDS[name]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
            if test.returncode == 0:
                found[name] = python
                break
        else:
            missing.append(name)
    return found, missing


def lazuli(command, suite, n, threads, seconds, only=""):
    """All figures of a suite: (system, metric) -> value."""
    chosen = (["--only", only] if only else []) + (["--n", str(n)] if n else [])
    run = subprocess.run(
        [command, "bench", suite, "--threads", str(threads), "--seconds", str(seconds), "--json"] + chosen,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=pinned(threads),
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


SCALE = {"us": 1e6, "ms": 1e3}
METRIC = {"shapes": "first_calls", "start": "first_result"}


def put(times, key, seconds):
    if seconds:
        times[key] = min(seconds, times.get(key, 1e9))


def take_ours(times, suite, unit, figures):
    """Adds what `lazuli bench` measured: us, and what stood beside us."""
    for f in figures:
        if f["metric"] != METRIC.get(suite, "time") or f["name"] == "mlp":
            continue
        system = f["system"] if suite != "start" or f["name"] == "process" else "lazuli " + f["name"]
        put(times, system, f["value"] / SCALE[f["unit"]])
    if suite == "start" and "lazuli background" in times:
        times["lazuli"] = times["lazuli background"]


def first_result(python, name, threads):
    start = time.perf_counter()
    subprocess.run([python, "-c", FIRST[name]], stdout=subprocess.DEVNULL, check=True, preexec_fn=pinned(threads))
    return time.perf_counter() - start


def compare(o, workers, suite, n, unit):
    """Seconds by system, for each round."""
    rounds = []
    for _ in range(1 if suite in ("shapes", "start") else o.rounds):
        times = {}
        rounds.append(times)
        take_ours(times, suite, unit, lazuli(o.lazuli, suite, n, o.threads, o.seconds))
        for w in workers:
            if suite == "start":
                put(times, w.name, w.name in FIRST and first_result(w.python, w.name, o.threads))
            else:
                got = w.ask(suite, n, o.seconds)
                put(times, w.name, got and got["seconds"])
    return rounds


def train(o, peers, suite, n):
    """Steps, first steps, our longest early ones and memory of a model. Each system has a process of its own for it; ours a new
    one each time, so that what the machine itself does in one of them does not decide."""
    steps, first, memory, ours = [], {}, {}, []
    workers = [Worker(p.python, p.name, o.threads) for p in peers if p.name in TRAINERS]
    for _ in range((o.rounds + 3) // 4):
        ours.append({f["metric"]: f["value"] for f in lazuli(o.lazuli, suite, n, o.threads, o.seconds)})
        steps.append({"lazuli": ours[-1]["time"] / 1e3})
        for w in workers:
            got = w.ask(suite, n, o.seconds)
            put(steps[-1], w.name, got and got["seconds"])
            if got:
                first[w.name], memory[w.name] = got["first"], got["memory"]
    for w in workers:
        w.close()
    middle = {m: statistics.median(f[m] for f in ours) for m in ("first", "longest", "median")}
    first["lazuli"], memory["lazuli"] = middle["first"] / 1e3, max(f["peak_memory"] for f in ours)
    swap = {"lazuli": middle["longest"] / 1e3, "its median": middle["median"] / 1e3}
    return [
        (suite, "ms", 1e3, steps),
        (suite + " first step", "ms", 1e3, [first]),
        (suite + " longest step", "ms", 1e3, [swap]),
        (suite + " memory", "MB", 1, [memory]),
    ]


def operators(o, workers, n):
    """A table for each row of `ops`. In a round, all rows of one system come before those of the next."""
    rows = {}
    for turn in range((o.rounds + 3) // 4):
        for f in lazuli(o.lazuli, "ops", n, o.threads, o.seconds, o.only):
            rows.setdefault(f["name"], []).append({"lazuli": f["value"] / SCALE[f["unit"]]})
        for w in workers:
            got = w.ask("ops", n, o.seconds, o.only)
            for name, seconds in (got["rows"] if got else {}).items():
                if name in rows:
                    rows[name][turn][w.name] = seconds
    return [("ops " + name, "us", 1e6, rounds) for name, rounds in rows.items()]


def measured(o, workers, suite, n, unit):
    """Tables of a suite: (name, unit, units in a value, values by system of each round)."""
    if suite == "ops":
        return operators(o, [w for w in workers if w.name in ("torch", "stub")], n)
    if suite == "adam":
        torch = [w for w in workers if w.name in ("torch", "stub")]
        return [(suite, unit, SCALE[unit], compare(o, torch, suite, n, unit))]
    if suite in RECURRENT:
        return train(o, [w for w in workers if w.name in ("torch", "stub")], suite, n)
    if suite in TRAINING:
        return train(o, workers, suite, n)
    others = [w for w in workers if w.name != "torch.compile"]
    return [(suite, unit, SCALE[unit], compare(o, others, suite, n, unit))]


def ratios(rounds):
    """By system: its least value, and the median of the rounds' ratios of ours to it."""
    found = {}
    for system in dict.fromkeys(s for r in rounds for s in r):
        has = [r for r in rounds if system in r]
        found[system] = min(r[system] for r in has), statistics.median(r["lazuli"] / r[system] for r in has)
    return found


def rows_of(o, workers):
    for suite, sizes, unit in CASES:
        for n in sizes if not o.n else [o.n]:
            if o.suites and suite not in o.suites:
                continue
            for name, shown, scale, rounds in measured(o, workers, suite, n, unit):
                for system, (value, ratio) in ratios(rounds).items():
                    yield {
                        "suite": name,
                        "n": n,
                        "system": system,
                        "value": value * scale,
                        "unit": shown,
                        "threads": o.threads,
                        "ratio": ratio,
                    }


def table(rows, peers):
    """Markdown: a line for each case, the ratio of our time to each system's behind its time."""
    others = []
    for r in rows:
        if r["system"] not in others and r["system"] not in peers and r["system"] != "lazuli":
            others.append(r["system"])
    columns = [s for s in others if not s.startswith("lazuli ")] + list(peers)
    print("| case | threads | lazuli | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 3) + "|")
    cases = []
    for r in rows:
        case = r["suite"], r["n"], r["threads"]
        if case not in cases:
            cases.append(case)
    for case in cases:
        mine = {r["system"]: r for r in rows if (r["suite"], r["n"], r["threads"]) == case}
        cells = ["%s %d" % case[:2], str(case[2]), "%.4g %s" % (mine["lazuli"]["value"], mine["lazuli"]["unit"])]
        for c in columns:
            cells.append("%.4g (%.2f)" % (mine[c]["value"], mine[c]["ratio"]) if c in mine else "")
        print("| " + " | ".join(cells) + " |")


def summary(rows):
    """Of the operators: the median of the ratios, the greatest, and how many are above 1.5; for each system and number of threads."""
    lines, rows = [], [r for r in rows if r["suite"].startswith("ops ") and r["system"] != "lazuli"]
    for key in dict.fromkeys((r["system"], r["threads"]) for r in rows):
        mine = [r for r in rows if (r["system"], r["threads"]) == key]
        worst = max(mine, key=lambda r: r["ratio"])
        lines.append(
            "ops, lazuli / %s, threads %d: %d rows, median %.2f, worst %.2f (%s), above 1.5: %d"
            % (*key, len(mine), statistics.median(r["ratio"] for r in mine), worst["ratio"], worst["suite"][4:],
               sum(r["ratio"] > 1.5 for r in mine))
        )  # fmt: skip
    return lines


def run(o):
    found, missing = find_peers(o.pythons, o.peers)
    for name in missing:
        print("compare: %s is missing (none of the Pythons imports %s)" % (name, NEEDS[name]), file=sys.stderr)
    rows = []
    for threads in o.all_threads:
        o.threads = threads
        workers = [Worker(python, name, threads) for name, python in found.items()]
        for w in workers:
            print("compare: %s %s, threads %d" % (w.name, w.version or "does not start", threads), file=sys.stderr)
        workers = [w for w in workers if w.version]
        for row in rows_of(o, workers):
            rows.append(row)
            if o.json:
                print(json.dumps(row), flush=True)
        for w in workers:
            w.close()
    if not o.json:
        table(rows, list(found))
        print("\n".join(summary(rows)))
    return rows


# ---- two builds ----

BUILD_CASES = ["record", "sync", "fused", "softmax", "mlp", "lenet", "gpt", "start", "plan"]
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
ONCE = {"first", "longest", "median", "kernel_compile"}  # of a step that compiles, so no minimum of many


def build_figures(o, command, suite):
    """(suite, name, metric) -> seconds, of one process."""
    found = {}
    for f in lazuli(command, suite, o.n, o.threads, o.seconds):
        if f["system"] == "lazuli" and f["unit"] in TIMES and f["metric"] not in ONCE:
            found[suite, f["name"], f["metric"]] = f["value"] * TIMES[f["unit"]]
    return found


def in_turns(o, suite, commands):
    """The least of each figure, by command; the first command of a round is the last of the next."""
    least = [{} for _ in commands]
    order = list(range(len(commands)))
    for _ in range(o.rounds):
        for i in order:
            for key, value in build_figures(o, commands[i], suite).items():
                least[i][key] = min(value, least[i].get(key, value))
        order = order[1:] + order[:1]
    return least


def is_worse(old, new, again, within):
    return new / old - 1 > max(within / 100, abs(again / old - 1))


def compare_builds(o):
    """A line for each figure; returns how many are worse."""
    old, new = o.builds
    worse = 0
    print("| figure | old | new | new / old | old / old |\n|---|---|---|---|---|")
    for suite in o.suites or BUILD_CASES:
        before, after, again = in_turns(o, suite, [old, new, old])
        for key in before:
            if key not in after:
                continue
            bad = is_worse(before[key], after[key], again[key], o.within)
            worse += bad
            cells = (" ".join(key), before[key] * 1e6, after[key] * 1e6, after[key] / before[key], again[key] / before[key])
            print("| %s | %.4g us | %.4g us | %.3f%s | %.3f |" % (*cells[:4], " worse" if bad else "", cells[4]), flush=True)
    return worse


def setup(folder):
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([os.path.join(folder, "bin", "pip"), "install", *PACKAGES], check=True)


def train_stub(o, w):
    o.threads, o.rounds, o.seconds = 1, 1, 0.001
    return train(o, [w], "mlp", 3)


def selftest(o):
    """Without any peer: our own figures, a worker that sleeps, and the table."""
    w = Worker(sys.executable, "stub", 2)
    assert w.version == "0"
    got = w.ask("sum0", 3, 0.001)
    assert 1e-4 <= got["seconds"] < 1, got
    rows = list(train_stub(o, w))
    assert [r[0] for r in rows] == ["mlp", "mlp first step", "mlp longest step", "mlp memory"], rows
    assert all(set(v) == {"lazuli", "its median" if "longest" in r[0] else "stub"} for r in rows for v in r[3]), rows
    assert all(min(v.values()) > 0 for r in rows for v in r[3]), rows
    o.only = "topk1"
    by_row = operators(o, [w], 12)
    assert [r[0] for r in by_row] == ["ops topk10_rows", "ops topk100_rows"], by_row
    assert ["stub" in r[3][0] for r in by_row] == [True, False], by_row
    w.close()
    o.pythons, o.peers, o.suites, o.n, o.rounds, o.seconds = [], list(PEERS), ["sum0", "shapes", "start"], 3, 2, 0.001
    rows = run(o)
    assert {r["suite"] for r in rows} == set(o.suites), rows
    assert all(r["ratio"] == 1 for r in rows if r["system"] == "lazuli"), rows
    once = [r for r in rows if r["suite"] in ("shapes", "start")]
    ours = {(r["suite"], r["threads"]): r["value"] for r in once if r["system"] == "lazuli"}
    assert all(abs(r["ratio"] * r["value"] / ours[r["suite"], r["threads"]] - 1) < 1e-6 for r in once), rows
    assert is_worse(100, 103, 100, 2) and not is_worse(100, 103, 104, 2) and not is_worse(100, 101.9, 100, 2)
    o.builds, o.suites, o.n, o.rounds, o.within = [o.lazuli, o.lazuli], ["record"], 40, 2, 1e9
    assert compare_builds(o) == 0
    o.n = 0
    made = [{"lazuli": 2.0, "x": 1.0}, {"lazuli": 1.0, "x": 2.0}, {"lazuli": 3.0, "x": 4.0}, {"lazuli": 9.0}]
    assert ratios(made) == {"lazuli": (1.0, 1.0), "x": (1.0, 0.75)}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("suites", nargs="*", help="of " + " ".join(c[0] for c in CASES))
    p.add_argument("--venv", help="a virtual environment")
    p.add_argument("--setup", action="store_true", help="make it, with " + " ".join(PACKAGES))
    p.add_argument("--python", action="append", default=[], help="another Python to look for peers in")
    p.add_argument("--peers", default=",".join(PEERS), help="of " + ",".join(PEERS))
    p.add_argument("--lazuli", default=os.path.join(HERE, "..", "build", "lazuli"), help="the command")
    p.add_argument("--builds", nargs=2, metavar=("OLD", "NEW"), help="compare two builds of the command")
    p.add_argument("--within", type=float, default=2, help="percent by which a figure of NEW may be above that of OLD")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--n", type=int, default=0, help="this size only")
    p.add_argument("--only", default="", help="the rows of ops whose names contain this")
    p.add_argument("--rounds", type=int, default=20, help="turns of everybody; a quarter of them in training and ops")
    p.add_argument("--seconds", type=float, default=0.07, help="of one turn")
    p.add_argument("--json", action="store_true")
    p.add_argument("--selftest", action="store_true")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    o = p.parse_args()
    o.all_threads = [int(t) for t in o.threads.split(",")]
    o.pythons = o.python + ([os.path.join(o.venv, "bin", "python")] if o.venv else [])
    o.peers = [x for x in o.peers.split(",") if x]
    known = [c[0] for c in CASES] + (BUILD_CASES if o.builds else [])
    wrong = [x for x in o.suites if x not in known] + [x for x in o.peers if x not in PEERS]
    if wrong:
        p.error("nothing is called " + ", ".join(wrong))
    return o


def main():
    o = options()
    if o.worker:
        return work(o.worker, o.all_threads[0])
    if o.setup:
        setup(o.venv or "venv")
    if o.selftest:
        return selftest(o)
    if o.builds:
        o.threads = o.all_threads[0]
        return compare_builds(o) > 0
    run(o)


if __name__ == "__main__":
    sys.exit(main())
