#!/bin/sh
# reference.sh BUILD SOURCE: docs/operators.md is what the entries make it, and has every operator; `make reference` makes it.
set -eu

build=$1
source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$source/tools/reference.sh" "$build/lazuli" >"$tmp/operators.md"
cmp "$tmp/operators.md" "$source/docs/operators.md" || {
    echo "reference: docs/operators.md is not what the entries say: make reference" >&2
    exit 1
}

# Each operator is an entry of its own or a form of one.
"$build/lazuli" ops | sed '$d; s/ .*//' | sort -u >"$tmp/all"
# shellcheck disable=SC2016
sed -n 's/^### //p; /^Forms: /{s/^Forms: //; s/[`.,]*$//; s/`, `/\n/g; s/`//g; p}' "$tmp/operators.md" | sort -u >"$tmp/named"
comm -23 "$tmp/all" "$tmp/named" >"$tmp/missing"
[ ! -s "$tmp/missing" ] || {
    echo "reference: the page lacks $(tr '\n' ' ' <"$tmp/missing")" >&2
    exit 1
}
