#!/usr/bin/env python3
"""sfb400 without `overhead` and without dice: the first packet at which ns-2 and we part, and who wins ns-2's ties.

usage: tie.py [--until SECONDS] [--seed N] [--out DIR] [--tidegate FILE]    the first packet at which they part
       tie.py --later SECONDS … [--queue QUEUE] [--until SECONDS]           ns-2's ties, all starts so much later

Starts, ways and the times of the UDP packets are drawn here, once for both programs. Either has a die of its own for
where in a tick of 10 ms a connection's clock began. A tick of 1 s takes it away: every round trip is a tick, and the
timer runs for 3 s. ns-2's log is its trace of A -> B with its clock to 17 digits (tie.tcl). Ours is series.json on a
grid of 100 us, with a group for each way: the TCP flows from one node to another, and UDP.
"""

import argparse
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict, deque
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from compare import TIDEGATE  # noqa: E402
from setups import NS2  # noqa: E402

FLOWS = 400
GRID = 1e-4  # of our series, in seconds: shorter than a packet takes
TICK = 1  # of TCP's clock, in seconds, where both programs run
SLOT = Fraction(8 * 1000, 45_000_000)  # a packet's time on the line
# From a packet's start on the line to its acknowledgement's answer at the line: eight links of 10 ms.
ROUND = 0.080 + float(2 * SLOT) + 2 * 80e-6 + 2 * 3.2e-6 + 2 * 320 / 45e6
TIE = 1e-9
NODES = {3 + 2 * i: i for i in range(5)}  # ns-2's number of a sender's node, and ours


def draw(seed, until):
    """Lines of tie.tcl's file: kind, nanoseconds, sender's node, receiver's node."""
    dice = random.Random(seed)
    lines = [
        ("tcp", dice.randrange(10**9), dice.randrange(5), dice.randrange(5)) for _ in range(FLOWS)
    ]
    at, ends = dice.randrange(10**9), (dice.randrange(5), dice.randrange(5))
    while at < until * 10**9:
        lines.append(("udp", at, *ends))
        at += round(4_000_000 * dice.uniform(0.5, 1.5))
    return lines


def output(cmd):
    run = subprocess.run(
        ["nice", "-n", "10", *map(str, cmd)], cwd=HERE, capture_output=True, text=True
    )
    if run.returncode:
        sys.exit(f"{' '.join(map(str, cmd))} failed:\n{run.stdout[-400:]}{run.stderr[-800:]}")
    return run.stdout


def way(a, b):
    return f"n{a}-n{b + 5}"


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def off(clock):
    """By how much a departure of a busy line is late at this reading of ns-2's clock, exactly.

    ns-2 adds the time of a packet to a clock whose last digit is worth `unit`, and so adds the nearest multiple of it.
    """
    unit = Fraction(2) ** (math.frexp(clock)[1] - 53)
    return round(Fraction(8 * 1000 / 45e6) / unit) * unit - SLOT


class Arrival:
    """A packet that comes to A -> B in ns-2."""

    def __init__(self, clock, words):
        self.clock, self.at = clock, float(clock)
        self.tcp, self.size = words[4] == "tcp", int(words[5])
        self.flow, self.number = int(words[7]), int(words[10])
        self.node = NODES[int(words[8].split(".")[0])]
        self.dropped = self.timer = False

    def __str__(self):
        cause = "a timer" if self.timer else "an ACK"
        fate = "dropped" if self.dropped else "queued"
        what = f"flow {self.flow}, number {self.number}, by way of n{self.node}, sent by {cause}"
        return f"{self.clock:<20} {what}: {fate}"


