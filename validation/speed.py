#!/usr/bin/env python3
"""Times ns-2 and Tidegate on the same job, in turn: sfb400, 45 Mbit/s of UDP, RED, 100 s, one thread.

usage: speed.py [--pairs N] [--regular]     prints medians; build first (make build)

ns-2 runs with its fastest scheduler and with totals only; ours keeps meters per flow and the delay histogram. The job
is the one of the comparison; --regular takes the random delays out of both (CBR without jitter, TCP without overhead).
Process: from start to exit, wall time and user + system CPU time. Run: ns-2's simulation alone (setup excluded)
against `wall_s` of our result. Memory: the greatest resident set, in a run of its own.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from setups import HERE, SETUPS

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
SETUP = next(s for s in SETUPS if s.label == "sfb400-45m-red")


def ns2(seed, regular):
    """ns-2's command and where to run it."""
    args = [word for word in SETUP.ns2_args if not word.startswith("stats=")]
    if regular:
        args = [word for word in args if not word.startswith(("udpjit=", "overhead="))]
    return ["ns", SETUP.script, *args, "stats=agg", f"seed={seed}"], HERE / "ns2"


def tidegate(seed, regular):
    """Our command and where to run it."""
    sets = ["--set", "group.tcp.overhead=0 s", "--set", "group.udp.jitter=0"] if regular else []
    one = ["--seeds", "1", "--seed", str(seed), "--threads", "1", "--json"]
    return [str(TIDEGATE), "run", str(SETUP.twin), *SETUP.ours, *sets, *one], HERE


def measure(cmd, cwd):
    """Runs `cmd`; its output, wall and CPU seconds."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen(cmd, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{' '.join(cmd)} failed with status {child.returncode}")
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
        except OSError:
            break
        if lines and os.path.realpath(f"/proc/{child.pid}/exe") != os.path.realpath("/proc/self/exe"):
            most = max(most, int(lines[0].split()[1]))
        time.sleep(0.002)
    child.wait()
    return most / 1024


def pair(seed, regular):
    """Both sides once, ns-2 first."""
    text, wall, cpu = measure(*ns2(seed, regular))
    result = json.loads(next(line for line in text.splitlines() if line.startswith("JSON "))[5:])
    theirs = {"wall": wall, "cpu": cpu, "run": result["run_s"]}
    text, wall, cpu = measure(*tidegate(seed, regular))
    document = json.loads(text)
    document = document[0] if isinstance(document, list) else document
    return theirs, {"wall": wall, "cpu": cpu, "run": document["wall_s"]}


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--pairs", type=int, default=11, help="how many runs of each (default 11)")
    ask.add_argument("--regular", action="store_true", help="without the random delays, on both sides")
    given = ask.parse_args()
    pairs = [pair(seed, given.regular) for seed in range(1, given.pairs + 1)]
    for key, what in [("wall", "process, wall s"), ("cpu", "process, CPU s"), ("run", "run alone, s")]:
        ratios = [a[key] / b[key] for a, b in pairs]
        print(
            f"{what:16} ns-2 {statistics.median(a[key] for a, _ in pairs):.3f}"
            f"  ours {statistics.median(b[key] for _, b in pairs):.4f}"
            f"  ratio {statistics.median(ratios):.1f} (least {min(ratios):.1f}, greatest {max(ratios):.1f})"
        )
    for name, side in (("ns-2", ns2), ("ours", tidegate)):
        print(f"peak memory      {name} {memory(*side(1, given.regular)):.1f} MB")


if __name__ == "__main__":
    main()
