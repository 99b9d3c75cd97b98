#!/bin/bash
# Puts the newest `tc` of Debian with its libraries into out/linux/tc and starts it by out/linux/tc/tc, for lines.py:
# the queues of a new kernel are unknown to an older one. usage: tc.sh. Nothing outside out/linux is changed; 9 MB of download.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../out/linux/tc
[ -x "$out/tc" ] && exit
rm -rf "$out"
mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial" "$out/root"
out=$(cd "$out" && pwd)

# An apt of its own, for which nothing is installed yet: so it fetches all that `tc` needs.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$' || true)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
own=(-o "Dir::Etc::SourceList=$out/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::status=/dev/null
     -o "Dir::State::Lists=$out/apt/lists" -o "Dir::Cache=$out/apt/cache" -o APT::Sandbox::User=root)
echo "deb [signed-by=$keys] ${mirror:?apt has no Debian mirror} sid main" >"$out/apt/sources.list"
if apt-get "${own[@]}" update -qq && apt-get "${own[@]}" install -y -qq --no-install-recommends --download-only iproute2; then
    for package in "$out"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$out/root"; done
    loader=$(echo "$out"/root/usr/lib*/ld-linux-*)
    printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' "$loader" "$(dirname "$(find "$out/root" -name libmnl.so.0)")" \
        "$out/root/usr/sbin/tc" >"$out/new"
else
    echo "Debian's newest tc cannot be reached; this machine's own" >&2
    printf '#!/bin/sh\nexec %q "$@"\n' "$(command -v tc)" >"$out/new"
fi
rm -rf "$out/apt"
chmod +x "$out/new"
"$out/new" -V
mv "$out/new" "$out/tc"
