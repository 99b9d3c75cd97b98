#!/usr/bin/env python3
"""Holds `tidegate advise` against the gateway: a capture behind drop-tail, the advice, then the advised queue with the same senders.

usage: advise.py [--case NAME]...     build first; `make validate-advise` does both

Root, iproute2, tcpdump and ethtool. Writes advise.md; --case measures a part anew and leaves the other rows as they are.
Every case makes namespaces of its own and removes them:

    near ------------------- r0 router r3 -- west [gate] east -- server
    far -- [delay gate] ---- r1

A case takes 35 s: senders behind drop-tail, the advice, senders behind the advised queue.
Ends with status 1 if what users get agrees in fewer than eight of ten cases. What floods get is counted beside it.
"""

import argparse
import json
import os
import random
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIDEGATE = Path(os.environ.get("TIDEGATE", HERE.parent / "target" / "release" / "tidegate"))
PAGE = HERE / "advise.md"
SERVER, SERVER_ECN = "10.78.0.2", "10.78.0.3"
NAMES = ("near", "far", "delay", "router", "gate", "server")
USERS_FROM, FLOOD_FROM = 0.3, 2.5  # s after the start
LASTS, MEASURED_FROM = 13.0, 5.0  # s; what is measured is from the second on
FULL, DATA = 1514, 1448  # bytes of a frame and of its data
DATAGRAM = 1000  # bytes of a frame of the flood
WITHIN = 0.10  # of a group's share of the link
AGREE = 8  # of ten cases


@dataclass(frozen=True)
class Case:
    """Who sends over which line, and where it is captured."""

    name: str
    rate: int  # Mbit/s
    delay: int = 10  # ms each way at the line
    near: int = 4  # users
    far: int = 0  # users who are `further` ms away
    further: int = 20  # ms each way
    flood: float = 2.0  # times the line
    floods: int = 1
    ecn: bool = False
    transfers: float = 0  # a second, of 60 kB
    pulse: float = 0  # s on and as long off
    spot: str = "before"  # before, behind, or by the gate's own --record


CASES = (
    Case("8 users, a flood", 20, near=8),
    Case("16 users, a flood", 20, near=16, flood=1.5),
    Case("near and far users", 20, near=4, far=4),
    Case("no flood, near and far", 20, near=3, far=3, flood=0),
    Case("four floods", 16, near=6, flood=2.4, floods=4),
    Case("users speak ECN", 20, near=6, ecn=True),
    Case("a slow line", 6, near=5, delay=15),
    Case("a faster line", 40, near=5, delay=5, flood=1.25),
    Case("short transfers", 20, near=4, transfers=5),
    Case("captured behind", 20, near=6, spot="behind"),
    Case("the gate's own capture", 20, near=6, flood=0.8, spot="record"),
    Case("a flood in pulses", 20, near=6, pulse=1.0),
)


