#!/usr/bin/env python3
"""Runs the set-ups of cells.toml in the kernel that build.sh built, and keeps what came out in results/VERSION.csv.

usage: run.py [--runs N] [--fresh] [--cell CELL] [QUEUE …]

Runs what the file lacks; with --fresh what is named anew. A kernel's time is simulated, so a run does not depend on
what else the machine does, but sfb and the other hashing queues draw their keys and dice from the kernel's random numbers: hence several runs each.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cells import CELLS, FRAME, QUEUES, USERS

HERE = Path(__file__).parent
TIDEGATE = HERE.parent.parent / "target" / "release" / "tidegate"
OUT = HERE.parent.parent / "out" / "linux"
RUNS = 2
SECONDS = 900  # on the wall, for one run
FIELDS = [
    "cell",
    "queue",
    "run",
    "flow",
    "offered_bps",
    "throughput_bps",
    "delay_ms",
    "delay_p50_ms",
    "entered",
    "lost",
    "marked",
]
BEGIN = 500_000_000  # ns after boot: the network stands, the receiver listens
FLOOD_PORT, USER_PORT, TCP_PORT, SCALABLE_PORT = 7000, 8001, 10001, 11001


def senders(cell, run):
    """The words of every sender, and the source ports in use."""
    at = lambda seconds: BEGIN + round(seconds * 1e9)
    stretch = f"{at(cell.warmup)} {at(cell.duration)}"
    udp = lambda port, begin, rate, frame, tos, source=1, target=1: (
        f"flood 10.0.3.{1 + target} {port} {at(begin)} {stretch} {rate} {frame}"
        f" .5 {run * 1000 + port} {tos} 10.0.1.{1 + source}"
    )
    if cell.senders:
        all_of = [of for of in cell.senders for _ in range(of.count)]
        words = [
            udp(USER_PORT + n, 0, cell.rate * of.times, FRAME, 0, of.source, of.target)
            for n, of in enumerate(all_of)
        ]
        return words, [*range(USER_PORT, USER_PORT + len(all_of))]
    begins = 0 if cell.loop == "open" else cell.flood_begins
    each = cell.rate * cell.times / cell.floods if cell.floods else 0
    floods = range(FLOOD_PORT, FLOOD_PORT + cell.floods)
    words = [udp(port, begins, each, cell.flood_frame, cell.flood_ecn) for port in floods]
    if cell.loop == "open":
        tos = cell.user_dscp << 2 | cell.user_ecn
        words += [udp(USER_PORT + n, 0, cell.rate * USERS, FRAME, tos) for n in range(3)]
        return words, [*floods, *range(USER_PORT, USER_PORT + 3)]
    tcp = lambda port, count, control, seed: (
        f"connect 10.0.3.2 {port} {count} {at(0)} {cell.spread_ms * 1_000_000} {at(cell.duration)}"
        f" {control} {seed} {cell.every_ms * 1_000_000}"
    )
    words.append(tcp(TCP_PORT, cell.connections, cell.control, run))
    if cell.scalable:
        words.append(tcp(SCALABLE_PORT, cell.scalable, "dctcp", run + 1000))
    return words, [*floods, *range(TCP_PORT, TCP_PORT + cell.connections)]


def kernel_queues(cell, name, ports):
    """The line and the kernel's queue at the router; or a queue of another kind there, and this one on a line back."""
    if not cell.back_rate:
        return kernel_queue(name, ports, cell.rate)
    back = kernel_queue(name, ports, cell.back_rate)
    back = [line.replace("N r ", "N d ").replace(" r1 ", " d0 ") for line in back]
    return [*kernel_queue(cell.front, ports, cell.rate), *back]


def kernel_queue(name, ports, rate):
    """A line of that rate and the kernel's queue at the router."""
    queue = QUEUES[name]
    if queue.shapes:
        return [
            f"N r tc qdisc add dev r1 root handle 10: {queue.tc} || echo @error tc",
            "echo @queue $(N r tc -d qdisc show dev r1)",
        ]
    lines = [
        "N r tc qdisc add dev r1 root handle 1: htb default 1",
        f"N r tc class add dev r1 parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {FRAME} cburst {FRAME} quantum {FRAME}",
        f"N r {'$load qdisc' if queue.netlink else 'tc qdisc add dev'} r1 parent 1:1 handle 10: {queue.tc} || echo @error tc",
    ]
    if queue.classes:
        for n, port in enumerate(ports, 1):
            lines += [
                f"N r tc class add dev r1 parent 10: classid 10:{n} drr quantum {FRAME}",
                f"N r tc qdisc add dev r1 parent 10:{n} pfifo limit 50",
                f"N r tc filter add dev r1 parent 10: protocol ip prio 1 u32 match ip sport {port} 0xffff flowid 10:{n}",
            ]
        # What no filter takes drr drops, ARP too.
        lines.append(
            "N r tc filter add dev r1 parent 10: protocol all prio 2 u32 match u32 0 0 flowid 10:1"
        )
    return [*lines, "echo @queue $(N r tc -d qdisc show dev r1 | grep ' 10:')"]