def theirs(lines, until, folder, later=0, queue="drop_tail", tick=0.01):
    """ns-2's arrivals."""
    file = folder / "flows.txt"
    rows = (f"{kind} {seconds(at + later * 10**9)} {a} {b}\n" for kind, at, a, b in lines)
    file.write_text("".join(rows))
    arrivals, began, clock = [], defaultdict(lambda: deque(maxlen=500)), None
    kind, ecn = NS2[queue.removesuffix("-ecn")], int(queue.endswith("-ecn"))
    words = [f"flows={file}", f"T={until + later}", f"queue={kind}", f"ecn={ecn}", f"tick={tick}"]
    for line in output(["ns", "tie.tcl", *words]).splitlines():
        words = line.split()
        if words[0] == "@":
            clock = words[1]
        elif words[0] == "+":
            now = Arrival(clock, words)
            arrivals.append(now)
            # A window that grows sends two packets, one behind the other on the access link.
            sent = (now.at - ROUND, now.at - ROUND - 80e-6)
            now.timer = now.tcp and not any(
                abs(at - start) < 3e-6 for at in sent for start in began[now.flow]
            )
        elif words[0] == "d":
            arrivals[-1].dropped = True
        elif words[0] == "-":
            began[int(words[7])].append(float(words[1]))
    return arrivals


def ties(arrivals):
    """Pairs that come within a nanosecond, by ns-2's clock."""
    return [(a, b) for a, b in pairwise(arrivals) if b.at - a.at < TIE]


def whose(arrivals, title):
    """A row for each power of two of the clock: who comes first at a tie of a timer's packet and an ACK's."""
    first, of = Counter(), Counter()
    for a, b in ties(arrivals):
        if a.timer != b.timer:
            power = math.frexp(a.at)[1]
            of[power] += 1
            first[power] += a.timer
    for power in sorted(of):
        low, high = 2.0 ** (power - 1), 2.0**power
        mine = [x for x in arrivals if x.tcp and low <= x.at < high]
        loss = sum(x.dropped for x in mine) / len(mine)
        late = float(off(low))
        cells = [title, f"{low:g} to {high:g} s", f"{late:.1e} s", f"{1125 * late:.1e} s"]
        print("|", " | ".join([*cells, f"{first[power]} of {of[power]}", f"{loss:.4f}"]), "|")


