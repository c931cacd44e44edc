#!/bin/sh
# Prints the project's files that match the patterns, one per line: what git tracks or would track. Where there
# is no git (an unpacked archive, a test's tree), everything outside build/. Data of the tests and generated code are left out.
#     tools/sources.sh ROOT '*.c' '*.h'
set -eu
cd "$1"
shift
if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -co --exclude-standard -- "$@"
else
    for pattern in "$@"; do
        find . '(' -path ./build -o -path ./.git ')' -prune -o -type f -path "./$pattern" -print
    done | sed 's|^\./||'
fi | grep -v -e '^test/data/' -e '^test/gen/golden/' -e '^test/gen/torch/' | sort -u | while IFS= read -r file; do
    [ ! -f "$file" ] || printf '%s\n' "$file" # git also lists what was just deleted
done
