"""Random TorchScript functions. All of them end, and none overflows an int."""
import torch

HEAD = "def f(x: Tensor, y: Tensor, n: int, m: int, s: float, l: List[int], k: str):"

TENSOR = ["{t} + {t}", "{t} - {i}", "{t} * {s}", "{t} * {t}", "torch.relu({t})", "{t}.sigmoid() * {t}", "torch.tanh({t})", "{t} / ({t}.abs() + 1)",
          "torch.where({t} > {s}, {t}, {t})", "{t}.clamp(-2.0, 2.0)", "{t}.softmax(-1)", "torch.cat([{t}[0:1], {t}[1:]], 0)", "{t}.t().contiguous().t()",
          "{t} - {t}.mean(0)", "{t}.sum(1, keepdim=True) * 0.1 + {t}", "torch.stack([{t}, {t}]).amax(0)", "{t}.reshape(3, 2).reshape(2, 3)",
          "({t} > {t}).to(torch.float32)", "{t} @ {t}.t() @ {t} * 0.01", "torch.full([2, 3], {s})", "{t}.cumsum(1) * 0.5", "{t}.flip(1)", "{t}[:, [2, 0, 1]]",
          "torch.exp(-{t}.abs())", "({t} % 3)", "{t}.masked_fill({t} > 0, {s})", "torch.arange(6).view(2, 3) * {s}"]
INT = ["({i} + {i}) % 1000", "{i} - {i}", "{i} * {i} % 97", "{i} // 3", "{i} % 7", "min({i}, {i})", "max({i}, {i}, 2)", "abs({i})", "len({l})", "len({k})",
       "{i} if {b} else {i}", "int({s}) % 50", "{l}[{i} % len({l})]", "sum({l}) % 1000", "{t}.size({i} % 2)", "int({b})", "{t}.argmax().item() if {b} else {i}", "{i} & 255 | 3", "-{i} % 19"]
FLOAT = ["{s} * 0.5", "{s} + {i}", "{i} / 4", "{s} - {s}", "float({i})", "abs({s})", "min({s}, 3.5)", "{s} if {b} else {s}", "float({t}[0, 1])", "{s} // 2.0", "{s} % 3.0", "round({s})"]
BOOL = ["{i} > {i}", "{i} == {i}", "{s} < {s}", "not ({b})", "({b}) and {i} != 3", "({b}) or {s} > 0.5", "{i} in {l}", "{k} == 'ab'", "bool(({t} > {s}).any())", "'a' in {k}"]
LIST = ["[{i}, {i}]", "{l} + [{i}]", "[v * 2 % 31 for v in {l}]", "{l}[1:] + [{i}]", "sorted({l})", "list(range(2 + {i} % 3))"]
STR = ["{k} + 'b'", "str({i})", '\'{{}}-{{}}\'.format({i}, {k})[0:9]', "{k}.upper()", "{k}[1:] + 'a'", "'x' if {b} else {k}", "{k}.replace('a', 'ba')[0:9]", "'-'.join([{k}, 'q'])[0:9]"]
FORMS = {"t": TENSOR, "i": INT, "s": FLOAT, "b": BOOL, "l": LIST, "k": STR}


class Writer:
    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.names = {"t": ["x", "y"], "i": ["n", "m"], "s": ["s"], "l": ["l"], "k": ["k"]}

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def value(self, kind, depth=2):
        """An expression; deeper ones are in brackets."""
        if kind != "b" and (depth == 0 or self.rng.random() < 0.5):
            return self.rng.choice(self.names[kind])
        if depth == 0:
            return self.rng.choice(["True", "n > 1", "m == 2"])
        holes = {k: (lambda k=k: self.value(k, depth - 1)) for k in FORMS}
        form = self.rng.choice(FORMS[kind])
        for k, make in holes.items():
            while "{" + k + "}" in form:
                form = form.replace("{" + k + "}", make(), 1)
        return "(" + form.replace("{{", "{").replace("}}", "}") + ")"

    def assign(self, depth):
        kind = self.rng.choice("ttttiisslk")
        old = self.rng.random() < 0.4
        name = self.rng.choice(self.names[kind]) if old else f"{kind}{self.count}"
        self.count += 1
        self.put(depth, f"{name} = {self.value(kind)}")
        if name not in self.names[kind]:
            self.names[kind].append(name)

    def write(self, depth):
        t = self.rng.choice(self.names["t"])
        forms = ["{0} = {0}.clone(); {0}[{1}] = {2}", "{0} = {0} + 0; {0}[:, 1] += 1", "{0} = {0}.clone(); {0}.t()[0].mul_(2)", "{0} = {0} * 1; {0}.clamp_(-1, 1)"]
        for line in self.rng.choice(forms).format(t, self.rng.choice(["0", "1", "-1"]), self.value("s", 1)).split("; "):
            self.put(depth, line)

    def body(self, depth, n):
        saved = {k: list(v) for k, v in self.names.items()}
        for _ in range(n):
            self.statement(depth)
        self.names = saved

    def branch(self, depth):
        self.put(depth, f"if {self.value('b')}:")
        self.body(depth + 1, self.rng.randint(1, 2))
        if self.rng.random() < 0.6:
            self.put(depth, "else:")
            self.body(depth + 1, self.rng.randint(1, 2))

    def loop(self, depth):
        self.count += 1
        i = f"j{self.count}"
        if self.rng.random() < 0.6:
            over = self.rng.choice(["range(3)", "range(min(m, 3))", "l[0:2]", "range(1, 6, 2)"])
            self.put(depth, f"for {i} in {over}:")
        else:
            self.put(depth, f"{i} = 0")
            self.put(depth, f"while {i} < 3 and ({self.value('b', 1)} or {i} == 0):")
            self.put(depth + 1, f"{i} += 1")
        if self.rng.random() < 0.4:
            self.put(depth + 1, f"if {self.value('b', 1)}:")
            self.put(depth + 2, self.rng.choice(["break", "continue"]))
        self.names["i"].append(i)
        self.body(depth + 1, self.rng.randint(1, 3))
        self.names["i"].remove(i)

    def statement(self, depth):
        r = self.rng.random()
        if depth < 4 and r < 0.12:
            self.branch(depth)
        elif depth < 4 and r < 0.22:
            self.loop(depth)
        elif r < 0.3:
            self.write(depth)
        elif r < 0.36 and self.names["l"] != ["l"]:
            self.put(depth, f"{self.rng.choice([v for v in self.names['l'] if v != 'l'])}.append({self.value('i', 1)})")
        elif r < 0.38 and depth > 1:
            self.put(depth, "return x, n, s, l, k")
        else:
            self.assign(depth)


def program(rng):
    """Source of a function f, and the inputs of two calls."""
    w = Writer(rng)
    w.put(0, HEAD)
    for _ in range(rng.randint(3, 9)):
        w.statement(1)
    last = [rng.choice(w.names[k][-3:]) for k in "tislk"]
    w.put(1, "return " + ", ".join(last))
    generator = torch.Generator().manual_seed(rng.randrange(1 << 30))
    tensors = torch.randint(-8, 9, (2, 2, 2, 3), generator=generator) / 4
    calls = [(tensors[i, 0], tensors[i, 1], rng.randint(-3, 7), rng.randint(0, 6), rng.randint(-9, 9) / 4,
              [rng.randint(-5, 9) for _ in range(rng.randint(1, 4))], rng.choice(["a", "abc", "ab"])) for i in range(2)]
    return "\n".join(w.lines) + "\n", calls
