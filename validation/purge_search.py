#!/usr/bin/env python3
"""Tries all readings of Purge against its Table 2 and says which come nearest: 288 combinations, 100 and 500 flows, two seeds.

usage: purge_search.py [--best N]     build first (make build); two minutes on two idle cores

What is not printed, or can be read in two ways: the unit of eq. (3), how many flows are remembered, what becomes of shares while
nothing is sampled, the period, which packets the price counts, how long packets are, and whose the rates of 3 and 5 Mbit/s are.
The distance is the root mean square of ln(ours / printed) over the three classes and both numbers of flows.
Python's standard library only.
"""

import argparse
import itertools
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
SCENARIO = HERE.parent / "papers" / "purge" / "a6.toml"

# kbit/s of a flow: TCP, UDP, unresponsive TCP (purge, Table 2).
PRINTED = {100: (94.208, 103.424, 104.448), 500: (19.456, 21.504, 22.528)}
GROUPS = ("tcp", "udp", "deaf")
# Queues in one run of the command.
TOGETHER = 18


def purges():
    """Every reading of the queue, as `--queue` takes it, with its label."""
    units, caches, memories = ("bits", "bytes"), (50, 1024), ("hold", "gate", "fade")
    periods, inputs = ("200 ms", "1 s", "5 s"), ("admitted", "offered")
    for unit, cache, memory, period, counted in itertools.product(
        units, caches, memories, periods, inputs
    ):
        params = f"unit={unit},cache={cache},memory={memory},interval={period},input={counted}"
        yield f"purge/paper,{params}", params.replace(",", ", ").replace("=", " ")


def settings(flows, packet, each):
    """What is set in the scenario; `each` says whether the rates are a flow's."""
    counts = {"tcp": flows * 85 // 100, "udp": flows * 12 // 100, "deaf": flows * 3 // 100}
    rates = {"udp": 3e6, "deaf": 5e6}
    sets = [f"network.mean_packet={packet}"]
    sets += [f"group.{group}.packet={packet}" for group in GROUPS]
    sets += [f"group.{group}.count={counts[group]}" for group in GROUPS]
    return sets + [
        f"group.{g}.rate={rate if each else rate / counts[g]:.0f} bit/s"
        for g, rate in rates.items()
    ]


def measured(flows, packet, each, queues):
    """By label, kbit/s of a flow of each class."""
    cmd = [str(TIDEGATE), "compare", str(SCENARIO), "--json", "--seeds", "2"]
    cmd += [
        word
        for spec, label in queues
        for word in ("--queue", f"{spec} as {label.replace(',', ' ')}")
    ]
    cmd += [word for text in settings(flows, packet, each) for word in ("--set", text)]
    run = subprocess.run(cmd, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(cmd)} failed:\n{run.stderr}")
    documents = json.loads(run.stdout)
    rate = lambda group: group["throughput_bps"]["mean"] / group["count"] / 1e3
    return [
        tuple(rate(next(g for g in d["groups"] if g["name"] == name)) for name in GROUPS)
        for d in documents
    ]


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--best", type=int, default=10, help="how many are told")
    given = ask.parse_args()
    queues, found = list(purges()), []
    for packet, each in itertools.product(("8 kB", "1 kB"), (False, True)):
        rates = {flows: [] for flows in PRINTED}
        for flows in PRINTED:
            for start in range(0, len(queues), TOGETHER):
                rates[flows] += measured(flows, packet, each, queues[start : start + TOGETHER])
        for number, (_, label) in enumerate(queues):
            ours = {flows: rates[flows][number] for flows in PRINTED}
            logs = [
                math.log(max(a, 1e-3) / b) for n in PRINTED for a, b in zip(ours[n], PRINTED[n])
            ]
            distance = math.sqrt(sum(x * x for x in logs) / len(logs))
            found.append(
                (
                    distance,
                    f"packets of {packet}, rates of {'flows' if each else 'classes'}, {label}",
                    ours,
                )
            )
    found.sort(key=lambda row: row[0])
    for distance, label, ours in found[: given.best]:
        rows = "; ".join(
            f"{n} flows: " + " / ".join(f"{rate:.1f}" for rate in ours[n]) for n in PRINTED
        )
        print(f"{distance:.3f} (a factor of {math.exp(distance):.2f})  {label}\n    {rows}")
    print(f"{len(found)} readings")


if __name__ == "__main__":
    main()
