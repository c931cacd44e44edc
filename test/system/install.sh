#!/bin/sh
# install.sh BUILD VERSION: installs BUILD, moves it elsewhere, and builds installed_program.c with it,
# once through pkg-config and once through find_package.
set -eu

build=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags=${LZ_SANITIZE:+-fsanitize=$LZ_SANITIZE}

fail() {
    echo "install: $*" >&2
    exit 1
}

# says PROGRAM...: it runs and prints the version
says() {
    got=$("$@") || fail "$* ends with status $?"
    [ "$got" = "$version" ] || fail "$* prints '$got', not '$version'"
}

DESTDIR=$tmp/stage cmake --install "$build" --prefix /opt/lazuli >"$tmp/log" || fail "cmake --install fails"
[ "$(find "$tmp/stage" -type f | grep -vc "^$tmp/stage/opt/lazuli/")" = 0 ] || fail "files outside DESTDIR/prefix"
mv "$tmp/stage/opt/lazuli" "$tmp/moved here"
mkdir "$tmp/stage/opt/lazuli" # a path that still leads here finds nothing
prefix="$tmp/moved here"

pc=$(find "$prefix" -name lazuli.pc)
[ -n "$pc" ] || fail "no lazuli.pc"
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig"
for h in "$here"/../../include/lazuli/*.h; do
    cmp -s "$h" "$prefix/include/lazuli/$(basename "$h")" || fail "$(basename "$h") is not installed"
done

says pkg-config --modversion lazuli
eval "\"\${CC:-cc}\" -std=c17 -Wall -Wextra -Werror $flags \"\$here/installed_program.c\" -o \"\$tmp/installed_program\" $(pkg-config --cflags --libs lazuli)" ||
    fail "installed_program.c does not build with pkg-config"
says env LD_LIBRARY_PATH="$libdir" "$tmp/installed_program"

root=$here/../..
eval "\"\${CC:-cc}\" -std=c17 -Wall -Wextra -Werror $flags \"\$root/examples/operators.c\" -o \"\$tmp/operators\" $(pkg-config --cflags --libs lazuli-gen)" ||
    fail "operators.c does not build with pkg-config"
"$tmp/operators" "$root/test/gen/ops.yaml" "$root/test/gen/tags.yaml" add.Tensor | cmp - "$root/test/examples/operators.txt" ||
    fail "operators prints something else"

{ cmake -S "$here" -B "$tmp/build" -G Ninja -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$version" && cmake --build "$tmp/build"; } >"$tmp/log" 2>&1 || {
    cat "$tmp/log"
    fail "installed_program.c does not build with find_package"
}
says "$tmp/build/installed_program"

got=$("$prefix/bin/lazuli" --version) || fail "the command ends with status $?"
case $got in
*"$version"*) ;;
*) fail "the command prints '$got', without '$version'" ;;
esac
