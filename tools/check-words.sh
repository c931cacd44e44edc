#!/bin/sh
# Looks for what must not be left in a file: notes to oneself, and absolute paths of somebody's machine. Nobody is called
# "u" or "user": tests and papers may use these.
#     tools/check-words.sh [ROOT]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

notes='[T]ODO|[F]IXME|[X]XX|[H]ACK'
homes='home|root|work|Users'

found() { # WHY, then options of grep
    why=$1
    shift
    "$tools/sources.sh" . '*' | tr '\n' '\0' | xargs -0 grep -InHE "$@" | sed "s|^|$why: |"
}

all() {
    found 'a note to oneself' -w -e "$notes"
    found 'a path of one machine' -e "(^|[^A-Za-z0-9_.~})/-])/($homes)/" |
        grep -vE '/[h]ome/(u|user)($|[^A-Za-z0-9_])'
}

if all | grep .; then
    exit 1
fi
