#!/bin/sh
# Notes to oneself, paths of one machine and phrases without a subject are found.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-words.sh"

# Put together here, so that this file passes too.
todo="TO""DO"
home="/ho""me"
due="d""ue"
had="h""ad"

echo "https://example.org$home/page, \$x$home/y, ~$home/z, /tmp/x-XXXXXX, src$home/a.c, $home/u/x, UN$todo" | write README.md
echo "it is ${due}l, are ${had}dock, this had to be; given a way; bool told; stand in a group" | write docs/b.md
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
bad "/* A name is $due. */" 'a phrase without a subject'
bad "Names are $due here" 'a phrase without a subject'
bad "how it is $had" 'a phrase without a subject'
bad "What Are $had, says who" 'a phrase without a subject'
bad "not to be $had" 'a phrase without a subject'
bad "what cannot be $had" 'a phrase without a subject'
bad "an input that is given ""away" 'a phrase without a subject'
bad "the user is to""ld" 'a phrase without a subject'
bad "Who""ever calls" 'a phrase without a subject'
bad "NULL: none su""ch" 'a phrase without a subject'
bad "nodes stand in gro""ups" 'a phrase without a subject'

printf '/* deinit is\n * %s from here on. */\n' "$due" | write docs/a.md
fails "a phrase without a subject: docs/a.md:2:" "$check" "$tree"
printf '/* deinit is\n * %sl, and not\n * toll. */\n' "$due" | write docs/a.md
passes "$check" "$tree"
rm "$tree/docs/a.md"

mkdir -p "$tree/test/data"
echo "$todo" | write test/data/foreign.txt
passes "$check" "$tree"
