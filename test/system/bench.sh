#!/bin/sh
# bench.sh COMMAND: every line of `bench SUITE --json` is an object with all keys; recording is told in ns for each op.
set -eu

if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: -fsanitize=$LZ_SANITIZE makes all figures meaningless"
    exit 77
fi
fail() {
    echo "bench: $*" >&2
    exit 1
}

for suite in record sync; do
    out=$("$1" bench $suite --json) || fail "$suite ends with status $?"
    pattern="^{\"suite\":\"$suite\",\"system\":\"[^\"]*\",\"case\":\"[^\"]*\",\"metric\":\"[^\"]*\",\"value\":[-0-9.e+]*,\"unit\":\"[^\"]*\"}\$"
    other=$(printf '%s\n' "$out" | grep -v "$pattern") && fail "$suite says '$other'"
    printf '%s\n' "$out" | grep -q '"system":"plain C".*"metric":"per_op".*"unit":"ns"' || fail "$suite: no plain loop"
done
out=$("$1" bench record --json)
for case in add mul relu tanh add_ view_depth_400; do
    printf '%s\n' "$out" | grep -q "\"case\":\"$case\",\"metric\":\"per_op\",\"value\":[^,]*,\"unit\":\"ns\"" ||
        fail "record: nothing about $case"
done
if "$1" bench nothing 2>/dev/null; then
    fail "a suite that is not there runs"
fi
