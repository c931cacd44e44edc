#!/bin/sh
# torch_files.sh BUILD SOURCE: `lazuli gen torch...` writes for the operators and templates of test/gen/torch what the original
# wrote (test/data/oracle, made by test/gen/torch/record.py): the configurations of configs.txt and autograd.txt, byte for byte.
# shellcheck disable=SC2016 # holes of templates in quotes
set -eu

gen=$1/lazuli-gen
here=$2/test/gen/torch
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
LAZULI_CACHE_DIR=$tmp/cache
export LAZULI_CACHE_DIR

fail() {
    echo "torch_files: $*" >&2
    exit 1
}

mkdir wanted
for name in torch_files torch_autograd; do
    tar xzf "$2/test/data/oracle/$name.tar.gz" -C wanted
    cat wanted/MANIFEST >>all
done
mv all wanted/MANIFEST
cp -r "$here" tree
cd tree

# The first difference of a file from the recorded one.
explain() { # CONFIG PATH
    sha=$(awk -v c="$1" -v p="$2" '$2 == c && $3 == p { print $1 }' ../wanted/MANIFEST)
    [ -n "$sha" ] || fail "$1: $2 should not be there"
    diff -u "../wanted/$sha" "$2" | head -30 >&2 || true
    fail "$1: $2 differs"
}

check() { # CONFIG
    if [ -d out ]; then find out -type f; fi | LC_ALL=C sort >got
    awk -v c="$1" '$2 == c { print $3 }' ../wanted/MANIFEST | LC_ALL=C sort >names
    diff names got >log || fail "$1: other files than recorded: $(head -5 log)"
    awk -v c="$1" '$2 == c { print $1 "  " $3 }' ../wanted/MANIFEST >sums
    [ ! -s sums ] || sha256sum -c --quiet sums >log 2>/dev/null || explain "$1" "$(sed -n '1s/: FAILED.*//p' log)"
}

config=
cat configs.txt autograd.txt | while read -r word rest; do
    case $word in
    config) config=$rest ;;
    lazuli)
        rm -rf out
        # shellcheck disable=SC2086 # the words of a command
        "$gen" $rest >log 2>&1 || fail "$config: $(cat log)"
        check "$config"
        ;;
    esac
done

# Again: nothing to do. A changed and a deleted file come back.
rm -rf out
stubs() {
    "$gen" torch-backend-stubs --source-path aten -s backend/toy.yaml -o out/stubs
}
stubs >log
find out -exec touch -d '2001-01-01' {} +
stubs >log
[ -z "$(find out -newermt '2001-01-02')" ] || fail "an unchanged file was touched"
echo >>out/stubs/RegisterXLA.cpp
rm out/stubs/XLANativeFunctions.h
stubs >log
check stubs-toy

# What is refused writes nothing, and says why.
refused() { # WHY COMMAND...
    why=$1
    shift
    rm -rf out
    status=0
    "$gen" "$@" >log 2>&1 || status=$?
    [ "$status" = 1 ] || fail "status $status, not 1: $* ($(cat log))"
    grep -q -- "$why" log || fail "refused, but not for '$why': $(cat log)"
    [ ! -e out ] || fail "refused, but something was written: $*"
}
sed 's/ToyKernels::running(/ToyKernels::run(/' backend/toy_kernels.cpp >bad.cpp
refused "ToyKernels::running is defined 0 times; the backend file wants 1" \
    torch-backend-stubs --source-path aten -s backend/toy.yaml -o out --impl-path bad.cpp
