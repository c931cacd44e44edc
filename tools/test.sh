#!/bin/sh
# All tests: builds with gcc and clang and under the sanitizers, the tests in each of them, lint. One line per stage; the
# output of a stage is in build/log/ and is shown when it fails. The last line sums up: N passed, M failed, K skipped.
#     tools/test.sh
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

if [ "${1:-}" = --count ]; then
    shift
    count "$@"
    exit
fi

log=build/log
rm -rf $log
mkdir -p $log
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

for preset in release clang asan tsan; do
    stage "build-$preset" build $preset && stage "test-$preset" ctest --preset $preset
done
stage lint tools/lint.sh

# A broken stage counts as one failure, so that nobody reads "0 failed" after a build that did not compile.
total=$(cat $log/*.log | count)
failed=${total#* passed, }
failed=$((${failed%% *} + broken))
echo "${total%% passed*} passed, $failed failed, ${total##*failed, }"
[ $failed = 0 ]
