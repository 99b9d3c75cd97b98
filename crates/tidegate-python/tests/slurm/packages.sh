#!/usr/bin/env bash
# Puts Debian's Slurm into the directory $1. It is unpacked and not installed: a package of Debian's
# would begin a service, and leave a user and configuration behind.
set -euo pipefail
mkdir -p "$1/packages"
root=$(cd "$1" && pwd)
if [ -e "$root/whole" ]; then exit; fi
sudo=$([ "$(id -u)" = 0 ] || echo sudo)
$sudo apt-get update -qq
# What an installation would bring, apart from what is there.
packages=$(apt-get install --simulate --no-install-recommends slurmctld slurmd slurm-client munge |
  awk '/^Inst/ { print $2 }')
cd "$root/packages"
# shellcheck disable=SC2086
apt-get download -qq $packages 2> /dev/null
for package in *.deb; do dpkg-deb -x "$package" "$root"; done
touch "$root/whole"
