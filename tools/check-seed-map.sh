#!/bin/sh
# Checks docs/seed-map.md against test/data/seed-names.txt and the tree. Every name has one row; a row says "not yet",
# or names a file that exists, symbols that occur in it, and a test that exists.
#     tools/check-seed-map.sh [ROOT]
set -eu
cd "${1:-.}"

# Tests that CMake names one by one.
CMAKE_TESTS=" $(cat test/CMakeLists.txt test/*.cmake 2>/dev/null | sed -n 's/.*NAME \([^ )]*\).*/\1/p' | tr '\n' ' ')"
export CMAKE_TESTS

awk -v map=docs/seed-map.md -v list=test/data/seed-names.txt '
function fail(text) {
    print map ":" FNR ": " text
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
# awk ends when it is told to read one.
function is_test(name,   dir, base) {
    dir = base = name
    sub(/[^\/]*$/, "", dir)
    sub(/^.*\//, "", base)
    return is_file("test/unit/" dir "test_" base ".c") || is_file("test/" dir "test_" base ".sh") \
        || index(ENVIRON["CMAKE_TESTS"], " " name " ") || is_file(name)
}

function check_place(cell,   n, part, i, file) {
    n = split(cell, part, "`")
    for (i = 2; i <= n; i += 2) {
        if (part[i] ~ /\//) {
            file = part[i]
            if (!is_file(file))
                fail("no file " file)
        } else if (file == "")
            fail(part[i] " without a file before it")
        else if (index(words(file), " " part[i] " ") == 0)
            fail("no " part[i] " in " file)
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
        check_tests(cell[5])
    }
}

END {
    for (name in listed)
        if (!(name in row)) {
            print map ": no row for " name
            bad = 1
        }
    exit bad
}' test/data/seed-names.txt docs/seed-map.md
