#!/usr/bin/env bash
# The C library as a compiler finds it: packaging/c.sh BUILT OUT. BUILT is where cargo left the libraries, as in
# target/release. OUT receives include, lib and lib/pkgconfig.
set -euo pipefail
built=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
mkdir -p "$2/include" "$2/lib/pkgconfig"
out=$(cd "$2" && pwd)
install -m 644 crates/tidegate-c/include/tidegate.h "$out/include"
install -m 644 "$built/libtidegate_c.a" "$out/lib"
install -m 755 "$built/libtidegate_c.so" "$out/lib"
cat >"$out/lib/pkgconfig/tidegate.pc" <<PC
prefix=\${pcfiledir}/../..
Name: tidegate
Description: Queues that keep fair shares, and bottlenecks to test transports with
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -ltidegate_c
Libs.private: -lpthread -lm -ldl
PC
