#!/bin/sh
# A file without a header of its own opens with a comment.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-openings.sh"

printf '%s\n' '/* What it is. */' 'int x;' | write src/base/one.c
printf '%s\n' 'int y;' | write src/base/two.c
printf '%s\n' 'extern int y;' | write src/base/two.h
printf '%s\n' 'int z;' | write test/unit/base/test_one.c
passes "$check" "$tree"
printf '%s\n' '#include "base/two.h"' '/* Too late. */' | write src/base/three.c
fails 'src/base/three.c: has no header of its own' "$check" "$tree"
