#!/usr/bin/env bash
# Takes a snapshot of the advisory database at $1 (an address or a clone) and says beside it which.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
from=${1:?the address of the database, or a clone of it}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A clone that is there may have local changes: what counts is what was committed.
git clone --quiet --bare --depth 1 "$([ -d "$from" ] && echo "file://$(realpath "$from")" || echo "$from")" "$work/db"
export GIT_DIR=$work/db
commit=$(git rev-parse HEAD)
day=$(git log -1 --format=%cI)
git archive --format=tar --prefix=advisory-db/ HEAD crates rust LICENSE.txt LICENSES > "$work/advisories.tar"
xz -9e "$work/advisories.tar"
count=$(git ls-tree -r --name-only HEAD crates | wc -l)

mv "$work/advisories.tar.xz" "$here/advisories.tar.xz"
cat > "$here/advisories.txt" <<TEXT
database RustSec advisory-db, https://github.com/RustSec/advisory-db
commit $commit
date $day
advisories $count
licence CC0-1.0, and CC-BY-4.0 where an advisory says so
TEXT
cat "$here/advisories.txt"
