#!/bin/sh
# usage: select_build.sh BUILD SOURCE: a library that has the operators of a dumped graph and of two programs only. It
# gives the results of the whole library, trains, and says so when an operator is missing.
set -eu
build=$1 source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf '%s\n' "$*"
    exit 1
}

program() { # NAME FOLDER: links selected_program with the library in a build folder
    "$CC" -std=c17 -I"$source/include" -I"$2/gen/include" "$source/test/system/selected_program.c" -o "$dir/$1" \
        -L"$2" -llazuli -Wl,-rpath,"$2"
}

program whole "$build"
"$dir/whole" dump >"$dir/dumped.ir"
"$build/lazuli" select "$dir/dumped.ir" --out "$dir/ops.yaml"
graph() { # PROGRAM FILE: runs a graph that has the form of the dumped one
    "$dir/$1" run "$2" '{0.1, -0.2, 0.3, 0.4}' 1 20
}

whole=$(graph whole "$dir/dumped.ir")
"$dir/whole" call special_erfcx >/dev/null || fail 'the whole library has no special_erfcx'
sed 's/aten::dot(%p0, %p0)/aten::special_erfcx(%p0)/; s/ Float/ Tensor/; s/Tensor([0-9, ]*)/Tensor/' "$dir/dumped.ir" >"$dir/other.ir"
graph whole "$dir/other.ir" >/dev/null || fail 'the whole library does not run the other graph'

"$dir/whole" gradients >"$dir/gradients" || fail "the whole library gives no gradients: $(cat "$dir/gradients")"

large=$(stat -Lc %s "$build/liblazuli.so")

# build PERCENT FILES TARGET...: the library of these operators is smaller than that share of the whole one. The graph and its gradients are the
# same, and an operator that nothing needs is refused.
build() {
    most=$1 files=$2
    shift 2
    cmake -S "$source" -B "$dir/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" "-DLZ_OPS=$files" \
        >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
    cmake --build "$dir/build" -j2 --target "$@" >"$dir/log" 2>&1 || fail "$(tail -30 "$dir/log")"
    program selected "$dir/build"

    selected=$(graph selected "$dir/dumped.ir")
    [ "$whole" = "$selected" ] || fail "$files: the graph gives $selected, and with the whole library $whole"
    "$dir/selected" dump | diff "$dir/dumped.ir" -
    "$dir/selected" gradients | diff "$dir/gradients" -

    said=$("$dir/selected" call special_erfcx) && fail "$files: special_erfcx was not refused"
    case $said in
        *'operator special_erfcx is not part of this build'*) ;;
        *) fail "$files: special_erfcx: $said" ;;
    esac
    said=$(graph selected "$dir/other.ir") && fail "$files: a graph with special_erfcx was not refused"
    case $said in
        *'operator aten::special_erfcx is not part of this build'*) ;;
        *) fail "$files: a graph with special_erfcx: $said" ;;
    esac
    ! grep -q special_erfcx "$dir/build/gen/include/lazuli/ops.h" || fail "$files: ops.h declares special_erfcx"

    small=$(stat -Lc %s "$dir/build/liblazuli.so")
    echo "$files: $small bytes of $large"
    [ $((small * 100)) -lt $((large * most)) ] || fail "$files: $small bytes of $large"
}

# Two programs that train; digits ends with an error if it learns too little.
build 75 "$dir/ops.yaml;examples/digits.c;examples/gpt.c" lazuli digits gpt
"$dir/build/examples/digits" "$source/examples/data" 1 >"$dir/log" || fail "$(cat "$dir/log")"
"$dir/build/examples/gpt" -n 2 "$source/README.md" >"$dir/log" || fail "$(cat "$dir/log")"

# A graph alone, in the same folder.
build 60 "$dir/ops.yaml" lazuli

# A selection names what there is.
echo 'operators: { aten::nonsense: {} }' >"$dir/ops.yaml"
said=$(cmake --build "$dir/build" --target lz_made_files 2>&1) && fail 'aten::nonsense was not refused'
case $said in
    *"'aten::nonsense', which is no operator"*) ;;
    *) fail "aten::nonsense: $said" ;;
esac
