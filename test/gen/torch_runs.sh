#!/bin/sh
# torch_runs.sh BUILD SOURCE: the manners of `lazuli gen torch`: what a second run does, what a refusal leaves. What is in the
# files is for torch_files.sh.
set -eu

gen=$1/lazuli-gen
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
LAZULI_CACHE_DIR=$tmp/cache
export LAZULI_CACHE_DIR
cp -r "$2/test/gen/torch" start
cp -r start tree
cd tree

fail() {
    echo "torch_runs: $*" >&2
    exit 1
}

run() {
    "$gen" torch -s rules -d out/aten --aoti-install-dir out/aoti "$@" >log 2>&1 || fail "run $*: $(cat log)"
    [ ! -s log ] || fail "run $* says: $(cat log)"
}

old() { find out -exec touch -d '2001-01-01' {} +; }
touched() { find out -type f -newermt '2001-01-02' | LC_ALL=C sort | tr '\n' ' '; }

# expect WHAT: the files that were written since `old`
expect() {
    got=$(touched)
    [ "$got" = "$1" ] || fail "written: '$got', not '$1'"
}

# ---- a second run ----

run
cp -r out first
[ "$(find cache -type f 2>/dev/null | wc -l)" = 0 ] || fail "a record in the working folder"
[ "$(find ../cache/torch -type f | wc -l)" = 1 ] || fail "no record in the cache folder"
old
run # the times differ from the remembered ones, the contents do not
expect ''
run
expect ''

echo '// edited' >>out/aten/Operators.h
rm out/aten/core/ATenOpList.cpp
run
expect 'out/aten/Operators.h out/aten/core/ATenOpList.cpp '
diff -r first out >log || fail "not as before: $(head -5 log)"
run

# An edit that leaves size and times as they were.
old
run
cp -p out/aten/core/enum_tag.h kept
sed 's/core/kore/' kept >out/aten/core/enum_tag.h
touch -r kept out/aten/core/enum_tag.h
run
expect 'out/aten/core/enum_tag.h '

# A changed input: what depends on it.
old
run
echo '// more' >>aten/templates/enum_tag.h
run
expect 'out/aten/core/enum_tag.h '
cp ../start/aten/templates/enum_tag.h aten/templates
old
sed 's/^- func: relu(Tensor self) -> Tensor$/- func: relu(Tensor input) -> Tensor/;s/^- func: xor(/- func: xnor(/' \
    ../start/rules/native/native_functions.yaml >rules/native/native_functions.yaml
run --generate declarations_yaml # other options have a record of their own
expect 'out/aten/Declarations.yaml '
cp ../start/rules/native/native_functions.yaml rules/native
run
diff -r first out >log || fail "not as at first: $(head -5 log)"
old
LAZULI_CACHE=off
export LAZULI_CACHE
run
expect ''
unset LAZULI_CACHE

