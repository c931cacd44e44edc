#!/bin/sh
# Notes to oneself and paths of one machine are found.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-words.sh"

# Put together here, so that this file passes too.
todo="TO""DO"
home="/ho""me"

echo "https://example.org$home/page, \$x$home/y, ~$home/z, /tmp/x-XXXXXX, src$home/a.c, $home/u/x, UN$todo" | write README.md
passes "$check" "$tree"

bad() { # LINE TEXT
    printf 'first\n%s\n' "$1" | write docs/a.md
    fails "$2: docs/a.md:2:" "$check" "$tree"
    rm "$tree/docs/a.md"
}

bad "/* $todo: later */" 'a note to oneself'
bad "# FIX""ME" 'a note to oneself'
bad "open(\"$home/me/x\")" 'a path of one machine'
bad "$home/me" 'a path of one machine'

mkdir -p "$tree/test/data"
echo "$todo" | write test/data/foreign.txt
passes "$check" "$tree"
