#!/bin/sh
# Looks for what must not be left in a file: notes to oneself, absolute paths of somebody's machine, and phrases that
# leave out who does what. Nobody is called "u" or "user": tests and papers may use these.
#     tools/check-words.sh [ROOT]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

notes='[T]ODO|[F]IXME|[X]XX|[H]ACK'
homes='home|root|work|Users'
# Say instead: expected, computed, supported, donated; reported, logged; the caller, the owner; unknown, is inside a group.
riddles='([i]s|[a]re) (due|had)|[b]e had|[g]iven away|([i]s|[a]re|[w]as|[b]e|[n]ot) told|[w]hoever|[n]one such'
riddles="$riddles|[s]tands? in groups"

found() { # WHY, then options of grep
    why=$1
    shift
    "$tools/sources.sh" . '*' | tr '\n' '\0' | xargs -0 grep -InHE "$@" | sed "s|^|$why: |"
}

# The last word of a line and the first of the next, behind the mark of a comment.
# shellcheck disable=SC2016
wrapped() {
    "$tools/sources.sh" . '*.c' '*.h' '*.md' '*.sh' '*.py' '*.yaml' | tr '\n' '\0' | xargs -0 awk -v riddles="$riddles" '
    {
        line = $0
        sub(/^[ \t]*(\*|#|\/\/)?[ \t]+/, "", line)
        n = split(line, word, /[ \t]+/)
        pair = tolower(last " " word[1])
        if (FNR > 1 && n > 0 && pair ~ ("^(" riddles ")[^a-z0-9]*$"))
            print "a phrase without a subject: " FILENAME ":" FNR ":" $0
        last = n > 0 ? word[n] : ""
    }'
}

all() {
    found 'a note to oneself' -w -e "$notes"
    found 'a path of one machine' -e "(^|[^A-Za-z0-9_.~})/-])/($homes)/" |
        grep -vE '/[h]ome/(u|user)($|[^A-Za-z0-9_])'
    found 'a phrase without a subject' -wi -e "$riddles"
    wrapped
}

if all | grep .; then
    exit 1
fi
