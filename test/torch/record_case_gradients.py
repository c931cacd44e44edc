"""Records PyTorch's gradients of calls that test/data/gradient_cases_linalg.jsonl has, in the form of record_gradients.py.

    record_case_gradients.py LAZULI CASES OUT.jsonl.gz

Left out: operators that PyTorch does not have, and eigenvectors and singular vectors, whose signs are arbitrary."""
import gzip
import json
import subprocess
import sys

import torch

from record_gradients import Call, Op, line_of, outcome
from record_layouts import Tensor

VECTORS = ("linalg_eigh", "_linalg_eigh", "linalg_svd", "_linalg_svd", "svd")


def call_of(op, case):
    given = {a.name: v for a, v in zip(op.args, case["args"])}
    given.update(case["kwargs"])
    dtypes = {"f64": torch.float64, "i32": torch.int32, "i64": torch.int64}
    tensors = [Tensor(dtypes[t["dt"]], t["shape"], t["data"]) for t in case["tensors"]]
    return Call([given.get(a.name) for a in op.args], tensors)


def main():
    lazuli, cases, out = sys.argv[1:]
    text = subprocess.run([lazuli, "ops", "--json"], capture_output=True, text=True, check=True).stdout
    ops = {o.name: o for o in (Op(e) for e in json.loads(text))}
    count = 0
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        for line in open(cases, encoding="utf-8"):
            case = json.loads(line)
            op = ops[case["op"]]
            if op.fn is None or op.base in VECTORS:
                continue
            call = call_of(op, case)
            got = outcome(op, call)
            if got is None:
                continue
            f.write(line_of(op, call, got).encode() + b"\n")
            count += 1
    print("%d calls" % count)


if __name__ == "__main__":
    main()
