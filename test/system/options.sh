#!/bin/sh
# options.sh COMMAND SOURCE: an option, or a variable of the environment, that is wrong, that needs something else behind
# it, or that changes nothing is refused, and the message says what was expected.
set -eu

fail() {
    echo "options: $*" >&2
    exit 1
}

# refuses STATUS TEXT WORD...
refuses() {
    due=$1 text=$2 status=0
    shift 2
    got=$("$@" 2>&1 </dev/null) || status=$?
    [ "$status" = "$due" ] || fail "'$*' ends with $status, not $due: $got"
    case $got in
        *"$text"*) ;;
        *) fail "'$*' says '$got', nothing of '$text'" ;;
    esac
}

lazuli=$1
oracle=$2/test/data/oracle
programs=$oracle/programs/programs.jsonl.gz
refuses 2 "--version takes no argument, found 'x'" "$lazuli" --version x

commands=$("$lazuli" --help | sed -n 's/^  lazuli \([a-z][a-z]*\) .*/\1/p')
[ -n "$commands" ] || fail '--help lists no command'
for command in $commands; do
    for words in "$command --help" "$command -h" "help $command"; do
        # shellcheck disable=SC2086 # words
        got=$("$lazuli" $words) || fail "'$words' ends with $?"
        case $got in
            "usage: lazuli $command"*) ;;
            *) fail "'$words' says '$got'" ;;
        esac
    done
done
refuses 2 "no command 'nosuch' (see 'lazuli help')" "$lazuli" help nosuch
refuses 2 "found 'x' (see 'lazuli env --help')" "$lazuli" env x
refuses 2 "bench: --json needs a suite" "$lazuli" bench --json
refuses 2 "test: expected ops, graphs, programs or backend, found 'x'" "$lazuli" test x

refuses 2 "--n needs an integer from 1, not '0'" "$lazuli" bench record --n 0
refuses 2 '--n needs an integer from 1' "$lazuli" bench record --n
refuses 2 "--threads needs a number from 1 to 1024, not '-1'" "$lazuli" bench record --threads -1
refuses 2 "not 'nan'" "$lazuli" bench record --seconds nan
refuses 1 /no/such.so "$lazuli" bench record --loops /no/such.so
refuses 2 "unexpected argument 'again'" "$lazuli" bench record again

refuses 2 "test ops has no option '--mode'" "$lazuli" test ops x --mode read
refuses 2 "test graphs has no option '--device'" "$lazuli" test graphs x --device cpu
refuses 2 "test programs has no option '--separate'" "$lazuli" test programs x --separate
refuses 2 "--mode needs statement, read, async or random, not 'x'" "$lazuli" test programs x --mode x
refuses 2 "--threads needs a number from 1 to 1024, not '1e3'" "$lazuli" test ops x --threads 1e3
refuses 1 'found no cases of nosuch' "$lazuli" test programs "$programs" --only nosuch
refuses 1 "'nosuch' is registered" "$lazuli" test programs "$programs" --device nosuch

LAZULI_TREADS=4 "$lazuli" env | grep -q 'LAZULI_TREADS is set, and means nothing' || fail 'a misspelt variable goes unseen'
LTC_NOSUCH=4 "$lazuli" env | grep -q 'LTC_NOSUCH is set, and means nothing' || fail 'a misspelt variable of PyTorch goes unseen'
"$lazuli" env | grep -q 'LTC_ENABLE_DYNAMIC_SHAPES  *(unset)' || fail 'env does not say what has no effect'
got=$(LTC_ENABLE_DYNAMIC_SHAPES=1 LTC_NOSUCH=1 LAZULI_LOG=warn "$lazuli" test programs "$programs" --only 'program 1' 2>&1) || true
for part in 'LTC_ENABLE_DYNAMIC_SHAPES is set, and has no effect: sizes are part' 'LTC_NOSUCH is set, and means nothing'; do
    [ "$(printf '%s\n' "$got" | grep -c "$part")" = 1 ] || fail "'$got' does not say once: $part"
done
LAZULI_CPU_DEVICES=3 "$lazuli" devices | grep -q '  cpu:2  CPU2' || fail 'LAZULI_CPU_DEVICES makes no devices'
for set in LAZULI_CPU_DEVICES=0 LAZULI_CPU_DEVICES=65 LAZULI_MAX_ASYNC_QUEUE=0 LTC_MAX_ASYNC_QUEUE=x \
    LAZULI_THREADS=x LAZULI_THREADS=0 LAZULI_INJECT_FAILURE=add LAZULI_DEVICE=nosuch \
    LAZULI_FORCE_FALLBACK=aten::nosuch LAZULI_SAVE_TENSORS_FMT=png LAZULI_BACKEND=/no/such.so; do
    refuses 1 "${set#*=}" env "$set" "$lazuli" test programs "$programs"
done
