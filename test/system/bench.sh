#!/bin/sh
# bench.sh COMMAND: every line of `bench SUITE --json` is an object with all keys, whatever the suite; no time is asserted.
# Recording is reported in ns for each operator, a ratio with its other figure; wrong names and options are refused.
set -eu

fail() {
    echo "bench: $*" >&2
    exit 1
}
text='"[^"]*"'
number='-?[0-9][0-9.e+-]*'
figure="\"system\":$text,\"name\":$text,\"metric\":$text,\"value\":$number,\"unit\":$text"
end="\"ratio\":(null,\"against\":null|$number,\"against\":$text),\"threads\":[12]"

# SUITE OPTION...: its figures, checked
n=12
run() {
    lines=$("$command" bench "$@" --n "$n" --seconds 0.01 --json) || fail "$1 ends with status $?"
    other=$(printf '%s\n' "$lines" | grep -Ev "^\{\"suite\":\"$1\",$figure,$end\}\$") && fail "$1 says '$other'"
    printf '%s\n' "$lines" | grep -q '"system":"lazuli"' || fail "$1 does not tell about us"
}

command=$1
names=$("$command" bench | awk '{ print $1 }')
for suite in record sync calls fused softmax layernorm sum0 sum1 matmul linalg ops start shapes compile mlp lenet gpt; do
    printf '%s\n' "$names" | grep -qx "$suite" || fail "$suite is not listed"
done
for suite in $names; do
    case $suite in
        mlp | lenet | gpt | ops | varying | gpt_long) ;;
        *) run "$suite" ;;
    esac
done
n=2
# Instrumented code takes minutes for these, which run what the others run, for longer.
if [ -z "${LZ_SANITIZE-}" ]; then
    run varying
    run gpt_long
fi
for suite in mlp lenet gpt; do
    run "$suite"
    for metric in first time median longest peak_memory late_compiles kernels plan_compiles kernel_compiles; do
        printf '%s\n' "$lines" | grep -q "\"name\":\"step\",\"metric\":\"$metric\"" || fail "$suite: no $metric"
    done
    printf '%s\n' "$lines" | grep -q '"metric":"late_compiles","value":0[.,]' || fail "$suite compiles after its second step"
done
n=12
run fused --threads 2
printf '%s\n' "$lines" | grep -q '"threads":2' || fail "fused: two threads are reported as another number"
run record
for case in add mul relu tanh add_ view_depth_400; do
    printf '%s\n' "$lines" |
        grep -q "\"name\":\"$case\",\"metric\":\"per_op\",.*\"unit\":\"ns\",\"ratio\":[0-9.e+-]*,\"against\":\"plain C\"" ||
        fail "record: nothing about $case"
done
run ops
for case in sort_1e6 topk5_1e6 index_add_rows conv3x3 isin lerp; do
    printf '%s\n' "$lines" | grep -q "\"name\":\"$case\",\"metric\":\"time\"" || fail "ops: nothing about $case"
done
run ops --only topk
printf '%s\n' "$lines" | grep -vq '"name":"topk' && fail "ops --only topk measures other rows"
[ "$(printf '%s\n' "$lines" | wc -l)" = 3 ] || fail "ops --only topk measures $lines"

# Refused, with a word in what is said
refuse() {
    word=$1
    shift
    if said=$("$command" bench "$@" 2>&1); then
        fail "'$*' is accepted"
    fi
    case $said in *"$word"*) ;; *) fail "'$*' is refused with '$said'" ;; esac
}
refuse 'record, sync, calls' nothing
refuse --n record --n 0
refuse --n record --n -3
refuse --n record --n
refuse --threads record --threads none
refuse --seconds fused --seconds x
refuse other fused other
refuse --what fused --what
refuse such-file fused --n 10 --loops ./no-such-file.so
refuse 16384 matmul --n 20000
refuse 32768 ops --n 40000
refuse no-such-row ops --n 2 --only no-such-row
refuse 'no rows' fused --n 10 --only x
