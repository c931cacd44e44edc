#!/bin/sh
# mutants.sh BUILD: a plug-in that makes one mistake, chosen by MUTANT, must fail `lazuli test backend`, and pass it
# without a mistake. Numbers and mistakes are those of test/plugin/mutant_backend.c.
set -eu

build=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "mutants: $*" >&2
    exit 1
}

check() { # mutant, the cases to run
    MUTANT=$1 "$build/lazuli" test backend "$build/test/plugin/mutant.so" --only "$2" >"$tmp/out" 2>&1
}

caught=0
while read -r mutant only; do
    check 0 "$only" || fail "without a mistake '$only' fails: $(cat "$tmp/out")"
    if check "$mutant" "$only"; then
        fail "mutant $mutant passes '$only'"
    fi
    grep -q ' [1-9][0-9]* failed' "$tmp/out" || fail "mutant $mutant: '$only' ends with '$(tail -n 1 "$tmp/out")'"
    caught=$((caught + 1))
done <<END
1 add.Tensor
2 var.correction
3 mse_loss
4 lt.Scalar
5 neg
6 max
7 failure
8 programs
9 foreign
10 foreign
12 copies
13 leaks
14 failure
15 exp
16 add.Scalar
17 threads
18 softmax.int
20 failure
END
[ "$caught" = 18 ] || fail "$caught mutants instead of 18"

# --only takes a group, an operator or a program.
passes() { # ONLY LINE
    if ! check 0 "$1" || ! grep -qx "$2" "$tmp/out"; then
        fail "$1: $(cat "$tmp/out")"
    fi
}
passes 'program 7' 'programs: 1 passed'
passes programs 'programs: 200 passed'
if check 0 'no such case' || ! grep -q 'found no cases of no such case' "$tmp/out"; then
    fail "no such case: $(cat "$tmp/out")"
fi
