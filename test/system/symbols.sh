#!/bin/sh
# symbols.sh LIBRARY INCLUDE...: it exports lz_ names only, and all that INCLUDE/lazuli/*.h marks LZ_API.
set -eu

if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: a build with -fsanitize=$LZ_SANITIZE exports the sanitizers' symbols too"
    exit 77
fi

lib=$1
shift
folders=
for folder in "$@"; do
    folders="$folders -I$folder"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for h in $(for folder in "$@"; do ls "$folder"/lazuli/*.h; done); do
    # shellcheck disable=SC2086 # a list of options
    "${CC:-cc}" -std=c17 $folders -E -P "$h"
done >"$tmp/text"
# The name in a declaration is the one before its first parenthesis or bracket, attributes apart.
awk 'BEGIN { RS = ";" }
    sub(/.*visibility\("default"\)\)\)/, "") {
        gsub(/__attribute__ *\(\([a-z_]+(\([^()]*\))?\)\)/, "")
        sub(/[ \n]*([(\[].*)?$/, "")
        sub(/.*[^A-Za-z0-9_]/, "")
        print
    }' "$tmp/text" | sort -u >"$tmp/declared"
nm -D --defined-only "$lib" >"$tmp/nm"
awk '{ sub(/@.*/, "", $NF); print $NF }' "$tmp/nm" | sort -u >"$tmp/exported"

status=0
foreign=$(grep -v '^lz_' "$tmp/exported" | paste -sd ' ')
if [ -n "$foreign" ]; then
    echo "symbols: $lib exports without the lz_ prefix: $foreign" >&2
    status=1
fi
missing=$(comm -13 "$tmp/exported" "$tmp/declared" | paste -sd ' ')
if [ -n "$missing" ]; then
    echo "symbols: declared LZ_API and not exported by $lib: $missing" >&2
    status=1
fi
if ! [ -s "$tmp/declared" ]; then
    echo "symbols: $* declares nothing" >&2
    status=1
fi
exit $status
