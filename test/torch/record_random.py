"""Records shapes, dtypes and refusals of PyTorch's random operators, and the values of draws that are certain. The cases have
the form of the operator cases in test/data/oracle (`lazuli test ops` runs them).

    record_random.py OUT      writes OUT.jsonl.gz and OUT.bin.gz

A case whose results differ from seed to seed has "random": true: its values do not count."""
import json
import sys

import torch

from record_corners import BF16, BOOL, F16, F32, F64, I32, I64, INF, U8, Writer

NAN = float("nan")
DTYPES = (F32, F64, F16, BF16, I64, I32, torch.int16, torch.int8, U8, BOOL)


class RandomWriter(Writer):
    def results(self, name, seed, args, kwargs):
        base, _, overload = name.partition(".")
        torch.manual_seed(seed)
        out = getattr(getattr(torch.ops.aten, base), overload or "default")(*args, **kwargs)
        return out if isinstance(out, (tuple, list)) else [out]

    def case(self, name, *args, **kwargs):
        super().case(name, *args, **kwargs)
        line = json.loads(self.lines[-1])
        if "error" in line:
            return
        if name == "_standard_gamma_grad":  # PyTorch's values have four to ten digits; test_draw_gradients.c has better ones
            line["random"] = True
            self.lines[-1] = json.dumps(line, separators=(",", ":"))
            return
        runs = [self.results(name, seed, args, kwargs) for seed in (1, 2, 3)]
        if not all(torch.equal(x, y) for run in runs[1:] for x, y in zip(runs[0], run)):
            line["random"] = True
            self.lines[-1] = json.dumps(line, separators=(",", ":"))


def full(value, *sizes, dtype=F32):
    return torch.full(sizes, value, dtype=dtype)


def in_place(w):
    """The functional forms: each dtype, and each parameter beyond its limits."""
    for d in DTYPES:
        x = torch.zeros((2, 3), dtype=d)
        for name in ("uniform", "normal_functional", "exponential", "cauchy", "log_normal", "random", "bernoulli"):
            w.case(name, x)
        w.case("geometric", x, 0.5)
        w.case("bernoulli.p", x, 0.5)
        w.case("bernoulli.Tensor", x, torch.tensor(0.5))
        w.case("random.to", x, 2)
        w.case("random.from", x, 0, None)
        for low, high in ((-1, 3), (0, 200), (0, 257), (0, 300), (0, 40000), (5, 3), (3, 3), (-200, 0), (300, None), (-5, None)):
            w.case("random.from", x, low, high)
    for d in (F32, F64, F16):
        x = torch.zeros((2, 3), dtype=d)
        for low, high in ((1, 1), (2, 1), (0, 70000), (-3e38, 3e38), (-1e300, 1e300), (NAN, 1), (0, INF), (-2.5, -2.5)):
            w.case("uniform", x, low, high)
        for mean, std in ((3.0, 0.0), (0.0, -1.0), (0.0, NAN), (INF, 1.0)):
            w.case("normal_functional", x, mean, std)
        for mean, std in ((0.0, 0.0), (0.0, -1.0), (0.0, NAN)):
            w.case("log_normal", x, mean, std)
        for rate in (0.0, -1.0, NAN, INF):
            w.case("exponential", x, rate)
        for sigma in (0.0, -1.0, NAN):
            w.case("cauchy", x, 0.0, sigma)
    for p in (0.0, 1.0, -0.1, 1.5, NAN):
        w.case("bernoulli.p", full(0, 4), p)
        w.case("bernoulli.p", full(0, 4, dtype=I64), p)
        w.case("bernoulli", full(p, 4))
        w.case("bernoulli.Tensor", full(0, 4), full(p, 4))
        w.case("geometric", full(0, 4), p)
    w.case("bernoulli.Tensor", full(0, 2, 3), full(1, 3))
    w.case("bernoulli.Tensor", full(0, 2, 3), full(1, 2))
    w.case("bernoulli.Tensor", full(0, 3), full(1, 2, 3))
    w.case("bernoulli.Tensor", full(0, 3), torch.tensor(1))


def factories(w):
    for d in DTYPES + (None,):
        w.case("rand", [2, 3], dtype=d)
        w.case("randn", [0, 3], dtype=d)
        w.case("randn", [2, 3], dtype=d)
        w.case("randint", 5, [4], dtype=d)
        w.case("randint", 300, [4], dtype=d)
        w.case("randint.low", -3, 1, [], dtype=d)
        w.case("randperm", 3, dtype=d)
        w.case("randperm", 300, dtype=d)
        w.case("normal.float_float", 1.0, 2.0, [2], dtype=d)
        w.case("rand_like", full(0, 2, 2), dtype=d)
        w.case("randn_like", full(0, 2, dtype=I64), dtype=d)
        w.case("randint_like", full(0, 2), 100, dtype=d)
        w.case("randint_like.low_dtype", full(0, 2), -1, 2, dtype=d)
    for n in (0, 1, -1):
        w.case("randperm", n)
        w.case("rand", [n])
        w.case("randint_like.Tensor", full(0, 2), torch.tensor(100), dtype=d)
    for high in (torch.tensor(1), torch.tensor(0), torch.tensor(-3), torch.tensor(5.5), torch.tensor([5]), torch.tensor([5, 4]),
                 torch.tensor(300)):
        w.case("randint_like.Tensor", full(0, 3, dtype=I64), high)
        w.case("randint_like.Tensor", full(0, 3, dtype=U8), high)
    w.case("randint", 0, [3])
    w.case("randint", 1, [3])
    w.case("randint.low", 5, 3, [3])
    w.case("randint.low", 7, 8, [2, 2])
    for n in (256, 257, 2049, 2050):
        w.case("randperm", n, dtype=U8)
        w.case("randperm", n, dtype=F16)
    for n in (257, 258):
        w.case("randperm", n, dtype=BF16)
    w.case("normal.float_float", 1.0, -2.0, [2])
    w.case("normal.float_float", 1.0, 0.0, [2])


