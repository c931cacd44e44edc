#!/bin/sh
# refusals.sh: the checks beside this one can fail. Each gets a good sample, which it accepts,
# and bad ones, each of which it must refuse for the right reason.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
unset LZ_SANITIZE

# library NAME SOURCE FLAGS...: makes NAME.so
library() {
    name=$1 source=$2
    shift 2
    printf '%s\n' "$source" |
        "${CC:-cc}" -x c -shared -fPIC -fvisibility=hidden -Wl,-soname,"$name.so.0" -o "$name.so" - -x none "$@"
}

# header FOLDER TEXT: makes FOLDER/lazuli/x.h
header() {
    mkdir -p "$1/lazuli"
    printf '%s\n' "$2" >"$1/lazuli/x.h"
}

accepts() {
    if ! "$@" >log 2>&1; then
        cat log >&2
        echo "refusals: a good sample is refused: $*" >&2
        exit 1
    fi
}

# refuses REASON COMMAND...
refuses() {
    reason=$1
    shift
    if "$@" >log 2>&1; then
        echo "refusals: not refused: $*" >&2
        exit 1
    fi
    if ! grep -q "$reason" log; then
        cat log >&2
        echo "refusals: refused, but not for '$reason': $*" >&2
        exit 1
    fi
}

api='#define LZ_API __attribute__((visibility("default")))'
one="$api
LZ_API int lz_one(int a, int b);
__attribute__((warn_unused_result)) LZ_API const char *
lz_two(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
LZ_API extern const int lz_table[2]; LZ_API extern int lz_flag;
static inline int lz_inline(void) { return lz_one(1, 2); }"
header good "$one"
bodies='int lz_one(int a, int b) { return a + b; } const char *lz_two(const char *fmt, ...) { return fmt; }
const int lz_table[2] = { 1, 2 }; int lz_flag = 1; int hidden(void); int hidden(void) { return 1; }'

library good "$one
$bodies"
library bad "$one
$bodies
LZ_API int bad_symbol(void);
int bad_symbol(void) { return 1; }"
accepts "$here/symbols.sh" good.so good
refuses 'without the lz_ prefix: bad_symbol$' "$here/symbols.sh" bad.so good
for absent in lz_one lz_two lz_table lz_flag; do
    library short "$one
$(printf '%s\n' "$bodies" | sed "s/$absent/hidden_$absent/")"
    refuses "not exported by short.so: $absent\$" "$here/symbols.sh" short.so good
done
mkdir -p empty/lazuli
echo 'typedef int nothing;' >empty/lazuli/x.h
refuses 'declares nothing' "$here/symbols.sh" good.so empty

library other 'int x;'
library greedy 'int y;' -Wl,--no-as-needed ./other.so
library near 'int v;' -Wl,-soname,xlibz.so.12 # all but an allowed name
library greedier 'int w;' -Wl,--no-as-needed ./near.so ./other.so
library math 'int z;' -Wl,--no-as-needed -lm
accepts "$here/needed.sh" good.so
accepts "$here/needed.sh" math.so
refuses 'also needs: other.so.0$' "$here/needed.sh" greedy.so
refuses 'also needs: xlibz.so.12 other.so.0$' "$here/needed.sh" greedier.so
refuses . "$here/needed.sh" missing.so
refuses . "$here/symbols.sh" missing.so good

guard='#ifndef X_H
#define X_H'
header whole "$guard
#include <stddef.h>
size_t lz_x(void);
#endif"
header leaning "$guard
size_t lz_x(void);
#endif"
header once 'struct lz_x { int y; };'
header c_only "$guard
int lz_x(int class);
#endif"
header sloppy "$guard
static inline int lz_x(int unused) { return 1; }
#endif"
accepts "$here/headers.sh" whole
refuses 'x.h is no c17 for gcc' "$here/headers.sh" leaning
refuses 'x.h is no c17 for clang' "$here/headers.sh" once
refuses 'x.h is no c++17 for g++' "$here/headers.sh" c_only
refuses 'x.h is no c++17 for clang++' "$here/headers.sh" sloppy

# Sanitized builds are skipped, with a word why.
for check in needed symbols; do
    status=0
    LZ_SANITIZE=address "$here/$check.sh" bad.so good >log || status=$?
    if [ $status != 77 ] || ! grep -q '^skipped: .*address' log; then
        echo "refusals: $check does not skip a sanitized build" >&2
        exit 1
    fi
done
