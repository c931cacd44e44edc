#!/bin/sh
# usage: select.sh BUILD: `lazuli select` lists the operators of graphs, and refuses what it does not know.
set -u
lazuli=$1/lazuli
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
    printf '%s\n' "$*"
    failures=$((failures + 1))
}

refused() { # STATUS TEXT ARGS...
    want=$1 text=$2
    shift 2
    said=$("$lazuli" select "$@" 2>&1)
    status=$?
    case $status:$said in
        "$want":*"$text"*) ;;
        *) fail "select $*: status $status, said '$said', not '$text'" ;;
    esac
}

# Operators of blocks within blocks, each once; neither constants nor what computes with numbers.
cat >blocks.ir <<'END'
graph(%x : Tensor,
      %b : bool,
      %n : int):
  %k : int = prim::Constant[value=1]()
  %m : int = aten::add(%n, %k)
  %y : Tensor = prim::If(%b)
    block0():
      %t : bool = prim::Constant[value=1]()
      %a : Tensor = prim::Loop(%m, %t, %x)
        block0(%i : int, %c.1 : Tensor):
          %c.2 : Tensor = aten::tanh(%c.1)
          -> (%t, %c.2)
      -> (%a)
    block1():
      %c : Tensor = aten::add(%x, %x, %k)
      -> (%c)
  %z : Tensor = aten::mul_(%y, %k)
  %w : Tensor = aten::tanh(%z)
  return (%w)
END
cat >one.ir <<'END'
graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
END
cat >expected <<'END'
operators:
  aten::add.Tensor: { include_all_overloads: false }
  aten::mul_.Scalar: { include_all_overloads: false }
  aten::tanh: { include_all_overloads: false }
END
"$lazuli" select blocks.ir | diff expected - || fail 'blocks.ir: other operators'
"$lazuli" select - <blocks.ir | diff expected - || fail 'standard input: other operators'

# Several models are one selection; --out is the same text.
sed '/tanh/i\  aten::relu: { include_all_overloads: false }' expected >both
"$lazuli" select one.ir blocks.ir one.ir --out found || fail 'two models: refused'
diff both found || fail 'two models: other operators'

# A graph without operators.
printf 'graph(%%x : Tensor):\n  return (%%x)\n' >none.ir
[ "$("$lazuli" select none.ir)" = 'operators: {}' ] || fail 'none.ir: an operator'

sed 's/relu/rellu/' one.ir >wrong.ir
refused 1 "wrong.ir:2:3: there is no operator 'aten::rellu'" wrong.ir
refused 1 'nowhere.ir' one.ir nowhere.ir
refused 2 'select needs a file'
refused 2 '--out needs FILE' one.ir --out
refused 2 "select has no option '--in'" one.ir --in
rm -f kept
refused 1 'aten::rellu' one.ir wrong.ir --out kept
[ ! -e kept ] || fail 'a refused selection was written'
exit $((failures != 0))