def capture(times):
    """A pcap of packets of raw IP at these nanoseconds, 1000 B long, of which the headers are there."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 1000, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    udp = struct.pack(">HHHH", 1, 2, 980, 0)
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    for at in times:
        out += struct.pack("<IIII", at // 10**9, at % 10**9, 28, 1000) + ip + udp
    return out


def scenario(lines, until, folder):
    """Our twin: a group for each flow."""
    text = [
        'title = "sfb400 without overhead and without dice"',
        'queue = "drop_tail"',
        f'[run]\nduration = "{round(until * 10**6)} us"\nwarmup = "0 s"\nseeds = 1\nseries = "100 us"',
        '[network]\nkind = "graph"\nmean_packet = "1000 B"',
    ]
    line = 'limit = "199 packets"\nwatch = true\n'  # ns-2's drop-tail holds one less than its 200
    links = [("A", "B", 45, line)]
    links += [(f"n{i}", "A", 100, "") for i in range(5)] + [("B", "C", 45, "")]
    links += [("C", f"n{i}", 100, "") for i in range(5, 10)]
    for a, b, rate, more in links:
        text.append(
            f'[[link]]\nfrom = "{a}"\nto = "{b}"\nrate = "{rate} Mbit/s"\ndelay = "10 ms"\n{more}'
        )
    starts = defaultdict(list)
    for kind, at, a, b in lines:
        if kind == "tcp":
            starts[a, b].append(f"{at} ns")
    for (a, b), times in starts.items():
        text.append(
            f'[[group]]\nname = "{way(a, b)}"\nsource = "newreno"\nrules = "ns2"\nhandshake = "syn"\n'
            f'window = "10000 packets"\ntick = "{TICK} s"\ncount = {len(times)}\n'
            f'start = {json.dumps(times)}\nfrom = "n{a}"\nto = "n{b + 5}"\n'
        )
    udp = [line for line in lines if line[0] == "udp"]
    (folder / "udp.pcap").write_bytes(capture([at for _, at, _, _ in udp]))
    _, at, a, b = udp[0]
    text.append(
        f'[[group]]\nname = "udp"\nsource = "replay"\ncapture = "udp.pcap"\nstart = "{at} ns"\n'
        f'from = "n{a}"\nto = "n{b + 5}"\n'
    )
    file = folder / "tie.toml"
    file.write_text("\n".join(text))
    return file


def ours(tidegate, lines, until, folder):
    """Bytes by interval of the grid and way: what came to receivers, and what was dropped."""
    file, out = scenario(lines, until, folder), folder / "ours"
    output([tidegate, "run", file, "--out", out, "--report", "off", "--threads", "1"])
    found = {"throughput": Counter(), "loss": Counter()}
    for line in json.loads((out / "series.json").read_text())[0]["series"]["lines"]:
        if line["unit"] == "bit/s":
            for i, value in enumerate(line["values"]):
                if value:
                    found[line["what"]][i, line["name"]] += round(value * GRID / 8)
    return found["throughput"], found["loss"]


def compare(lines, arrivals, got, lost):
    """Prints where the two programs part: by the order of what is sent on, and by what is dropped."""
    of = [way(a, b) for kind, _, a, b in lines if kind == "tcp"] + ["udp"]
    # Drop-tail sends on in the order of arrival, and packets of 1000 B come to receivers one in an interval.
    queued = [x for x in arrivals if x.size == 1000 and not x.dropped]
    sent = [(i, name) for (i, name), n in sorted(got.items()) if n >= 1000]
    first = next(
        (k for k, (x, (_, name)) in enumerate(zip(queued, sent)) if of[x.flow] != name), None
    )
    if first is None:
        print(f"the same {len(sent)} packets are sent on")
        return
    x, (i, name) = queued[first], sent[first]
    print(
        f"{first} packets of 1000 B are sent on by the same ways in the same order. Then ns-2's is"
    )
    print(f"    {x}\nand ours is one by the way {name}, at its receiver at {i * GRID:.4f} s")
    dropped = Counter()
    for y in arrivals:
        if y.dropped:
            dropped[int(y.at / GRID), of[y.flow]] += y.size
    until = max(at for at, _ in lost)
    keys = {key for key in dropped.keys() | lost.keys() if key[0] <= until}
    apart = min((key for key in keys if dropped[key] != lost[key]), default=(until, ""))
    print(f"the same bytes of the same ways are dropped up to {apart[0] * GRID:.4f} s")
    print("ties in ns-2 up to the first of the two:")
    for a, b in ties(arrivals):
        if a.at < x.at + GRID:
            print(f"    {a}\n    {b} ({b.at - a.at:.2e} s later)")


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--until", type=float, default=4.5, help="simulated seconds (default: 4.5)")
    ask.add_argument("--seed", type=int, default=3, help="of starts, ways and UDP")
    ask.add_argument("--later", type=int, nargs="+", help="seconds, one run of ns-2 each")
    ask.add_argument("--queue", default="drop_tail", choices=["drop_tail", "red", "red-ecn"])
    ask.add_argument("--out", type=Path, help="keep all files here")
    ask.add_argument("--tidegate", type=Path, default=TIDEGATE, help="our program")
    given = ask.parse_args()
    lines = draw(given.seed, given.until)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.out or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if given.later is None:
            if given.queue != "drop_tail":
                ask.error("RED's dice differ in the two programs: give --later")
            us = ours(given.tidegate.resolve(), lines, given.until, folder)
            compare(lines, theirs(lines, given.until, folder, tick=TICK), *us)
            return
        print("| starts | clock | a departure is late by | over 200 ms | timer first | TCP loses |")
        print("|---|---|---|---|---|---|")
        for later in given.later:
            arrivals = theirs(lines, given.until, folder, later, given.queue)
            whose(arrivals, f"{later} s later")


if __name__ == "__main__":
    main()
