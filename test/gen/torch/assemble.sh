#!/bin/sh
# assemble.sh DEST: makes in DEST the tree in which the configurations of configs.txt run: operators, templates, a selection,
# declarations of native AOT.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/ATen/native" "$1/ATen/templates"
cp "$here/native_functions.yaml" "$here/tags.yaml" "$1/ATen/native"
cp "$here/selection.yaml" "$1"

grep -v '^#' "$here/templates.txt" | while read -r name holes; do
    # shellcheck disable=SC2016,SC2086 # a hole is written with its dollar; holes are words
    { printf '// $generated_comment\n'; [ -z "$holes" ] || printf '  $%s\n' $holes; } >"$1/ATen/templates/$name"
done

for op in topk pool; do
    mkdir -p "$1/aot/$op"
    {
        printf 'ATEN_OP = "%s"\nDISPATCH_KEY = "CUDA"\nKERNEL_MODULE = "kernels.py"\n' $op
        for f in 'kernel_precompile_grid()' 'covered_axes()' 'cpp_dispatch(spec)' 'cpp_launch(spec, name)'; do
            printf '\n\ndef %s:\n    return [{}]\n' "$f"
        done
    } >"$1/aot/$op/aot.py"
done
echo 'UNCONDITIONAL = True  # these kernels are the implementation' >>"$1/aot/pool/aot.py"
