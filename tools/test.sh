#!/bin/sh
# Runs the tests. One line per stage; the output of a stage is in build/log/ and is shown when the stage fails. The last
# line sums up: N passed, M failed, K skipped.
#     tools/test.sh test               the release build (gcc), its tests, formatting
#     tools/test.sh check              clang with ASan and UBSan, gcc with TSan, stress tests (label "check"), lint
#     tools/test.sh --count LOG...     sums up logs of ctest
set -u
cd "$(dirname "$0")/.." || exit 1

# A test that ctest could not start has failed; a disabled one is skipped.
count() {
    awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
        n[/ Passed +[0-9.]+ sec/ ? "passed" : /\*\*\*(Skipped|Not Run \(Disabled\))/ ? "skipped" : "failed"]++
    }
    END { printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"] }' "$@"
}

what=${1:-test}
if [ "$what" = --count ]; then
    shift
    count "$@"
    exit
fi

log=build/log/$what
rm -rf "$log"
mkdir -p "$log"
broken=0 # stages that failed without a failed test: a build, lint

now() {
    date +%s%3N
}

stage() { # NAME COMMAND...
    name=$1
    file=$log/$name.log
    shift
    start=$(now)
    "$@" >"$file" 2>&1
    status=$?
    tests=$(count "$file")
    [ "$tests" != "0 passed, 0 failed, 0 skipped" ] || tests=
    took=$(($(now) - start))
    verdict=$([ $status = 0 ] || echo FAILED)
    printf '%-14s %4d.%d s  %s\n' "$name" $((took / 1000)) $((took / 100 % 10)) "$tests $verdict" | sed 's/ *$//'
    [ $status = 0 ] && return
    sed 's/^/    /' "$file"
    case $tests in
    "" | *" 0 failed"*) broken=$((broken + 1)) ;;
    esac
    return 1
}

build() {
    cmake --preset "$1" -DLZ_WERROR=ON && cmake --build --preset "$1"
}

run_preset() { # BUILD TESTS
    stage "build-$1" build "$1" && stage "test-$2" ctest --preset "$2"
}

case $what in
test)
    run_preset release release
    stage format tools/lint.sh format
    ;;
check)
    run_preset release stress
    run_preset asan asan
    run_preset tsan tsan
    stage lint tools/lint.sh
    ;;
*)
    echo "tools/test.sh: expected test, check or --count, found '$what'" >&2
    exit 2
    ;;
esac

# A broken stage counts as one failure, so that nobody reads "0 failed" after a build that did not compile.
total=$(cat "$log"/*.log | count)
failed=${total#* passed, }
failed=$((${failed%% *} + broken))
echo "${total%% passed*} passed, $failed failed, ${total##*failed, }"
[ $failed = 0 ]
