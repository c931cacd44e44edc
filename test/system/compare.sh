#!/bin/sh
# compare.sh COMMAND SCRIPT: bench/compare.py asks us and a peer that only sleeps, and says which peers are missing.
set -eu

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "skipped: no Python 3.9 or newer"
    exit 77
fi
fail() {
    echo "compare: $*" >&2
    exit 1
}

out=$(python3 "$2" --selftest --lazuli "$1" 2>&1) || fail "the test of itself fails: $out"
case $out in *"torch is missing"*) ;; *) fail "a peer that is missing is not named" ;; esac
case $out in *"| sum0 3 | 2 |"*) ;; *) fail "no table: $out" ;; esac
if python3 "$2" no-such-suite --lazuli "$1" 2>/dev/null; then
    fail "a suite that is not there runs"
fi
