#!/bin/sh
# needed.sh FILE...: each library or command needs the C library, libm and zlib at run time, and nothing else.
set -eu

if [ -n "${LZ_SANITIZE:-}" ]; then
    echo "skipped: a build with -fsanitize=$LZ_SANITIZE needs the sanitizers' libraries too"
    exit 77
fi

for file in "$@"; do
    table=$(LC_ALL=C readelf -d "$file")
    others=$(printf '%s\n' "$table" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' |
        grep -vx -e 'libc\.so\.6' -e 'libm\.so\.6' -e 'libz\.so\.1' -e 'ld-linux.*' | paste -sd ' ')
    if [ -n "$others" ]; then
        echo "needed: $file also needs: $others" >&2
        exit 1
    fi
done
