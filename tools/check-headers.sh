#!/bin/sh
# check-headers.sh [INCLUDE]: every INCLUDE/lazuli/*.h compiles alone and twice, as C17 and as
# C++17, with gcc and clang and all their warnings.
set -eu

include=${1:-$(dirname "$0")/../include}
status=0

# compiles HEADER LANGUAGE STANDARD COMPILER
compiles() {
    printf '#include <lazuli/%s>\n#include <lazuli/%s>\nint user;\n' "$1" "$1" |
        "$4" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include" -
}

for path in "$include"/lazuli/*.h; do
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
