#!/bin/sh
# limits.sh BUILD SOURCE: the command with pipes instead of files, links, limits of the system and closed outputs.
# Every case ends by itself, with a message.
set -u
lazuli=$(cd "$1" && pwd)/lazuli
data=$(cd "$2" && pwd)/test/data/io
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}

# expect STATUS TEXT COMMAND...: it ends so, within 60 s, and TEXT stands in what it says.
expect() {
    want=$1 text=$2
    shift 2
    said=$(timeout 60 "$@" 2>&1)
    status=$?
    case $said in
    *"$text"*) found=1 ;;
    *) found=0 ;;
    esac
    if [ $status -ne "$want" ] || [ $found -ne 1 ]; then
        fail "$*: status $status, and said '$said', not '$text'"
    fi
}

# limited OPTION UNITS COMMAND: under a limit of its own
cat >limited <<'END'
#!/bin/sh
ulimit "$1" "$2" || exit 99
shift 2
exec "$@"
END
chmod +x limited

cat >net.ir <<'END'
graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
END

# Nobody writes to a named pipe; one without a name is read to its end.
mkfifo pipe pipe.npy
expect 1 'open pipe: a named pipe; expected a file' "$lazuli" graph pipe
expect 1 'open pipe: a named pipe' "$lazuli" io list pipe
expect 1 'open pipe: a named pipe' "$lazuli" gen check pipe
expect 1 'open pipe: a named pipe' "$lazuli" test ops pipe
expect 1 'open pipe.npy: a named pipe' "$lazuli" graph net.ir --run --input pipe.npy
said=$("$lazuli" graph /dev/stdin --run --input '{-1, 2}' 2>&1 <net.ir)
[ "$said" = 'tensor([0, 2])' ] || fail "a file as /dev/stdin gives '$said'"
# shellcheck disable=SC2002 # a pipe is what is tested
said=$(cat net.ir | "$lazuli" graph /dev/stdin --run --input '{-1, 2}' 2>&1)
[ "$said" = 'tensor([0, 2])' ] || fail "a pipe as /dev/stdin gives '$said'"

# A link stays one, and what it leads to is written.
mkdir far
ln -s far/file.safetensors link.safetensors
expect 0 '' "$lazuli" io copy "$data/packed.npz" link.safetensors
{ [ -L link.safetensors ] && [ -f far/file.safetensors ] && [ ! -L far/file.safetensors ]; } || fail "the link or its file is gone: $(ls -l . far)"
expect 0 'safetensors, ' "$lazuli" io list far/file.safetensors

# A limit of file sizes is an error, not the end by SIGXFSZ, and nothing half-written stays.
cat >zeros.ir <<'END'
graph(%n : int):
  %1 : int[] = prim::ListConstruct(%n)
  %2 : NoneType = prim::Constant()
  %3 : Tensor = aten::zeros(%1, %2, %2, %2, %2)
  return (%3)
END
expect 0 '' "$lazuli" graph zeros.ir --run --input 10000 --output large.npy
expect 1 'File too large' ./limited -f 8 "$lazuli" graph net.ir --run --input large.npy --output small.npy
[ ! -e small.npy ] || fail "a file was left beyond the limit"
[ -z "$(find . -name '.lazuli-*')" ] || fail "temporary files were left: $(ls -A)"
case ${LZ_SANITIZE:-} in
*thread*) ;; # TSan writes a file of its own when a process starts
*) expect 1 'File too large' ./limited -f 0 "$lazuli" graph net.ir --run --input '{1}' --output small.npy ;;
esac
expect 1 'cannot write to standard output' ./limited -f 8 sh -c "'$lazuli' ops --json >out.json"

# Few descriptors; the parent process may have opened some.
expect 0 'tensor([0, 2])' ./limited -n 16 "$lazuli" graph net.ir --run --input '{-1, 2}'

# The reader may stop: SIGPIPE ends the command without a message, like other commands.
{ "$lazuli" ops 2>words; echo $? >status; } | head -n 1 >line
[ -s line ] || fail "ops prints nothing into a pipe"
case $(cat status) in
0 | 141) ;;
*) fail "with a reader who stops the status is $(cat status)" ;;
esac
[ ! -s words ] || fail "with a reader who stops it says '$(cat words)'"
# A program that ignores SIGPIPE passes that on to its children.
(trap '' PIPE; { sleep 0.1; "$lazuli" ops 2>words; echo $? >status; } | true)
[ "$(cat status)" = 1 ] || fail "with SIGPIPE ignored the status is $(cat status)"
grep -q 'cannot write to standard output' words || fail "with SIGPIPE ignored it says '$(cat words)'"
[ $failures -eq 0 ]
