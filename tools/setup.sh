#!/bin/sh
# Installs what the build, the tests and lint need on Debian 12. Fast when nothing is missing.
set -eu

packages="python3 gcc g++ clang-14 clang libclang-rt-14-dev cmake ninja-build pkg-config binutils
zlib1g-dev libxxhash-dev libyaml-dev libcmocka-dev
libllvm19 libdnnl2 libopenblas0-pthread
clang-format-14 clang-format clang-tidy-14 clang-tidy cppcheck shellcheck"

installed() {
    dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

missing=
for p in $packages; do
    installed "$p" || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "Packages are missing. As root, run this line and try again:" >&2
    echo "    apt-get update && $line" >&2
    exit 1
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$as_root apt-get update -q >/dev/null && $as_root $line >/dev/null
