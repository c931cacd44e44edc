#!/bin/sh
# Arrows are read, taken over several steps, and held against every include.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-layers.sh"

arrows() {
    {
        echo '```arrows'
        printf '%s\n' 'include/lazuli -> nothing' 'src/base -> nothing' 'src/core -> src/base' \
            'src/lazy -> src/core' 'src/null -> nothing' 'test -> anything' "$@"
        echo '```'
    } | write docs/architecture.md
}

arrows
echo '#include <stddef.h>' | write include/lazuli/backend.h
echo '#include "base/a.h"' | write src/base/a.c
echo '#include <lazuli/backend.h>' | write src/base/a.h
echo '#include "base/a.h"' | write src/core/sub/c.h
echo '#include "base/a.h"' | write src/lazy/l.c
echo '#include "core/sub/c.h"' | write src/lazy/l.h
echo '#include "lazy/l.h"' | write test/unit/t.c
passes "$check" "$tree"

printf '%s\n' '#include <lazuli/backend.h>' '#include <stddef.h>' '#include "lazy/l.h"' | write src/null/n.c
fails 'src/null/n.c:3: "lazy/l.h": there is no arrow src/null -> src/lazy' "$check" "$tree"
printf '  #  include <lazy/l.h>\n' | write src/null/n.c
fails 'src/null/n.c:1: "lazy/l.h": there is no arrow src/null -> src/lazy' "$check" "$tree"
rm "$tree/src/null/n.c"

echo '#include "base/a.h"' | write include/lazuli/bad.h
fails 'there is no arrow include/lazuli -> src/base' "$check" "$tree"
rm "$tree/include/lazuli/bad.h"

echo '#include "base/gone.h"' | write src/core/d.c
fails 'src/core/d.c:1: "base/gone.h" leads nowhere' "$check" "$tree"
echo '#include <lazuli/gone.h>' | write src/core/d.c
fails 'src/core/d.c:1: "lazuli/gone.h" leads nowhere' "$check" "$tree"
echo '#include "base/made.h"' | write src/core/d.c
echo | write build/gen/base/made.h
passes "$check" "$tree"
echo '#include "lazy/made.h"' | write src/core/d.c
echo | write build/gen/lazy/made.h
fails 'there is no arrow src/core -> src/lazy' "$check" "$tree"
rm "$tree/src/core/d.c"

echo 'int x;' | write src/attic/x.c
fails 'src/attic/x.c: no arrow' "$check" "$tree"
rm "$tree/src/attic/x.c"

# An arrow is needed for the folder it leads to, and for one behind it that no other arrow leads to.
arrows 'src/exec -> src/lazy, src/core' 'src/more -> src/lazy'
echo '#include "core/sub/c.h"' | write src/exec/e.c
echo '#include "core/sub/c.h"' | write src/more/m.c
fails 'no include needs the arrow src/exec -> src/lazy' "$check" "$tree"
case $said in
*src/more*) die "says that src/more has no use for its arrow: $said" ;;
esac
rm -r "$tree/src/exec" "$tree/src/more"

arrows 'src/x -> src/y' 'src/y -> src/x'
fails 'lead from src/x back to it' "$check" "$tree"
arrows 'src/x -> src/y'
fails 'leads to src/y' "$check" "$tree"

passes "$check" "$root"
