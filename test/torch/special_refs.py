"""References for the special functions, by mpmath; and what PyTorch makes of them.

    special_refs.py write FILE.txt.gz [--count 40] [--seed 1]     needs mpmath
    special_refs.py torch FILE.txt.gz                             needs torch

FILE has a line `= NAME KIND LIMIT32 LIMIT64` for each function: KIND is 1 or 2 (tensors), or n and an integer that
comes before the tensor. The lines behind it are points: the width of the dtype, the argument or both, the true value as a sum of two
numbers, and the number in whose units in the last place the error counts: the value itself, or the amplitude where a
function oscillates or has a zero. The test `special` reads the file. `torch` prints the greatest error of PyTorch, and where it is."""
import argparse
import gzip
import math
import random
import struct


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def unit(scale, width):
    """One unit in the last place of a number of this size."""
    least, bits = (-149, 23) if width == 32 else (-1074, 52)
    if scale == 0:
        return 2.0 ** least
    return 2.0 ** max(least, math.frexp(scale)[1] - 1 - bits)


# ---- the functions ----

def functions(mp):
    """name, kind, limits of f32 and f64, value, scale, ranges of each argument: (low, high) or (low, high, "log")"""
    half, root = mp.mpf(1) / 2, mp.sqrt

    def wave(x, *_):
        return root(2 / (mp.pi * abs(x))) if abs(x) > 2 else 0

    def airy_wave(x, *_):
        return 1 / (root(mp.pi) * root(root(-x))) if x < -1 else 0

    def early_wave(x, *_):
        return root(2 / (mp.pi * x)) if x > 0.5 else 0

    def near_one(*_):
        return 1

    def log_ndtr(x):
        return mp.log1p(-mp.erfc(x / root(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / root(2)) / 2)

    def ndtri(p):
        if p > half:
            return -ndtri(1 - p)
        if p > 0.02:
            return -root(2) * mp.erfinv(1 - 2 * p)
        x = root(-2 * mp.log(p))
        for _ in range(60):
            t = mp.erfc(x / root(2)) / 2
            step = (mp.log(t) - mp.log(p)) * t * root(2 * mp.pi) * mp.exp(x * x / 2)
            x += step
            if abs(step) < mp.mpf(10) ** -40:
                break
        return -x

    def erfcx(x):
        if x < 100:
            with mp.workdps(100):
                return mp.exp(x * x) * mp.erfc(x)
        return sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k if k else 1 for k in range(14)) / (x * root(mp.pi))

    def lower(a, x):
        term = total = mp.mpf(1)
        n = 0
        while term > total * mp.eps:
            n += 1
            term *= x / (a + n)
            total += term
        return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))

    def upper(a, x):
        with mp.workdps(400):
            return 1 - lower(a, x)

    def zeta(s, q):
        steps = int(-mp.floor(q)) if q < 0 else 0
        with mp.workdps(200):   # with fewer, mpmath loses most of them
            return sum((q + k) ** -s for k in range(steps)) + mp.zeta(s, q + steps)

    def recurrence(first, step):
        def value(x, n):
            with mp.workdps(120):
                p, q = mp.mpf(1), first(x)
                for k in range(2, int(n) + 1):
                    p, q = q, step(x, k, p, q)
                return p if int(n) == 0 else q
        return value

    def chebyshev(first, shifted=False):
        def move(x):
            return 2 * x - 1 if shifted else x
        return recurrence(lambda x: first(move(x)), lambda x, k, p, q: 2 * move(x) * q - p)

    def bound(limit):
        return lambda x, n, *_: limit(int(n)) if abs(x) <= 1 else 0

    wide = [(-8, 8), (1e-300, 1, "log"), (8, 700), (-700, -8)]
    positive = [(0, 2), (2, 30), (1e-300, 1, "log"), (30, 700)]
    bessel = [(0, 5), (5, 40), (1e-300, 1, "log"), (40, 1e15, "log")]
    inside = [(-1, 1), (-1, 1), (1, 3), (-3, -1)]
    shifted = [(0, 1), (0, 1), (1, 2), (-1, 0)]
    degrees, few = [(0, 12), (0, 60), (0, 40)], [(0, 8), (0, 20)]
    gamma = [(0.01, 10), (10, 190), (200, 1e4, "log"), (1e-10, 1, "log")]
    rows = [
        ("i0", "1", 1, 6, lambda x: mp.besseli(0, x), None, [wide]),
        ("special_i0e", "1", 1, 6, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), None, [wide]),
        ("special_i1", "1", 1, 6, lambda x: mp.besseli(1, x), None, [wide]),
        ("special_i1e", "1", 1, 6, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), None, [wide]),
        ("special_modified_bessel_k0", "1", 1, 4, lambda x: mp.besselk(0, x), None, [positive]),
        ("special_modified_bessel_k1", "1", 1, 4, lambda x: mp.besselk(1, x), None, [positive]),
        ("special_scaled_modified_bessel_k0", "1", 1, 4, lambda x: mp.besselk(0, x) * mp.exp(x), None, [positive]),
        ("special_scaled_modified_bessel_k1", "1", 1, 4, lambda x: mp.besselk(1, x) * mp.exp(x), None, [positive]),
        ("special_bessel_j0", "1", 1, 8, lambda x: mp.besselj(0, x), wave, [bessel]),
        ("special_bessel_j1", "1", 1, 8, lambda x: mp.besselj(1, x), wave, [bessel]),
        ("special_bessel_y0", "1", 1, 8, lambda x: mp.bessely(0, x), early_wave, [bessel]),
        ("special_bessel_y1", "1", 1, 8, lambda x: mp.bessely(1, x), early_wave, [bessel]),
        ("special_spherical_bessel_j0", "1", 1, 4, lambda x: mp.sin(x) / x, None, [bessel]),
        ("special_airy_ai", "1", 1, 8, mp.airyai, airy_wave, [[(-3.5, 1.25), (1.25, 20), (-30, -3.5), (-1e6, -30)]]),
        ("special_erfcx", "1", 1, 6, erfcx, None, [[(-26, 0), (0, 5), (5, 100), (100, 1e30, "log")]]),
        ("special_log_ndtr", "1", 1, 6, log_ndtr, None, [[(-3, 3), (-40, -3), (3, 37), (-1e10, -40)]]),
        ("special_ndtri", "1", 1, 6, ndtri, near_one, [[(0, 1), (1e-300, 0.1, "log"), (0.9, 1), (0.4, 0.6)]]),
        ("igamma", "2", 1, 3000, lower, None, [gamma, "near"]),
        ("igammac", "2", 1, 3000, upper, None, [gamma, "near"]),
        ("special_zeta", "2", 1, 8, zeta, None, [[(1.01, 40), (1.01, 4)], [(0.01, 30), (30, 1e6, "log")]]),
        ("polygamma", "n 1", 1, 8, lambda x: zeta(mp.mpf(2), x), None, [[(0.01, 30), (-5, 0), (30, 1e6, "log")]]),
        ("polygamma", "n 2", 1, 12, lambda x: -2 * zeta(mp.mpf(3), x), near_one, [[(0.01, 30), (-5, 0), (30, 1e6, "log")]]),
        ("polygamma", "n 7", 1, 12, lambda x: 5040 * zeta(mp.mpf(8), x), near_one, [[(0.01, 30), (-5, 0)]]),
    ]
    firsts = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
    limits = {"t": lambda n: 1, "u": lambda n: n + 1, "v": lambda n: 2 * n + 1, "w": lambda n: 2 * n + 1}
    for kind, first in firsts.items():
        rows.append((f"special_chebyshev_polynomial_{kind}", "2", 1, 300, chebyshev(first), bound(limits[kind]), [inside, degrees]))
    for kind, first in firsts.items():
        between = bound(limits[kind])
        rows.append((f"special_shifted_chebyshev_polynomial_{kind}", "2", 1, 300, chebyshev(first, True),
                     lambda x, n, v, f=between: f(2 * x - 1, n), [shifted, degrees]))
    rows += [
        ("special_hermite_polynomial_h", "2", 1, 300, recurrence(lambda x: 2 * x, lambda x, k, p, q: 2 * x * q - 2 * (k - 1) * p),
         lambda x, n, v: root(mp.factorial(int(n)) * 2 ** int(n)), [inside, few]),
        ("special_hermite_polynomial_he", "2", 1, 300, recurrence(lambda x: x, lambda x, k, p, q: x * q - (k - 1) * p),
         lambda x, n, v: root(mp.factorial(int(n))), [inside, few]),
        ("special_laguerre_polynomial_l", "2", 1, 300, recurrence(lambda x: 1 - x, lambda x, k, p, q: ((2 * k - 1 - x) * q - (k - 1) * p) / k),
         near_one, [[(0, 10), (-3, 0)], degrees]),
        ("special_legendre_polynomial_p", "2", 1, 300, recurrence(lambda x: x, lambda x, k, p, q: ((2 * k - 1) * x * q - (k - 1) * p) / k),
         near_one, [inside, degrees]),
    ]
    return rows


