# Cuts a page into its code blocks. -v out=FOLDER: block N becomes FOLDER/N.info (line, then the words behind ```),
# FOLDER/N.body and FOLDER/N.setup, the lines of an HTML comment <!-- setup ... --> that stands before it. A table with the
# columns PyTorch and C is a block, too: each `code` of the second column is a statement.
function problem(text) {
    print "line " NR ": " text > (out "/problems")
}
function start(words) {
    n++
    printf "%d %s\n", NR, words > (out "/" n ".info")
    close(out "/" n ".info")
    printf "%s", setup > (out "/" n ".setup")
    close(out "/" n ".setup")
    setup = ""
    body = out "/" n ".body"
    printf "" > body
    was_blank = 0
}
in_setup {
    if ($0 ~ /^-->[ \t]*$/) in_setup = 0
    else setup = setup $0 "\n"
    next
}
in_block {
    if ($0 ~ /^```[ \t]*$/) {
        in_block = 0
        close(body)
    } else {
        print > body
    }
    next
}
/^<!-- setup[ \t]*$/ {
    in_setup = 1
    setup = ""
    next
}
in_table && /^\|/ {
    cell = $0
    sub(/^\|[^|]*\|/, "", cell)
    if (cell !~ /^-+\|/) printf "#line %d\n", NR > body
    while (match(cell, /`[^`]*`/)) {
        print substr(cell, RSTART + 1, RLENGTH - 2) ";" > body
        cell = substr(cell, RSTART + RLENGTH)
    }
    next
}
in_table {
    in_table = 0
    close(body)
}
/^```/ {
    in_block = 1
    start(substr($0, 4))
    next
}
/^\| PyTorch \| C \|/ {
    in_table = 1
    start("c")
    next
}
/^[ \t]+```/ { problem("a fence stands at the beginning of its line") }
/^(    |\t)/ && was_blank && !in_list { problem("code stands between fences (```), not behind four blanks") }
/^[^ \t]/ { in_list = /^([-*]|[0-9]+\.) / }
{
    was_blank = /^[ \t]*$/
    if (!was_blank && setup != "") {
        problem("<!-- setup --> stands directly before its block")
        setup = ""
    }
}
END {
    if (in_block || in_setup) problem("a block or a comment has no end")
    print n + 0
}
