#!/bin/sh
# usage: misuse.sh MISUSE [large]: every kind of misuse ends, by itself and in time, and what LAZULI_DEBUG=1 can
# find is named. large: those that take memory or seconds; otherwise the others.
set -u
misuse=$1
which=${2:-small}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
    printf '%s\n' "$*"
    failures=$((failures + 1))
}

# What would be undefined behaviour, and what the debug mode says of it.
expected() { # NAME
    case $1 in
    use_after_release | use_after_pop) echo 'was released before this call' ;;
    scope_wrong_order) echo 'is popped already' ;;
    double_release | close_with_live) echo . ;;
    shared_ctx) echo 'two threads use one context at the same time' ;;
    esac
}

for name in $("$misuse"); do
    case $name in
    chain_1e6* | wide_1e5 | huge_* | named_scopes | deep_scopes | many_ctx) size=large ;;
    *) size=small ;;
    esac
    [ $size = "$which" ] || continue
    # LeakSanitizer takes for leaks what the threads of the parent hold, which a child does not have.
    case ${LZ_SANITIZE:-}:$name in
    *address*:fork_*) continue ;;
    esac
    text=$(expected "$name")
    timeout 120 env LAZULI_LOG=warn ${text:+LAZULI_DEBUG=1} "$misuse" "$name" >"$dir/out" 2>&1
    status=$?
    [ $status = 0 ] || fail "$name: status $status: $(tail -3 "$dir/out")"
    ! grep -q -e '^wrong$' -e 'status [1-9]' "$dir/out" || fail "$name: $(cat "$dir/out")"
    [ -z "$text" ] || grep -q "$text" "$dir/out" || fail "$name: does not say '$text': $(cat "$dir/out")"
done
exit $((failures > 0))
