#!/bin/sh
# options.sh COMMAND SOURCE: an option, or a variable of the environment, that is wrong, that needs something else behind
# it, or that changes nothing is refused, and the message says what is due.
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
refuses 2 "--version takes nothing, not 'x'" "$lazuli" --version x

refuses 2 "--n needs a whole number from 1, not '0'" "$lazuli" bench record --n 0
refuses 2 '--n needs a whole number from 1' "$lazuli" bench record --n
refuses 2 "--threads needs a number from 1 to 1024, not '-1'" "$lazuli" bench record --threads -1
refuses 2 "not 'nan'" "$lazuli" bench record --seconds nan
refuses 1 /no/such.so "$lazuli" bench record --loops /no/such.so
refuses 2 "'again' is not understood" "$lazuli" bench record again

refuses 2 "test ops: '--mode' is not understood" "$lazuli" test ops x --mode read
refuses 2 "test graphs: '--device' is not understood" "$lazuli" test graphs x --device cpu
refuses 2 "test programs: '--separate' is not understood" "$lazuli" test programs x --separate
refuses 2 "--mode needs statement, read, async or random, not 'x'" "$lazuli" test programs x --mode x
refuses 2 "--threads needs a number from 1 to 1024, not '1e3'" "$lazuli" test ops x --threads 1e3
refuses 1 'there are no cases of nosuch' "$lazuli" test programs "$programs" --only nosuch
refuses 1 "'nosuch' is registered" "$lazuli" test programs "$programs" --device nosuch

LAZULI_TREADS=4 "$lazuli" env | grep -q 'LAZULI_TREADS is set, and means nothing' || fail 'a misspelt variable goes unseen'
for set in LAZULI_THREADS=x LAZULI_THREADS=0 LAZULI_INJECT_FAILURE=add LAZULI_DEVICE=nosuch \
    LAZULI_FORCE_FALLBACK=aten::nosuch LAZULI_SAVE_TENSORS_FMT=png LAZULI_BACKEND=/no/such.so; do
    refuses 1 "${set#*=}" env "$set" "$lazuli" test programs "$programs"
done
