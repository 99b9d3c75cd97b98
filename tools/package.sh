#!/usr/bin/env bash
# The crates that are published, as a stranger gets them: packed as `cargo publish` packs them, each built from its
# package, their documentation without warnings. Then the test of docs/embed/own-stack.md in a crate of its own that
# depends on the packed library. Asks no host but for crates that Cargo.lock names and that are not here yet.
set -euo pipefail
cd "$(dirname "$0")/.."
crates=(-p tidegate -p tidegate-packet -p tidegate-sim)

cargo fetch --quiet --locked
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --offline --locked "${crates[@]}"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# A crate packed earlier has the same name and version. Cargo would take its unpacked source, and what it built from it,
# for this one's. So neither may be left. A folder of sources that begins with "-" is of a registry without a host.
rm -rf target/packed "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/tidegate{,-packet,-sim}-"$version"
# Of tests and benches, which are not packed, it warns; what counts are errors.
cargo package --quiet --offline --locked --allow-dirty --target-dir target/packed "${crates[@]}" \
  2> >(grep -v '^warning: ignoring ' >&2)

user=target/packed/package/user
mkdir -p "$user/src" "$user/tests/own_stack"
touch "$user/src/lib.rs"
cat >"$user/Cargo.toml" <<MANIFEST
[workspace]
[package]
name = "user"
version = "0.0.0"
edition = "2021"
[dev-dependencies]
tidegate = { path = "../tidegate-$version" }
MANIFEST
cp crates/tidegate/tests/support/my_stack.rs "$user/tests/own_stack/"
{
  printf 'mod my_stack;\nuse my_stack::Stack;\n'
  sed -n '/^```rust$/,/^```$/p' docs/embed/own-stack.md | grep -v '^```'
} >"$user/tests/own_stack/main.rs"
cargo test --quiet --offline --manifest-path "$user/Cargo.toml" --target-dir target/packed/user-target
