#!/bin/sh
# Packs a static tidegate that is built already: static.sh BINARY FOLDER. Prints the archive's path.
#
# Beside the archive lies what is in it, which is also what a container is made of. The same input gives the same bytes.
set -eu
binary=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/.." && pwd)
if readelf --dynamic "$binary" | grep -q NEEDED; then
	echo "$binary is linked with libraries; it would not run on every machine." >&2
	exit 1
fi
version=$("$binary" --version | cut -d ' ' -f 2)
name=tidegate-$version-$(uname -m)-linux
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct 2>/dev/null || echo 0)}
umask 022
root=$folder/$name
rm -rf "$root"
mkdir -p "$root"
"$here/stage.sh" "$binary" "$root"
install -D -m 644 -t "$root/usr/share/doc/tidegate" \
	"$source/LICENSE-MIT" "$source/LICENSE-APACHE" "$source/README.md" "$source/LIMITATIONS.md" "$source/CHANGELOG.md"
install -m 644 "$here/gate.toml" "$here/tidegate.service" "$root/usr/share/doc/tidegate/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$folder" -c "$name" |
	gzip -9n > "$root.tar.gz"
# What a shell redirects is there even if it is empty, so lengths count.
for file in \
	man/man1/tidegate.1.gz man/man1/tidegate-gate.1.gz \
	bash-completion/completions/tidegate zsh/vendor-completions/_tidegate fish/vendor_completions.d/tidegate.fish; do
	if [ "$(tar -xzOf "$root.tar.gz" "$name/usr/share/$file" | wc -c)" -lt 100 ]; then
		echo "The archive lacks usr/share/$file." >&2
		rm "$root.tar.gz"
		exit 1
	fi
done
echo "$root.tar.gz"
