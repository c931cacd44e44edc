#!/bin/sh
# calls.sh BUILD SOURCE: call_operators.c, which calls the operators of golden/, compiles without a warning and does what it should.
set -eu

build=$1 source=$2
here=$source/test/gen program=$source/test/data/gen/call_operators.c
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror'
includes="-I$here/golden -I$here/golden/include -I$source/include -I$source/src"

# Of all the operators the program has only those that it calls, and of the library what boxed calls need: its own operators
# have the same names.
run() { # COMPILER FLAGS...
    compiler=$1
    shift
    # shellcheck disable=SC2086 # lists of options
    "$compiler" -std=c17 $warnings "$@" $includes "$program" "$source/src/op/boxed.c" "$here"/golden/api/boxed*.c "$here"/golden/api/ops_defaults.c \
        "$here"/golden/op/*.c -o "$tmp/user" -Wl,--unresolved-symbols=ignore-all "$build/liblazuli-gen.a" -lz -lm -lpthread
    "$tmp/user"
}

if [ -n "${LZ_SANITIZE:-}" ]; then
    run "$CC" -O1 -g "-fsanitize=$LZ_SANITIZE" -fno-sanitize-recover=all
    exit
fi
for compiler in gcc clang; do
    for level in -O0 -O2; do
        run $compiler $level
    done
    # As ccache does it: preprocessed first, so that warnings are decided on without knowing of macros.
    # shellcheck disable=SC2086
    "$compiler" -std=c17 $includes -E "$program" -o "$tmp/user.i"
    # shellcheck disable=SC2086
    "$compiler" -std=c17 $warnings -c "$tmp/user.i" -o "$tmp/user.o"
done

# C++ has the functions behind the macros.
cat >"$tmp/call_operators.cc" <<END
#include <lazuli/ops.h>
lz_tensor *sum(lz_ctx *c, lz_tensor *a, lz_tensor *b);
lz_tensor *sum(lz_ctx *c, lz_tensor *a, lz_tensor *b)
{
    lz_add_Tensor_args args = lz_add_Tensor_defaults;
    args.alpha = lz_scalar_float(0.5);
    return lz_add_Tensor_at(c, LZ_HERE, a, lz_add_Tensor_at(c, LZ_HERE, a, b, nullptr), &args);
}
END
for compiler in g++ clang++; do
    # shellcheck disable=SC2086
    "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $includes -fsyntax-only "$tmp/call_operators.cc"
done
