# shellcheck shell=sh disable=SC2034
# Sourced by the tests of the checks: `root` is the project, `tree` an empty folder that goes away at the end.
set -eu
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

die() {
    echo "$*" >&2
    exit 1
}

# write PATH, the text on standard input
write() {
    mkdir -p "$tree/$(dirname "$1")"
    cat >"$tree/$1"
}

passes() { # COMMAND...
    said=$("$@" 2>&1) || die "should pass: $*
$said"
}

fails() { # TEXT COMMAND...: fails and says TEXT
    text=$1
    shift
    if said=$("$@" 2>&1); then
        die "should fail: $*"
    fi
    case $said in
    *"$text"*) ;;
    *) die "should say '$text': $*
$said" ;;
    esac
}
