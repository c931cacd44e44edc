"""Records first and second gradients of PyTorch's recurrent layers, in the form that record_gradients.py explains: layers,
directions, packed sequences, no biases, projections.

    record_recurrent_gradients.py OUT.jsonl.gz
"""
import gzip
import json
import sys

import torch

from record_gradients import gradients, linear, numbers

SIZES = (
    # times, batch, features, hidden, layers, ways, biases, batch first, projection
    (3, 2, 2, 3, 1, 1, True, False, 0),
    (4, 1, 3, 2, 2, 2, True, True, 0),
    (2, 3, 1, 2, 3, 1, False, False, 0),
    (1, 1, 1, 1, 1, 2, False, True, 0),
    (3, 2, 2, 4, 2, 2, True, False, 2),
    (2, 1, 2, 3, 1, 1, False, False, 1),
)
PACKED = ([3, 2, 2, 1], [2, 2], [1, 1, 1])
KINDS = (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))


class Tensors:
    """f64 tensors of few digits, in the order of the arguments."""

    def __init__(self, seed):
        self.generator, self.made, self.lines = torch.Generator().manual_seed(seed), [], []

    def float(self, *sizes):
        t = torch.randn(sizes, generator=self.generator, dtype=torch.float64)
        t = torch.tensor([float("%.3g" % (v * 0.7)) for v in t.reshape(-1).tolist()], dtype=torch.float64).reshape(sizes)
        return self.add(t.requires_grad_(), "f64")

    def add(self, t, dtype):
        self.made.append(t)
        self.lines.append({"dt": dtype, "shape": list(t.shape), "data": t.reshape(-1).tolist()})
        return len(self.made) - 1


def weights(t, features, hidden, layers, ways, gates, biases, projection):
    made, state = [], projection or hidden
    for l in range(layers):
        for _ in range(ways):
            made += [t.float(gates * hidden, features if l == 0 else state * ways), t.float(gates * hidden, state)]
            made += [t.float(gates * hidden), t.float(gates * hidden)] if biases else []
            made += [t.float(projection, hidden)] if projection else []
    return made


def line_of(name, t, given, call):
    leaves = [x for x in t.made if x.dtype == torch.float64]
    sizes = [x.numel() for x in leaves]
    results = call()
    pairs, which = linear(results, [r.numel() for r in results], 7)
    first = gradients(pairs, leaves, True)
    pairs, _ = linear(first, sizes, 11)
    second = gradients(pairs, leaves, False)
    return json.dumps({"op": name, "args": given, "kwargs": {}, "tensors": t.lines, "outs": [int(w) for w in which],
                       "first": [numbers(g) for g in first], "second": [numbers(g) for g in second]}, separators=(",", ":"))


def layer(name, gates, seed, data, states, packed, layers, ways, biases, first, hidden, features, projection):
    t = Tensors(seed)
    x = t.float(*data)
    sizes = t.add(torch.tensor(packed), "i64") if packed else None
    state = [t.float(*s) for s in states]
    params = weights(t, features, hidden, layers, ways, gates, biases, projection)
    of, op = t.made, getattr(torch.ops.aten, name)
    hx = [of[i] for i in state] if name == "lstm" else of[state[0]]
    hx_line = {"TL": state} if name == "lstm" else {"T": state[0]}
    values = [[of[i] for i in params], biases, layers, 0.0, True, ways == 2]
    lines = [{"TL": params}, {"b": biases}, {"i": layers}, {"f": 0.0}, {"b": True}, {"b": ways == 2}]
    if packed:
        return line_of(name + ".data", t, [{"T": x}, {"T": sizes}, hx_line, *lines], lambda: op.data(of[x], of[sizes], hx, *values))
    return line_of(name + ".input", t, [{"T": x}, hx_line, *lines, {"b": first}], lambda: op.input(of[x], hx, *values, first))


def main(out):
    lines = []
    for name, gates in KINDS:
        for i, (times, batch, features, hidden, layers, ways, biases, first, projection) in enumerate(SIZES):
            if projection and name != "lstm":
                continue
            data = (batch, times, features) if first else (times, batch, features)
            states = [(layers * ways, batch, projection or hidden), (layers * ways, batch, hidden)][:2 if name == "lstm" else 1]
            lines.append(layer(name, gates, i, data, states, None, layers, ways, biases, first, hidden, features, projection))
        for i, packed in enumerate(PACKED):
            for layers, ways, projection in ((1, 1, 0), (2, 2, 0), (1, 2, 2))[:3 if name == "lstm" else 2]:
                states = [(layers * ways, packed[0], projection or 3), (layers * ways, packed[0], 3)][:2 if name == "lstm" else 1]
                lines.append(layer(name, gates, 20 + i, (sum(packed), 2), states, packed, layers, ways, True, False, 3, 2, projection))
    with gzip.GzipFile(out, "wb", mtime=0) as f:
        f.write(("\n".join(lines) + "\n").encode())
    print(len(lines), "calls")


if __name__ == "__main__":
    main(sys.argv[1])
