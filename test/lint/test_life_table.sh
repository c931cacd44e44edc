#!/bin/sh
# Usage: test_life_table.sh REPOSITORY
# The table of what is promised about processes (docs/lazy.md) names the tests of test/process/life.c: all of them, and
# no others; and each is registered.
set -eu
cd "$1"
named=$(grep -o 'stress/[a-z_]*' docs/lazy.md | grep -v '^stress/$' | sed 's|stress/||' | sort -u)
there=$(sed -n '/^} cases\[\] = {/,/^};/s/^    { "\([a-z_]*\)".*/\1/p' test/process/life.c | sort -u)
if [ "$named" != "$there" ] || [ -z "$there" ]; then
    printf 'docs/lazy.md names\n%s\nand test/process/life.c has\n%s\n' "$named" "$there"
    exit 1
fi
for name in $there; do
    grep -qw -e "$name" -e "${name#exit_}" test/process.cmake || {
        echo "test/process.cmake does not have $name"
        exit 1
    }
done
