#!/bin/sh
# golden.sh BUILD SOURCE: what is emitted for ops.yaml is golden/ (without own/, see formulas.sh), byte for byte; to change it,
#     cd test/gen && ../../build/lazuli-gen emit --native ops.yaml --tags tags.yaml --backend backend.yaml --target all --out golden
# Then the manners of emit: what it writes, and above all what it does not.
set -eu

gen=$1/lazuli-gen
here=$2/test/gen
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail() {
    echo "golden: $*" >&2
    exit 1
}

emit() { # FOLDER OPTIONS...
    out=$1
    shift
    "$gen" emit --native ops.yaml --tags "$here/tags.yaml" --backend "$here/backend.yaml" --target all --out "$out" "$@"
}

# says WHAT COMMAND...
says() {
    what=$1
    shift
    got=$("$@") || fail "$* ends with status $?"
    [ "$got" = "$what" ] || fail "$* says '$got', not '$what'"
}

# refused WHY COMMAND...
refused() {
    why=$1
    shift
    if "$@" >log 2>&1; then
        fail "not refused: $*"
    fi
    grep -q "$why" log || fail "refused, but not for '$why': $(cat log)"
}

cp "$here/ops.yaml" .
says '22 written, 0 unchanged' emit out
diff -r -x own "$here/golden" out >log || fail "not as in golden/: $(head -30 log)"

# Nothing to do: nothing is touched, not even a folder.
find out -exec touch -d '2001-01-01' {} +
says '0 written, 22 unchanged' emit out
[ -z "$(find out -newermt '2001-01-02')" ] || fail "an unchanged file was touched"

# One entry edited: only what it touches.
sed 's/CPU: add_cpu$/CPU: add_other/' "$here/ops.yaml" >ops.yaml
says '1 written, 21 unchanged' emit out
[ "$(find out -type f -newermt '2001-01-02')" = out/op/dispatch_table.c ] || fail "more than the dispatch table was written"
sed 's/^- func: relu(Tensor self)/- func: relu(Tensor x)/' "$here/ops.yaml" >ops.yaml
says '7 written, 15 unchanged' emit out # dispatch_table.c as it was; op_table.c, ops.h, the comment in boxed_0.c, recording
cp "$here/ops.yaml" .
says '6 written, 16 unchanged' emit out
diff -r -x own "$here/golden" out >log || fail "back again, but not as in golden/: $(head -30 log)"

# Some targets; the list of files; a deleted file comes back.
rm -r out/op
says '2 written, 0 unchanged' "$gen" emit --native ops.yaml --tags "$here/tags.yaml" --target dispatch --out out
says '4 written, 18 unchanged' emit out
emit never --dry-run >list
[ ! -e never ] || fail "a dry run made a folder"
(cd "$here/golden" && find . -name own -prune -o -type f -print | sed 's|^\./|never/|' | sort) >files
sort list | cmp -s files - || fail "a dry run names other files: $(cat list)"

# A depfile as Ninja reads it.
emit out --depfile deps --headers "$2/include/lazuli/value.h" >log
[ "$(wc -l <deps)" = 1 ] || fail "the depfile is not one rule"
tr ' ' '\n' <deps >words
for word in out/op/op_table.c out/api/boxed_0.c out/include/lazuli/ops.h out/op/dispatch_table.h: ops.yaml "$here/tags.yaml" \
    "$2/include/lazuli/value.h"; do
    grep -Fxq "${word%:}" words || grep -Fxq "$word:" words || grep -Fxq "$word" words || fail "the depfile lacks $word"
done

# Shards hold together what one file held.
says '12 written, 19 unchanged' emit out --shards 4
grep -h '^void lz_boxed' out/api/boxed_[0-3].c | sort >shards
grep -h '^void lz_boxed' "$here/golden/api/boxed_0.c" | sort | cmp -s - shards || fail "shards are not the whole"
[ "$(grep -l '^void lz_boxed' out/api/boxed_[0-3].c | wc -l)" -gt 1 ] || fail "one shard has it all"

# Without a backend file there is nothing to say about what is recorded, and nothing to make stubs of.
"$gen" emit --native ops.yaml --tags "$here/tags.yaml" --target all --out alone >log
[ ! -e alone/stubs ] || fail "stubs for no backend"
[ ! -e alone/lazy/lazy_table.c ] || fail "what is recorded, without a backend"
[ ! -e alone/lazy/nodes.h ] || fail "makers of nodes, without a backend"
[ -e alone/lazy/ops_0.c ] || fail "no functions that record"
refused 'needs a backend file' "$gen" emit --native ops.yaml --tags "$here/tags.yaml" --target backend-stubs --out none
printf 'backend: XLA\ncpp_namespace: x\nsupported: [add.Tensor, nosuch]\n' >backend.yaml
refused "^backend.yaml:.*nosuch" "$gen" emit --native ops.yaml --tags "$here/tags.yaml" --backend backend.yaml --target lazy --out none
[ ! -e none ] || fail "refused, but something was written"

# What is refused writes nothing.
try() { # WHY ENTRY
    rm -rf none
    { cat "$here/ops.yaml" && printf '%s\n' "- func: $2"; } >ops.yaml
    refused "$1" emit none
    grep -q '^ops.yaml:[0-9]*:[0-9]*: ' log || fail "no place: $(cat log)"
    [ ! -e none ] || fail "refused, but something was written: $2"
}
try "the C name lz_add_Tensor is that of add.Tensor" 'add_Tensor(Tensor self) -> Tensor'
try 'no value of type int' 'f(Tensor self, int n=many) -> Tensor'
try 'no value of type Tensor' 'f(Tensor self=None) -> Tensor'
try 'no value of type int\[\]' 'f(Tensor self, int[] n=1) -> Tensor'
try 'has no form in C' 'f(Tensor self, int[][] n) -> Tensor'
try 'has no form in C' 'f(Tensor self, ScalarType[] n) -> Tensor'
try 'has no form in C' 'f(Tensor self, int[32768] n) -> Tensor'
try 'it is too long' "$(printf 'f%0255d' 0)(Tensor self) -> Tensor"
try "called 'n' in C" 'f(Tensor self, int n, int n) -> Tensor'
try "called 'int_' in C" 'f(Tensor self, int int, int int_) -> Tensor'
try "LZ_OP_COUNT has another meaning" 'COUNT(Tensor self) -> Tensor'
try 'not a schema' 'sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1 -> Tensor'
cp "$here/ops.yaml" ops.yaml
printf '%s\n' '- func: str.s(Tensor self) -> Tensor' '- func: value(Tensor self) -> Tensor' '- func: value.s(Tensor self, int n) -> Tensor' '- func: x(Tensor self) -> Tensor' >>ops.yaml
emit fine >log || fail "names of headers nobody gave are refused: $(cat log)"
echo '/* lz_x */ #define LZ "lz_x" typedef struct lz_value { int lz_value_s; } lz_str_s; // lz_x' >taken.h
refused 'lz_str_s is that of something in the headers' emit none --headers taken.h
grep -q 'lz_value_s is' log || fail "only one of two names is refused"
grep -q 'lz_value is' log && fail "a name without an overload is not called lz_value_default"
grep -q 'lz_x' log && fail "a name in a comment or a string is taken"
[ ! -e none ] || fail "refused, but something was written"
exit 0
