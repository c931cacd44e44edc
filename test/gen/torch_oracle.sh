#!/bin/sh
# torch_oracle.sh BUILD SOURCE: every configuration and every refusal of the recorded torchgen (LAZULI_ORACLE names the folder with
# torchgen_files; needs Python, which compares). Skipped where that is not there.
set -eu

here=${LAZULI_ORACLE:-$2/../shared/oracle}/torchgen_files
[ -e "$here/oracle.py" ] || {
    echo "skipped: no torchgen_files/oracle.py (LAZULI_ORACLE names the folder with the original's files)"
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
LAZULI_CACHE_DIR=$tmp/cache
export LAZULI_CACHE_DIR
# The oracle's command lines begin with `gen`, as for the command `lazuli`.
printf '#!/bin/sh\nshift\nexec "%s" "$@"\n' "$1/lazuli-gen" >"$tmp/lazuli"
chmod +x "$tmp/lazuli"
python3 "$here/oracle.py" run "$tmp/lazuli" >"$tmp/log" 2>&1 || {
    grep -v ' 0 differ, 0 missing, 0 superfluous (' "$tmp/log" >&2
    exit 1
}
tail -1 "$tmp/log"

state() {
    find . -type f -exec sha256sum {} + | LC_ALL=C sort
}

# A refusal has status 1 and leaves its tree as it was.
refused() { # NAME SETUP WORDS
    cd "$tmp"
    rm -rf "$tmp/tree"
    "$here/assemble.sh" "$tmp/tree"
    cd "$tmp/tree"
    eval "$2"
    state >"$tmp/before"
    status=0
    eval "\"$tmp/lazuli\" $3" >"$tmp/log" 2>&1 || status=$?
    [ "$status" = 1 ] || {
        echo "torch_oracle: $1 ends with status $status, not 1: $(cat "$tmp/log")" >&2
        exit 1
    }
    state | cmp -s - "$tmp/before" || {
        echo "torch_oracle: $1 is refused, but changed something" >&2
        exit 1
    }
}

name='' setup=''
while read -r word rest; do
    case $word in
    refusal) name=$rest setup=: ;;
    setup) setup=$rest ;;
    lazuli) refused "$name" "$setup" "$rest" ;;
    esac
done <"$here/refusals.txt"
