#!/bin/sh
# needed.sh LIBRARY: it needs the C library, libm and zlib, and nothing else.
set -eu

if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: a build with -fsanitize=$LZ_SANITIZE needs the sanitizers' libraries too"
    exit 77
fi

table=$(LC_ALL=C readelf -d "$1")
others=$(printf '%s\n' "$table" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
    grep -vx -e 'libc\.so\.6' -e 'libm\.so\.6' -e 'libz\.so\.1' -e 'ld-linux.*' | paste -sd ' ')
if [ -n "$others" ]; then
    echo "needed: $1 also needs: $others" >&2
    exit 1
fi