def gate(cell, queue):
    """The line and our queue, in a gate behind the router."""
    words = f"--in g0 --out g1 --rate {cell.rate}bit --queue {queue} --limit 200packets"
    words += f" --mean-packet {FRAME}B --rehash off --duration {cell.duration + 2}s --json"
    otherwise = "{ cat /tmp/gate; echo @error gate; }"
    return [
        f"N g env LD_PRELOAD={OUT}/wait.so {TIDEGATE} gate {words} >/tmp/gate 2>&1 || {otherwise} &"
    ]


def script(cell, queue, run):
    """What the kernel runs as its first program."""
    words, ports = senders(cell, run)
    ours = cell.loop == "gate"
    netem = f"netem delay {cell.delay_ms}ms limit 100000"
    lines = [
        "#!/bin/sh",
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp",
        f"load={OUT / 'load'}",
        'N() { where=$1; shift; ip netns exec "$where" "$@"; }',
        # How a receiver echoes marks is the congestion control's of its own side. All namespaces have this one.
        f"echo {'dctcp' if cell.scalable else cell.control} > /proc/sys/net/ipv4/tcp_congestion_control || echo @error control",
        "for n in a r d b; do ip netns add $n; N $n ip link set lo up; done",
        "wire() { ip link add $2 netns $1 type veth peer name $4 netns $3; N $1 $load plain $2; N $3 $load plain $4",
        "  N $1 ip link set $2 gso_max_segs 1; N $3 ip link set $4 gso_max_segs 1; N $1 ip link set $2 up; N $3 ip link set $4 up; }",
        "wire a a0 r r0; wire d d1 b b0",
        "ip netns add g; wire r r1 g g0; wire g g1 d d0" if ours else "wire r r1 d d0",
        "N a ip addr add 10.0.1.2/24 dev a0; N r ip addr add 10.0.1.1/24 dev r0; N r ip addr add 10.0.2.1/24 dev r1",
        "N d ip addr add 10.0.2.2/24 dev d0; N d ip addr add 10.0.3.1/24 dev d1; N b ip addr add 10.0.3.2/24 dev b0",
        # More hosts are more addresses.
        *(
            f"N a ip addr add 10.0.1.{1 + n}/24 dev a0; N b ip addr add 10.0.3.{1 + n}/24 dev b0"
            for n in range(2, 1 + cell.hosts)
        ),
        "N a ip route add default via 10.0.1.1; N b ip route add default via 10.0.3.1",
        "N r ip route add 10.0.3.0/24 via 10.0.2.2; N d ip route add 10.0.1.0/24 via 10.0.2.1",
        "for n in r d; do N $n sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'; done",
        "N b sh -c 'echo 4096 131072 16777216 > /proc/sys/net/ipv4/tcp_rmem'; N a sh -c 'echo 4096 131072 16777216 > /proc/sys/net/ipv4/tcp_wmem'",
        # After a timeout the sender's kernel hashes a connection anew, and here its router would see that. Others' routers do not.
        "N a sh -c 'echo 0 > /proc/sys/net/core/txrehash' || echo @error txrehash",
        f"N d tc qdisc add dev d1 root {netem}; N r tc qdisc add dev r0 root {netem}",
        *(gate(cell, queue) if ours else kernel_queues(cell, queue, ports)),
        *(f"N {n} sh -c 'echo 1 > /proc/sys/net/ipv4/tcp_ecn'" for n in "ab" if cell.tcp_ecn),
        *["N a $load scalable a0 || echo @error scalable"] * bool(cell.scalable),
        f"N b $load receive b0 {BEGIN + round(cell.warmup * 1e9)} {BEGIN + round(cell.duration * 1e9)} /run/netns/r r0 &",
        *(f"N a $load {sender} &" for sender in words),
        "wait",
        "sed 's/^/# /' /tmp/gate" if ours else "N r tc -s qdisc show dev r1 | sed 's/^/# /'",
        "N a sh -c 'grep TcpExt /proc/net/netstat' | sed 's/^/# /'",
        "echo @end",
        "$load halt",
    ]
    return "\n".join(lines) + "\n"


def boot(what, script, kernel=OUT / "kernel" / "linux"):
    """What the kernel printed that ran `script` as its first program."""
    with tempfile.TemporaryDirectory(dir=OUT) as home:
        path = Path(home) / "cell.sh"
        path.write_text(script)
        path.chmod(0o755)
        words = [
            kernel,
            "mem=384M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "root=/dev/root",
            f"init={path}",
            "quiet",
            "loglevel=1",
        ]
        words += [
            "time-travel=inf-cpu",
            "seccomp=on",
            f"uml_dir={home}",
            "umid=cell",
            "con0=null,fd:1",
            "con=null",
        ]
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "TMPDIR": home},
        )
    if "@end" not in done.stdout or "@error" in done.stdout:
        sys.exit(
            f"{what}: the kernel did not come to the end:\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
        )
    return done.stdout


