#!/bin/sh
# clang-tidy skips what was clean, and looks again when a header or the settings change.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
cp -r "$root/tools" "$tree/tools"
check="$tree/tools/check-tidy.sh"

printf '%s\n' "Checks: '-*,misc-redundant-expression'" "WarningsAsErrors: '*'" "HeaderFilterRegex: '.*'" |
    write .clang-tidy
echo '#include "a.h"' | write src/a.c
echo 'static inline int same(int x) { return x == 1; }' | write src/a.h
echo 'int b;' | write src/b.c
write build/build.ninja <<END
rule cc
  command = cc -MD -MF \$out.d -c \$in -o \$out
  deps = gcc
  depfile = \$out.d
build a.o: cc $tree/src/a.c
build b.o: cc $tree/src/b.c
END
write build/compile_commands.json <<END
[
{
  "directory": "$tree/build",
  "command": "cc -c $tree/src/a.c",
  "file": "$tree/src/a.c"
},
{
  "directory": "$tree/build",
  "command": "cc -c $tree/src/b.c",
  "file": "$tree/src/b.c"
}
]
END

build() {
    ninja -C "$tree/build" >/dev/null
}

build
passes "$check"
rm "$tree"/build/tidy/*.log
passes "$check"
[ ! -e "$tree/build/tidy/src-a.c.log" ] || die "a clean file was looked at again"

sed -i 's/x == 1/x == x/' "$tree/src/a.h"
build
fails 'a.h:1:' "$check"
fails 'a.h:1:' "$check"
[ ! -e "$tree/build/tidy/src-b.c.log" ] || die "a file that does not include a.h was looked at again"

sed -i 's/x == x/x == 2/' "$tree/src/a.h"
build
passes "$check"
echo '# changed' >>"$tree/.clang-tidy"
passes "$check"
[ -e "$tree/build/tidy/src-b.c.log" ] || die "new settings, and nothing was looked at again"
