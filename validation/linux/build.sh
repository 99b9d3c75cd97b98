#!/bin/bash
# Builds what run.py boots: out/linux/VERSION/linux, a User-Mode Linux kernel with simulated time from the
# newest Debian source package that apt can reach, out/linux/load and out/linux/wait.so. usage: build.sh [PACKAGE]. Nothing outside out/linux is changed.
# The first build takes 170 MB of download, 3 GB of disk and six minutes of one processor.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../out/linux
mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
out=$(cd "$out" && pwd)

# The suite is read by an apt of its own, from the mirror that this machine has Debian from.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$' || true)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
own=(-o "Dir::Etc::SourceList=$out/apt/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$out/apt/lists" -o "Dir::Cache=$out/apt/cache")
echo "deb [signed-by=$keys] ${mirror:?apt has no Debian mirror} trixie-backports main" >"$out/apt/sources.list"
if ! apt-get "${own[@]}" update -qq; then
    echo "trixie-backports cannot be reached; the newest of the suites that apt has" >&2
    own=()
fi
package=${1:-$(apt-cache "${own[@]}" search --names-only '^linux-source-[0-9]' | cut -d ' ' -f 1 | sort -V | tail -n 1)}
version=$(apt-cache "${own[@]}" show "${package:?no linux-source package}" | sed -n 's/^Version: //p' | head -n 1)
echo "$package $version"

gcc -O2 -Wall -Wextra -static -o "$out/load" "$here/load.c"
gcc -O2 -Wall -Wextra -shared -fPIC -o "$out/wait.so" "$here/wait.c"
target=$out/${version%%[-~+]*}
echo "$package $version" >"$out/package"
ln -sfn "$target" "$out/kernel"
[ -x "$target/linux" ] && exit

(cd "$out" && apt-get "${own[@]}" download -qq "$package=$version" && mv "${package}"_*.deb source.deb)
rm -rf "$out/unpacked" "$target"
mkdir -p "$out/unpacked" "$target/source" "$target/build"
dpkg-deb -x "$out/source.deb" "$out/unpacked"
tar -xf "$out/unpacked/usr/src/$package.tar.xz" -C "$target/source" --strip-components=1
rm -rf "$out/unpacked" "$out/source.deb"
# User-Mode Linux ticks 100 times a second. Debian's kernels have 250, and TCP's timers go by ticks.
sed -i '/^config HZ$/,/default/s/default 100/default 250/' "$target/source/arch/um/Kconfig"
make=(make -s -C "$target/source" ARCH=um "O=$target/build")
"${make[@]}" "KCONFIG_ALLCONFIG=$here/kernel.config" allnoconfig >/dev/null
for wanted in $(grep -o '^CONFIG_[A-Z0-9_]*=y' "$here/kernel.config"); do
    grep -qx "$wanted" "$target/build/.config" || { echo "this kernel has no ${wanted%=y}" >&2; exit 1; }
done
nice -n 5 "${make[@]}" "-j$(nproc)" linux
mv "$target/build/linux" "$target/linux"
rm -rf "$target/build" "$target/source"
