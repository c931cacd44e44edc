#!/bin/sh
# Builds, then runs every suite of `lazuli bench` and every program of bench/, one after the other, so that they do not
# disturb each other.
#     tools/bench.sh [NAME...]     these suites and bench_NAME only
set -eu
cd "$(dirname "$0")/.."

cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
if [ $# = 0 ]; then
    # shellcheck disable=SC2046 # names have no spaces
    set -- $(build/lazuli bench | awk '{ print $1 }') $(basename -s .c bench/bench_*.c | sed 's/^bench_//')
fi
for name in "$@"; do
    echo "bench: $name"
    if [ -e "bench/bench_$name.c" ]; then
        "build/bench/bench_$name"
    else
        build/lazuli bench "$name"
    fi
done
