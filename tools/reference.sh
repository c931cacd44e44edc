#!/bin/sh
# Prints docs/operators.md, made of the operator files.
#     tools/reference.sh build/lazuli
set -eu
lazuli=$(realpath "$1")
cd "$(dirname "$0")/.."
set --
for file in ops/*.yaml; do
    case $file in
    ops/tags.yaml | ops/derivatives.yaml | ops/left_out.yaml) ;;
    *) set -- "$@" --native "$file" ;;
    esac
done
exec "$lazuli" gen reference "$@" --tags ops/tags.yaml --own --derivatives ops/derivatives.yaml --left-out ops/left_out.yaml
