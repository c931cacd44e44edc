"""What people write, in small: each function with the inputs of a few calls. A call may be one that fails."""
import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PROGRAMS = []  # (name, "script" or "trace", function or module, inputs of each call)


def script(*calls):
    return lambda fn: PROGRAMS.append((fn.__name__, "script", fn, calls)) or fn


def trace(*calls):
    return lambda fn: PROGRAMS.append((fn.__name__, "trace", fn, calls)) or fn


def ramp(*sizes, dtype=torch.float32):
    """Numbers of both signs that differ, and some that are equal."""
    n = torch.Size(sizes).numel()
    return ((torch.arange(n) * 7 % 11 - 5) / 2).to(dtype).reshape(sizes)


X, Y, I = ramp(2, 3), ramp(3, 2).t().contiguous() + 0.25, torch.tensor([2, 0, 1])


# ---- control flow ----

@script((X, 3), (X, 0), (X, -2))
def loops_in_loops(x: Tensor, n: int):
    total = 0
    for i in range(n):
        for j in range(i, n):
            if (i + j) % 2 == 0:
                x = x + j
            else:
                total += i * j
    return x, total


@script((X, 10), (X, 1))
def while_break_continue(x: Tensor, n: int):
    i, seen = 0, [0]
    while True:
        i += 1
        if i > n:
            break
        if i % 3 == 0:
            continue
        if len(seen) > 5:
            return x, i, seen
        seen.append(i)
        x = x * 0.5 + i
    return x, -1, seen


@script((X, 5), (X, -5))
def early_return(x: Tensor, n: int):
    if n > 3:
        y = x.exp()
        if y.sum().item() > 2.0:
            return y
        x = y - 1
    elif n < -3:
        return x.abs()
    for i in range(3):
        x = x + i
        if i == 1:
            return x
    return x


@script((5,), (-1,), (0,))
def ternary_chain(n: int):
    a = "big" if n > 3 else ("neg" if n < 0 else "mid")
    return a, 1 if n else 2, not n > 0 and n != -1


@script(([3, 1, 2],), ([],))
def for_over_things(xs: List[int]):
    out: List[int] = []
    for i, x in enumerate(xs):
        out.append(i * x)
    for x, y in zip(xs, out):
        out.append(x + y)
    for x in reversed_list(xs):
        out.append(x)
    return out, sum(out)


def reversed_list(xs: List[int]) -> List[int]:
    ys = xs.copy()
    ys.reverse()
    return ys


@script((X,), (X - 10,))
def tensor_conditions(x: Tensor):
    steps = 0
    while bool((x.abs() > 1).any()):
        x = x / 2
        steps += 1
        if steps == 6:
            break
    if x[0, 0] > 0:
        x = -x
    return x, steps


@script((X, 2), (X, -1), (X, 9))
def asserts(x: Tensor, n: int):
    assert n >= 0, "n must not be negative"
    assert x.dim() == 2
    if n > 5:
        raise ValueError("n is {}".format(n))
    return x * n


@script((ramp(4, 3),))
def tensor_iteration(x: Tensor):
    total = torch.zeros(3)
    for row in x:
        total = total * 0.5 + row
    parts = [row.sum() for row in x]
    return total, torch.stack(parts)


# ---- numbers ----

@script((7, 3), (-7, 3), (7, -3), (0, 5), (3, 0))
def int_arithmetic(a: int, b: int):
    return a + b, a - b, a * b, a // b, a % b, a / b, divmod(a, b), -a, abs(a)


@script((6, 3), (-6, 2), (0, 1))
def int_bits(a: int, b: int):
    return a & b, a | b, a ^ b, a << b, a >> b, a ** b, min(a, b), max(a, b, 4), bool(a), float(b), str(a)


@script((2.5, 0.5), (-2.5, 2.0), (float("inf"), 1.5), (0.0, -1.0))
def float_arithmetic(a: float, b: float):
    return a + b, a - b, a * b, a / b, a // b, a % b, a ** 2, -a, abs(a), min(a, b), max(a, b), round(a), a < b, a == b


@script((2.5, 3), (-7.5, 2))
def mixed_arithmetic(a: float, n: int):
    return a + n, n - a, a * n, n / a, a // n, n % a, a > n, n == a, int(a), float(n), a ** n, max(a, float(n))


