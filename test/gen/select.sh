#!/bin/sh
# select.sh BUILD SOURCE: emit --select and --uses write the named operators and all that these need: what the generated code
# names is there. What nobody needs is not.
set -eu
gen=$1/lazuli-gen
source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail() {
    echo "select: $*" >&2
    exit 1
}

set --
for file in "$source"/ops/*.yaml; do
    case $file in
        */tags.yaml | */derivatives.yaml | */left_out.yaml) ;;
        *) set -- "$@" --native "$file" ;;
    esac
done
set -- "$@" --own --tags "$source/ops/tags.yaml" --derivatives "$source/ops/derivatives.yaml" \
    --target tables,lower,api,short,lazy,functionalization,autograd

enumerated() { # FOLDER: the operators of its table, sorted
    sed -n 's/^    LZ_OP_\([A-Za-z0-9_]*\),$/\1/p' "$1/op/op_table.h" | grep -v '^NONE$' | sort
}

# closed FOLDER: numbers and lowering functions that its files name are declared.
closed() {
    { enumerated "$1"; printf 'NONE\nCOUNT\n'; } | sort >declared
    cat "$1"/*/*.c "$1"/lower/*.h | grep -o 'LZ_OP_[A-Za-z0-9_]*' | sed 's/LZ_OP_//' | sort -u | comm -23 - declared >missing
    [ ! -s missing ] || fail "$1 names operators that are not in its table: $(cat missing)"
    sed -n 's/^lz_lower_fn \(lz_lower_[A-Za-z0-9_]*\);$/\1/p' "$1/lower/lower_table.h" | sort >declared
    cat "$1"/lower/*.c "$1"/autograd/*.c | grep -ow 'lz_lower_[A-Za-z0-9_]*' | grep -v -e _table -e _fn -e _row | sort -u |
        comm -23 - declared >missing
    [ ! -s missing ] || fail "$1 calls lowering functions that it does not declare: $(cat missing)"
}

has() { # FOLDER OPERATOR...
    folder=$1
    shift
    for op; do
        enumerated "$folder" | grep -qx "$op" || fail "$folder lacks $op"
    done
}

lacks() { # FOLDER OPERATOR...
    folder=$1
    shift
    for op; do
        ! enumerated "$folder" | grep -qx "$op" || fail "$folder has $op"
    done
}

"$gen" emit "$@" --out all >/dev/null
closed all

# An in-place form brings its functional form; that brings what its formula and its derivative call.
printf 'operators:\n  aten::softplus: { include_all_overloads: false }\n  aten::relu_: { include_all_overloads: false }\n' >ops.yaml
"$gen" emit "$@" --out some --select ops.yaml >said
grep -Eq '^[0-9]+ of [0-9]+ operators; ' said || fail "emit said $(cat said)"
closed some
has some softplus relu_ relu softplus_backward
lacks some add_out conv2d linalg_svd relu6
[ "$(enumerated some | wc -l)" -lt $(($(enumerated all | wc -l) / 10)) ] || fail 'a small selection has a tenth of all operators'

# Each family keeps its files: what is compiled does not depend on the selection.
(cd all && find . -type f | sort) >files
(cd some && find . -type f | sort) | diff files - || fail 'a selection has other files'

# Names in a C file; neither comments nor strings. A short name means every overload.
cat >program.c <<'END'
/* lz_tan(c, x) */
const char *text = "lz_acos";
lz_tensor *f(lz_ctx *c, lz_tensor *x)
{
    return lz_any(c, lz_atan_at(c, LZ_HERE, x)); /* LZ_OP_asin */
}
int number = LZ_OP_cosh;
END
"$gen" emit "$@" --out used --uses program.c >/dev/null
closed used
has used any any_dim any_dims atan cosh
lacks used tan acos asin any_out softplus

# A selection by base name, and several selections. A view brings its copying form and its inverse, which lazy tensors record.
printf 'operators:\n  aten::any: {}\n  aten::slice: {}\n' >base.yaml
"$gen" emit "$@" --out both --select base.yaml --select ops.yaml >/dev/null
closed both
has both any any_dim any_dims any_out softplus relu_ slice_Tensor slice_copy_Tensor slice_scatter

# The same twice; all operators are no selection.
"$gen" emit "$@" --out both --select base.yaml --select ops.yaml | grep -q '; 0 written' || fail 'a second run writes'
echo 'include_all_operators: true' >every.yaml
"$gen" emit "$@" --out every --select every.yaml >/dev/null
diff -r all every || fail 'all operators: other files'

# A mistake leaves nothing behind.
echo 'operators: { aten::nonsense: {} }' >wrong.yaml
! "$gen" emit "$@" --out none --select wrong.yaml 2>said || fail 'aten::nonsense was accepted'
grep -q "the selection names 'aten::nonsense', which is no operator" said || fail "aten::nonsense: $(cat said)"
! "$gen" emit "$@" --out none --select nowhere.yaml 2>said || fail 'nowhere.yaml was accepted'
grep -q nowhere.yaml said || fail "nowhere.yaml: $(cat said)"
[ ! -e none ] || fail 'a mistake writes files'
