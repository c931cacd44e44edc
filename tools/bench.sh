#!/bin/sh
# Builds and runs every program of bench/, one after the other, so that they do not disturb each other.
#     tools/bench.sh [NAME...]     bench_NAME only
set -eu
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
    for source in bench/bench_*.c; do
        [ ! -e "$source" ] || set -- "$@" "$(basename "$source" .c | sed 's/^bench_//')"
    done
fi
if [ $# = 0 ]; then
    echo "bench: nothing to measure yet"
    exit 0
fi

cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
for name in "$@"; do
    echo "bench: $name"
    "build/bench/bench_$name"
done