@script((2.5,), (0.25,), (-1.0,))
def math_functions(a: float):
    return math.floor(a), math.ceil(a), math.exp(a), math.sin(a), math.cos(a), math.atan2(a, 2.0), math.fabs(a), \
        math.isnan(a), math.isinf(a), math.pow(a, 2.0), math.copysign(3.0, a), math.degrees(a)


@script((2.5,), (-1.0,))
def math_that_fails(a: float):
    return math.sqrt(a), math.log(a), math.gcd(12, 18), math.factorial(5)


@script((True, False), (False, False))
def bools(a: bool, b: bool):
    return a and b, a or b, not a, a == b, a != b, int(a), float(b), a ^ b, a & b, a | b, str(a)


# ---- strings ----

@script(("Hello World",), ("",), ("a,b,,c",))
def string_methods(s: str):
    return s.upper(), s.lower(), s.split(","), s.replace("l", "L"), s.strip(), s.find("o"), len(s), s.startswith("He"), \
        s.endswith("d"), s.title(), s.count("l"), "-".join(s.split(" ")), s + "!", s == "a", "o" in s


@script(("abcdef", 2), ("abc", 9))
def string_parts(s: str, i: int):
    return s[1:4], s[-2:], s[:i], s[::2], s[i], ord(s[0]), [c for c in s]


@script((3, 2.5, "x", True), (-1, 1e20, "", False))
def formatting(i: int, f: float, s: str, b: bool):
    return f"{i} and {s}", "{} {} {} {}".format(i, f, s, b), "%d %s %.2f" % (i, s, f), str(f), str([i, 2]), s.zfill(4), \
        hex(abs(i)), bin(abs(i)), oct(abs(i)), s.center(5, "*")


@script(("3", "2.5"), ("x", "1"))
def strings_to_numbers(a: str, b: str):
    return int(a), float(b), a < b, a >= b


# ---- lists, tuples, dicts ----

@script(([5, 3, 9, 3], 1), ([1], 0), ([1, 2], 7))
def list_methods(l: List[int], i: int):
    l.append(4)
    l.insert(1, 8)
    l.extend([1, 2])
    p = l.pop()
    q = l.pop(0)
    l.remove(4)
    l[i] = 10
    n = l.index(8)
    c = l.count(3)
    m = sorted(l)
    l.sort(reverse=True)
    l += [7]
    del l[0]
    return l, p, q, n, c, m, max(l), min(l), 3 in l, l == m, l * 2, l[1:], l[:-1:2]


@script(([1.5, -2.0, 0.25],), ([],))
def list_of_floats(l: List[float]):
    doubled = [x * 2 for x in l]
    return doubled, sum(l), sorted(l), len(l), any([x > 1 for x in l]), all([x > -3 for x in l])


@script((["b", "a"], "c"),)
def list_of_strings(l: List[str], s: str):
    l.append(s)
    l.sort()
    return l, ", ".join(l), [len(x) for x in l], s in l, l[0]


@script(([X, Y], 1), ([X, Y, X], -1))
def list_of_tensors(l: List[Tensor], i: int):
    l.append(l[i] * 2)
    l[0] = l[0] + 1
    a, b = l[0], l[-1]
    return torch.cat(l, 1), torch.stack([a, b]), len(l), l[1:]


@script(([[1, 2], [3]],))
def list_of_lists(l: List[List[int]]):
    l[0].append(9)
    l.append([4, 5])
    flat = [sum(x) for x in l]
    return l, flat, l[-1][0]


@script(({"a": 1, "b": 2}, "a"), ({}, "z"))
def dict_methods(d: Dict[str, int], k: str):
    d["c"] = 3
    d.update({"d": 4})
    n = d.setdefault("e", 5)
    g = d.get(k, -1)
    p = d.pop("c")
    return d, list(d.keys()), list(d.values()), list(d.items()), n, g, p, k in d, len(d), d[k]


@script(({1: X, 2: Y},))
def dict_of_tensors(d: Dict[int, Tensor]):
    out: Dict[int, Tensor] = {}
    for k, v in d.items():
        out[k * 10] = v * k
    total = torch.zeros(2, 3)
    for k in out:
        total += out[k]
    del out[10]
    return out, total, {k: k + 1 for k in d.keys()}


