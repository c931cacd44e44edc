#!/bin/sh
# pages.sh BUILD SOURCE PAGE...: every code block of a page does what the page says. What stands behind ``` decides:
#
#   c                     a program, if it has a main; else statements with a context `c`. Compiled and run: the status
#                         is 0, and no error is left in `c`.
#   c declarations        what stands outside of functions; compiled
#   sh                    run by `sh -eu`. All blocks of a page share a scratch folder, in which the files and folders of
#                         the repository and build/ appear; lazuli is on the path.
#   ir                    a graph that `lazuli graph` accepts
#   text output           part of what the program, command or graph before it printed; a line "..." stands for any lines
#   LANGUAGE from FILE    these lines stand in FILE, one after the other
#   text REASON           neither run nor compared, for a reason of at least two words: text the layers of a call
#   LANGUAGE not run: REASON
#
# Lines between "<!-- setup" and "-->" before a block belong to the test alone: statements that come first in main (or
# before declarations), or commands. A block of any other kind is an error.
#
# A table whose columns are "PyTorch" and "C" is a block of the kind c: each `code` of the second column is a statement.
set -u
if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: pages are tested as users compile them, without sanitizers"
    exit 77
fi
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

complain() { # TEXT [FILE]
    echo "$page:$line: $1"
    [ $# -lt 2 ] || sed 's/^/    /' "$2"
    failures=$((failures + 1))
}

# The repository as the reader of a page sees it, where nothing of what he writes stays.
make_scratch() {
    scratch=$tmp/scratch
    rm -rf "$scratch" "${tmp:?}/home" "$tmp/blocks"
    mkdir -p "$scratch" "$tmp/home" "$tmp/blocks" "$tmp/bin"
    for file in "$source"/*; do
        [ "$(basename "$file")" = build ] || ln -s "$file" "$scratch"
    done
    ln -s "$build" "$scratch/build"
    # `make install` installs what is there.
    printf '#!/bin/sh\nexec /usr/bin/make -o build -o setup "$@"\n' >"$tmp/bin/make"
    chmod +x "$tmp/bin/make"
    : >"$tmp/said"
}

in_scratch() { # COMMAND...: what it prints is kept
    (cd "$scratch" && HOME=$tmp/home PATH="$tmp/bin:$build:$PATH" timeout 400 "$@") \
        >"$tmp/said" 2>"$tmp/errors" </dev/null
    status=$?
    [ $status = 0 ] && return
    cat "$tmp/errors" >>"$tmp/said"
    tail -n 20 "$tmp/said" >"$tmp/errors"
    complain "ends with status $status, after it printed (the last lines)" "$tmp/errors"
    return 1
}

compile() { # OPTION...
    ${CC:-cc} -std=c17 -O1 -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter -D_GNU_SOURCE -I"$source/include" \
        -I"$build/gen/include" "$@" >"$tmp/errors" 2>&1 && return
    complain "does not compile" "$tmp/errors"
    return 1
}

includes='#include <lazuli/lazuli.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
'

write_program() {
    if grep -q 'int main(' "$block.body"; then
        cat "$block.body"
        return
    fi
    printf %s "$includes"
    echo 'int main(void)'
    echo '{'
    grep -q 'lz_open(' "$block.body" || echo 'lz_ctx *c = lz_open(NULL);'
    cat "$block.setup"
    printf '#line %d "%s"\n' $((line + 1)) "$page"
    cat "$block.body"
    grep -q 'lz_close(' "$block.body" ||
        printf 'if (lz_failed(c)) {\n    fprintf(stderr, "%%s\\n", lz_message(c));\n    return 1;\n}\nlz_close(c);\n'
    echo 'return 0;'
    echo '}'
}

run_c() {
    write_program >"$tmp/page.c"
    compile "$tmp/page.c" -o "$tmp/page" -L"$build" -Wl,-rpath,"$build" -llazuli -lm -lpthread && in_scratch "$tmp/page"
}

check_declarations() {
    { printf %s "$includes" && cat "$block.setup" "$block.body"; } >"$tmp/page.c"
    compile -c "$tmp/page.c" -o "$tmp/page.o"
}

run_sh() {
    cat "$block.setup" "$block.body" >"$tmp/page.sh"
    in_scratch sh -eu "$tmp/page.sh"
}

check_graph() {
    in_scratch lazuli graph "$block.body" --print
}

# FILE: has the lines of the block, one after the other; "..." stands for any number of lines
check_lines() {
    awk '
    function trim(s) { gsub(/[ \t]+/, " ", s); sub(/ $/, "", s); return s }
    NR == FNR { want[++n] = trim($0); next }
    { have[++m] = trim($0) }
    END {
        at = 1
        any = 1
        for (i = 1; i <= n; i = j) {
            if (want[i] == "...") { any = 1; j = i + 1; continue }
            for (j = i; j <= n && want[j] != "..."; j++) ;
            for (found = 0; at + j - i - 1 <= m && !found; at++) {
                for (k = i; k < j && want[k] == have[at + k - i]; k++) ;
                found = k == j
                if (!any) break
            }
            if (!found) exit 1
            at += j - i - 1
            any = 0
        }
    }' "$block.body" "$1"
}

check_from() {
    if [ ! -f "$source/$1" ]; then
        complain "there is no file $1"
    elif ! check_lines "$source/$1"; then
        complain "$1 does not have these lines" "$block.body"
    fi
}

check_output() {
    check_lines "$tmp/said" || complain "the block before this one printed" "$tmp/said"
}

check_block() { # LANGUAGE WORD...
    case "$*" in
    c) run_c ;;
    "c declarations") check_declarations ;;
    sh) run_sh ;;
    ir) check_graph ;;
    "text output") check_output ;;
    ?*" from "?*) check_from "$3" ;;
    ?*" not run: "?*" "?* | "text "?*" "?*) ;;
    *) complain "a block of the kind '$*': expected c, c declarations, sh, ir, text output, LANGUAGE from FILE,
    text REASON or LANGUAGE not run: REASON (test/system/pages.sh explains them)" ;;
    esac
}

for page in "$@"; do
    make_scratch
    count=$(awk -v out="$tmp/blocks" -f "$here/pages.awk" "$page")
    if [ -e "$tmp/blocks/problems" ]; then
        sed "s|^|$page: |" "$tmp/blocks/problems"
        failures=$((failures + 1))
    fi
    n=1
    while [ $n -le "$count" ]; do
        block=$tmp/blocks/$n
        read -r line words <"$block.info"
        set -f
        # shellcheck disable=SC2086 # several words
        check_block $words
        set +f
        n=$((n + 1))
    done
    echo "$page: $count blocks"
done
[ $failures -eq 0 ]
