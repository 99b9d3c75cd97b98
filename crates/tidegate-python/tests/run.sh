#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh environment and runs its tests. Arguments go to pytest,
# but --tools alone makes what builds, and --install goes as far as the fresh environment.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$root/target/python
tools=$work/tools
fresh=$work/fresh

# The tests' packages are kept as long as their list is the same.
install_tools() {
  cmp -s "$here/requirements.txt" "$work/installed" && [ -x "$tools/bin/maturin" ] && return
  rm -rf "$tools" "$work/installed"
  mkdir -p "$work"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$work/installed"
}

# A new environment, which sees the tests' packages behind its own.
install_wheel() {
  rm -rf "$fresh"
  python3 -m venv --without-pip "$fresh"
  packages=$("$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  own=$("$fresh/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$packages" > "$own/tests.pth"
  "$tools/bin/pip" --python "$fresh/bin/python" install --quiet --disable-pip-version-check \
    --no-deps --no-index "$1"
}

install_tools
if [ "${1-}" = --tools ]; then exit; fi
cd "$root"
# In the profile of the other tests, whose work it shares. The command's figures are compared with.
cargo build --locked --quiet -p tidegate-cli
rm -rf "$work/wheels"
"$tools/bin/maturin" build --quiet --locked --profile dev --out "$work/wheels" \
  --manifest-path crates/tidegate-python/Cargo.toml
install_wheel "$work"/wheels/tidegate-*.whl
if [ "${1-}" = --install ]; then exit; fi
cd "$here/.."
# Against the stubs: what the Rust below wants is called with that.
"$fresh/bin/python" -m mypy --no-incremental --check-untyped-defs --ignore-missing-imports python/tidegate
"$fresh/bin/python" -m pytest -q -p no:cacheprovider "$@"
