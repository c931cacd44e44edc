#!/bin/sh
# check-headers.sh [INCLUDE...]: every INCLUDE/lazuli/*.h compiles alone and twice, as C17 and as
# C++17, with gcc and clang and all their warnings. By default ours and those that are made.
set -eu

root=$(dirname "$0")/..
[ $# -gt 0 ] || set -- "$root/include" "$root/build/gen/include"
folders=
for folder in "$@"; do
    folders="$folders -I$folder"
done
status=0

# compiles HEADER LANGUAGE STANDARD COMPILER
compiles() {
    # shellcheck disable=SC2086 # a list of options
    printf '#include <lazuli/%s>\n#include <lazuli/%s>\nint user;\n' "$1" "$1" |
        "$4" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only $folders -
}

for path in $(for folder in "$@"; do ls "$folder"/lazuli/*.h; done); do
    h=$(basename "$path")
    while read -r language standard compiler; do
        if ! compiles "$h" "$language" "$standard" "$compiler"; then
            echo "check-headers: $h is no $standard for $compiler" >&2
            status=1
        fi
    done <<END
c c17 gcc
c c17 clang
c++ c++17 g++
c++ c++17 clang++
END
done
exit $status
