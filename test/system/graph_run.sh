#!/bin/sh
# usage: graph_run.sh BUILD: the commands `lazuli graph --run` and `lazuli ops` as a user has them.
set -u
lazuli=$1/lazuli
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

# expect STATUS TEXT ARGS...: the command ends so, and TEXT stands in what it says.
expect() {
    want=$1 text=$2
    shift 2
    said=$("$lazuli" "$@" 2>&1)
    status=$?
    case $said in
        *"$text"*) found=1 ;;
        *) found=0 ;;
    esac
    if [ $status -ne "$want" ] || [ $found -ne 1 ]; then
        printf 'lazuli %s: status %s, and said\n%s\nnot\n%s\n' "$*" "$status" "$said" "$text"
        failures=$((failures + 1))
    fi
}

cat >scale.ir <<'END'
graph(%x : Tensor,
      %n : int):
  %k : int = prim::Constant[value=1]()
  %y : Tensor = aten::mul(%x, %n) # net.py:7:4
  %z : Tensor = aten::add(%y, %x, %k) # net.py:8:4
  return (%z)
END
cat >parts.ir <<'END'
graph(%x : Tensor,
      %l : Tensor[]):
  %s : Tensor = aten::relu(%x)
  %t : (Tensor, Tensor[]) = prim::TupleConstruct(%s, %l)
  return (%t)
END
cat >texts.ir <<'END'
graph(%s : str,
      %f : float,
      %o : int?):
  %t : (str, float, int?) = prim::TupleConstruct(%s, %f, %o)
  return (%t)
END

# Literals in, text out.
expect 0 'tensor([3.0000, 6.0000, 9.1500])' graph scale.ir --run --input '{1, 2, 3.05}' --input 2
expect 0 'tensor(9)' graph scale.ir --run --input 3 --input 2
expect 0 '("a b", 2.0, None)' graph texts.ir --run --input '"a b"' --input 2 --input None
expect 0 '(tensor(0.5000), [tensor([1, 2]), tensor([3, 4])])' graph parts.ir --run --input 0.5 --input '[{1, 2}, {3, 4}]'

# Files in and out, also in a chain, and improved first.
expect 0 '' graph scale.ir --run --input '{1, 2, 3.05}' --input 2 --output a.npy
expect 0 'tensor([ 9.0000, 18.0000, 27.4500])' graph scale.ir --passes dce,cse --run --input a.npy --input 2
expect 0 '' graph parts.ir --run --input a.npy --input '[{1, 2}, {3, 4}]' --output b.npy --output c.npy --output d.npy
expect 0 'tensor([6, 8])' graph scale.ir --run --input d.npy --input 1
expect 0 'tensor([2., 4.])' graph scale.ir --run --input '{1., 2.}' --input 1 --threads 2 --separate --seed 3
expect 0 'launches: 1
predicted peak: ' graph scale.ir --run --input '{1., 2.}' --input 1 --stats
expect 0 'real peak: 8 bytes
plans: 1' graph scale.ir --run --input '{1., 2.}' --input 1 --stats

# What is wrong, where, and why.
expect 1 '%n : int is missing' graph scale.ir --run --input a.npy
expect 1 "takes 2 inputs; '4' is one too many" graph scale.ir --run --input a.npy --input 3 --input 4
expect 1 'input 1, %n : int: expected int, found float' graph scale.ir --run --input a.npy --input 2.5
expect 1 'input 1, %n : int: expected int, found Tensor' graph scale.ir --run --input a.npy --input a.npy
expect 1 "input 0, %x : Tensor: 'hello' is neither a .npy file nor a literal" graph scale.ir --run --input hello --input 2
expect 1 'input 0, %x : Tensor: open nowhere.npy: No such file' graph scale.ir --run --input nowhere.npy --input 2
cp scale.ir not.npy
expect 1 'not.npy: input 0, %x : Tensor: byte 0: not an .npy file' graph scale.ir --run --input not.npy --input 2
expect 1 'gives 3 results, and --output names 1 files' graph parts.ir --run --input 1 --input '[{1, 2}, {3, 4}]' --output e.npy
expect 1 'result 0 is no tensor, and cannot be written to e.npy' graph texts.ir --run --input '"a"' --input 2 --input 1 \
    --output e.npy --output f.npy --output g.npy
