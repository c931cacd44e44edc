#!/bin/sh
# Checks the walks in docs/architecture.md: each row | n | `file` | `function` | ... names a file that defines the function.
# Generated files are looked at where there is a build.
#     tools/check-walk.sh [ROOT]
set -u
cd "${1:-.}" || exit 1
bad=0

defined() { # FILE FUNCTION
    grep -qE "^[a-z][A-Za-z0-9_ *()]*[ *]$2\\(" "$1"
}

# shellcheck disable=SC2016
rows=$(sed -nE 's/^\| [0-9]+ \| `([^`]+)` \| `([^`]+)` \|.*/\1 \2/p' docs/architecture.md)
[ -n "$rows" ] || {
    echo "docs/architecture.md: there is no walk"
    exit 1
}
while read -r file function; do
    case $file in
    build/*) [ -d build/gen ] || continue ;;
    esac
    if [ ! -f "$file" ]; then
        echo "docs/architecture.md: there is no $file"
        bad=1
    elif ! defined "$file" "$function"; then
        echo "docs/architecture.md: $file does not define $function"
        bad=1
    fi
done <<EOF
$rows
EOF
exit $bad
