#!/bin/sh
# usage: cache.sh BUILD: `lazuli cache` as a user has it.
set -u
lazuli=$1/lazuli
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
unset LAZULI_CACHE LAZULI_CACHE_SIZE
export LAZULI_CACHE_DIR="$dir/cache"
one=0123456789abcdef0123456789abcdef.kernel

# expect STATUS TEXT ARGS...: the command ends so, and TEXT stands in what it says. $with: variables for this once.
with=
expect() {
    want=$1 text=$2
    shift 2
    # shellcheck disable=SC2086 # a list
    said=$(env $with "$lazuli" "$@" 2>&1)
    status=$?
    with=
    case $said in
        *"$text"*) found=1 ;;
        *) found=0 ;;
    esac
    if [ $status -ne "$want" ] || [ $found -ne 1 ]; then
        printf 'lazuli %s: status %s, and said\n%s\nnot\n%s\n' "$*" "$status" "$said" "$text"
        failures=$((failures + 1))
    fi
}

# Nothing yet; looking makes nothing.
expect 0 "$dir/cache: 0 entries, 0B of 256.000MiB" cache
expect 0 '"removed": 0' cache clear --json
[ ! -e cache ] || { echo 'looking made the folder'; failures=$((failures + 1)); }

# Something broken, and something that is not ours.
mkdir -m 700 cache
echo nonsense >cache/$one
echo notes >cache/notes.txt
expect 0 "  $one  9B  unused for " cache list
with="LAZULI_CACHE_SIZE=2G"
expect 0 "$dir/cache: 1 entry, 9B of 2.000GiB" cache list
expect 1 "broken: it is truncated" cache verify
expect 1 "$dir/cache: 1 entry, 9B of 256.000MiB, 1 broken" cache verify
expect 1 '"broken": "it is truncated"' cache verify --json
expect 0 "$dir/cache: 1 entry removed, 9B" cache clear
if [ -e cache/$one ] || [ ! -e cache/notes.txt ]; then
    echo 'the wrong files were removed'
    failures=$((failures + 1))
fi
expect 0 ': 0 entries' cache verify

# Folders that are not used.
chmod 777 cache
expect 1 "$dir/cache is not used: others may write it" cache list
chmod 700 cache
ln -s cache link
with="LAZULI_CACHE_DIR=$dir/link/"
expect 1 'link' cache list
with="LAZULI_CACHE=off"
expect 1 'switched off: LAZULI_CACHE=off' cache list
with="LAZULI_CACHE=of"
expect 1 'LAZULI_CACHE=of: not one of on, off' cache list
with="LAZULI_CACHE_SIZE=big"
expect 1 'LAZULI_CACHE_SIZE=big: not a number of bytes' cache list
with="LAZULI_CACHE_DIR= XDG_CACHE_HOME= HOME="
expect 1 'no cache folder' cache list
with="LAZULI_CACHE_DIR= XDG_CACHE_HOME=$dir/xdg"
expect 0 "$dir/xdg/lazuli: 0 entries" cache list
with="LAZULI_CACHE_DIR= XDG_CACHE_HOME= HOME=$dir"
expect 0 "$dir/.cache/lazuli: 0 entries" cache list

# What a run leaves, where there is a compiler; a broken entry changes no result.
cat >net.ir <<'END'
graph(%x : Tensor,
      %n : int):
  %y : Tensor = aten::mul(%x, %n)
  %z : Tensor = aten::tanh(%y)
  return (%z)
END
run() {
    with=LAZULI_JIT=now
    expect 0 'tensor([0.7616, 0.9640, 0.9951])' graph net.ir --run --input '{0.5, 1.0, 1.5}' --input 2
}
run
entries() {
    find cache -name '*.kernel'
}
if [ -n "$(entries)" ]; then
    expect 0 ', 0 broken' cache verify
    for file in $(entries); do
        printf x >>"$file"
    done
    expect 1 'broken: something was added to it' cache verify
    run
    expect 0 ', 0 broken' cache verify
fi

# Wrong use.
expect 2 "cache: expected list, verify or clear, or --json, found 'empty'" cache empty
expect 2 "found 'clear'" cache list clear
[ $failures -eq 0 ]
