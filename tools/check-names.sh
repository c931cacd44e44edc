#!/bin/sh
# Checks that a name means one thing in the tree.
#  - A file name: x.c and x.h of one folder are a pair; any other file of that name is an error, a public header excepted,
#    whose functions may be in a file of its name.
#  - A type whose name begins with lz_ or lzg_: no struct, union or enum has a body in two places, and no typedef says two
#    different things. Other tags (maker, parts, reader) are private to one .c file, as the names of its static functions are:
#    they cannot clash, a reader finds the definition in the file that is open, and a longer name would only repeat the
#    file's name. A tag that a header declares needs the prefix.
#  - A folder has at most 80 files, those of recorded data excepted.
#     tools/check-names.sh [ROOT]
set -u
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 1

sources() {
    "$tools/sources.sh" . '*.c' '*.h' | grep -E "^($1)/"
}

files() { # x.c and x.h of one folder as one line: the folder and the stem
    sources 'src|gen|cli|include|bench|examples|test|fuzz' | awk '
    {
        folder = stem = $0
        sub(/\/[^\/]*$/, "", folder)
        sub(/^.*\//, "", stem)
        sub(/\.[ch]$/, "", stem)
        if ((folder, stem) in seen)
            next
        seen[folder, stem] = 1
        public = folder ~ /^include/
        if ((stem, public) in home) {
            print $0 ": the name is taken by " home[stem, public]
            bad = 1
        } else
            home[stem, public] = $0
    }
    END { exit bad }'
}

folders() {
    "$tools/sources.sh" . '*' | grep -v '^fuzz/corpus/' | awk '
    {
        sub(/\/[^\/]*$/, "")
        count[$0]++
    }
    END {
        for (folder in count)
            if (count[folder] > 80) {
                print folder ": " count[folder] " files in one folder, more than 80"
                bad = 1
            }
        exit bad
    }'
}

# Comments, strings and lines of macros go away first; then definitions are recognised by words and braces. A typedef of a tag
# that has a body elsewhere (typedef struct x x;) says the same each time.
# shellcheck disable=SC2016
types() {
    sources 'src|gen|include' | tr '\n' '\0' | xargs -0 awk '
    function defined(name, text) {
        if (name !~ /^lzg?_/)
            return
        if (!(name in place)) {
            place[name] = FILENAME ":" FNR
            meaning[name] = text
        } else if (text == "" || text != meaning[name]) {
            print FILENAME ":" FNR ": the type " name " has another meaning in " place[name]
            bad = 1
        }
    }
    function typedef_name(text) { # of a function pointer, behind the last bracket, of a function, or the last word
        if (match(text, /\(\*[A-Za-z0-9_]+\)/))
            return substr(text, RSTART + 2, RLENGTH - 3)
        if (match(text, /[\)*] ?[A-Za-z0-9_]+(\[[^]]*\])? ?;/) && text !~ /\) ?;/)
            text = substr(text, RSTART + 1)
        else
            sub(/ ?\(.*/, "", text)
        sub(/(\[[^]]*\])? ?;.*$/, "", text)
        sub(/^.*[^A-Za-z0-9_]/, "", text)
        return text
    }
    function strip(line,   at) {
        if (comment) {
            at = index(line, "*/")
            if (!at)
                return ""
            comment = 0
            line = substr(line, at + 2)
        }
        gsub(/"([^"\\]|\\.)*"/, "", line)
        gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
        at = index(line, "/*")
        if (at) {
            comment = 1
            line = substr(line, 1, at - 1)
        }
        return line
    }
    FNR == 1 { comment = macro = 0; text = "" }
    {
        line = strip($0)
        if (macro || line ~ /^[ \t]*#/) {
            macro = line ~ /\\$/
            next
        }
        rest = line
        while (match(rest, /(^|[^A-Za-z0-9_])(struct|union|enum)[ \t]+[A-Za-z0-9_]+[ \t]*\{/)) {
            split(substr(rest, RSTART, RLENGTH), word, /[^A-Za-z0-9_]+/)
            defined(word[1] == "" ? word[3] : word[2], "")
            rest = substr(rest, RSTART + RLENGTH)
        }
        if (text == "" && line ~ /^typedef[ \t]/ && line !~ /\{/)
            text = " "
        if (text != "") {
            text = text " " line
            if (line ~ /;/) {
                gsub(/[ \t]+/, " ", text)
                name = typedef_name(text)
                if (text !~ "(struct|union|enum) " name " " name ";")
                    defined(name, text)
                text = ""
            }
        }
    }
    END { exit bad }'
}

bad=0
files || bad=1
folders || bad=1
types || bad=1
exit $bad
