#!/bin/sh
# command.sh BUILD SOURCE: check, dump, why and diff, as `lazuli gen` and as `lazuli-gen`: what they say and how they end.
set -eu

build=$1 here=$2/test/gen
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

fail() {
    echo "command: $*" >&2
    exit 1
}

# ends STATUS COMMAND...: with its output in log
ends() {
    want=$1 got=0
    shift
    "$@" >log 2>&1 || got=$?
    [ "$got" = "$want" ] || fail "$* ends with $got, not $want: $(cat log)"
}

# ... and the log has such a line
has() { # [-e] PATTERN
    [ "$1" != -e ] || shift
    grep -q -- "$1" log || fail "no '$1' in: $(cat log)"
}

cp "$here/ops.yaml" "$here/tags.yaml" .
printf '%s\n' '- func: good(Tensor self) -> Tensor' '- func: bad(Tensor self, Tensor) -> Tensor' \
    '- func: worse(Tensor self) -> Tensors' >wrong.yaml
for gen in "$build/lazuli-gen" "$build/lazuli gen"; do
    # shellcheck disable=SC2086 # a command in one or two words
    set -- $gen

    ends 0 "$@" check ops.yaml --tags tags.yaml
    has '^2[0-9] operators, 1 of them generated'
    ends 1 "$@" check ops.yaml # tags that nobody defined
    has "^ops.yaml:[0-9]*:[0-9]*: .*tag"
    ends 1 "$@" check wrong.yaml
    has '^wrong.yaml:2:[0-9]*: '
    has '^wrong.yaml:3:[0-9]*: '
    has '^    worse(Tensor self) -> Tensors$'
    ends 1 "$@" check no-such-file
    has 'no-such-file: No such file or directory'
    printf -- '- func: f(Tensor self) -> Tensor\n  formula: g(self)\n' >own.yaml
    ends 1 "$@" check own.yaml
    has "^own.yaml:2:.*formula"
    ends 1 "$@" check own.yaml --own
    has "^own.yaml:2:12: unknown operator 'g'"

    echo '[]' >derivatives.yaml
    echo '- name: add(Tensor self) -> Tensor' >deprecated.yaml
    ends 1 "$@" check ops.yaml --tags tags.yaml --autograd .
    has '^./deprecated.yaml:1:'
    echo '[]' >deprecated.yaml
    echo '- name: nosuch(Tensor self) -> Tensor' >derivatives.yaml
    ends 1 "$@" check ops.yaml --tags tags.yaml --autograd .
    has '^./derivatives.yaml:1:'
    echo '{' >derivatives.yaml
    ends 1 "$@" check ops.yaml --tags tags.yaml --autograd .
    has '^./derivatives.yaml:'
    rm derivatives.yaml deprecated.yaml
    ends 1 "$@" check ops.yaml --tags tags.yaml --autograd .
    has 'derivatives.yaml: No such file'
    ends 1 "$@" check ops.yaml --tags tags.yaml --consumers
    has 'ops.yaml:[0-9]*:[0-9]*: '

    ends 0 "$@" dump --what groups --native ops.yaml --tags tags.yaml
    [ "$(wc -l <log)" -ge 2 ] || fail "few groups"
    ends 0 "$@" dump --what model --native ops.yaml --tags tags.yaml
    has '^{"aliased_returns":.*"name":"add.Tensor"'
    ends 0 "$@" dump --what python --native ops.yaml --tags tags.yaml
    ends 0 "$@" dump --what stats --native ops.yaml --tags tags.yaml
    ends 2 "$@" dump --what derivatives --native ops.yaml --tags tags.yaml
    has -e '--autograd DIR'
    ends 1 "$@" dump --what model --native wrong.yaml

    ends 0 "$@" why add.Tensor --native ops.yaml --tags tags.yaml
    has '^  entry *ops.yaml:4$'
    has '^  out *add.out  ops.yaml:12$'
    has '^  delegates to *add.out'
    has '^  api *include/lazuli/ops.h:[0-9]*  lz_add_Tensor$'
    has '^  dispatcher *at::Tensor add(const at::Tensor & self'
    # the lines are those of the files
    sed -n 's/^  [a-z]* *\([a-z_/]*\.[ch]\):\([0-9]*\)  \([^ []*\).*/\1 \2 \3/p' log >uses
    [ "$(wc -l <uses)" -ge 8 ] || fail "why names few lines: $(cat log)"
    while read -r file line symbol; do
        [ "$symbol" = lz_op_by_name ] || [ "${symbol#lz_op_}" != "$symbol" ] || [ "${symbol#*_table}" != "$symbol" ] ||
            sed -n "${line}p" "$here/golden/$file" | grep -q "$symbol" || fail "$file:$line has no $symbol"
    done <uses
    ends 0 "$@" why aten::empty.memory_format_out --native ops.yaml --tags tags.yaml
    has '^  generated from *ops.yaml:'
    printf -- '- func: f(Tensor self, Scalar n) -> Tensor\n  inner: self + n\n  static: [n]\n' >own.yaml
    ends 0 "$@" why f --native own.yaml --own
    has '^  inner *self + n  own.yaml:2$'
    has '^  static *n  own.yaml:3$'
    ends 1 "$@" why add --native ops.yaml --tags tags.yaml
    has "no operator 'add'; there is add.Tensor, add.out"

    ends 0 "$@" diff ops.yaml ops.yaml --tags tags.yaml
    has '^0 added, 0 removed, 0 changed$'
    sed -e 's/CPU: add_cpu/CPU: add_new/' -e 's/^- func: relu(Tensor self)/- func: relu(Tensor x)/' \
        -e 's/nothing()/something()/' -e '/func: mul.Scalar/a\  variants: method' ops.yaml >new.yaml
    ends 1 "$@" diff ops.yaml new.yaml --tags tags.yaml
    has '^~ add.out  new.yaml:12$'
    has '^        - CPU: at::native::add_cpu (structured), '
    has '^        + relu(Tensor x) -> Tensor$'
    has '^        + method$'
    has '^- nothing  ops.yaml:'
    has '^+ something  new.yaml:'
    has '^1 added, 1 removed, 3 changed$'

    ends 0 "$@" help
    ends 0 "$@" --version
    for command in check dump why emit diff; do
        ends 0 "$@" $command --help
        has -e '--tags *FILE'
    done
    ends 2 "$@"
    ends 2 "$@" nonsense
    ends 2 "$@" check
    ends 2 "$@" check --what model
    has "check has no option '--what'"
    ends 2 "$@" dump
    ends 2 "$@" dump --what nothing --native ops.yaml
    ends 2 "$@" dump --what
    ends 2 "$@" dump --what model
    has 'no operator file'
    ends 2 "$@" diff ops.yaml
    ends 2 "$@" diff ops.yaml ops.yaml ops.yaml
    ends 2 "$@" why
    ends 2 "$@" emit --native ops.yaml --target api
    ends 2 "$@" emit --native ops.yaml --out out
    ends 2 "$@" emit --native ops.yaml --out out --target api,nothing
    has "no target 'nothing'; there are tables, api"
    ends 2 "$@" emit --native ops.yaml --out out --target api --shards 0
    ends 1 "$@" emit --native ops.yaml --tags tags.yaml --target api --out /dev/null/x
    has '/dev/null'
    [ ! -e out ] || fail "a wrong use wrote something"
done

# Standard output that is full is an error.
if [ -e /dev/full ]; then
    status=0
    "$build/lazuli-gen" dump --what model --native ops.yaml --tags tags.yaml >/dev/full 2>log || status=$?
    [ $status = 1 ] || fail "a full disk ends with $status"
    has 'cannot write to standard output'
fi
