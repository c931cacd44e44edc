#!/bin/sh
# Checks docs/seed-map.md against test/data/seed-names.txt and the tree. Every name has one row; a row says "not yet",
# or names a file that exists, symbols that occur in it, a caller outside test/ that uses the first of them, and a test
# that exists. A caller is a file and functions or tables in it whose text has a symbol of the row; of a page or a build
# file the file alone. "not yet: WHAT" instead of a caller says what the row waits for. In docs/seed-audit.md, where there
# is one, every row says mended, gone or waits; what is mended names a test that exists.
#     tools/check-seed-map.sh [ROOT]
set -eu
cd "${1:-.}"

# Tests that CMake names one by one.
CMAKE_TESTS=" $(cat test/CMakeLists.txt test/*.cmake 2>/dev/null | sed -n 's/.*NAME \([^ )]*\).*/\1/p' | tr '\n' ' ')"
export CMAKE_TESTS

audit=docs/seed-audit.md
[ -f "$audit" ] || audit=
# shellcheck disable=SC2086 # no page, no word
awk -v map=docs/seed-map.md -v audit=docs/seed-audit.md -v list=test/data/seed-names.txt '
function fail(text) {
    print FILENAME ":" FNR ": " text
    bad = 1
}

function is_file(path,   line, ok) {
    ok = (getline line < path) >= 0
    close(path)
    return ok
}

# The file as one text, every word between two blanks.
function words(path,   line, text) {
    if (!(path in text_of)) {
        while ((getline line < path) > 0)
            text = text " " line
        close(path)
        gsub(/[^A-Za-z0-9_]+/, " ", text)
        text_of[path] = text " "
    }
    return text_of[path]
}

# A test has the name that ctest gives it, or is a file. Files are asked last: a test may be called like a folder, and
# awk ends when it reads a folder.
function is_test(name,   dir, base) {
    dir = base = name
    sub(/[^\/]*$/, "", dir)
    sub(/^.*\//, "", base)
    return is_file("test/unit/" dir "test_" base ".c") || is_file("test/" dir "test_" base ".sh") \
        || is_file("test/" dir base ".sh") || (dir == "pages/" && is_file("docs/" base ".md")) \
        || index(ENVIRON["CMAKE_TESTS"], " " name " ") || is_file(name)
}

# The text of a function or table of a file, every word between two blanks: from the line that begins with it to
# the next that begins with a brace. "" if the file does not define it.
function body(path, name,   line, text, on, open) {
    while ((getline line < path) > 0) {
        if (!on && line ~ ("^[A-Za-z_].*[^A-Za-z0-9_]" name "[^A-Za-z0-9_]") && (line !~ /;$/ || line ~ / = \{/)) {
            on = 1
            text = ""
        }
        if (!on)
            continue
        text = text " " line
        open = open || line ~ /\{/
        if (line ~ /^\}/ || (open && line ~ /^[A-Za-z_].*;$/))
            break
        if (!open && line ~ /;$/)
            on = 0 # a declaration
    }
    close(path)
    gsub(/[^A-Za-z0-9_]+/, " ", text)
    return on ? text " " : ""
}

# Which symbol of the row a text has: the number of the first, or 0.
function symbol_in(text,   i) {
    for (i = 1; i <= nsymbols; i++)
        if (index(text, " " symbols[i] " "))
            return i
    return 0
}

function elsewhere(symbol,   command, found, line) {
    command = "grep -rlw --include=*.c " symbol " src gen cli examples 2>/dev/null | sort | head -n 4"
    while ((command | getline line) > 0)
        found = found " " line
    close(command)
    return found == "" ? "" : "; it is used in" found
}

function check_caller(file, name,   text, at) {
    text = name == "" ? words(file) : body(file, name)
    if (text == "")
        fail("no " name " in " file)
    else if (nsymbols > 0) {
        at = symbol_in(text)
        if (at == 0)
            fail(file (name == "" ? "" : " " name) " does not use " symbols[1] elsewhere(symbols[1]))
        first_is_called = first_is_called || index(text, " " symbols[1] " ")
    }
}

function check_callers(cell,   n, part, i, file) {
    if (cell ~ /^not yet: [^ ]/)
        return
    n = split(cell, part, "`")
    first_is_called = 0
    for (i = 2; i <= n; i += 2) {
        if (part[i] !~ /\// && part[i] !~ /\.(txt|md)$/) {
            if (file == "")
                fail("caller " part[i] " without a file before it")
            else
                check_caller(file, part[i])
            continue
        }
        file = part[i]
        if (file ~ /^test\//)
            fail(file " is a test, not a caller")
        if (!is_file(file))
            fail("no file " file)
        else if (file !~ /\.c$/)
            check_caller(file, "")
    }
    if (file == "")
        fail("no caller: nothing outside test/ is named that uses " symbols[1] elsewhere(symbols[1]))
    else if (nsymbols > 0 && !first_is_called)
        fail("no caller of " symbols[1] elsewhere(symbols[1]))
}

function check_place(cell,   n, part, i, file, first) {
    nsymbols = 0
    n = split(cell, part, "`")
    for (i = 2; i <= n; i += 2) {
        if (part[i] ~ /\//) {
            file = part[i]
            first = first == "" ? file : first
            if (!is_file(file))
                fail("no file " file)
        } else if (file == "")
            fail(part[i] " without a file before it")
        else if (index(words(file), " " part[i] " ") == 0)
            fail("no " part[i] " in " file)
        else if (file == first)
            symbols[++nsymbols] = part[i]
    }
    if (file == "")
        fail("neither a file nor \"not yet\"")
}

function check_tests(cell,   n, part, i) {
    n = split(cell, part, "`")
    if (n < 2)
        fail("no test")
    for (i = 2; i <= n; i += 2)
        if (!is_test(part[i]))
            fail("no test " part[i])
}

FILENAME == list {
    if ($0 != "" && $0 !~ /^#/)
        listed[$0] = 1
    next
}

FILENAME == audit {
    if ($0 !~ /^\| / || /^\| Statement/)
        next
    split($0, cell, / *\| */)
    if (cell[4] !~ /^(mended|gone|\*\*waits?\*\*)/)
        fail("neither mended, gone nor **waits**")
    if (cell[4] ~ /^mended/ || cell[5] != "")
        check_tests(cell[5])
    next
}

/^\| `/ {
    split($0, cell, / *\| */)
    name = cell[2]
    gsub(/`/, "", name)
    if (name in row)
        fail("a second row for " name)
    if (!(name in listed))
        fail(name " is not in " list)
    row[name] = 1
    if (cell[4] !~ /^not yet/) {
        check_place(cell[4])
        check_callers(cell[5])
        check_tests(cell[6])
    }
}

END {
    for (name in listed)
        if (!(name in row)) {
            print map ": no row for " name
            bad = 1
        }
    exit bad
}' test/data/seed-names.txt docs/seed-map.md $audit
