#!/bin/sh
# The map is held against the list of names and against the tree.
# shellcheck disable=SC2016 source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-seed-map.sh"

printf '%s\n' '# seed' Alpha Beta::run '' 'two words' | write test/data/seed-names.txt
echo 'int lz_alpha(void); int lz_alpha_more(void);' | write src/base/alpha.h
echo 'int main(void);' | write test/unit/base/test_alpha.c
write src/base/alpha.c <<'end'
int lz_alpha_more(void);
int lz_alpha(void)
{
    return 1;
}
end
write src/ts/user.c <<'end'
static int use(int x,
               int y)
{
    return lz_alpha() + lz_alpha_more() + x + y;
}

static int stranger(void)
{
    return 0;
}

static int (*const table[])(void) = { lz_alpha_more, lz_alpha };
end
echo '`lz_alpha` is called like this' | write docs/alpha.md
echo 'add_test(NAME system/beta COMMAND true)' | write test/system.cmake

rows() { # ROW...
    {
        printf '| Name | Seeds | In Lazuli | Called by | Test |\n|---|---|---|---|---|\n'
        printf '| %s |\n' "$@"
    } | write docs/seed-map.md
}

alpha='`Alpha` | 000 | `src/base/alpha.h` `lz_alpha`, `lz_alpha_more` | `src/ts/user.c` `use`, `table` | `base/alpha`'
beta='`Beta::run` | 000 | not yet: src/ts | |'
two='`two words` | 000 | `src/base/alpha.h` | `docs/alpha.md` | `system/beta`, `test/unit/base/test_alpha.c`'
rows "$alpha" "$beta" "$two"
passes "$check" "$tree"

rows "$alpha" "$two"
fails 'no row for Beta::run' "$check" "$tree"
rows "$alpha" "$beta" "$two" '`Gamma` | 000 | not yet | |'
fails 'seed-map.md:6: Gamma is not in' "$check" "$tree"
rows "$alpha" "$beta" "$two" "$beta"
fails 'a second row for Beta::run' "$check" "$tree"

bad() { # ROW TEXT
    rows "$alpha" "$1" "$two"
    fails "seed-map.md:4: $2" "$check" "$tree"
}

use='`src/ts/user.c` `use`'
bad '`Beta::run` | 000 | `src/ts/gone.h` `lz_beta` | '"$use"' | `base/alpha`' 'no file src/ts/gone.h'
bad '`Beta::run` | 000 | `src/base/alpha.h` `lz_alph` | '"$use"' | `base/alpha`' 'no lz_alph in src/base/alpha.h'
bad '`Beta::run` | 000 | `lz_alpha` | '"$use"' | `base/alpha`' 'lz_alpha without a file'
bad '`Beta::run` | 000 | `src/base/alpha.h` | '"$use"' | `base/gone`' 'no test base/gone'
bad '`Beta::run` | 000 | `src/base/alpha.h` | '"$use"' |' 'no test'
bad '`Beta::run` | 000 | | |' 'neither a file nor'

# Callers.
called() { # CELL
    echo '`Beta::run` | 000 | `src/base/alpha.h` `lz_alpha` | '"$1"' | `base/alpha`'
}
rows "$alpha" "$(called 'not yet: collectives')" "$two"
passes "$check" "$tree"
rows "$alpha" "$(called '`docs/alpha.md`, by its user')" "$two"
passes "$check" "$tree"
bad "$(called '')" 'no caller: nothing outside test/ is named that uses lz_alpha; it is used in src/base/alpha.c src/ts/user.c'
bad "$(called 'not yet:')" 'no caller'
bad "$(called '`use`')" 'caller use without a file before it'
bad "$(called '`src/ts/gone.c` `use`')" 'no file src/ts/gone.c'
bad "$(called '`src/ts/user.c` `nobody`')" 'no nobody in src/ts/user.c'
bad "$(called '`src/ts/user.c` `stranger`')" 'src/ts/user.c stranger does not use lz_alpha'
bad "$(called '`test/unit/base/test_alpha.c` `main`')" 'test/unit/base/test_alpha.c is a test, not a caller'
echo 'other words' | write docs/alpha.md
bad "$(called '`docs/alpha.md`')" 'docs/alpha.md does not use lz_alpha'
rows "$alpha" '`Beta::run` | 000 | `src/base/alpha.h` `lz_beta`, `lz_alpha` | `src/ts/user.c` `use` | `base/alpha`' "$two"
echo 'int lz_alpha(void); int lz_alpha_more(void); int lz_beta(void);' | write src/base/alpha.h
fails 'no caller of lz_beta' "$check" "$tree"

# The page of the audit.
rows "$alpha" "$beta" "$two"
audit() { # ROW
    printf '| Statement | What was missing | Now | Shown by |\n|---|---|---|---|\n| %s |\n' "$1" | write docs/seed-audit.md
}
audit '`X` | all | mended: there | `base/alpha`'
passes "$check" "$tree"
audit '`X` | all | **waits** for collectives |'
passes "$check" "$tree"
audit '`X` | all | soon |'
fails 'seed-audit.md:3: neither mended' "$check" "$tree"
audit '`X` | all | mended: there |'
fails 'seed-audit.md:3: no test' "$check" "$tree"
audit '`X` | all | mended: there | `base/gone`'
fails 'seed-audit.md:3: no test base/gone' "$check" "$tree"

passes "$check" "$root"
