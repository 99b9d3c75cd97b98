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

from studies import HERE, swept

SCENARIO = HERE.parent / "papers" / "purge" / "a6.toml"

# kbit/s of a flow: TCP, UDP, unresponsive TCP (purge, Table 2).
PRINTED = {100: (94.208, 103.424, 104.448), 500: (19.456, 21.504, 22.528)}
GROUPS = ("tcp", "udp", "deaf")
# Readings of the queue, by parameter.
READINGS = {
    "unit": ("bits", "bytes"),
    "cache": (50, 1024),
    "memory": ("hold", "gate", "fade"),
    "interval": ("200 ms", "1 s", "5 s"),
    "input": ("admitted", "offered"),
}


def step(packet, each):
    """What the numbers of flows set in step; `each` says whether the rates are a flow's."""
    counts = {
        n: {"tcp": n * 85 // 100, "udp": n * 12 // 100, "deaf": n * 3 // 100} for n in PRINTED
    }
    of = {f"group.{g}.count": [counts[n][g] for n in PRINTED] for g in GROUPS}
    for g, rate in (("udp", 3e6), ("deaf", 5e6)):
        of[f"group.{g}.rate"] = [
            f"{rate if each else rate / counts[n][g]:.0f} bit/s" for n in PRINTED
        ]
    lines = ["[set]", f'network.mean_packet = "{packet}"']
    lines += [f'group.{group}.packet = "{packet}"' for group in GROUPS]
    return lines + ["[axes.flows.set]", *(f"{path} = {json.dumps(v)}" for path, v in of.items())]


def measured(packet, each):
    """By reading of the queue, then by number of flows: kbit/s of a flow of each class."""
    axes = ["[axes]", *(f"{name} = {json.dumps(values)}" for name, values in READINGS.items())]
    queue = "purge/paper," + ",".join(f"{name}={{{name}}}" for name in READINGS)
    rows = swept(SCENARIO, [f"{queue} as purge"], 2, [*step(packet, each), *axes])
    found = {}
    for row in rows:
        reading = ", ".join(f"{name} {row[name]}" for name in READINGS)
        # The axis of flows is the first, and goes round slowest.
        flows = list(PRINTED)[int(row["cell"]) // math.prod(map(len, READINGS.values()))]
        rate = float(row["per_flow_mean"]) / 1e3
        found.setdefault(reading, {}).setdefault(flows, {})[row["group"]] = rate
    return {
        reading: {n: tuple(rates[n][g] for g in GROUPS) for n in PRINTED}
        for reading, rates in found.items()
    }


def main():
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--best", type=int, default=10, help="how many are told")
    given = ask.parse_args()
    found = []
    for packet, each in itertools.product(("8 kB", "1 kB"), (False, True)):
        for label, ours in measured(packet, each).items():
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
