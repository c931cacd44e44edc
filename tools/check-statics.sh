#!/bin/sh
# Finds variables that a process has once: statics of files and functions, and variables that headers declare extern. Each .c
# file that has one is named in the table "one in a process" of docs/architecture.md, and each file that the table names
# has one. Constants are no such variables.
#     tools/check-statics.sh [ROOT]
set -u
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 1
bad=0

# What a declaration says up to its first = ; { or ( tells whether it is a function or constant. A struct without a name is
# declared over several lines; its variable follows the last bracket.
# shellcheck disable=SC2016
mutable() { # FILE...
    awk '
    function look(text,   at, type) {
        gsub(/[A-Za-z_]+\([^()*]*\) /, "x ", text) # LZ_VEC(int), _Alignas(64)
        if (!match(text, /[=;{(]/))
            return
        at = substr(text, RSTART, 2)
        type = substr(text, 1, RSTART - 1)
        if (at ~ /^\(/ && at != "(*")
            return
        if (at == "(*") {
            if (substr(text, RSTART) !~ /^\(\*const /)
                print FILENAME
            return
        }
        if (at ~ /^\{/) {
            body = type !~ /(^| )const /
            return
        }
        gsub(/\[[^]]*\]/, "", type)
        sub(/[A-Za-z0-9_]+[ \t]*$/, "", type)
        sub(/^.*\*/, "", type)
        if (type !~ /(^|[^A-Za-z_])const([^A-Za-z_]|$)/)
            print FILENAME
    }
    FNR == 1 { body = 0 }
    /^[ \t]*static / && !/static (inline|__attribute__)/ { look($0) }
    body && /^[ \t]*\}/ {
        body = 0
        sub(/^[ \t]*\}/, "x ")
        look($0)
    }' "$@"
}

# The .c file of the folder that defines a variable which a header declares.
# shellcheck disable=SC2016
shared() {
    "$tools/sources.sh" . 'src/*.h' | tr '\n' '\0' |
        xargs -0 -r awk '/^extern / && !/const|"C"/ { sub(/;.*/, ""); sub(/^.*[ *]/, ""); print FILENAME, $0 }' |
        while read -r header name; do
            grep -lE "^[a-z].*[ *]$name( =.*|;)\$" "$(dirname "$header")"/*.c || echo "$header"
        done
}

found() {
    "$tools/sources.sh" . 'src/*.c' | grep -v '^src/harness/' | while read -r file; do
        mutable "$file"
    done
    shared
}

# A name without a folder is in the folder of the name before.
# shellcheck disable=SC2016
listed() {
    awk -F'|' '
    /^\| one in a process / { table = 1; next }
    table && !/^\|/ { exit }
    table {
        n = split($3, part, "`")
        for (i = 2; i <= n; i += 2) {
            if (part[i] ~ /\//) {
                folder = part[i]
                sub(/[^\/]*$/, "", folder)
                print part[i]
            } else
                print folder part[i]
        }
    }' docs/architecture.md
}

has=$(found | sort -u)
says=$(listed | sort -u)
for file in $has; do
    printf '%s\n' "$says" | grep -qxF "$file" || {
        echo "$file: has a variable that a process has once; docs/architecture.md does not list the file"
        bad=1
    }
done
for file in $says; do
    printf '%s\n' "$has" | grep -qxF "$file" || {
        echo "docs/architecture.md: $file has no variable that a process has once"
        bad=1
    }
done
exit $bad
