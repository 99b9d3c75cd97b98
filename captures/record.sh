#!/bin/bash
# Records captures/flood.pcapng: kernel TCP and a UDP flood, as they are offered to a bottleneck of 10 Mbit/s.
#
#   sudo captures/record.sh [OUT.pcapng]
#
#   src 10.0.1.0/24 --- r0 router r1 --[ tbf 10 Mbit/s, 125 kB of queue ]-- dst 10.0.2.0/24
#                       ^ recorded here, what comes in from src only
#
# Needs root, iproute2, python3 and a kernel with veth, tbf and IPv6. All traffic stays in three network namespaces of
# this script's own, lasts ten seconds at most, and is gone with them however the script ends.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/flood.pcapng}")
cd "$(dirname "$0")"
[ "$(id -u)" = 0 ] || { echo "record.sh: must be run as root: it makes network namespaces" >&2; exit 1; }

src=tidegate-$$-src router=tidegate-$$-router dst=tidegate-$$-dst
part=$(mktemp "$out.XXXXXX")

clean_up() {
    trap - EXIT INT TERM HUP
    local ns
    for ns in $src $router $dst; do
        if [ -e "/run/netns/$ns" ]; then
            ip netns pids $ns | xargs -r kill -KILL 2>/dev/null || true
            ip netns delete $ns || true
        fi
    done
    rm -f "$part"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

in_ns() { ip netns exec "$@"; }

for ns in $src $router $dst; do
    ip netns add $ns
    ip -n $ns link set lo up
done
ip -n $router link add r0 address 02:00:00:00:01:fe type veth peer name s0 address 02:00:00:00:01:01 netns $src
ip -n $router link add r1 address 02:00:00:00:02:fe type veth peer name d0 address 02:00:00:00:02:01 netns $dst
in_ns $router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
# A network card's offloads would show us segments of 64 kB and checksums not yet made.
in_ns $src ./traffic.py offloads-off s0
in_ns $router ./traffic.py offloads-off r0
in_ns $router ./traffic.py offloads-off r1
in_ns $dst ./traffic.py offloads-off d0

for i in 1 2 3 4 7 9 66; do ip -n $src address add 10.0.1.$i/24 dev s0; done
for i in 1 2; do ip -n $dst address add 10.0.2.$i/24 dev d0; done
ip -n $router address add 10.0.1.254/24 dev r0
ip -n $router address add 10.0.2.254/24 dev r1
ip -n $src -6 address add 2001:db8:1::1/64 dev s0 nodad
ip -n $dst -6 address add 2001:db8:2::1/64 dev d0 nodad
ip -n $router -6 address add 2001:db8:1::fe/64 dev r0 nodad
ip -n $router -6 address add 2001:db8:2::fe/64 dev r1 nodad
ip -n $src link set s0 up
ip -n $router link set r0 up
ip -n $router link set r1 up
ip -n $dst link set d0 up
ip -n $src route add 10.0.2.1 via 10.0.1.254
ip -n $src route add 10.0.2.2 via 10.0.1.254 features ecn # connections to it speak ECN
ip -n $src -6 route add 2001:db8:2::/64 via 2001:db8:1::fe
ip -n $dst route add 10.0.1.0/24 via 10.0.2.254
ip -n $dst -6 route add 2001:db8:1::/64 via 2001:db8:2::fe
tc -n $router qdisc add dev r1 root tbf rate 10mbit burst 5000 limit 125000

# Without a function around it, so that nobody remarks on its end when clean_up kills it.
ip netns exec $dst timeout 10 ./traffic.py sink &
disown
in_ns $router timeout 10 ./traffic.py record r0 6.5 "$part" &
recorder=$!
sleep 0.7 # both must be listening
in_ns $src timeout 10 ./traffic.py send 5.5 &
wait $recorder
tc -n $router -s qdisc show dev r1
chmod 644 "$part"
mv "$part" "$out"
echo "recorded: $out, $(stat -c %s "$out") bytes"