def run(line, *words, check=True):
    """Runs a command: a line, split at its spaces, and words that may have some."""
    words = [*line.split(), *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
    return done


def first():
    """Before other work of this machine, in a session of its own."""
    os.setsid()
    Path("/proc/self/autogroup").write_text("-20")


class Net:
    """The namespaces of a case."""

    def __init__(self, case):
        self.case, self.pid = case, os.getpid()
        self.processes = []

    def of(self, name):
        return f"tga-{self.pid}-{name}"

    def inside(self, name, line, **more):
        return run(f"ip netns exec {self.of(name)} {line}", **more)

    def start(self, name, program, line, *words, **more):
        """Begins a program: its path, a line as `run` has it, and words that may have spaces."""
        command = ["ip", "netns", "exec", self.of(name), program, *line.split(), *words]
        process = subprocess.Popen(command, preexec_fn=first, **more)
        self.processes.append(process)
        return process

    def cable(self, a, a_if, b, b_if):
        peer = f"peer name {b_if} netns {self.of(b)}"
        run(f"ip -n {self.of(a)} link add {a_if} type veth {peer}")
        for name, device in ((a, a_if), (b, b_if)):
            self.inside(name, f"ethtool -K {device} gro off gso off tso off tx off", check=False)
            self.inside(name, f"sysctl -qw net.ipv6.conf.{device}.disable_ipv6=1")
            run(f"ip -n {self.of(name)} link set {device} up")

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        for name in NAMES:
            run(f"ip netns add {self.of(name)}")
        self.cable("near", "eth0", "router", "r0")
        self.cable("far", "eth0", "delay", "west")
        self.cable("delay", "east", "router", "r1")
        self.cable("router", "r3", "gate", "west")
        self.cable("gate", "east", "server", "eth0")

        def address(name, device, text):
            run(f"ip -n {self.of(name)} address add {text} dev {device}")

        hosts = self.case.near + self.case.floods + 1
        for n in range(hosts):
            address("near", "eth0", f"10.78.1.{n + 1}/24")
        for n in range(max(1, self.case.far)):
            address("far", "eth0", f"10.78.2.{n + 1}/24")
        for device, text in (
            ("r0", "10.78.1.254/24"),
            ("r1", "10.78.2.254/24"),
            ("r3", "10.78.0.1/24"),
        ):
            address("router", device, text)
        for host in (SERVER, SERVER_ECN):
            address("server", "eth0", f"{host}/24")
        self.inside("router", "sysctl -qw net.ipv4.ip_forward=1")
        for name, via in (("near", "10.78.1.254"), ("far", "10.78.2.254"), ("server", "10.78.0.1")):
            run(f"ip -n {self.of(name)} route add default via {via}")
            ecn = f"net.ipv4.tcp_ecn={int(self.case.ecn)}"
            self.inside(name, f"sysctl -qw {ecn} net.ipv4.tcp_no_metrics_save=1")
            # A socket that began with bbr would be paced for good; each asks for cubic itself.
            self.inside(name, "sysctl -qw net.ipv4.tcp_congestion_control=reno")
        self.introduce()

    def introduce(self):
        """Tells router and server each other's hardware addresses: a flood must not starve the question."""
        for a, a_if, b, b_if, hosts in (
            ("router", "r3", "server", "eth0", (SERVER, SERVER_ECN)),
            ("server", "eth0", "router", "r3", ("10.78.0.1",)),
        ):
            mac = self.inside(b, f"cat /sys/class/net/{b_if}/address").stdout.strip()
            for host in hosts:
                known = f"neigh replace {host} lladdr {mac}"
                run(f"ip -n {self.of(a)} {known} dev {a_if} nud permanent")

    def stop(self, process, how=signal.SIGINT):
        if process.poll() is None:
            # `ip netns exec` becomes the program itself.
            process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __exit__(self, *_):
        for process in self.processes:
            self.stop(process)
        for name in NAMES:
            run(f"ip netns delete {self.of(name)}", check=False)


def gate(net, name, line, *words):
    """A gate between west and east, once it has taken over."""
    line = f"gate --in west --out east --drain 0s {line}"
    outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    process = net.start(name, TIDEGATE, line, *words, **outputs)
    time.sleep(1.0)
    if process.poll() is not None:
        raise SystemExit(f"the gate ended: {process.stderr.read()}")
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process


def stage(net, queue, home, what):
    """Lets all senders send through a gate with `queue`. What each got in bytes, between the times measured."""
    case = net.case
    line = f"--rate {case.rate}mbit --queue {queue} --delay {case.delay}ms"
    capture = home / f"{what}.pcapng"
    record = ["--record", capture] if what == "now" and case.spot == "record" else []
    gates = [gate(net, "gate", line, *record)]
    if case.far:
        gates.append(gate(net, "delay", f"--rate 1gbit --queue drop_tail --delay {case.further}ms"))
    dump = None
    if what == "now" and case.spot != "record":
        name, device = ("router", "r3") if case.spot == "before" else ("server", "eth0")
        line = f"-q -i {device} -s 96 -B 16384 ip -w"
        dump = net.start(name, "tcpdump", line, capture, stderr=subprocess.DEVNULL)

    def script(name, role, *words, **more):
        return net.start(name, sys.executable, "", __file__, "--role", role, *words, **more)

    sink = script("server", "sink", stdout=subprocess.PIPE, text=True)
    time.sleep(0.7)
    roles = [("near", "near")] + [("far", "far")] * bool(case.far)
    roles += [("near", "flood")] * bool(case.flood)
    setting = json.dumps(case.__dict__)
    senders = [script(name, role, "--setting", setting) for name, role in roles]
    for process in senders:
        process.wait(LASTS + 30)
    got = json.loads(sink.communicate(timeout=30)[0])
    for process in (*gates, dump):
        if process:
            net.stop(process)
    return got, capture


# --- in the namespaces ---------------------------------------------------------------------------


def sink():
    """Takes whatever comes; prints what each sender got through within the time measured."""
    listening = selectors.DefaultSelector()
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("0.0.0.0", 80))
    tcp.listen(512)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
    udp.bind(("0.0.0.0", 9))
    listening.register(tcp, selectors.EVENT_READ, None)
    listening.register(udp, selectors.EVENT_READ, None)
    got, took, peers, begun, buffer = {}, [], {}, {}, bytearray(1 << 18)
    start = time.monotonic()
    while (now := time.monotonic()) < start + LASTS + 0.5:
        counts = MEASURED_FROM <= now - start <= LASTS
        for key, _ in listening.select(0.1):
            one = key.fileobj
            if one is tcp:
                connection, peer = tcp.accept()
                peers[connection], begun[connection] = peer, now
                listening.register(connection, selectors.EVENT_READ, None)
            elif one is udp:
                length, peer = udp.recvfrom_into(buffer)
                if counts:
                    name = f"udp {peer[0]}:{peer[1]}"
                    got[name] = got.get(name, 0) + length + 42
            else:
                take(one, buffer, listening, got, took, peers, begun, counts)
    print(json.dumps({"bytes": got, "took": took}))


