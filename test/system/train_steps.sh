#!/bin/sh
# usage: train_steps.sh TRAIN_STEPS: training gives the same bits however it is run, stopped and resumed too, and
# compiles nothing once it goes.
set -u
train=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
    printf '%s\n' "$*"
    failures=$((failures + 1))
}

# run NAME ARGS...: with $with as variables; its bits go to NAME.bits.
with=
run() {
    name=$1
    shift
    # shellcheck disable=SC2086 # a list
    env LAZULI_CACHE_DIR="$dir/cache.$name" $with "$train" "$@" >"$name.out" 2>&1 || fail "$name: $(cat "$name.out")"
    grep -v -e '^compiled' -e '^why' "$name.out" >"$name.bits"
}

# same NAME: bits as in the first run.
same() {
    cmp -s plain.bits "$1.bits" || fail "$1: other bits: $(diff plain.bits "$1.bits" | head -4)"
}

run plain
[ "$(grep -c '^loss' plain.bits)" = 12 ] || fail "expected twelve losses: $(cat plain.out)"
for threads in 1 2; do
    for jit in off background now; do
        with="LAZULI_THREADS=$threads LAZULI_JIT=$jit"
        run "t$threads.$jit"
        same "t$threads.$jit"
    done
done

# Steps 2 to 10 are the graph of steps 0 and 1; the last batch is smaller: one more graph, no kernel, and it is said why.
[ "$(grep -c '^compiled .*: 0 graphs$' t1.now.out)" = 9 ] || fail "something was compiled on the way: $(cat t1.now.out)"
grep -q '^compiled 11: 1 graphs$' t1.now.out || fail "expected one graph for the last batch: $(cat t1.now.out)"
grep -q '^why .*\[7' t1.now.out || fail "nothing says that the batch is smaller: $(cat t1.now.out)"

# Stopped after five steps, and resumed in another process.
with=
run stopped --stop 5 state.safetensors
run resumed --resume state.safetensors
cat stopped.bits resumed.bits >joined.bits
same joined
exit $((failures > 0))
