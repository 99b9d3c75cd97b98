#!/bin/sh
# Builds the Debian package of a tidegate that is built already: build.sh BINARY FOLDER. Prints the package's path.
#
# By dpkg-deb alone, which every Debian has: no other tool is to be compiled before. The same input gives the same bytes.
set -eu
binary=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
version=$("$binary" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022
chmod 755 "$stage"

# Of the last change, so that the package does not depend on when it is built.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

root=$stage/root
doc=$root/usr/share/doc/tidegate
"$here/../stage.sh" "$binary" "$root"
install -D -m 644 "$here/../tidegate.service" "$root/usr/lib/systemd/system/tidegate.service"
install -D -m 644 "$here/../gate.toml" "$root/etc/tidegate/gate.toml"

mkdir -p "$doc"
{
	sed '/@MIT@/,$d' "$here/copyright"
	sed -n '5,$p' "$source/LICENSE-MIT" | sed 's/^$/./; s/^/ /'
} > "$doc/copyright"
install -m 644 "$source/README.md" "$source/LIMITATIONS.md" "$doc/"
(cd "$source" && find docs -name "*.md" -o -name "*.png" | sort) | while read -r page; do
	install -D -m 644 "$source/$page" "$doc/$page"
done
install -m 644 "$source/crates/tidegate-gateway/dashboard/tidegate.json" "$doc/grafana-dashboard.json"
install -m 644 "$here/../tidegate.rules.yml" "$doc/tidegate.rules.yml"
gzip -9nc "$source/CHANGELOG.md" > "$doc/changelog.gz"
printf 'tidegate (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- The Tidegate authors <tidegate@example.invalid>  %s\n' \
	"$version" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9nc > "$doc/changelog.Debian.gz"

mkdir "$root/DEBIAN"
for script in postinst prerm postrm; do
	install -m 755 "$here/$script" "$root/DEBIAN/$script"
done
echo /etc/tidegate/gate.toml > "$root/DEBIAN/conffiles"
# What the binary is linked with, if the tool is there that knows in which versions.
mkdir -p "$stage/debian"
: > "$stage/debian/control"
depends=$(cd "$stage" && dpkg-shlibdeps -O -e "$root/usr/bin/tidegate" 2>/dev/null | sed -n 's/^shlibs:Depends=//p') || true
size=$(du -sk --exclude=DEBIAN "$root" | cut -f 1)
sed -e "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/; s#@DEPENDS@#${depends:-libc6, libgcc-s1}#" \
	"$here/control" > "$root/DEBIAN/control"
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) > "$root/DEBIAN/md5sums"
chmod 644 "$root/DEBIAN/control" "$root/DEBIAN/conffiles" "$root/DEBIAN/md5sums"

mkdir -p "$folder"
package=$folder/tidegate_${version}_$architecture.deb
dpkg-deb --root-owner-group -Z"${COMPRESSION:-xz}" --build "$root" "$package" >&2
echo "$package"
