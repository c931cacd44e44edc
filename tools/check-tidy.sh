#!/bin/sh
# clang-tidy over our files in build/compile_commands.json, two at a time. A file that was clean is not looked at again
# until its command, something it includes, the settings or clang-tidy changes: build/tidy/FILE.ok lists their sums.
set -eu
cd "$(dirname "$0")/.."
stamps=build/tidy
mkdir -p "$stamps"

prelude=test/lint/analyzer.h

one() { # FILE STAMP
    file=$1
    stamp=$2
    set -- -UNDEBUG -Wno-unknown-warning-option # assertions are facts that the analyzer may use
    # Its search ends at a tenth of the usual number of states, in a fifth of the time: nearly all of lint goes into it.
    set -- "$@" -Xclang -analyzer-config -Xclang max-nodes=20000
    [ ! -e $prelude ] || [ "$file" = src/base/err.c ] || set -- "$@" -include "$PWD/$prelude"
    for flag in "$@"; do
        set -- "$@" "--extra-arg=$flag"
        shift
    done
    case $file in # what the analyzer would find there, and nearly all of the time goes to it, ASan and UBSan see
    test/* | */test/*) set -- "$@" --checks=-clang-analyzer-* ;;
    esac
    if clang-tidy --quiet -p build "$@" "$file" >"$stamp.log" 2>&1; then
        mv "$stamp.new" "$stamp.ok"
    else
        grep -v ' warnings\{0,1\} generated' "$stamp.log"
        return 1
    fi
}

if [ "${1:-}" = --one ]; then
    one "$2" "$3"
    exit
fi

# "source dependency" pairs, relative to the root: each of our sources with itself, and with what ninja saw it include.
pairs() {
    {
        sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/:\n    \1/p' build/compile_commands.json
        ninja -C build -t deps
    } | awk -v root="$PWD/" '
        /^[^ ]/ { source = ""; next }
        NF == 0 { next }
        { path = substr($0, 5) }
        path !~ /^\// { path = root "build/" path }
        index(path, root "build/../") == 1 { path = root substr(path, length(root) + 10) } # a compiler cache says it so
        index(path, root) != 1 { next }
        { path = substr(path, length(root) + 1) }
        source == "" { source = path }
        source ~ /\.c$/ && source !~ /^build\// { print source "\t" path }' | sort -u
}

settings() {
    clang-tidy --version
    tools/sources.sh . '*.clang-tidy' '*check-tidy.sh' $prelude | tr '\n' '\0' | xargs -0 cat
}

if [ ! -e build/compile_commands.json ]; then
    echo "nothing has been built: run make first"
    exit 1
fi
pairs >"$stamps/pairs"
cut -f2 "$stamps/pairs" | sort -u | tr '\n' '\0' | xargs -0 sha256sum >"$stamps/sums" 2>/dev/null ||
    true # ninja remembers headers that are gone

# Writes STAMP.new for each source, and prints source and stamp.
awk -F '\t' -v settings="$(settings | sha256sum)" -v stamps="$stamps" -v root="$PWD/" '
    FILENAME ~ /sums$/ { sum[substr($0, 67)] = substr($0, 1, 64); next }
    FILENAME ~ /json$/ && /^ *"command":/ { command = $0; next }
    FILENAME ~ /json$/ {
        if (/^ *"file":/) {
            gsub(/^ *"file": "|",?$/, "")
            command_of[substr($0, length(root) + 1)] = command
        }
        next
    }
    { need[$1] = need[$1] sum[$2] " " $2 "\n" }
    END {
        for (source in need) {
            stamp = source
            gsub(/\//, "-", stamp)
            stamp = stamps "/" stamp
            print settings "\n" command_of[source] "\n" need[source] >(stamp ".new")
            close(stamp ".new")
            print source "\n" stamp
        }
    }' "$stamps/sums" build/compile_commands.json "$stamps/pairs" >"$stamps/all"

while IFS= read -r source && IFS= read -r stamp; do
    cmp -s "$stamp.new" "$stamp.ok" || printf '%s\0%s\0' "$source" "$stamp"
done <"$stamps/all" | xargs -0 -r -n2 -P2 tools/check-tidy.sh --one
