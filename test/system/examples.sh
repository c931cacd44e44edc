#!/bin/sh
# examples.sh BUILD SOURCE: examples/operators.c, built as a user would build it, reads our own operator files and says
# what is in them.
set -eu

build=$1 source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags=${LZ_SANITIZE:+-fsanitize=$LZ_SANITIZE}

fail() {
    echo "examples: $*" >&2
    exit 1
}

# shellcheck disable=SC2086 # no flag, or one
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror $flags -I"$source/include" "$source/examples/operators.c" \
    "$build/liblazuli-gen.a" -lyaml -lz -lm -pthread -ldl -o "$tmp/operators" || fail "operators.c does not build"

# Every family by itself: an operator for each entry and for each name that an entry has generated, the first one first.
for file in "$source"/ops/*.yaml; do
    [ "$(basename "$file")" != tags.yaml ] || continue
    "$tmp/operators" "$file" "$source/ops/tags.yaml" >"$tmp/out" || fail "$file: status $?"
    want=$(awk '/^- func:/ { n++ } /^  autogen:/ { n += gsub(/,/, ",") + 1 } END { print n }' "$file")
    grep -q "^$want operators in " "$tmp/out" || fail "$file: not $want operators, but $(head -n 1 "$tmp/out")"
    first=$(sed -n 's/^- func: //p' "$file" | head -n 1)
    grep -qxF "First: $first" "$tmp/out" || fail "$file: does not begin with $first"
done

"$tmp/operators" "$source/ops/pointwise.yaml" "$source/ops/tags.yaml" add.out >"$tmp/out" || fail "add.out: status $?"
grep -q '^add.out: out, line [0-9]' "$tmp/out" || fail "add.out is not shown"
[ "$(grep -c '^  ' "$tmp/out")" = 4 ] || fail "add.out has four arguments"
"$tmp/operators" "$source/ops/pointwise.yaml" "$source/ops/tags.yaml" nothing >"$tmp/out" 2>&1 && fail "finds 'nothing'"

printf -- '- func: f(Tensor self) -> Tensor\n  variant: method\n' >"$tmp/bad.yaml"
"$tmp/operators" "$tmp/bad.yaml" "$source/ops/tags.yaml" 2>"$tmp/out" && fail "takes a wrong file"
grep -q "bad.yaml:2:3: unknown field 'variant'" "$tmp/out" || fail "says: $(cat "$tmp/out")"
