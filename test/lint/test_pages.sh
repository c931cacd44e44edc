#!/bin/sh
# Usage: test_pages.sh REPOSITORY
# test/system/pages.sh on pages with planted faults: each is named with its line. (Programs that work are the pages'.)
set -eu
repo=$(cd "$1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fence='```'

# refuse WORDS PAGE: the page fails, and WORDS stand in what is said.
refuse() {
    printf '%b' "$2" >"$dir/page.md"
    if said=$(LZ_SANITIZE='' "$repo/test/system/pages.sh" "$repo/build" "$repo" "$dir/page.md" 2>&1); then
        echo "accepted, instead of '$1': $2"
        failures=$((failures + 1))
    fi
    case $said in
    *"$1"*) ;;
    *)
        echo "said '$said' instead of '$1'"
        failures=$((failures + 1))
        ;;
    esac
}

refuse "page.md:1: a block of the kind ''" "$fence\nlazuli env\n$fence\n"
refuse "page.md:3: a block of the kind 'text'" "a\n\n${fence}text\nwhat is it?\n$fence\n"
refuse "a block of the kind 'sh not run:'" "${fence}sh not run:\nfalse\n$fence\n"
refuse "page.md:1: ends with status 1" "${fence}sh\nfalse\n$fence\n"
refuse "page.md:1: does not compile" "${fence}c\nlz_no_such_call(c);\n$fence\n"
refuse "page.md:1: does not compile" "${fence}c declarations\nint x = y;\n$fence\n"
refuse "shapes cannot be multiplied" "${fence}c\nlz_mm(c, lz_ones(c, LZ_DIMS(2, 3)), lz_ones(c, LZ_DIMS(2, 3)));\n$fence\n"
refuse "page.md:1: ends with status" "${fence}ir\ngraph(%x : Tensor):\n  return (%y)\n$fence\n"
refuse "page.md:4: the block before this one printed" "${fence}sh\necho one\n$fence\n${fence}text output\ntwo\n$fence\n"
refuse "ops/tags.yaml does not have these lines" "${fence}yaml from ops/tags.yaml\nno such line\n$fence\n"
refuse "there is no file ops/nothing.yaml" "${fence}yaml from ops/nothing.yaml\nx\n$fence\n"
refuse "line 3: code stands between fences" "a\n\n    lazuli env\n"
refuse "line 2: a fence stands at the beginning" "- a\n  ${fence}sh\n  true\n  $fence\n"
refuse "has no end" "${fence}sh\ntrue\n"
refuse "stands directly before its block" "<!-- setup\ntrue\n-->\nwords\n"
[ $failures = 0 ]
