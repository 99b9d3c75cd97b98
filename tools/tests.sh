#!/usr/bin/env bash
# Every test. Most of Rust's wait for clocks and links, so the packages and Python's tests run beside them; what those say
# is shown at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked --no-run
# What the latter build, so that nothing that a test runs is built anew meanwhile.
cargo build --locked --quiet -p tidegate-cli
mkdir -p target
log=target/beside.log
# A process group of its own, so that all of it can be ended.
setsid bash -c 'tools/package.sh && crates/tidegate-python/tests/run.sh' >"$log" 2>&1 &
beside=$!
trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
rust=0
cargo test --workspace --locked || rust=$?
others=0
wait "$beside" || others=$?
trap - EXIT
printf '\nPackages, then Python:\n'
cat "$log"
[ "$rust" = 0 ] || { echo "Rust's tests failed; see above." >&2; exit "$rust"; }
[ "$others" = 0 ] || { echo "The packages or Python's tests failed." >&2; exit "$others"; }