def rows(cell, name, run, text):
    """A row of the table for each flow, and one for all connections together."""
    told = [line.split() for line in text.splitlines() if line.startswith("@")]
    speaks = lambda port: cell.tcp_ecn or port >= SCALABLE_PORT
    if any(t[0] == "@tcp" and speaks(int(t[1])) != (t[-1] == "ecn") for t in told):
        sys.exit(f"{cell.name}: {name}: a connection speaks ECN, or does not, against its cell")
    seconds = cell.duration - cell.warmup
    sent = {port: int(count) for word, port, count, *_ in (t for t in told if t[0] == "@sent")}
    number = lambda n: n + 1 if cell.floods > 1 else ""
    floods = {str(FLOOD_PORT + n): f"flood{number(n)}" for n in range(cell.floods)}
    users = cell.flow_names() if cell.senders else [f"user{n + 1}" for n in range(3)]
    names = {**floods, **{str(USER_PORT + n): name for n, name in enumerate(users)}}
    names |= {str(TCP_PORT + n): f"tcp{n + 1}" for n in range(cell.connections)}
    names |= {str(SCALABLE_PORT + n): f"scalable{n + 1}" for n in range(cell.scalable)}
    found = []
    # Acknowledgements are looked at where they meet the queue.
    if cell.back_rate:
        names |= {f"ack {port}": name.replace("tcp", "ack") for port, name in names.items()}
    got = {(f"ack {t[2]}" if t[1] == "ack" else t[2]): t[3:] for t in told if t[0] == "@flow"}
    for port in [p for p in names if p in got or p in sent]:
        _, size, mean, median, *fate = got.get(port, (0,) * 7)
        frame = cell.flood_frame if port in floods else FRAME
        offered = sent[port] * frame * 8 / seconds if port in sent else None
        delays = [float(ms) - cell.delay_ms for ms in (mean, median)] if int(size) else [None, None]
        found.append([names[port], offered, int(size) * 8 / seconds, *delays, *fate])
    figure = lambda value, digits: "" if value is None else f"{value:.{digits}f}"
    return [
        dict(
            zip(
                FIELDS,
                [
                    cell.name,
                    name,
                    run,
                    flow,
                    figure(offered, 0),
                    figure(rate, 0),
                    figure(mean, 3),
                    figure(median, 2),
                    *fate,
                ],
            )
        )
        for flow, offered, rate, mean, median, *fate in found
    ]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--runs", type=int, default=RUNS)
    ask.add_argument("--fresh", action="store_true", help="also what the file has")
    ask.add_argument(
        "--cell", action="append", choices=list(CELLS), help="only this one; may be repeated"
    )
    ask.add_argument(
        "queues", nargs="*", metavar="QUEUE", help="queues, by a cell's words (default: all)"
    )
    given = ask.parse_args()
    cells = given.cell or CELLS
    known = sorted({queue for cell in cells for queue in CELLS[cell].queues})
    if unknown := set(given.queues) - set(known):
        ask.error(f"unknown queue {sorted(unknown)}; known: {' '.join(known)}")
    if not 1 <= given.runs <= 100:
        ask.error(f"--runs {given.runs}: must lie in 1 to 100")
    kernel = (OUT / "kernel").resolve()
    if not (kernel / "linux").exists():
        sys.exit("no kernel: run validation/linux/build.sh")
    kept = HERE / "results" / f"{kernel.name}.csv"
    old = list(csv.DictReader(kept.open())) if kept.exists() else []
    wanted = [
        (cell, queue, run)
        for cell in cells
        for queue in CELLS[cell].queues
        if not given.queues or queue in given.queues
        for run in range(1, given.runs + 1)
    ]
    key = lambda row: (row["cell"], row["queue"], int(row["run"]))
    have = {key(row) for row in old}
    todo = [case for case in wanted if given.fresh or case not in have]
    table = [row for row in old if key(row) not in set(todo)]

    def one(case):
        cell, queue, run = case
        text = boot(f"{cell}: {queue}", script(CELLS[cell], queue, run))
        return rows(CELLS[cell], queue, run, text)

    named = dict.fromkeys([*QUEUES, *(queue for cell in CELLS.values() for queue in cell.queues)])
    order = {queue: n for n, queue in enumerate(named)}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for case, fresh in zip(todo, pool.map(one, todo)):
            print(
                *case,
                ", ".join(f"{r['flow']} {int(r['throughput_bps']) / 1e6:.2f}" for r in fresh),
                file=sys.stderr,
                flush=True,
            )
            table += fresh
            kept.parent.mkdir(exist_ok=True)
            with kept.open("w", newline="") as file:
                out = csv.DictWriter(file, FIELDS, lineterminator="\n")
                out.writeheader()
                out.writerows(
                    sorted(
                        table,
                        key=lambda row: (
                            list(CELLS).index(row["cell"]),
                            order[row["queue"]],
                            int(row["run"]),
                        ),
                    )
                )
    (HERE / "results" / "versions.txt").write_text((OUT / "package").read_text())


if __name__ == "__main__":
    main()
