#!/bin/sh
# headers.sh INCLUDE...: every public header compiles alone, as C and as C++.
exec "$(dirname "$0")/../../tools/check-headers.sh" "$@"