def normals(w):
    one = full(1, 2, 3)
    for std in (full(0, 2, 3), full(1, 3), full(1, 2, 1), full(-1, 3), full(1, 4), full(1, 3, dtype=F64), full(1, 3, dtype=I64),
                full(NAN, 3)):
        w.case("normal.Tensor_Tensor", one, std)
        w.case("normal.float_Tensor", 1.0, std)
    for std in (0.0, 1.0, -1.0, NAN):
        w.case("normal.Tensor_float", one, std)
    w.case("normal.Tensor_float", one.long(), 1.0)
    w.case("normal.Tensor_Tensor", one.long(), full(1, 3))


def multinomials(w):
    for p in ([1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [0.0, 0.0], [1.0, -1.0], [1.0, INF], [1.0, NAN], [], [[1.0, 2.0], [0.0, 1.0]],
              [[1.0, 2.0], [0.0, 0.0]], [[[1.0]]], 1.0):
        for n in (1, 2, 0, -1):
            w.case("multinomial", torch.tensor(p), n)
            if p != [1.0, -1.0]:  # the message differs
                w.case("multinomial", torch.tensor(p), n, True)
    w.case("multinomial", full(1, 3), 4)
    w.case("multinomial", full(1, 3), 4, True)
    w.case("multinomial", full(1, 0, 3), 2)
    w.case("multinomial", full(1, 0, 3), 2, True)
    for d in DTYPES:
        w.case("multinomial", full(1, 3, dtype=d), 1)


def counts(w):
    for d in DTYPES:
        x = full(1, 2, dtype=d)
        w.case("poisson", x)
        w.case("binomial", x, x)
        w.case("_standard_gamma", x)
        w.case("_sample_dirichlet", x)
        w.case("_standard_gamma_grad", x, x)
        if d != BOOL:
            w.case("_dirichlet_grad", x / 2 if d.is_floating_point else x, x, x + x)
    for rate in (0.0, -1.0, NAN):
        w.case("poisson", full(rate, 2))
    for n, p in ((3.0, 0.0), (3.0, 1.0), (0.0, 0.5), (-1.0, 0.5), (3.0, 1.5), (3.0, -0.5), (3.5, 1.0), (3.0, NAN)):
        w.case("binomial", full(n, 2), full(p, 2))
    w.case("binomial", full(3, 2), full(0.5, 2, dtype=F64))
    w.case("binomial", full(3, 2, 3), full(0.5, 3))
    w.case("binomial", full(3, 2, 1), full(1, 3))
    w.case("binomial", full(3, 2), full(0.5, 3))
    w.case("_sample_dirichlet", torch.tensor(1.0))
    w.case("_sample_dirichlet", full(1, 2, 3))
    w.case("_standard_gamma_grad", torch.tensor([2.0, 0.1, 30.0, 0.5], dtype=F64), torch.tensor([2.0, 0.05, 28.0, 1.5], dtype=F64))
    w.case("_standard_gamma_grad", full(2, 2, 1, dtype=F64), full(1, 3, dtype=F64))
    w.case("_dirichlet_grad", torch.tensor([0.2, 0.5]), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    w.case("_dirichlet_grad", full(0.5, 2, 1), full(1, 3), full(3, 1))


def dropouts(w):
    for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
        for x in (full(1, 3), full(1, 2, 3), full(1, 2, 3, 2), full(1, 0, 2), full(1, 2, 3, dtype=F16)):
            for p in (0.5, 1.0, 0.0, 1.5, -0.5, NAN):
                for train in (True, False):
                    w.case(name, x, p, train)
    x = full(-1, 2, 3)
    for d in (F32, F64, F16, I64):
        for train in (True, False):
            w.case("rrelu", x.to(d), 0.1, 0.3, train)
            w.case("rrelu_with_noise_functional", x.to(d), x.to(d), 0.1, 0.3, train)
    for low, high in ((0.5, 0.1), (0.2, 0.2), (-INF, 1.0), (0.0, INF), (NAN, 1.0)):
        w.case("rrelu", x, low, high, True)
    w.case("rrelu_with_noise_functional", x, full(1, 3), 0.1, 0.3, True)
    w.case("rrelu_with_noise_functional", x, x.double(), 0.1, 0.3, True)
    w.case("rrelu", full(2, 3), 0.1, 0.3, True)


def main():
    w = RandomWriter()
    for part in (in_place, factories, normals, multinomials, counts, dropouts):
        part(w)
    w.save(sys.argv[1])
    print("%d cases, %d of them refused, %d random" % (len(w.lines), sum('"error"' in line for line in w.lines),
                                                       sum('"random"' in line for line in w.lines)))


if __name__ == "__main__":
    main()