def take(one, buffer, listening, got, took, peers, begun, counts):
    try:
        length = one.recv_into(buffer)
    except OSError:
        length = 0
    peer = peers[one]
    kind = "short" if peer[1] < 30000 else "user"
    if length == 0:
        listening.unregister(one)
        one.close()
        if kind == "short" and counts:
            took.append(time.monotonic() - begun[one])
    elif counts:
        name = f"{kind} {peer[0]}:{peer[1]}"
        got[name] = got.get(name, 0) + length * FULL / DATA


def stream(source, port, server, start, end, amount=None):
    """A connection that sends as fast as it may, or so much."""
    time.sleep(max(0, start - time.monotonic()))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        sock.bind((source, port))
        if amount is None:
            # What is still in the socket's buffer at the end need not go out.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            sock.settimeout(max(0.1, end - time.monotonic()))
            sock.connect((server, 80))
            left = amount
            while (time_left := end - time.monotonic()) > 0 and (left is None or left > 0):
                sock.settimeout(time_left)
                sent = sock.send(bytes(1 << 14 if left is None else min(left, 1 << 14)))
                left = None if left is None else left - sent
        except OSError:
            pass  # starved to the end


def users(case, net, count):
    start = time.monotonic()
    end = start + LASTS
    jobs = [
        (stream, f"10.78.{net}.{n + 1}", 40000 + n, SERVER, start + USERS_FROM + 0.05 * n, end)
        for n in range(count)
    ]
    if net == 1 and case.transfers:
        dice, at, n = random.Random(7), start + 1.0, 0
        mine = f"10.78.1.{case.near + case.floods + 1}"
        while at < end - 0.5:
            jobs.append((stream, mine, 20000 + n, SERVER, at, end, 60_000))
            at, n = at + dice.expovariate(case.transfers), n + 1
    threads = [threading.Thread(target=job[0], args=job[1:], daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    time.sleep(max(0, end - time.monotonic()) + 0.2)


def flood(case):
    """Datagrams at fixed times whatever becomes of them; what is late is sent at once."""
    start = time.monotonic()
    begin, end = start + FLOOD_FROM, start + LASTS
    socks = []
    for n in range(case.floods):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sock.bind((f"10.78.1.{case.near + n + 1}", 9000 + n))
        sock.connect((SERVER, 9))
        socks.append(sock)
    gap = DATAGRAM * 8 / (case.flood * case.rate * 1e6)
    data, sent = bytes(DATAGRAM - 42), 0
    while (now := time.monotonic()) < end:
        due = begin + sent * gap
        if now < due:
            time.sleep(min(due - now, 0.001) if due - now > 0.0002 else 0)
            continue
        if not case.pulse or int((due - begin) / case.pulse) % 2 == 0:
            try:
                socks[sent % case.floods].send(data)
            except OSError:
                pass
        sent += 1


# --- the comparison ------------------------------------------------------------------------------


def shares(case, got):
    """What the gateway gave of the line: users, floods; and the worst user's rate over the users' mean."""
    seconds = LASTS - MEASURED_FROM
    line = case.rate * 1e6 / 8 * seconds
    each = [b for name, b in got["bytes"].items() if name.startswith("user")]
    each += [0.0] * (case.near + case.far - len(each))
    of = lambda kind: sum(b for name, b in got["bytes"].items() if name.startswith(kind)) / line
    return {
        "users": sum(each) / line,
        "flood": of("udp"),
        "worst": min(each) / (sum(each) / len(each) or 1),
    }


def promised(advice):
    """The same as `advise` has it, of the advised queue."""
    choice = advice["choice"]["queue"] if advice["choice"] else "drop_tail"
    promise = next(p for p in advice["tried"] if p["queue"] == choice)
    goes_on = {
        s["name"]: s for s in advice["senders"] if s["conduct"] in ("users", "quic", "untold")
    }
    count = sum(s["count"] for s in goes_on.values())
    thin = sum(s["count"] for s in advice["senders"] if s["conduct"] == "thin")
    users = promise["user_bps"]["mean"] * (count + thin) / advice["rate_bps"]
    flood = promise["flood"]["mean"] if promise["flood"] else 0.0
    return choice, {"users": users, "flood": flood}


def agree(said, gave):
    """Whether a share is within a tenth."""
    return abs(said - gave) <= WITHIN * gave


def try_case(case):
    with tempfile.TemporaryDirectory() as folder, Net(case) as net:
        home = Path(folder)
        before, capture = stage(net, "drop_tail", home, "now")
        asked = time.monotonic()
        rate = f"{case.rate}mbit"
        line = [TIDEGATE, "advise", capture, "--rate", rate, "--one-direction", "--json"]
        done = run("", *line, "--out", home / "out")
        took = time.monotonic() - asked
        advice = json.loads(done.stdout)
        if not advice["tried"]:
            raise SystemExit(f"{case.name}: {advice['verdict']}")
        queue, said = promised(advice)
        after, _ = stage(net, queue, home, "then")
    kinds = {}
    for group in advice["senders"]:
        kinds[group["conduct"]] = kinds.get(group["conduct"], 0) + group["count"]
    tail = next(p for p in advice["tried"] if p["queue"] == "drop_tail")
    return {
        "case": case,
        "queue": queue,
        "now": shares(case, before),
        "captured": advice["now"],
        "tail": tail,
        "said": said,
        "gave": shares(case, after),
        "kinds": kinds,
        "packets": advice["seen"]["packets"],
        "took": took,
        "load": os.getloadavg()[0],
    }


def row(r):
    case, pc = r["case"], lambda share: f"{100 * share:.1f}"
    right = [agree(r["said"][who], r["gave"][who]) for who in ("users", "flood")]
    who = ", ".join(f"{n} {kind}" for kind, n in sorted(r["kinds"].items()))
    return [
        case.name,
        who,
        str(r["packets"]),
        pc(r["now"]["users"]),
        pc(r["captured"]["user_bps"]["mean"] * (case.near + case.far) / case.rate / 1e6)
        if r["captured"]["user_bps"]
        else "–",
        r["queue"],
        pc(r["said"]["users"]),
        pc(r["gave"]["users"]),
        pc(r["said"]["flood"]),
        pc(r["gave"]["flood"]),
        pc(r["gave"]["worst"]),
        f"{r['took']:.1f}",
        f"{r['load']:.1f}",
        time.strftime("%Y-%m-%d"),
        *("yes" if one else "no" for one in right),
    ]


HEAD = (
    "case | who was found | packets | users now, measured | users now, by the capture | advised | users: said | gave | floods: said "
    "| gave | worst user over mean | advise took, s | load | measured | users within a tenth | floods"
).split(" | ")
PACKETS, TOOK, MEASURED = (HEAD.index(name) for name in ("packets", "advise took, s", "measured"))


def read():
    """The rows of the page as it stands."""
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    if table and table[0] != HEAD:
        raise SystemExit(f"{PAGE.name} has other columns: measure all cases")
    return table[2:]


def evidence(rows):
    """How long `advise` took, and when that was."""
    longest = max(float(cells[TOOK]) for cells in rows)
    packets = max(int(cells[PACKETS]) for cells in rows)
    days = sorted({cells[MEASURED] for cells in rows})
    when = days[0] if len(days) == 1 else f"from {days[0]} to {days[-1]}, each as its row says"
    lines = [
        f"- `tidegate advise` took at most {longest:.1f} s of wall time. The largest capture has {packets} packets.",
        f"- One run of each case, {when}. `load` is the machine's: {os.cpu_count()} processors, which other work shared.",
    ]
    if packets < 10**6:
        lines[0] += (
            "\n  It may take 10 s for 10^6 packets. These captures are too short to show that; [a longer one](../docs/operate/advise.md) does."
        )
    return lines


def page(rows):
    users = sum(cells[-2] == "yes" for cells in rows)
    both = sum(cells[-2:] == ["yes", "yes"] for cells in rows)
    head = [
        "# The advice against the gateway",
        "",
        "Written by `make validate-advise`. Kernel CUBIC and floods of UDP go through `tidegate gate`, first with drop-tail. `tidegate advise`",
        "reads a capture of that. Then the same senders go through the queue that it advises.",
        "",
        f"**Users' shares are within a tenth of what the advice said in {users} of {len(rows)} cases.** These shares are judged.",
        f"With the floods' shares counted too, it is {both} of {len(rows)}.",
        "",
        "- Shares are of the line, in per cent. Users are compared by goodput with headers, floods by what arrived.",
        f"- Rates, numbers and delays are in [advise.py](advise.py). Senders send for {LASTS:.0f} s; from {MEASURED_FROM:.0f} s on they are measured.",
        *evidence(rows),
        "- The thresholds of the advice were set on made captures (`crates/tidegate-lab/tests/all/advise.rs`). One came from\n  `short transfers`: by how much a stalled transfer may exceed the largest that ended (`LARGER`).",
        "- The cases found two faults, which were mended: stalled transfers, and users that a flood leaves nothing.",
        "",
    ]
    lines = ["| " + " | ".join(c) + " |" for c in [HEAD, ["---"] * len(HEAD), *rows]]
    return "\n".join([*head, *lines]) + "\n"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--case", action="append", help="only this one; may be repeated")
    ask.add_argument("--role", help=argparse.SUPPRESS)
    ask.add_argument("--setting", help=argparse.SUPPRESS)
    given = ask.parse_args()
    case = Case(**json.loads(given.setting)) if given.setting else None
    match given.role:
        case "sink":
            return sink()
        case "near":
            return users(case, 1, case.near)
        case "far":
            return users(case, 2, case.far)
        case "flood":
            return flood(case)
    cases = [c for c in CASES if not given.case or c.name in given.case]
    kept = {cells[0]: cells for cells in read()} if given.case else {}
    for case in cases:
        cells = row(try_case(case))
        kept[case.name] = cells
        print(" | ".join(cells), file=sys.stderr, flush=True)
    rows = [kept[case.name] for case in CASES if case.name in kept]
    PAGE.write_text(page(rows))
    sys.exit(10 * sum(cells[-2] == "yes" for cells in rows) < AGREE * len(rows))


if __name__ == "__main__":
    main()
