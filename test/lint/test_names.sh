#!/bin/sh
# One meaning for a file name and for a type, and folders that can be looked through.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-names.sh"

again() { # TEXT...: the types of a second file
    printf '%s\n' "$@" | write src/core/second.h
}

printf '%s\n' 'typedef struct lz_a lz_a;' 'typedef int lz_number;' 'typedef struct lz_b {' '    int x;' '} lz_b;' \
    'typedef LZ_VEC(lz_b) lz_bs;' 'typedef void lz_call(int,' '                     int);' 'enum lz_kind { LZ_ONE };' \
    'typedef lz_b *(*lz_make)(int);' 'struct row { int x; };' | write src/base/first.h
printf '%s\n' 'struct lz_a {' '    int x;' '};' | write src/base/first.c
printf '%s\n' 'int x;' | write include/lazuli/second.h
# shellcheck disable=SC1003
again '/* struct lz_b { */' 'typedef struct lz_a lz_a;' 'typedef int lz_number;' '#define X struct lz_b { \' '    }' \
    'struct row { char x; };' 'typedef LZ_VEC(lz_a) lz_as;' 'const char *text = "struct lz_b {";'
passes "$check" "$tree"

again 'struct lz_b { int y; };'
fails 'src/core/second.h:1: the type lz_b has another meaning in src/base/first.h:3' "$check" "$tree"
again '' 'enum lz_kind {' '    LZ_TWO' '};'
fails 'src/core/second.h:2: the type lz_kind has another meaning' "$check" "$tree"
again 'typedef long lz_number;'
fails 'the type lz_number has another meaning in src/base/first.h:2' "$check" "$tree"
again 'typedef LZ_VEC(lz_a) lz_bs;'
fails 'the type lz_bs has another meaning' "$check" "$tree"
again 'typedef void lz_call(int);'
fails 'the type lz_call has another meaning' "$check" "$tree"
again 'typedef int (*lz_make)(int);'
fails 'the type lz_make has another meaning' "$check" "$tree"
again

echo 'int y;' | write gen/text/first.c
fails 'src/base/first.c: the name is taken by gen/text/first.c' "$check" "$tree"
rm "$tree/gen/text/first.c"
echo 'int y;' | write test/support/first.h
fails 'test/support/first.h: the name is taken by src/base/first' "$check" "$tree"
rm "$tree/test/support/first.h"

for i in $(seq 81); do
    echo | write "docs/page_$i.md"
done
fails 'docs: 81 files in one folder' "$check" "$tree"
rm "$tree/docs/page_1.md"
passes "$check" "$tree"
