#!/bin/sh
# Runs every fuzzer, or the one called NAME, for SECONDS (default 60), one after the other: fuzz.sh [SECONDS [NAME]]. The seeds are copied to
# build/fuzz/corpus, which also keeps what is found between two runs; a crashing input goes
# to build/fuzz/findings. Exits with 1 if there is one.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-60}
only=${2:-}
out=build/fuzz
mkdir -p "$out/findings"
status=0
for source in fuzz/fuzz_*.c; do
    program=$(basename "$source" .c)
    name=${program#fuzz_}
    if [ -n "$only" ] && [ "$only" != "$name" ]; then
        continue
    fi
    corpus=$out/corpus/$name
    log=$out/$program.log
    mkdir -p "$corpus"
    if [ -d "fuzz/corpus/$name" ]; then
        cp -f "fuzz/corpus/$name"/* "$corpus/"
    fi
    set --
    if [ -f "fuzz/$name.dict" ]; then
        set -- "-dict=fuzz/$name.dict"
    fi
    if "$out/fuzz/$program" "$@" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$out/findings/$name-" "$corpus" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        inputs=$(find "$corpus" -type f | wc -l)
        echo "$program: no finding in $runs runs, $inputs inputs kept"
    else
        echo "$program: a finding"
        tail -n 40 "$log"
        status=1
    fi
done
exit $status
