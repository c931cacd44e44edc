#!/bin/sh
# A file with a variable that a process has once must be in the table, and a file in the table must have one.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-statics.sh"

# shellcheck disable=SC2016
printf '%s\n' 'text `src/base/text.c`' '' '| one in a process | file | why |' '|---|---|---|' \
    '| a | `src/base/a.c`, `b.c` | `src/base/no.c` |' '| c | `src/core/c.c` | x |' '' 'more | `src/x.c` |' |
    write docs/architecture.md
printf '%s\n' 'int f(void)' '{' '    static int n;' '}' | write src/base/a.c
printf '%s\n' 'static struct {' '    int x;' '} b = { 1 };' | write src/base/b.c
printf '%s\n' 'extern unsigned shared;' 'extern const int fixed;' | write src/core/c.h
echo 'unsigned shared = 3;' | write src/core/c.c
echo 'static int harness;' | write src/harness/h.c
printf '%s\n' 'static const int x = 1;' 'static int f(int x);' 'static const char *const names[] = {' '};' \
    'static const struct {' '    int x;' '} rows[] = {' '};' 'static inline int g(void)' 'static fn *const table[3] = {' \
    'static lz_err *one(lz_err *e)' 'static void (*const fns[])(int) = {' 'static LZ_VEC(int) *make(void);' |
    write src/base/constant.c
passes "$check" "$tree"

missed() { # LINE...
    printf '%s\n' "$@" | write src/base/new.c
    fails 'src/base/new.c: has a variable' "$check" "$tree"
    rm "$tree/src/base/new.c"
}

missed 'static int x;'
missed 'static const char *name = "x";'
missed 'static _Atomic(int) x;'
missed '    static int (*fn)(void);'
missed 'static LZ_VEC(int) list;'
missed 'static _Thread_local struct {' '    const char *x;' '} here;'
missed 'static char path[100];'
echo 'extern int other;' | write src/base/d.h
fails 'src/base/d.h: has a variable' "$check" "$tree"
echo 'int other;' | write src/base/d.c
fails 'src/base/d.c: has a variable' "$check" "$tree"
rm "$tree/src/base/d.c" "$tree/src/base/d.h"
echo | write src/base/b.c
fails 'src/base/b.c has no variable' "$check" "$tree"