# A record that is none.
for record in ../cache/torch/*; do
    echo nothing >"$record"
done
rm out/aten/Functions.h
run
[ -f out/aten/Functions.h ] || fail "a broken record was believed"

# What a file depends on that is not there yet: a header of C shims, a declaration of native AOT.
run --native-aot-ops-dir new
mkdir -p new/topk
cp rules/aot/topk/aot.py new/topk
old
run --native-aot-ops-dir new
case $(touched) in *NativeAotStubs.h*) ;; *) fail "a new declaration was not seen" ;; esac
rm -rf new
run

# ---- what is refused ----

# refused WHY OPTIONS...: status 1, the reason, and everything as it was
refused() {
    why=$1
    shift
    rm -rf before
    cp -r out before
    status=0
    "$gen" torch -s rules -d out/aten --aoti-install-dir out/aoti "$@" >log 2>&1 || status=$?
    [ "$status" = 1 ] || fail "status $status, not 1, for '$why': $(cat log)"
    grep -q -- "$why" log || fail "refused, but not for '$why': $(cat log)"
    diff -r before out >log || fail "refused for '$why', but changed: $(head -3 log)"
}

echo '// edited' >>out/aten/Functions.h
mv aten/templates/Operators.h kept
refused 'aten/templates/Operators.h\|rules/templates/Operators.h: No such file'
mv kept aten/templates/Operators.h
# shellcheck disable=SC2016 # a hole
echo 'more: ${no_such_value}' >>aten/templates/RegisterSchema.cpp
refused "rules/templates/RegisterSchema.cpp:[0-9]*:7: the template's 'no_such_value' has no value"
cp ../start/aten/templates/RegisterSchema.cpp aten/templates
refused 'by a list or by a file' --op-selection-yaml-path rules/selection.yaml --op-registration-whitelist aten::add
refused 'nowhere.yaml' --op-selection-yaml-path nowhere.yaml
refused 'unknown dispatch key TPU' --static-dispatch-backend CPU TPU

declare_aot() { # FOLDER OP KEY
    mkdir -p "aot/$1"
    sed "s/\"topk\"/\"$2\"/;s/\"CUDA\"/\"$3\"/" rules/aot/topk/aot.py >"aot/$1/aot.py"
}
refuse_aot() { # WHY
    refused "$1" --native-aot-ops-dir aot
    rm -rf aot
}
declare_aot relu relu CUDA
refuse_aot 'aot/relu/aot.py: relu for CUDA: there is no structured operator of that name'
declare_aot topk topk TPU
refuse_aot 'aot/topk/aot.py: unknown dispatch key TPU'
declare_aot a topk CUDA
declare_aot b topk CUDA
refuse_aot 'aot/b/aot.py: a second declaration for topk and CUDA; the first is aot/a/aot.py'
declare_aot a topk CUDA
declare_aot b pool CPU
refuse_aot 'declarations for different keys, CUDA and CPU'
declare_aot a topk.none CUDA
refuse_aot 'topk.none for CUDA: there is no structured operator'

sed 's/count_nonzero_cuda/count_nonzero_gpu/' ../start/rules/native/native_functions.yaml >rules/native/native_functions.yaml
refused 'names the kernel count_nonzero_cuda, which no operator has for a CUDA key'
# Every mistake at once, in the order of the operators.
sed 's/^- func: \(xor\|relu\)(\(.*\)) -> Tensor$/- func: \1(\2) -> Scalar?/' \
    ../start/rules/native/native_functions.yaml >rules/native/native_functions.yaml
refused '^    relu(Tensor self) -> Scalar?'
refused '^    xor(Tensor self, Tensor other) -> Scalar?'
cp ../start/rules/native/native_functions.yaml rules/native

# The headers of C shims are an ABI.
run --update-aoti-c-shim --generate sources
old
run --generate sources # as they are
expect ''
sed '/aoti_torch_cpu_addmm_out/d' out/aoti/c_shim_cpu.h >kept
cp kept out/aoti/c_shim_cpu.h
refused 'out/aoti/c_shim_cpu.h: the C shims would change' --generate sources
"$gen" torch -s rules -d out/aten --aoti-install-dir out/aoti --generate sources >log 2>&1 || true
grep -q '^+AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cpu_addmm_out(' log || fail "the difference is not named: $(cat log)"
run --update-aoti-c-shim --generate sources
cmp -s first/aoti/c_shim_cpu.cpp out/aoti/c_shim_cpu.cpp || fail "c_shim_cpu.cpp is another"

# ---- a wrong use ----

for words in '--no-such-option' '--generate nothing' '-s' 'word' '--op'; do
    status=0
    # shellcheck disable=SC2086
    "$gen" torch $words >log 2>&1 || status=$?
    [ "$status" = 2 ] || fail "status $status, not 2: $words"
done
"$gen" torch --help | grep -q -- '--aoti-install-dir DIR' || fail "no help"
