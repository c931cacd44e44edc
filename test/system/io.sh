#!/bin/sh
# io.sh COMMAND SOURCE: the command lists and copies files of tensors; NumPy and safetensors, where Python has them, read
# what it writes.
set -eu
lazuli=$1
data=$2/test/data/io
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
    echo "io: $*" >&2
    exit 1
}

"$lazuli" io list "$data/all.safetensors" >"$tmp/list"
grep -q '^safetensors, 14 tensors$' "$tmp/list" || fail "the first line of the list is: $(head -1 "$tmp/list")"
grep -q '^  bfloat16   \[5\]  bf16$' "$tmp/list" || fail "the list has no bf16"
grep -q '^  step: 17$' "$tmp/list" || fail "the list has no metadata"
"$lazuli" io list "$data/packed.npz" | grep -q '^  float32    \[6, 1, 5, 5\]  param/c1.weight$' || fail "no c1.weight"

# To the other format and back the second time changes nothing.
"$lazuli" io copy "$data/packed.npz" "$tmp/a.safetensors"
"$lazuli" io copy "$tmp/a.safetensors" "$tmp/b.npz"
"$lazuli" io copy "$tmp/b.npz" "$tmp/c.safetensors"
cmp "$tmp/a.safetensors" "$tmp/c.safetensors" || fail "a copy of a copy differs"

if "$lazuli" io copy "$data/all.safetensors" "$tmp/no.npz" 2>"$tmp/why" || [ -e "$tmp/no.npz" ]; then
    fail "metadata and bf16 went into an .npz file"
fi
grep -q "no.npz: tensor 'bf16': bfloat16 has no name" "$tmp/why" || fail "not refused for bf16: $(cat "$tmp/why")"

# What a copy loses is said, and a name that says no format is not guessed at.
printf '\067\0\0\0\0\0\0\0{"__metadata__":{"k":"v"}}                             ' >"$tmp/m.safetensors"
"$lazuli" io copy "$tmp/m.safetensors" "$tmp/m.npz" 2>"$tmp/why" || fail "no copy: $(cat "$tmp/why")"
grep -q "metadata is left out" "$tmp/why" || fail "metadata went without a word"
"$lazuli" io copy "$tmp/m.safetensors" "$tmp/m2.safetensors" 2>"$tmp/why" || fail "no copy: $(cat "$tmp/why")"
[ ! -s "$tmp/why" ] || fail "metadata that was kept is said to be lost"
if "$lazuli" io copy "$data/packed.npz" "$tmp/a.npy" 2>"$tmp/why" || [ -e "$tmp/a.npy" ]; then
    fail "several tensors went into an .npy file"
fi
grep -q "a.npy': expected a name that ends in" "$tmp/why" || fail "not refused for its name: $(cat "$tmp/why")"

head -c 1000 "$data/all.safetensors" >"$tmp/cut"
if "$lazuli" io list "$tmp/cut" 2>"$tmp/why"; then
    fail "a file that was cut off is listed"
fi
grep -q "cut: byte " "$tmp/why" || fail "no message says where it is cut off: $(cat "$tmp/why")"

"${PYTHON:-python3}" "$2/test/torch/io_check.py" "$lazuli" "$data" || {
    status=$?
    [ $status = 77 ] || fail "Python reads something else"
    echo "all but what Python reads was checked"
    exit 77
}