grep -q "running(const at::Tensor & self, int64_t dim" log || fail "the expected declaration is missing: $(cat log)"
refused "nowhere.cpp" torch-backend-stubs --source-path aten -s backend/toy.yaml -o out --impl-path nowhere.cpp
printf 'backend: XLA\ncpp_namespace: toy\nsupported: [pair]\nsymint: [pair]\n' >bad.yaml
refused "a _symint kernel needs a SymInt" torch-backend-stubs --source-path aten -s bad.yaml -o out
refused "nosuch.yaml" torch-backend-stubs --source-path aten -s nosuch.yaml -o out
refused "nosuch.json" torch-upgraders --bytecode nosuch.json --install-dir out
sed 's/"RET"/"RETURN"/' upgraders.json >bad.json
refused "bad.json:2:.*unknown instruction 'RETURN'" torch-upgraders --bytecode bad.json --install-dir out
refused "by a list or by a file" torch-unboxing -s aten -d out --op-selection-yaml-path select.yaml --op-registration-allowlist aten::add
printf 'backend: XLA\ncpp_namespace: toy\nsupported: [nosuch]\n' >bad.yaml
refused "no operator 'nosuch'" torch-backend-stubs --source-path aten -s bad.yaml -o out
mv aten/templates/UnboxingFunctions.h kept
refused "UnboxingFunctions.h" torch-unboxing -s aten -d out
mv kept aten/templates/UnboxingFunctions.h
echo 'more: ${no_such_value}' >>aten/templates/RegisterDispatchDefinitions.ini
refused "no_such_value" torch-backend-stubs --source-path aten -s backend/toy.yaml -o out
refused "no_such_value" torch -s aten -d out --aoti-install-dir out/aoti --generate sources
cp "$here/aten/templates/RegisterDispatchDefinitions.ini" aten/templates
sed 's/^    SparseCPU: add_sparse$/    Meta: add_meta/' "$here/aten/native/native_functions.yaml" >aten/native/native_functions.yaml
refused "the Meta kernel of a structured operator is made, not named" torch -s aten -d out --aoti-install-dir out/aoti
cp "$here/aten/native/native_functions.yaml" aten/native

