"""Values of TorchScript as JSON, as recorded graph cases have them: see read_value in src/harness/replay_graphs.c."""
import math

import torch

ABBR = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
        torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}


def number(x):
    """JSON has no words for what is not finite."""
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    return int(x) if isinstance(x, bool) else x


def tensor(t):
    t = t.detach()
    return {"dt": ABBR[t.dtype], "shape": list(t.shape), "data": [number(x) for x in t.reshape(-1).tolist()]}


def encode(v, tensors):
    """Tensors go to the list `tensors`; the value has their numbers."""
    if v is None:
        return None
    if isinstance(v, torch.Tensor):
        tensors.append(tensor(v))
        return {"T": len(tensors) - 1}
    if isinstance(v, dict):
        return {"d": [[encode(k, tensors), encode(x, tensors)] for k, x in v.items()]}
    if isinstance(v, (list, tuple)):
        return {"l" if isinstance(v, list) else "tup": [encode(x, tensors) for x in v]}
    if isinstance(v, bool):
        return {"b": v}
    return {"i": v} if isinstance(v, int) else {"f": number(v)} if isinstance(v, float) else {"s": str(v)}


def close(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-6 + 1e-5 * abs(b)


def same(a, b):
    """Equal, kinds and dtypes included; floats nearly."""
    if isinstance(b, torch.Tensor):
        return (isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
                and torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-6, equal_nan=True))
    if type(a) is not type(b):
        return False
    if isinstance(b, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return close(a, b) if isinstance(b, float) else a == b


def decode(v, tensors):
    """What `encode` made."""
    if v is None:
        return None
    (kind, x), = v.items()
    if kind == "T":
        t = tensors[x]
        dtype = next(d for d, abbr in ABBR.items() if abbr == t["dt"])
        return torch.tensor([float(e) if isinstance(e, str) else e for e in t["data"]], dtype=dtype).reshape(t["shape"])
    if kind == "d":
        return {decode(k, tensors): decode(e, tensors) for k, e in x}
    if kind in ("l", "tup"):
        return (list if kind == "l" else tuple)(decode(e, tensors) for e in x)
    return float(x) if kind == "f" else x
