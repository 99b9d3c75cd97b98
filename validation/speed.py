#!/usr/bin/env python3
"""Times Tidegate, and ns-2 on the same jobs in turn, one thread each, and prints every figure beside its goal.

usage: speed.py [--pairs N] [CELL …]     build first (make build); an idle machine; 10 minutes for all

Cells: sfb400 (400 TCP flows and 45 Mbit/s of UDP, RED, 100 s, and the same without random delays), care26 (chan2003's
mix, RED, 600 s), sfb6400 (16 times as many flows on 16 times the rate, 20 s), sfb100000 (100,000 TCP flows on
10 Gbit/s, 10 s), growth (what a packet costs among 100 to 100,000 flows of 100 kbit/s each).

ns-2 runs with its fastest scheduler and with totals only; ours keeps the meters of groups. Process: from start to exit,
wall time and user + system CPU time. Run: ns-2's simulation alone (setup excluded) against `wall_s` of our result, which
has the making of the result in it. Ratios are medians over pairs. Memory: the greatest resident set, in a run of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from setups import HERE, SETUPS

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
SFB400, CARE26 = (
    next(s for s in SETUPS if s.label == label) for label in ("sfb400-45m-red", "care26-mix-red")
)
REGULAR = ("--set", "group.tcp.overhead=0 s", "--set", "group.udp.jitter=0")


@dataclass(frozen=True)
class Job:
    """What both sides run: ns-2's script with its words, our scenario with its arguments."""

    script: str
    words: list
    scenario: Path
    ours: tuple = ()

    def ns2(self, seed):
        return ["ns", self.script, *self.words, f"seed={seed}"], HERE / "ns2"

    def tidegate(self, seed):
        one = ["--seeds", "1", "--seed", str(seed), "--threads", "1", "--json"]
        return [str(TIDEGATE), "run", str(self.scenario), *self.ours, *one], HERE


def agreed(setup, leave=(), ours=()):
    """The job of a set-up of the comparison, totals only, `leave`ing out words that begin so."""
    words = [word for word in setup.ns2_args if not word.startswith(("stats=", *leave))]
    return Job(setup.script, [*words, "stats=agg"], setup.twin, (*setup.ours, *ours))


def scaled(folder, flows, duration, queue="red"):
    """sfb400 with so many TCP flows, every rate and limit in proportion, for so many seconds; with drop-tail, no UDP: our scenario."""
    scale = flows / 400
    text = SFB400.twin.read_text()
    for old, new in [
        ("45 Mbit/s", f"{45_000 * scale:.0f} kbit/s"),
        ("100 Mbit/s", f"{100_000 * scale:.0f} kbit/s"),
        ("200 packets", f"{200 * scale:.0f} packets"),
        (
            "min=40 packets,max=160 packets",
            f"min={40 * scale:.0f} packets,max={160 * scale:.0f} packets",
        ),
        ("count = 400", f"count = {flows}"),
        ('"20 s"', '"0 s"'),
        ('"100 s"', f'"{duration} s"'),
    ]:
        assert old in text, old
        text = text.replace(old, new)
    if queue == "drop_tail":
        text = text[: text.index('[[group]]\nname = "udp"')]
        text = "\n".join(
            'queue = "drop_tail"' if line.startswith("queue =") else line
            for line in text.splitlines()
        )
    path = folder / f"sfb{flows}-{duration}.toml"
    path.write_text(text)
    return path


