#!/bin/sh
# plugin.sh BUILD SOURCE: builds the backend of test/plugin out of tree with an installed Lazuli, and the null
# backend as docs/adding-a-backend.md says; both load into the command.
set -eu

build=$1 source=$2
if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: a plug-in needs the same sanitizer as its host"
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "plugin: $*" >&2
    exit 1
}

lines=$(wc -l <"$source/test/plugin/echo_backend.c")
[ "$lines" -le 500 ] || fail "echo_backend.c has $lines lines"
cmake --install "$build" --prefix "$tmp/lazuli" >"$tmp/log" || fail "cmake --install fails"
mkdir "$tmp/echo"
cp "$source/test/plugin/CMakeLists.txt" "$source/test/plugin/echo_backend.c" "$tmp/echo"
{ cmake -S "$tmp/echo" -B "$tmp/echo/build" -G Ninja -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_PREFIX_PATH="$tmp/lazuli" &&
    cmake --build "$tmp/echo/build"; } >"$tmp/log" 2>&1 || {
    cat "$tmp/log"
    fail "the plug-in does not build"
}

got=$(LAZULI_BACKEND=$tmp/echo/build/echo.so "$build/lazuli" devices -v) || fail "devices ends with status $?"
for line in 'echo: 2 devices' '  echo:0 (default)  ECHO0  used' '  echo:1  ECHO1  used' \
    '  brings: copy_data, supports, device_type_name, get_memory_info'; do
    printf '%s\n' "$got" | grep -qF -- "$line" || fail "devices says '$got', without '$line'"
done

# What it computes is what the CPU computes.
got=$("$build/lazuli" test backend "$tmp/echo/build/echo.so" | tail -n 1) || fail "the plug-in does not conform: $got"
case $got in
[3-9][0-9][0-9][0-9]' passed, 0 failed, '*) ;;
*) fail "test backend ends with '$got'" ;;
esac
programs=$source/test/data/oracle/programs/programs.jsonl.gz
got=$(LAZULI_BACKEND=$tmp/echo/build/echo.so "$build/lazuli" test programs "$programs" --mode random --device echo:1 |
    tail -n 1) || fail "programs on the plug-in: $got"

# The steps of the document, with the null backend as it is.
mkdir "$tmp/null"
sed -e 's|"null/null_backend.h"|<lazuli/backend.h>|' -e 's|^const lz_backend \*lz_null|static &|' \
    "$source/src/null/null_backend.c" >"$tmp/null/mine.c"
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -DLAZULI_PLUGIN -I"$tmp/lazuli/include" \
    "$tmp/null/mine.c" -o "$tmp/null/mine.so" || fail "the null backend does not build"
got=$(LAZULI_BACKEND=$tmp/null/mine.so:$tmp/echo/build/echo.so "$build/lazuli" devices) || fail "two plug-ins do not load"
for line in 'null: 1 device' 'echo: 2 devices'; do
    printf '%s\n' "$got" | grep -qxF -- "$line" || fail "devices says '$got', without '$line'"
done

# A bare name is a file in this folder; the name of the hardware is printed.
(cd "$tmp/null" && "$build/lazuli" test backend mine.so --only neg) >"$tmp/out" 2>&1 && fail "the null backend computes"
grep -q 'null leaves to the library' "$tmp/out" || fail "a bare name: '$(cat "$tmp/out")'"
"$build/lazuli" devices | grep -q '  cpu:0 (default)  CPU0  [A-Za-z0-9]' || fail "the CPU has no name"

# A device that the environment asks for and that is not there fails for those alone who open it.
for name in LAZULI_TS_CUDA LTC_TS_CUDA; do
    got=$(env "$name=1" LAZULI_BACKEND="$tmp/echo/build/echo.so" "$build/lazuli" devices) || fail "$name: devices fails: $got"
    printf '%s\n' "$got" | grep -q '  echo:0 (default)' || fail "$name: devices says '$got'"
    env "$name=1" "$build/lazuli" test backend "$tmp/echo/build/echo.so" --only neg >"$tmp/out" 2>&1 ||
        fail "$name: echo fails: $(cat "$tmp/out")"
    if env "$name=1" "$build/lazuli" test backend cpu --only neg >"$tmp/out" 2>&1; then
        fail "$name: there is a CUDA device"
    fi
    grep -q 'no such device' "$tmp/out" || fail "$name: cpu says '$(cat "$tmp/out")'"
done

# A file that is none, and one that is not there.
if LAZULI_BACKEND=$source/CMakeLists.txt "$build/lazuli" devices >"$tmp/out" 2>&1; then
    fail "a text file loads"
fi
grep -q 'CMakeLists.txt' "$tmp/out" || fail "the refusal says '$(cat "$tmp/out")'"
