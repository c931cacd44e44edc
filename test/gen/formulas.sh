#!/bin/sh
# formulas.sh BUILD SOURCE [update]: the lowering functions and derivatives that are emitted for a few telling operators of
# ops/*.yaml are those of golden/own, byte for byte, so that a change of an emitter can be read. With `update` they become so:
#     sh test/gen/formulas.sh build . update
set -eu

build=$(cd "$1" && pwd) source=$(cd "$2" && pwd) update=${3:-}
golden=$source/test/gen/golden/own
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail() {
    echo "formulas: $*" >&2
    exit 1
}

# A primitive with checks; a choice of elements; optional arguments; a rule for bools; a call without its defaults; static
# numbers; a sequence of calls; several results; random numbers; lists, folds and maps.
lowered='add_Tensor softplus clamp eq_Tensor layer_norm arange var_correction native_dropout nll_loss_forward meshgrid
tensor_split_sections'
# One for each argument; a forward formula; a gradient that depends on an option, on indices, on a mask; lists.
derived='mul_Tensor_other mul_Tensor_self mul_Tensor_forward_result div_Tensor_mode_other max_dim_self where_self_self
native_layer_norm_input_weight_bias cat_tensors'

set --
for file in "$source"/ops/*.yaml; do
    case $file in
    */tags.yaml | */derivatives.yaml | */left_out.yaml) ;;
    *) set -- "$@" --native "$file" ;;
    esac
done
"$build/lazuli-gen" emit --own --tags "$source/ops/tags.yaml" --derivatives "$source/ops/derivatives.yaml" "$@" \
    --target lower,autograd --out out >log || fail "nothing is emitted: $(cat log)"

# functions PREFIX NAMES FILES...: each with the comment above it, in the order of the names
functions() {
    prefix=$1 names=$2
    shift 2
    for name in $names; do
        awk -v "head=lz_err *$prefix$name(" '
            index($0, head) == 1 { found = 1; printf "%s", above }
            /^\/\*/ { above = ""; comment = 1 }
            comment { above = above $0 "\n"; comment = !/\*\/$/ }
            found { print }
            found && /^}/ { print ""; exit }' "$@" >one
        [ -s one ] || fail "there is no $prefix$name"
        cat one
    done
}
mkdir own
functions lz_lower_ "$lowered" out/lower/lower_*.c >own/lowering_functions.c
functions lz_grad_ "$derived" out/autograd/grad_*.c >own/derivative_functions.c
for name in add_Tensor mul_Tensor max_dim detach cat; do
    grep -h "^    \[LZ_OP_$name\] = " out/autograd/grad_table.c || fail "$name has no row"
done >own/derivative_rows.c

if [ "$update" = update ]; then
    mkdir -p "$golden"
    cp own/* "$golden"
fi
diff -r "$golden" own >log || fail "not as in golden/own: $(head -40 log)"
