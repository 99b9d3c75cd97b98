#!/usr/bin/env bash
# The crates that are published, as a stranger gets them: packed as `cargo publish` packs them, their
# documentation without warnings. Then the test of docs/embed/own-stack.md in a crate of its own that
# depends on what was packed, and so builds it. Asks no host but for crates that Cargo.lock names and
# that are not here yet.
set -euo pipefail
cd "$(dirname "$0")/.."
names=(tidegate tidegate-packet tidegate-sim)
crates=("${names[@]/#/-p}")

cargo fetch --quiet --locked
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --offline --locked "${crates[@]}"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# A crate packed earlier has the same name and version. `cargo publish --dry-run`, which builds packed crates, would take
# its unpacked source for this one's. A folder of sources that begins with "-" is of a registry without a host.
rm -rf target/packed "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/tidegate{,-packet,-sim}-"$version"
# Of tests and benches, which are not packed, it warns; what counts are errors.
cargo package --no-verify --quiet --offline --locked --allow-dirty --target-dir target/packed "${crates[@]}" \
  2> >(grep -v '^warning: ignoring ' >&2)
for name in "${names[@]}"; do tar -xzf "target/packed/package/$name-$version.crate" -C target/packed/package; done

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
MANIFEST
for name in "${names[@]}"; do echo "$name = \"$version\""; done >>"$user/Cargo.toml"
# They are not in the registry yet.
for name in "${names[@]}"; do
  printf '[patch.crates-io.%s]\npath = "../%s-%s"\n' "$name" "$name" "$version"
done >>"$user/Cargo.toml"
cp crates/tidegate/tests/support/my_stack.rs "$user/tests/own_stack/"
{
  printf 'mod my_stack;\n'
  sed -n '/^```rust$/,/^```$/p' docs/embed/own-stack.md | grep -v '^```'
} >"$user/tests/own_stack/main.rs"
cargo test --quiet --offline --manifest-path "$user/Cargo.toml" --target-dir target/packed/user-target