def measure(cmd, cwd):
    """Runs `cmd`; its output, wall and CPU seconds."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen(cmd, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{' '.join(map(str, cmd))} failed with status {child.returncode}")
        out.seek(0)
        return out.read(), wall, used.ru_utime + used.ru_stime


def memory(cmd, cwd):
    """Greatest resident set of `cmd` in MB, read while it runs: what the kernel reports at the end would count ours too."""
    child = subprocess.Popen(cmd, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status") as status:
                lines = [line for line in status if line.startswith("VmHWM:")]
            ours = os.path.realpath(f"/proc/{child.pid}/exe") == os.path.realpath("/proc/self/exe")
        except OSError:  # it has just ended
            break
        if lines and not ours:
            most = max(most, int(lines[0].split()[1]))
        time.sleep(0.002)
    child.wait()
    return most / 1024


def run_ours(job, seed):
    """Our side once: wall, CPU and run seconds, and the packets that were delivered."""
    text, wall, cpu = measure(*job.tidegate(seed))
    document = json.loads(text)
    document = document[0] if isinstance(document, list) else document
    bits = sum(group["throughput_bps"]["mean"] for group in document["groups"])
    return {"wall": wall, "cpu": cpu, "run": document["wall_s"], "bps": bits}


def pair(job, seed):
    """Both sides once, ns-2 first."""
    text, wall, cpu = measure(*job.ns2(seed))
    result = json.loads(next(line for line in text.splitlines() if line.startswith("JSON "))[5:])
    return {"wall": wall, "cpu": cpu, "run": result["run_s"]}, run_ours(job, seed)


def say(cell, what, figure, goal="", reached=None):
    """A line of the table."""
    verdict = "" if reached is None else "reached" if reached else "MISSED"
    print(f"{cell:16} {what:26} {figure:56} {goal:16} {verdict}".rstrip(), flush=True)


def against_ns2(cell, job, pairs, goal=None):
    """Both sides in turn; `goal`: how many times faster the run alone is to be."""
    both = [pair(job, seed) for seed in range(1, pairs + 1)]
    for key, what in [
        ("wall", "process, wall s"),
        ("cpu", "process, CPU s"),
        ("run", "run alone, s"),
    ]:
        ratios = [a[key] / b[key] for a, b in both]
        middle = statistics.median(ratios)
        theirs, ours = (statistics.median(side[key] for side in sides) for sides in zip(*both))
        figure = f"ns-2 {theirs:.3f}, ours {ours:.4f}: {middle:.1f} times ({min(ratios):.1f} to {max(ratios):.1f})"
        if key == "run" and goal:
            say(cell, what, figure, f"{goal} times", middle >= goal)
        else:
            say(cell, what, figure)
    say(
        cell,
        "peak memory, MB",
        f"ns-2 {memory(*job.ns2(1)):.1f}, ours {memory(*job.tidegate(1)):.1f}",
    )


def sfb400(pairs, _):
    against_ns2("sfb400", agreed(SFB400), pairs, 8)
    against_ns2("sfb400 regular", agreed(SFB400, ("udpjit=", "overhead="), REGULAR), pairs)


def care26(pairs, _):
    against_ns2("care26", agreed(CARE26), pairs, 5)


def sfb6400(pairs, folder):
    queue = "queue=RED limit=3200 red.min=640 red.max=2560 sched=Splay stats=agg"
    words = f"N=6400 bw=720e6 udp=720e6 udpjit=1 overhead=0.0002 warm=0 T=20 {queue}".split()
    job = Job("sfb400.tcl", words, scaled(folder, 6400, 20))
    against_ns2("sfb6400", job, max(1, pairs // 3), 8)


def sfb100000(_, folder):
    job = Job("", [], scaled(folder, 100_000, 10, "drop_tail"))
    ours = run_ours(job, 1)
    say(
        "sfb100000",
        "process, wall s",
        f"ours {ours['wall']:.1f}",
        "below 120 s",
        ours["wall"] < 120,
    )
    most = memory(*job.tidegate(1))
    say("sfb100000", "peak memory, MB", f"ours {most:.0f}", "below 4096 MB", most < 4096)


def growth(pairs, folder):
    """As many packets in each job, so that the making of flows weighs as little as it can in the largest."""
    costs = []
    for flows, duration in [(100, 2000), (1000, 200), (10_000, 20), (100_000, 10)]:
        job = Job("", [], scaled(folder, flows, duration, "drop_tail"))
        runs = [run_ours(job, seed) for seed in range(1, 1 + max(1, pairs // 4))]
        packets = runs[0]["bps"] * duration / 8000
        costs.append(min(run["run"] for run in runs) / packets * 1e9)
        say("growth", f"{flows} flows", f"ours {costs[-1]:.0f} ns a delivered packet")
    times = costs[-1] / costs[0]
    say("growth", "100 to 100,000 flows", f"ours {times:.2f} times", "below 3 times", times < 3)


CELLS = {f.__name__: f for f in (sfb400, care26, sfb6400, sfb100000, growth)}


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--pairs",
        type=int,
        default=11,
        help="how many runs of each (default 11; the long ones fewer)",
    )
    ask.add_argument(
        "cells", nargs="*", metavar="CELL", help=f"of {', '.join(CELLS)} (default: all)"
    )
    given = ask.parse_args()
    unknown = set(given.cells) - set(CELLS)
    if unknown:
        sys.exit(f"unknown cell {sorted(unknown)}; known: {list(CELLS)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.cells or CELLS:
            CELLS[name](given.pairs, Path(folder))


if __name__ == "__main__":
    main()