# ---- points ----

def draw(dice, spec, width):
    low, high = spec[:2]
    if len(spec) == 3:
        low = max(low, 1e-37) if width == 32 else low
        x = math.exp(dice.uniform(math.log(low), math.log(high)))
    else:
        x = dice.uniform(low, high)
    return single(x) if width == 32 else x


def arguments(dice, ranges, width, i):
    first = draw(dice, ranges[0][i % len(ranges[0])], width)
    if len(ranges) == 1:
        return [first]
    if ranges[1] == "near":
        x = first * dice.choice([0.01, 0.3, 0.8, 0.97, 1, 1.03, 1.3, 2, 5]) * dice.uniform(0.9, 1.1)
        return [first, single(x) if width == 32 else x]
    second = draw(dice, ranges[1][i // len(ranges[0]) % len(ranges[1])], width)
    return [first, float(int(second))] if ranges[1][0][0] == 0 else [first, second]


def representable(value, width):
    return value == 0 or (1e-37 if width == 32 else 1e-300) < abs(value) < (3e38 if width == 32 else 1e308)


def write(args):
    import mpmath as mp
    mp.mp.dps = 50
    dice = random.Random(args.seed)
    with gzip.GzipFile(args.file, "wb", mtime=0) as out:
        for name, kind, limit32, limit64, value, scale, ranges in functions(mp):
            out.write(f"= {name} {kind} {limit32} {limit64}\n".encode())
            for i in range(args.count * 3 // 2):
                width = 64 if i < args.count else 32
                x = arguments(dice, ranges, width, i)
                if any(a == 0 for a in x[:1]):
                    continue
                v = mp.mpf(value(*[mp.mpf(a) for a in x]))
                size = max(abs(v), mp.mpf(scale(*[mp.mpf(a) for a in x], v)) if scale else 0)
                if not representable(v, width) or not mp.isfinite(v):
                    continue
                high = float(v)
                numbers = [a.hex() for a in x + [high, float(v - mp.mpf(high)), float(size)]]
                out.write(f"{width} {' '.join(numbers)}\n".encode())


# ---- PyTorch's errors ----

def compare(args):
    import torch
    worst, call, kind = {}, None, None
    for line in gzip.open(args.file, "rt"):
        words = line.split()
        if words[0] == "=":
            name, kind = words[1], words[2:-2]
            worst.setdefault(" ".join([name] + kind[1:]), {32: (0, ""), 64: (0, "")})
            key = " ".join([name] + kind[1:])
            call = getattr(torch.ops.aten, name)
            continue
        width, x = int(words[0]), [float.fromhex(w) for w in words[1:]]
        given, (high, low, size) = x[:-3], x[-3:]
        dtype = torch.float32 if width == 32 else torch.float64
        tensors = [torch.tensor(a, dtype=dtype) for a in given]
        got = (call(int(kind[1]), *tensors) if kind[0] == "n" else call(*tensors)).item()
        error = abs(got - high - low) / unit(size, width) if math.isfinite(got) else math.inf
        worst[key][width] = max(worst[key][width], (error, " ".join(repr(a) for a in given)))
    for name, row in worst.items():
        print(f"| {name} | {row[32][0]:.2f} at {row[32][1]} | {row[64][0]:.2f} at {row[64][1]} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["write", "torch"])
    p.add_argument("file")
    p.add_argument("--count", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    write(args) if args.what == "write" else compare(args)


main()