@script(((1, X, "s"),))
def tuples(t: Tuple[int, Tensor, str]):
    a, b, c = t
    u = (b, (a, c))
    return u, t[1] + t[0], t[0:2], u[1][0], (1, 2) == (1, 2), len(t)


@script((X, None), (X, Y))
def optional_tensor(x: Tensor, w: Optional[Tensor] = None):
    y = x if w is None else x * w
    if w is not None:
        y = y + w
    return y, w is None


@script((3, None, None), (None, 2.0, [1, 2]))
def optional_others(a: Optional[int], b: Optional[float], c: Optional[List[int]]):
    n = 0
    if a is not None:
        n += a
    if b is None:
        b = 1.5
    if c is not None and len(c) > 1:
        n += c[1]
    return n, b, c


@script((None,), (4,))
def unwrap(a: Optional[int]):
    b = torch.jit._unwrap_optional(a)
    return b + 1


# ---- tensors ----

@script((X.clone(),))
def writes_through_views(x: Tensor):
    v = x[0]
    v += 1
    x[:, 1] = 7
    x[1].mul_(2)
    w = x.view(-1)
    w[2:4].zero_()
    x.t()[2].copy_(torch.tensor([3.0, 4.0]))
    y = x.clone()
    y.add_(x, alpha=2).clamp_(-3, 3)
    return x, v, w, y


@script((X.clone(), torch.tensor([[True, False, True], [False, False, True]])))
def masked_writes(x: Tensor, m: Tensor):
    x[m] = -1.0
    y = torch.where(m, x, x * 2)
    y.masked_fill_(m, 9)
    return x, y, x.masked_fill(~m, 0.5)


@script((ramp(3, 4),))
def indexing(x: Tensor):
    i = torch.tensor([2, 0])
    return x[1], x[-1, 2:], x[:, ::2], x[..., 0], x[None, 1], x[i], x[:, i], x[1:, 1:][0], x[i, i], x[0][1].item(), x[0:2, -1]


@script((X,))
def attributes(x: Tensor):
    return x.shape[0], x.size(1), x.size(), x.dim(), x.numel(), x.dtype == torch.float32, x.is_cuda, x.device == torch.device("cpu"), \
        x.ndim, x.requires_grad, str(x.dtype), x.shape, x.stride(), x.is_contiguous(), x.t().is_contiguous(), len(x), x.T.shape


@script((2, 3.5), (1, -1.0))
def factories(n: int, f: float):
    return torch.zeros(n, 2), torch.ones([n], dtype=torch.int32), torch.full((2,), f), torch.arange(n), torch.arange(1, 7, 2), \
        torch.eye(n), torch.tensor([n, 2]), torch.tensor([[f, 1.0]]), torch.tensor(True), torch.linspace(0, 1, 5), \
        torch.zeros(n, dtype=torch.bool), torch.empty(0), torch.scalar_tensor(f), torch.tensor(f, dtype=torch.float64)


@script((X, I))
def like(x: Tensor, i: Tensor):
    return torch.zeros_like(x), torch.ones_like(i), torch.full_like(x, 2.5), x.new_zeros(2), x.new_ones([1, 2]), \
        x.new_full((2,), 3.0), torch.zeros_like(x, dtype=torch.int64)


@script((X, torch.tensor([1, -2, 3])))
def dtypes(x: Tensor, i: Tensor):
    return x.to(torch.float64), i.float(), x.int(), x.long() // 2, i / 2, i + 1.5, i * x.double()[0], x.half(), i.to(x.dtype), \
        x.to(torch.bool), i.to(torch.uint8), x.type_as(i), (x > 0).sum(), i % 2, (i != 2).any()


@script((X, Y, 2.5, 3))
def promotion(x: Tensor, y: Tensor, f: float, n: int):
    return x + f, n - x, f * y, x / n, x // n, x % 2, x ** n, n ** x.abs(), 2 * x + 1, -x, f / (y + 10), x > n, n <= y, x == y, 1 - (x > 0).int()


