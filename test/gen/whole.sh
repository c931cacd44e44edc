#!/bin/sh
# whole.sh BUILD SOURCE: the targets for all operators of the original: every file compiles with gcc and clang without a
# warning, every header also as C++17; a second run is byte-identical and writes nothing; one edited entry rewrites one
# file. The operator file is the original where it is there (LAZULI_ORACLE), else rebuilt from recorded facts.
set -eu

build=$1 source=$2
gen=$build/lazuli-gen
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
warnings='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror'

fail() {
    echo "whole: $*" >&2
    exit 1
}

oracle=${LAZULI_ORACLE:-$source/../shared/oracle}/torch-2.15
if [ -e "$oracle/native_functions.yaml" ]; then
    cp "$oracle/native_functions.yaml" "$oracle/tags.yaml" .
else
    "$build/test/gen_oracle" native_functions.yaml tags.yaml
fi
# A backend that records every operator.
awk 'BEGIN { print "backend: Lazy\ncpp_namespace: whole\nfull_codegen:" }
     /^- [{]?func:/ { sub(/\(.*/, ""); sub(/^- [{]?func:[^A-Za-z_]*/, ""); print "  - " $0 }' native_functions.yaml >backend.yaml
emit() { # FOLDER
    "$gen" emit --native native_functions.yaml --tags tags.yaml --backend backend.yaml --target all --out "$1"
}

emit out >log
[ "$(grep -c '^    LZ_OP_' out/op/op_table.h)" -ge 3000 ] || fail "few operators in op_table.h"
emit again >log
diff -r out again >log || fail "two runs differ: $(head log)"
[ "$(emit out)" = '0 written, 22 unchanged' ] || fail "a second run writes something"

includes="-Iout -Iout/include -I$source/include -I$source/src"
for compiler in gcc clang; do
    for file in out/op/*.c out/api/*.c out/lazy/*.c out/stubs/*.c; do
        # shellcheck disable=SC2086 # lists of options
        $compiler -std=c17 $warnings $includes -fsyntax-only "$file" || fail "$compiler does not take $file"
    done
done
for header in lazuli/ops.h lazuli/short_ops.h op/op_table.h op/dispatch_table.h api/boxed_table.h lazy/lazy_table.h lazy/nodes.h op/functional_table.h stubs/lazy_ops.h; do
    for compiler in g++ clang++; do
        # shellcheck disable=SC2086
        echo "#include <$header>" | $compiler -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror $includes -fsyntax-only - ||
            fail "$header is no C++17 for $compiler"
    done
done

# A macro is not looked at before it is used.
awk -f "$source/test/gen/uses.awk" out/include/lazuli/ops.h >uses.c
[ "$(grep -c '^void use_lz.*{' uses.c)" = "$(grep -c 'lz_boxed_.*lz_any_fn' out/api/boxed_table.c)" ] || fail "not every operator has a macro"
[ "$(grep -c '^void use_kw.*{' uses.c)" -ge 1000 ] || fail "few keywords"
for compiler in gcc clang; do
    # shellcheck disable=SC2086
    $compiler -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $includes -fsyntax-only uses.c >log 2>&1 ||
        fail "$compiler does not take the macros: $(head -20 log)"
done

# The file is not the same where it was rebuilt, but this kernel is in both.
sed -i 's/\badd_sparse_csr\b/another_kernel/' native_functions.yaml
[ "$(emit out)" = '1 written, 21 unchanged' ] || fail "an edited kernel rewrites more than one file"
diff -rq out again >log || true
[ "$(cat log)" = 'Files out/op/dispatch_table.c and again/op/dispatch_table.c differ' ] || fail "other files differ: $(cat log)"
