#!/bin/sh
# Checks that a reader can tell what a C file is: each .c file has a header of its own, or opens with a comment.
#     tools/check-openings.sh [ROOT]
set -u
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 1

files=$("$tools/sources.sh" . '*.c' | grep -E '^(\./)?(src|gen|cli|bench|fuzz|examples)/')
bad=0
for file in $files; do
    [ ! -f "${file%.c}.h" ] || continue
    case $(head -n 1 "$file") in
    '/*'*) ;;
    *)
        echo "$file: has no header of its own and does not open with a comment that says what it is"
        bad=1
        ;;
    esac
done
exit $bad
