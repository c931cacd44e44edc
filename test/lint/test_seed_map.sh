#!/bin/sh
# The map is held against the list of names and against the tree.
# shellcheck disable=SC2016 source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-seed-map.sh"

printf '%s\n' '# seed' Alpha Beta::run '' 'two words' | write test/data/seed-names.txt
echo 'int lz_alpha(void); int lz_alpha_more(void);' | write src/base/alpha.h
echo 'int main(void);' | write test/unit/base/test_alpha.c
echo 'add_test(NAME system/beta COMMAND true)' | write test/system.cmake

rows() { # three rows
    {
        printf '| Name | Seeds | In Lazuli | Test |\n|---|---|---|---|\n'
        printf '| %s |\n' "$@"
    } | write docs/seed-map.md
}

alpha='`Alpha` | 000 | `src/base/alpha.h` `lz_alpha`, `lz_alpha_more` | `base/alpha`'
beta='`Beta::run` | 000 | not yet: src/ts |'
two='`two words` | 000 | `src/base/alpha.h` | `system/beta`, `test/unit/base/test_alpha.c`'
rows "$alpha" "$beta" "$two"
passes "$check" "$tree"

rows "$alpha" "$two"
fails 'no row for Beta::run' "$check" "$tree"
rows "$alpha" "$beta" "$two" '`Gamma` | 000 | not yet |'
fails 'seed-map.md:6: Gamma is not in' "$check" "$tree"
rows "$alpha" "$beta" "$two" "$beta"
fails 'a second row for Beta::run' "$check" "$tree"

bad() { # ROW TEXT
    rows "$alpha" "$1" "$two"
    fails "seed-map.md:4: $2" "$check" "$tree"
}

bad '`Beta::run` | 000 | `src/ts/gone.h` `lz_beta` | `base/alpha`' 'no file src/ts/gone.h'
bad '`Beta::run` | 000 | `src/base/alpha.h` `lz_alph` | `base/alpha`' 'no lz_alph in src/base/alpha.h'
bad '`Beta::run` | 000 | `lz_alpha` | `base/alpha`' 'lz_alpha without a file'
bad '`Beta::run` | 000 | `src/base/alpha.h` | `base/gone`' 'no test base/gone'
bad '`Beta::run` | 000 | `src/base/alpha.h` |' 'no test'
bad '`Beta::run` | 000 | |' 'neither a file nor'

passes "$check" "$root"
