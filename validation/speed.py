#!/usr/bin/env python3
"""Times ns-2 and Tidegate on the same job, in turn: sfb400, 45 Mbit/s of UDP, RED, 100 s, one thread.

usage: speed.py [--pairs N]     prints each pair, then medians; build first (make build)

ns-2 runs with its fastest scheduler and with totals only; ours keeps meters per flow and the delay histogram.
Process: from start to exit, user + system CPU time and wall time. Run: ns-2's simulation alone (setup excluded)
against `wall_s` of our result. Memory: the greatest resident set.
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


def measure(cmd, cwd):
    """Runs `cmd`; its output, wall and CPU seconds, and greatest resident set in MB."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen(cmd, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{' '.join(map(str, cmd))} failed with status {child.returncode}")
        out.seek(0)
        return out.read(), wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def ns2(seed):
    """One run of ns-2."""
    args = [word for word in SETUP.ns2_args if not word.startswith("stats=")]
    text, wall, cpu, memory = measure(["ns", SETUP.script, *args, "stats=agg", f"seed={seed}"], HERE / "ns2")
    result = json.loads(next(line for line in text.splitlines() if line.startswith("JSON "))[5:])
    return {"wall": wall, "cpu": cpu, "run": result["run_s"], "memory": memory}


def tidegate(seed):
    """One run of ours."""
    cmd = [TIDEGATE, "run", SETUP.twin, *SETUP.ours, "--seeds", "1", "--seed", str(seed), "--threads", "1", "--json"]
    text, wall, cpu, memory = measure(cmd, HERE)
    document = json.loads(text)
    document = document[0] if isinstance(document, list) else document
    return {"wall": wall, "cpu": cpu, "run": document["wall_s"], "memory": memory}


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--pairs", type=int, default=11, help="how many runs of each (default 11)")
    pairs = [(ns2(seed), tidegate(seed)) for seed in range(1, ask.parse_args().pairs + 1)]
    for key, what in [("wall", "process, wall s"), ("cpu", "process, CPU s"), ("run", "run alone, s")]:
        ratios = [a[key] / b[key] for a, b in pairs]
        print(
            f"{what:16} ns-2 {statistics.median(a[key] for a, _ in pairs):.3f}"
            f"  ours {statistics.median(b[key] for _, b in pairs):.4f}"
            f"  ratio {statistics.median(ratios):.1f} (least {min(ratios):.1f}, greatest {max(ratios):.1f})"
        )
    for side, name in ((0, "ns-2"), (1, "ours")):
        print(f"peak memory      {name} {max(pair[side]['memory'] for pair in pairs):.1f} MB")


if __name__ == "__main__":
    main()
