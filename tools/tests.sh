#!/usr/bin/env bash
# Every test. Those of the gateway and the command wait for clocks and links most of the time. So all others, the packages and
# Python's run beside them, whenever a processor has nothing else to do. What those say is shown at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked --no-run
mkdir -p target
log=target/beside.log said=target/tests.log
# By name, since a choice of packages would change which features are compiled.
waiting=() others=()
while read -r kind name; do
  if [ "$kind" = waits ]; then waiting+=(--test "$name"); else others+=(--test "$name"); fi
done < <(tools/targets.py)

# All of it, whatever fails.
beside() {
  local bad=0
  cargo test --workspace --locked --no-fail-fast --lib --bins --examples "${others[@]}" || bad=1
  cargo test --workspace --locked --no-fail-fast --doc || bad=1
  tools/package.sh || bad=1
  crates/tidegate-python/tests/run.sh || bad=1
  return "$bad"
}
# A process group of its own, so that all of it can be ended, in this session, within which what is nice gives way.
set -m
beside >"$log" 2>&1 &
beside=$!
set +m
renice -n 19 -g "$beside" >/dev/null
trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
first=0
cargo test --workspace --locked --no-fail-fast "${waiting[@]}" 2>&1 | tee "$said" || first=$?
second=0
wait "$beside" || second=$?
trap - EXIT
printf '\nBeside them:\n'
cat "$log"
# What needs root, namespaces or a program that is not here says so among a thousand lines.
cat "$said" "$log" | grep '^SKIPPED' | sort | uniq -c || true
[ "$first" = 0 ] || { echo "Tests of the gateway or the command failed; see above." >&2; exit "$first"; }
[ "$second" = 0 ] || { echo "Other tests, the packages or Python's tests failed." >&2; exit "$second"; }
