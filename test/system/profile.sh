#!/bin/sh
# usage: profile.sh BUILD: profiles as the command and LAZULI_PROFILE give them.
set -u
lazuli=$1/lazuli
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
    printf '%s\n' "$1"
    failures=$((failures + 1))
}

# has TEXT FILE
has() {
    grep -qF -- "$1" "$2" || fail "$2 does not say '$1': $(head -c 2000 "$2")"
}

cat >net.ir <<'END'
graph(%x : Tensor):
  %k : int = prim::Constant[value=1]()
  %y : Tensor = aten::mul(%x, %x) # net.py:7:4
  %z : Tensor = aten::add(%y, %x, %k)
  return (%z)
END
cat >bad.ir <<'END'
graph(%x : Tensor, %i : Tensor):
  %d : int = prim::Constant[value=0]()
  %y : Tensor = aten::index_select(%x, %d, %i)
  return (%y)
END

# The tables follow the results; a line of the graph's text stands for an operator that has no other.
"$lazuli" graph net.ir --run --input '{1., 2., 3.}' --profile >out.txt 2>err.txt || fail "graph --profile: $(cat err.txt)"
has 'tensor([ 2.,  6., 12.])' out.txt
has 'net.py:7' out.txt
has 'net.ir:4' out.txt
has 'aten::mul' out.txt
has 'mul+add #' out.txt
has 'compile graph' out.txt

# A trace, or tables, in a file.
"$lazuli" graph net.ir --run --input '{1., 2., 3.}' --profile=p.json >out.txt 2>&1 || fail 'graph --profile=p.json'
has '"traceEvents":[' p.json
has '"operators":["aten::mul (net.py:7)","aten::add (net.ir:4)"]' p.json
"$lazuli" graph net.ir --run --input '{1., 2., 3.}' --profile=p.txt >out.txt 2>&1 || fail 'graph --profile=p.txt'
has 'aten::add' p.txt

# A graph that fails: the tables, the error, its status.
"$lazuli" graph bad.ir --run --input '{1., 2.}' --input '{5}' --profile >out.txt 2>err.txt && fail 'bad.ir ran'
has 'run graph' out.txt
has 'out of bounds' err.txt

# What cannot be written.
"$lazuli" graph net.ir --run --input '{1.}' --profile=/no/such/folder/p >out.txt 2>err.txt && fail 'a bad file is fine'
has '/no/such/folder' err.txt
"$lazuli" graph net.ir --run --input '{1.}' --profile= >out.txt 2>err.txt && fail '--profile= is fine'
has '--profile= needs a file' err.txt
"$lazuli" graph net.ir --profile >out.txt 2>err.txt && fail '--profile without --run is fine'
has '--profile is for --run' err.txt

# Benchmarks, also those that run in a child.
"$lazuli" bench fused --n 1000 --seconds 0.01 --profile >out.txt 2>&1 || fail "bench fused: $(cat out.txt)"
has 'aten::gelu' out.txt
"$lazuli" bench mlp --n 8 --seconds 0.01 --profile=m.json >out.txt 2>&1 || fail "bench mlp: $(cat out.txt)"
has 'backward)"' m.json

# The whole process.
LAZULI_PROFILE=env.txt "$lazuli" graph net.ir --run --input '{1., 2., 3.}' >out.txt 2>&1 || fail 'LAZULI_PROFILE'
has 'aten::mul' env.txt
LAZULI_PROFILE=env.json "$lazuli" bench sync --n 10 --seconds 0.01 >out.txt 2>&1 || fail 'LAZULI_PROFILE, bench'
has '"name":"lz_mark_step"' env.json
LAZULI_PROFILE=/no/such/folder/p "$lazuli" graph net.ir --run --input '{1.}' >out.txt 2>err.txt && fail 'a bad LAZULI_PROFILE is fine'
has 'LAZULI_PROFILE=/no/such/folder/p' err.txt
LAZULI_PROFILE=both.txt "$lazuli" graph net.ir --run --input '{1.}' --profile >out.txt 2>err.txt && fail 'two profiles at once'
has 'because LAZULI_PROFILE is set' err.txt
"$lazuli" env >out.txt
has LAZULI_PROFILE out.txt
has LAZULI_PERF_MAP out.txt

# Chrome's format is JSON to others, too.
if command -v python3 >/dev/null; then
    python3 - p.json m.json env.json <<'END' || fail 'a trace that Python cannot read'
import json, sys
for name in sys.argv[1:]:
    events = [e for e in json.load(open(name))["traceEvents"] if e["ph"] == "X"]
    assert events and all(e["dur"] >= 0 and e["ts"] >= 0 for e in events), name
END
fi
exit $((failures > 0))