@script((X, Y))
def pointwise(x: Tensor, y: Tensor):
    return torch.relu(x), x.sigmoid(), x.tanh(), x.exp(), (x.abs() + 1).log(), x.abs().sqrt(), x.sin() * y.cos(), torch.maximum(x, y), \
        torch.minimum(x, y), x.clamp(min=0), x.floor(), x.ceil(), x.round(), x.trunc(), x.sign(), x.neg(), x.reciprocal(), x.square(), \
        F.gelu(x), F.silu(x), F.elu(x), F.softplus(x), F.leaky_relu(x, 0.1), F.hardtanh(x), x.erf(), torch.atan2(x, y), x.isnan(), torch.lerp(x, y, 0.3)


@script((ramp(2, 3, 4),))
def reductions(x: Tensor):
    return x.sum(), x.sum(1), x.mean([0, 2], True), x.amax(2), x.max(), x.min(0)[0], x.argmax(), x.argmin(1), x.var(2), x.std(), x.prod(0), \
        x.any(), (x > -9).all(), x.norm(), x.logsumexp(1), x.cumsum(2), x.amin([1]), (x > 0).sum(0), torch.sum(x, dim=-1), x.std(1, False)


@script((ramp(2, 6),))
def reshaping(x: Tensor):
    a, b = x.split(3, 1)
    c = x.chunk(2, dim=1)
    return x.view(3, 4), x.reshape(-1), x.permute(1, 0), x.unsqueeze(0).expand(2, 2, 6), x.squeeze(), x.flatten(), a + b, c[0], \
        torch.cat([a, b]), x.repeat(2, 1), x.flip(0), x.roll(1, 1), F.pad(x, [1, 2]), x.unbind(0)[1], x.narrow(1, 1, 3), \
        x.transpose(0, 1).contiguous(), x.tril(), x.triu(1), x.diagonal(), x.unflatten(1, [2, 3]), x.movedim(0, 1), torch.stack([a, b], 1)


@script((ramp(2, 3), ramp(3, 4), ramp(4), ramp(2, 2, 3), ramp(2, 3, 2)))
def matrices(a: Tensor, b: Tensor, v: Tensor, p: Tensor, q: Tensor):
    c = a @ b
    return c, torch.mm(a, b), c @ v, torch.bmm(p, q), p.matmul(q), torch.addmm(c, a, b, beta=0.5, alpha=2.0), torch.dot(v, v), \
        torch.outer(v, v), F.linear(a, b.t(), v), torch.baddbmm(p @ q, p, q)


@script((ramp(5, 3), torch.tensor([[0, 2], [4, 1]]), torch.tensor([1, 1, 0])))
def gathers(x: Tensor, i: Tensor, k: Tensor):
    return F.embedding(i, x), x.index_select(0, k), x.gather(0, i), x.scatter(0, i, 0.5), x.scatter_add(0, i, x), x.take_along_dim(i, 0), \
        x.index_add(0, k, x[:3]), F.one_hot(k, 3), x[k, k], x.index_fill(0, k, 2.0), torch.where(x > 0)[0], x.nonzero(), x.masked_select(x > 0)


@script((ramp(3, 4),))
def sorting(x: Tensor):
    v, i = torch.topk(x.flatten() + torch.arange(12) * 0.01, 3)
    s, _ = torch.sort(x, 1)
    return v, i, s, x.cummax(1)[0], torch.argsort(x[0] + torch.arange(4) * 0.01)


@script((ramp(2, 3, 6, 6), ramp(4, 3, 3, 3), ramp(4)))
def convolution(x: Tensor, w: Tensor, b: Tensor):
    y = F.relu(F.conv2d(x, w, b, stride=2, padding=1))
    return y, F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 1, 1), F.adaptive_avg_pool2d(x, 2), y.flatten(1).mean(1), F.conv1d(x[0], w[:, :, 0]), \
        F.interpolate(x, scale_factor=2.0, mode="nearest")


@script((ramp(2, 4, 3), ramp(4), ramp(4)))
def normalisation(x: Tensor, w: Tensor, b: Tensor):
    return F.layer_norm(x, [4, 3]), F.group_norm(x, 2, w, b), F.batch_norm(x, w, b.abs() + 1, w, b), F.softmax(x, -1), \
        F.log_softmax(x, 1, dtype=torch.float64), F.normalize(x, dim=1), F.dropout(x, 0.5, False), F.instance_norm(x)


