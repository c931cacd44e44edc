#!/bin/sh
# Checks every #include against the arrows in docs/architecture.md: it may name its own folder, a folder that the
# arrows lead to, or include/lazuli. A folder without an arrow, an include that leads nowhere, and an arrow that no include
# needs are errors too.
#     tools/check-layers.sh [ROOT]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

sources() {
    "$tools/sources.sh" . '*.c' '*.h' '*.inc' '*.cpp'
}

generated() {
    [ ! -d build/gen ] || find build/gen -type f -name '*.h'
}

includes() {
    sources | tr '\n' '\0' | xargs -0 grep -nHE '^[[:space:]]*#[[:space:]]*include' || [ $? = 123 ]
}

{ sources; generated; echo; includes; } | awk -v doc=docs/architecture.md '
function fail(text) {
    print text
    bad = 1
}

function read_arrows(   line, inside, word, n, i, a, b, c) { # (a folder in parentheses): that one, none behind it
    while ((getline line < doc) > 0) {
        if (line ~ /^```/)
            inside = line ~ /^```arrows/
        else if (inside && line ~ /->/) {
            n = split(line, word, /[ ,]+/)
            listed[word[1]] = 1
            for (i = 3; i <= n; i++) {
                if (gsub(/[()]/, "", word[i]))
                    here_only[word[1], word[i]] = 1
                else
                    reach[word[1], word[i]] = 1
                arrow[word[1], word[i]] = 1
                named[word[i]] = 1
            }
        }
    }
    delete named["nothing"]
    delete named["anything"]
    for (a in named)
        if (!(a in listed))
            fail(doc ": an arrow leads to " a ", which has none of its own")
    for (b in listed)
        for (a in listed)
            for (c in listed)
                if (((a, b) in reach) && ((b, c) in reach))
                    reach[a, c] = 1
    for (a in listed)
        if ((a, a) in reach)
            fail(doc ": the arrows lead from " a " back to it")
}

# An arrow is needed if its folder includes the one that it leads to, or one that no other arrow of it leads to.
function is_needed(from, to,   pair, end, other, ways) {
    for (pair in included) {
        split(pair, end, SUBSEP)
        if (end[1] != from)
            continue
        if (end[2] == to)
            return 1
        ways = 0
        for (other in listed)
            if (other != to && ((from, other) in arrow) && (other == end[2] || ((other, end[2]) in reach)))
                ways++
        if (!ways && ((to, end[2]) in reach))
            return 1
    }
    return 0
}

function check_arrows(   pair, end) {
    for (pair in arrow) {
        split(pair, end, SUBSEP)
        if (end[2] != "nothing" && end[2] != "anything" && !is_needed(end[1], end[2]))
            fail(doc ": no include needs the arrow " end[1] " -> " end[2])
    }
}

function folder(path) { # the listed one that holds path
    while (sub(/\/[^\/]*$/, "", path))
        if (path in listed)
            return path
    return ""
}

function search(prefix, counted) {
    root[++roots] = prefix
    counts_as[roots] = counted
}

# Where an include leads: a generated header counts as part of the folder it is made for.
function target(file, name, quoted,   dir, i) {
    dir = file
    sub(/[^\/]*$/, "", dir)
    if (quoted && ((dir name) in known))
        return dir name
    for (i = 1; i <= roots; i++)
        if ((root[i] name) in known)
            return counts_as[i] name
    return ""
}

function check(where, file, name, quoted,   from, to, path) {
    path = target(file, name, quoted)
    from = folder(file)
    to = folder(path)
    included[from, to] = 1
    if (path == "" && (quoted || name ~ /^lazuli\//))
        fail(where " \"" name "\" leads nowhere")
    else if (from != "" && to != "" && from != to && to != "include/lazuli" \
             && !((from, to) in reach) && !((from, to) in here_only) && !((from, "anything") in reach))
        fail(where " \"" name "\": there is no arrow " from " -> " to)
}

BEGIN {
    search("src/", "src/")
    search("include/", "include/")
    search("", "")
    search("test/support/", "test/support/")
    search("build/gen/include/", "include/")
    search("build/gen/", "src/")
    read_arrows()
}

$0 == "" {
    listing_done = 1
    next
}

!listing_done {
    known[$0] = 1
    if ($0 !~ /^build\// && folder($0) == "")
        fail($0 ": no arrow in " doc " for its folder")
    next
}

{
    match($0, /^[^:]*:[0-9]+:/)
    where = substr($0, 1, RLENGTH)
    file = substr(where, 1, index(where, ":") - 1)
    if (match($0, /"[^"]*"/) || match($0, /<[^>]*>/))
        check(where, file, substr($0, RSTART + 1, RLENGTH - 2), substr($0, RSTART, 1) == "\"")
    else
        fail(where " an include that names no file")
}

END {
    check_arrows()
    exit bad
}'