# Kernels of autograd and of lazy backends.
autograd() { # DERIVATIVES OPTIONS...
    where=$1
    shift
    "$gen" torch-autograd --native tools/autograd/native_functions.yaml --tags aten/native/tags.yaml \
        --derivatives "$where" --templates tools/autograd/templates --install-dir out "$@"
}
lazy() { # YAML OPTIONS...
    yaml=$1
    shift
    "$gen" torch-lazy --source-path aten --source-yaml "$yaml" --output-dir out "$@"
}
refused_by() { # WHY FUNCTION ARGUMENTS...
    why=$1
    rm -rf out
    status=0
    shift
    "$@" >log 2>&1 || status=$?
    [ "$status" = 1 ] || fail "status $status, not 1: $* ($(cat log))"
    grep -q -- "$why" log || fail "refused, but not for '$why': $(cat log)"
    [ ! -e out ] || fail "refused, but something was written: $*"
}
mkdir bad
cp tools/autograd/*.yaml bad
refused_by "nowhere/derivatives.yaml" autograd nowhere
refused_by "nosuch.yaml" autograd tools/autograd --op-selection-yaml-path nosuch.yaml
sed 's/^  other: grad_two \* self$/  other: grad_two * self.sizes()/' tools/autograd/derivatives.yaml >bad/derivatives.yaml
refused_by "bad/derivatives.yaml:.*use sym_sizes()" autograd bad
refused_by "use sym_sizes()" autograd bad --subset pybindings
cp tools/autograd/derivatives.yaml bad
sed 's/^  aten: max(self, dim, keepdim)$/  aten: max(self, keepdim, dim)/' tools/autograd/deprecated.yaml >bad/deprecated.yaml
refused_by "bad/deprecated.yaml" autograd bad
autograd bad --subset libtorch >log
sed 's/^- name: _foreach_pow/- name: _foreach_how/' tools/autograd/derivatives.yaml >bad/derivatives.yaml
refused_by "_foreach_how" autograd bad
cp tools/autograd/*.yaml bad
mv tools/autograd/templates/ViewFuncs.h kept
refused_by "ViewFuncs.h" autograd tools/autograd
autograd tools/autograd --subset pybindings >log
mv kept tools/autograd/templates/ViewFuncs.h
echo '${no_such_value}' >>tools/autograd/templates/TraceType.cpp
refused_by "TraceType.cpp:.*no_such_value" autograd tools/autograd
autograd tools/autograd --disable-autograd >log
grep -v compute_shape_pair lazy/shapes.h >bad/shapes.h
refused_by "bad/shapes.h:.*a shape inference function is missing" lazy lazy/backend.yaml --shape-inference-hdr bad/shapes.h
grep -q "compute_shape_pair(const at::Tensor & self, int64_t k);" log || fail "the expected declaration is missing: $(cat log)"
refused_by "a shape inference function is missing" lazy lazy/backend.yaml --shape-inference-hdr bad/shapes.h --dry-run
refused_by "nowhere.h" lazy lazy/backend.yaml --shape-inference-hdr nowhere.h
refused_by "nowhere.cpp" lazy lazy/backend.yaml --shape-inference-hdr lazy/shapes.h --impl-path nowhere.cpp
sed 's/::fill_(/::fil_(/' lazy/kernels.cpp >bad/kernels.cpp
refused_by "LazyNativeFunctions::fill_ is defined 0 times" \
    lazy lazy/backend.yaml --shape-inference-hdr lazy/shapes.h --impl-path bad/kernels.cpp
refused_by "join(Tensor\[\] tensors" lazy lazy/backend.yaml --shape-inference-hdr lazy/shapes.h --lazy-value-class other::Value
grep -q "needs an argument that is an operand or a device" log || fail "the reason is missing: $(cat log)"
refused_by "made from the first tensor" lazy lazy/backend.yaml --shape-inference-hdr lazy/shapes.h --create-from-first-tensor
sed 's/ShapeCompute/ShapeGuess/' lazy/backend.yaml >bad/backend.yaml
refused_by "bad/backend.yaml:.*no property 'ShapeGuess'" lazy bad/backend.yaml --shape-inference-hdr lazy/shapes.h
printf 'backend: Lazy\ncpp_namespace: small\nsupported: []\n' >bad/backend.yaml
refused_by "needs operators" lazy bad/backend.yaml --shape-inference-hdr lazy/shapes.h

# A wrong use.
for words in "torch-unboxing -x" "torch-backend-stubs -o out" "torch-upgraders --bytecode" "torch-view-meta --native" "torch-schema" \
    "torch-autograd --native x" "torch-autograd --subset all" "torch-lazy --source-path aten" "torch-lazy --no-such"; do
    status=0
    # shellcheck disable=SC2086
    "$gen" $words >log 2>&1 || status=$?
    [ "$status" = 2 ] || fail "status $status, not 2: $words"
done
for command in torch-backend-stubs torch-unboxing torch-view-meta torch-static-runtime torch-upgraders torch-schema \
    torch-autograd torch-lazy; do
    "$gen" $command --help | grep -q -- "--" || fail "$command has no help"
done

# A schema from values.
schema() { # WANT ARGUMENTS...
    want=$1
    shift
    got=$("$gen" torch-schema "$@") || fail "torch-schema $*"
    [ "$got" = "$want" ] || fail "torch-schema $*: $got"
}
schema 'cond(bool pred, Tensor x, int[2] n, str s, __torch__.torch.classes.my.Cls o, float f, GraphModule g) -> (Tensor, SymInt[1])' \
    --name cond --inputs pred=true x=tensor 'n=[1,2]' 's="tensor"' 'o=object(my.Cls)' f=2.5 g=graph --outputs tensor '[symint]'
schema 'nothing() -> ()' -n nothing
schema 'one(SymBool b) -> int' -n one -i b=symbool -o 1
for value in x 'x=' 'x=~' 'x=[1, true]' 'x=[]' 'x={a: 1}' 'x=2001-01-01' 'x=[1'; do
    if "$gen" torch-schema -n f -i "$value" >log 2>&1; then
        fail "torch-schema takes $value"
    fi
    [ -s log ] || fail "torch-schema says nothing about $value"
done