@script((ramp(4, 3), torch.tensor([0, 2, 1, 1]), ramp(4, 3).sigmoid()))
def losses(x: Tensor, t: Tensor, p: Tensor):
    return F.cross_entropy(x, t), F.nll_loss(F.log_softmax(x, 1), t), F.mse_loss(x, p), F.l1_loss(x, p, reduction="sum"), \
        F.smooth_l1_loss(x, p), F.binary_cross_entropy(p, (x > 0).float()), F.binary_cross_entropy_with_logits(x, p), F.kl_div(x, p, reduction="none"), F.huber_loss(x, p)


@script((ramp(2, 5, 4), ramp(2, 5, 4), ramp(2, 5, 4)))
def attention(q: Tensor, k: Tensor, v: Tensor):
    s = q @ k.transpose(-2, -1) / float(q.size(-1)) ** 0.5
    mask = torch.ones(s.size(-2), s.size(-1), dtype=torch.bool).tril()
    s = s.masked_fill(~mask, float("-inf"))
    return s.softmax(-1) @ v, F.scaled_dot_product_attention(q, k, v, is_causal=True)


@script((X, 3), (X, 0))
def grows_a_list(x: Tensor, n: int):
    states: List[Tensor] = []
    h = torch.zeros(3)
    for t in range(n):
        h = torch.tanh(h + x[t % 2])
        states.append(h)
    return torch.stack(states), len(states)


@script((X,), (torch.zeros(0, 3),))
def no_elements(x: Tensor):
    if x.numel() == 0:
        return x.sum(), x.t(), torch.cat([x, x])
    return x.mean(), x, x[0:0]


# ---- traced ----

@trace((X, Y))
def t_pointwise(x, y):
    return (x * 2 + y / 3 - 1).relu().clamp(max=4), x ** 2 + 2 ** x, -x > y


@trace((X,))
def t_python_loop(x):
    for i in range(3):
        x = x + i if i % 2 else x * 0.5
    return x, {"a": x}["a"], [x, x + 1]


@trace((ramp(2, 3, 4),))
def t_sizes(x):
    b, n, c = x.shape
    return x.view(b, n * c), x.reshape(b * n, -1), x.expand(b, n, c) + b, x.sum() / x.numel(), torch.zeros(x.size(1))


@trace((X.clone(),))
def t_writes(x):
    x[0] = 1
    x[:, 1:] += 2
    y = x.view(-1)
    y[3] = x.sum()
    return x, y


@trace((X, I))
def t_indices(x, i):
    return x[:, i], x[..., 1], x[0, 1:], x[i[:2] % 2], x.gather(1, i[None]), x[x > 0], x[None].squeeze(0)[-1]


@trace((ramp(2, 3), ramp(4, 3), ramp(4)))
def t_attention(x, w, b):
    h = F.gelu(F.linear(x, w, b), approximate="tanh")
    return F.softmax(h, dim=-1).unsqueeze(1), h.chunk(2, -1)


@trace((X, torch.tensor([1, 2, 3])))
def t_constants(x, i):
    return x + torch.tensor(2.5), i * torch.tensor(2), x.to(torch.float64), torch.arange(3) + i, torch.full((2,), 3.0), x.new_zeros(3)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(3)
        self.first, self.second = nn.Linear(3, 5), nn.Linear(5, 2)
        self.act = nn.GELU()

    def forward(self, x):
        return self.second(self.act(self.first(self.norm(x))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten())
        self.head = nn.Linear(27, 4)

    def forward(self, x):
        return F.log_softmax(self.head(self.body(x)), dim=1)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.emb = nn.Embedding(6, 3)

    def forward(self, i, n: int):
        x = self.emb(i)
        for layer in self.layers:
            x = x + torch.sigmoid(layer(x)) * n
        return x.mean(1)


torch.manual_seed(5)
PROGRAMS += [
    ("mlp_scripted", "script", Mlp().eval(), ((X,),)),
    ("mlp_traced", "trace", Mlp().eval(), ((X,),)),
    ("cnn_traced", "trace", Cnn().eval(), ((ramp(2, 1, 6, 6),),)),
    ("gated_scripted", "script", Gated().eval(), ((torch.tensor([[0, 5], [2, 3]]), 2),)),
]
