#!/bin/sh
# Lays out what every package of a tidegate that is built already has in common: stage.sh BINARY ROOT.
#
# The command, its manual pages and its completions, below ROOT/usr.
set -eu
binary=$1 root=$2
install -D -m 755 "$binary" "$root/usr/bin/tidegate"
strip --strip-unneeded "$root/usr/bin/tidegate"
mkdir -p "$root/usr/share/man"
"$binary" man --out "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*
complete() { # SHELL FILE
	mkdir -p "$(dirname "$root/$2")"
	"$binary" completions "$1" > "$root/$2"
}
complete bash usr/share/bash-completion/completions/tidegate
complete zsh usr/share/zsh/vendor-completions/_tidegate
complete fish usr/share/fish/vendor_completions.d/tidegate.fish
