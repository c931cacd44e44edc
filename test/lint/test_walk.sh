#!/bin/sh
# Rows of the walks name functions that their files define.
# shellcheck disable=SC2016 source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-walk.sh"

printf '%s\n' 'lz_err *lz_one(int x)' '{' '    return lz_two(x);' '}' | write src/base/one.c

row() {
    printf '| | file | function | what |\n|---|---|---|---|\n| 1 | %s | text |\n' "$1" | write docs/architecture.md
}

row '`src/base/one.c` | `lz_one`'
passes "$check" "$tree"
row '`build/gen/base/one.c` | `lz_one`' # nothing is built here
passes "$check" "$tree"
row '`src/base/one.c` | `lz_two`' # called, not defined
fails 'src/base/one.c does not define lz_two' "$check" "$tree"
row '`src/base/one.c` | `lz_on`'
fails 'does not define lz_on' "$check" "$tree"
row '`src/base/two.c` | `lz_one`'
fails 'there is no src/base/two.c' "$check" "$tree"
echo 'A page without rows.' | write docs/architecture.md
fails 'there is no walk' "$check" "$tree"
