#!/bin/bash
# Lives with the service under a systemd of its own: try-systemd.sh PACKAGE. Root, by hand; nothing of it stays.
#
# A systemd is begun as the first process of namespaces, on a copy of this machine's files that is thrown away. The package is
# installed there between two interfaces; then the service is started, reloaded, told nonsense, killed, hung, stopped and
# purged, and each time looked at. What the unit forbids is tried from within its sandbox.
set -euo pipefail
package=$(realpath "$1")
scratch=$(mktemp -d /var/tmp/tidegate-try.XXXXXX)
group=/sys/fs/cgroup/unified
[ -d "$group" ] || group=/sys/fs/cgroup
group=$group/tidegate-try-$$
first=
cleanup() {
	[ -z "$first" ] || kill -9 "$first" 2>/dev/null || true
	sleep 1
	umount -l "$scratch/copy" 2>/dev/null || true
	umount -l "$scratch" 2>/dev/null || true
	rmdir "$scratch" || true
	find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
}
trap cleanup EXIT

mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch"/{upper,work,copy}
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/copy"
copy=$scratch/copy
rm -rf "$copy"/etc/systemd/system/*
cp "$package" "$copy/root/tidegate.deb"
cat > "$copy/etc/systemd/system/try.target" <<'UNIT'
[Unit]
Requires=systemd-journald.service
After=systemd-journald.service
UNIT

# The group is to be the root of what the new systemd sees of groups.
mkdir "$group"
(
	echo $BASHPID > "$group/cgroup.procs"
	exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash -euc '
		cd "$1"
		mount --make-rprivate /
		mount -t proc proc proc
		mount -t sysfs sysfs sys
		mount -t cgroup2 cgroup2 sys/fs/cgroup
		mount -t tmpfs -o mode=755 tmpfs run
		mount -t tmpfs tmpfs tmp
		mount --rbind /dev dev
		mkdir -p var/tmp/old
		pivot_root . var/tmp/old
		umount -l /var/tmp/old
		exec env -i container=tidegate PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=try.target \
			--log-target=journal --show-status=false
	' - "$copy"
) &
starter=$!
for _ in $(seq 100); do
	first=$(pgrep -P "$(pgrep -P $starter unshare || echo $starter)" -f lib/systemd/systemd || true)
	[ -n "$first" ] && break
	sleep 0.1
done
inside() { nsenter --target "$first" --mount --pid --net --uts --ipc --cgroup -- "$@"; }
for _ in $(seq 100); do
	inside systemctl is-active -q try.target 2>/dev/null && break
	sleep 0.2
done
state() { inside systemctl show tidegate --value -p "$1"; }
is() { # WHAT EXPECTED FOUND
	[ "$2" = "$3" ] || { echo "FAILS: $1: $3 instead of $2"; inside journalctl -u tidegate --no-pager | tail -30; exit 1; }
	echo "holds: $1: $3"
}
becomes() { # WHAT EXPECTED PROPERTY
	for _ in $(seq 150); do
		[ "$(state "$3")" = "$2" ] && break
		sleep 0.2
	done
	is "$1" "$2" "$(state "$3")"
}

crosses() { # a question to a port at which nobody listens is answered
	for _ in 1 2 3; do
		[[ $(inside ip netns exec far1 timeout 3 bash -c 'exec 3<> /dev/tcp/10.9.0.2/9' 2>&1) != *refused* ]] || return 0
	done
	echo "FAILS: nothing gets across"
	exit 1
}

# Two others, and the machine between them.
inside bash -euc '
	for n in 1 2; do
		ip netns add far$n
		ip link add eth$n type veth peer name far netns far$n
		sysctl -qw net.ipv6.conf.eth$n.disable_ipv6=1
		ip netns exec far$n sysctl -qw net.ipv6.conf.far.disable_ipv6=1
		for at in "" "ip netns exec far$n"; do
			interface=eth$n
			[ -z "$at" ] || interface=far
			$at ethtool -K $interface tx off tso off gso off gro off tx-udp-segmentation off
			$at ip link set $interface up
		done
		ip -n far$n address add 10.9.0.$n/24 dev far
	done' > /dev/null
inside dpkg -i /root/tidegate.deb > /dev/null
is "installed, and not enabled" disabled "$(inside systemctl is-enabled tidegate || true)"
is "installed, and not started" inactive "$(state ActiveState)"
inside systemctl enable --now -q tidegate
is "started" active "$(state ActiveState)"
pid=$(state MainPID)
crosses
echo "holds: packets pass; $(state StatusText)"
echo "       $(inside grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' "/proc/$pid/status" | tr '\n\t' '  ')"
echo "       nice of its threads: $(inside ps -o comm=,ni= -L -p "$pid" | tr -s ' ' | tr '\n' ';')"
echo "       $(inside grep VmLck "/proc/$pid/status" | tr -s '\t ' ' ')"
sleep 12
is "it goes on for longer than the watchdog's patience" "$pid" "$(state MainPID)"

inside sed -i 's/^queue = .*/queue = "sfb"/' /etc/tidegate/gate.toml
inside systemctl reload tidegate
becomes "reloaded" active ActiveState
inside sed -i 's/^queue = .*/queue = "none"/' /etc/tidegate/gate.toml
inside systemctl reload tidegate
for _ in $(seq 50); do
	state StatusText | grep -q 'not heeded' && break
	sleep 0.1
done
state StatusText | grep 'not heeded' | sed 's/^/holds: nonsense is told of: /'
inside sed -i 's/^queue = .*/queue = "drr"/' /etc/tidegate/gate.toml
is "it is the same process" "$pid" "$(state MainPID)"

sandbox() { inside nsenter --target "$pid" --mount -- "$@"; }
for path in /usr /etc /root /var; do
	sandbox touch $path/try 2>/dev/null && { echo "FAILS: $path can be written to"; exit 1; }
done
echo "holds: in its sandbox nobody can write to /usr, /etc, /root, /var"

inside kill -9 "$pid"
becomes "killed: started again" 1 NRestarts
becomes "and runs" active ActiveState
crosses
pid=$(state MainPID)
inside kill -STOP "$pid"
crosses
echo "holds: stopped: the kernel forwards"
becomes "hung: the watchdog has it started again" 2 NRestarts
becomes "and runs" active ActiveState

inside systemctl stop tidegate
is "stopped" "inactive success" "$(state ActiveState) $(state Result)"
crosses
echo "holds: stopped: the kernel forwards"
inside tidegate gate --remove --in eth1 --out eth2 | sed 's/^/       /'
inside dpkg --purge tidegate > /dev/null
is "purged: nothing is left" "" "$(inside find /etc /usr /lib /var /run -name '*tidegate*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/var/tmp/*')"
