#!/bin/sh
# Everything that is checked without running the code. Each step prints one line; all steps run, and the exit status
# tells whether all were clean. Needs a release build, for build/compile_commands.json and what ninja knows.
#     tools/lint.sh                    all steps
#     tools/lint.sh format             clang-format alone
set -u
cd "$(dirname "$0")/.." || exit 1
failed=

only=${1:-}
ran=

step() { # NAME COMMAND...
    name=$1
    shift
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    ran=1
    if found=$("$@" 2>&1); then
        echo "lint: $name ok"
    else
        echo "lint: $name failed"
        printf '%s\n' "$found" | sed 's/^/    /'
        failed="$failed $name"
    fi
}

sources() {
    tools/sources.sh . "$@" | tr '\n' '\0'
}

format() {
    sources '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror
}

scripts() {
    sources '*.sh' .ci/run | xargs -0 shellcheck
}

# Two findings are guesses from a later condition, and UBSan knows better; in tests a loop that fills an array counts as
# one that may not run, and an error that a callee made counts as a pointer into what the callee was given. In one file it
# loses its way in functions that a macro makes, and in one in a macro's argument that is a macro with commas.
cpp_check() {
    mkdir -p build/cppcheck
    cppcheck --quiet -j2 --enable=warning,performance,portability --error-exitcode=1 --inline-suppr \
        --suppress=shiftNegative --suppress=signConversionCond --suppress='uninitvar:test/*' \
        --suppress='uninitStructMember:test/*' --suppress=returnDanglingLifetime \
        --suppress=internalAstError:src/kernel/attention_impl.h \
        --suppress=syntaxError:test/unit/nn/test_more_layers.c -i"$PWD/build" \
        --cppcheck-build-dir=build/cppcheck --project=build/compile_commands.json
}

step format format
step tidy tools/check-tidy.sh
step cppcheck cpp_check
step layers tools/check-layers.sh
step headers tools/check-headers.sh
step calls tools/check-calls.sh
step seed-map tools/check-seed-map.sh
step walk tools/check-walk.sh
step openings tools/check-openings.sh
step names tools/check-names.sh
step statics tools/check-statics.sh
step words tools/check-words.sh
step shell scripts

if [ -z "$ran" ]; then
    echo "lint: there is no step '$only'"
    exit 2
fi
if [ -n "$failed" ]; then
    echo "lint: failed:$failed"
    exit 1
fi
echo "lint: clean"