[ ! -e e.npy ] || { echo 'e.npy was written'; failures=$((failures + 1)); }
sed 's/%x, %k/%w, %k/; s/%n : int/%n : int, %w : Tensor/' scale.ir >shapes.ir
expect 1 'shapes.ir:5:3: The size of tensor a (3) must match the size of tensor b (2)' \
    graph shapes.ir --run --input '{1, 2, 3}' --input 1 --input '{1, 2}'
expect 1 'aten::add(%y, %w, %k) # net.py:8:4' graph shapes.ir --run --input '{1, 2, 3}' --input 1 --input '{1, 2}'

# A loop that appends costs what it appends; one that doubles a string ends at the stated bound.
cat >append.ir <<'END'
graph(%x : Tensor):
  %n : int = prim::Constant[value=300000]()
  %t : bool = prim::Constant[value=1]()
  %l : Tensor[] = prim::ListConstruct()
  prim::Loop(%n, %t)
    block0(%i : int):
      %b : Tensor[] = aten::append(%l, %x)
      -> (%t)
  %k : int = aten::len(%l)
  return (%k)
END
expect 0 300000 graph append.ir --run --input '{1, 2}'
cat >double.ir <<'END'
graph(%x : str):
  %n : int = prim::Constant[value=40]()
  %t : bool = prim::Constant[value=1]()
  %s : str = prim::Loop(%n, %t, %x)
    block0(%i : int, %a : str):
      %b : str = aten::add(%a, %a)
      -> (%t, %b)
  %k : int = aten::len(%s)
  return (%k)
END
expect 1 'a string of 134217728 bytes: a string of a graph has at most 67108864' \
    graph double.ir --run --input '"ab"'

# Wrong use.
expect 2 "--threads takes a number from 1 to 1024, not 'many'" graph scale.ir --run --threads many
expect 2 '--stats is for --run' graph scale.ir --stats
expect 2 '--input needs X' graph scale.ir --run --input
expect 0 '--separate' graph --help

# Operators.
expect 0 'add.out                                  derived from add.Tensor' ops add
expect 0 '"schema": "mul.Tensor(Tensor self, Tensor other) -> Tensor",
  "support": "primitive"' ops --json mul.Tensor
expect 0 ' not yet' ops
expect 1 "there is no operator 'nonsense'" ops nonsense
expect 2 "ops has no option '--jason'" ops --jason

# Operators of a file: one that is there, one that is not yet, one that is left out, with its form.
cat >language.yaml <<'END'
- func: relu(Tensor self) -> Tensor
  tags: core
- func: shiny_new(Tensor self) -> Tensor
- func: to_sparse(Tensor self) -> Tensor
- func: to_sparse_(Tensor(a!) self) -> Tensor(a!)
END
printf -- '- tag: core\n  desc: x\n' >tags.yaml
expect 0 'relu                                     formula
shiny_new                                not yet
to_sparse                                left out: sparse tensors
to_sparse_                               left out: sparse tensors
4 operators: 0 primitive, 1 formula, 0 derived, 1 not yet, 2 left out' ops --language language.yaml
expect 0 '"support": "left out",
  "family": "sparse tensors"' ops --language language.yaml --tags tags.yaml --json
expect 1 "there is no operator 'to_sparse': sparse tensors are not planned" ops to_sparse
expect 1 'language.yaml:2:9: ' ops --language language.yaml --tags /dev/null
expect 2 'ops takes names or --language FILE, not both' ops --language language.yaml relu
expect 2 '--language needs a value' ops --language
expect 2 '--tags FILE goes with --language FILE' ops --tags tags.yaml
[ "$("$lazuli" ops | wc -l)" -gt 1000 ] || { echo 'ops lists too few'; failures=$((failures + 1)); }
if command -v python3 >/dev/null; then
    "$lazuli" ops --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
assert len({row["name"] for row in rows}) == len(rows)
assert all(row["schema"].startswith(row["name"] + "(") for row in rows)
' || failures=$((failures + 1))
fi
[ $failures -eq 0 ]
