#!/bin/sh
# own.sh BUILD SOURCE: the project's own operators (ops/*.yaml) are right, none takes a name of the public headers, and
# what is emitted for them compiles; Ninja reruns emit when one of their files changes, and only then.
set -eu

build=$1 source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail() {
    echo "own: $*" >&2
    exit 1
}

cp -r "$source/ops" .
natives=$(for file in ops/*.yaml; do
    case $file in
    ops/tags.yaml | ops/derivatives.yaml | ops/left_out.yaml) ;;
    *) printf ' --native %s' "$file" ;;
    esac
done)
headers=$(for file in "$source"/include/lazuli/*.h; do printf ' --headers %s' "$file"; done)
cat >build.ninja <<END
rule emit
  command = $build/lazuli-gen emit$natives --tags ops/tags.yaml --own --derivatives ops/derivatives.yaml$headers --target all --out out --depfile \$out.d
  depfile = \$out.d
  deps = gcc
  restat = 1
build out/op/op_table.c: emit
rule touch
  command = touch \$out
build compiled: touch out/op/op_table.c
END
steps() { # how many commands a build runs
    ninja -v >log || fail "ninja: $(cat log)"
    grep -c '^\[' log || true
}
[ "$(steps)" = 2 ] || fail "the first build: $(cat log)"
[ "$(steps)" = 0 ] || fail "nothing has changed: $(cat log)"
sleep 0.01
touch ops/nn.yaml
[ "$(steps)" = 1 ] || fail "a touched file that says the same should rerun emit alone: $(cat log)"
[ "$(steps)" = 0 ] || fail "nothing has changed again: $(cat log)"

warnings='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror'
includes="-Iout -Iout/include -I$source/include -I$source/src"
for compiler in gcc clang; do
    for file in out/op/*.c out/api/*.c; do
        # shellcheck disable=SC2086 # lists of options
        $compiler -std=c17 $warnings $includes -fsyntax-only "$file" || fail "$compiler does not take $file"
    done
done
# shellcheck disable=SC2086
echo "#include <lazuli/short_ops.h>" | g++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror $includes -fsyntax-only - ||
    fail "short_ops.h is no C++17"
