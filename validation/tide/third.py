#!/usr/bin/env python3
"""Writes validation/tide/third.toml: 100 settings drawn by dice, for judging Tide after its parameters were last changed.

usage: third.py      then `tidegate sweep validation/tide/third.toml --csv`; `make tide` does both and prints the table

Every value is drawn by itself from the ranges below, so no setting was chosen. Python's standard library only.
"""

import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = 100


def between(dice, low, high):
    """A number of even logarithm."""
    return math.exp(dice.uniform(math.log(low), math.log(high)))


def drawn(dice):
    rate = between(dice, 1e6, 200e6)
    floods = round(between(dice, 1, 100))
    times = between(dice, 0.7, 10)
    far = round(between(dice, 2, 120))
    return {
        "network.rate": f"{rate / 1e3:.0f} kbit/s",
        "network.limit": f"{max(rate / 8 * dice.uniform(0.05, 0.25), 15000):.0f} B",
        "group.users.count": round(between(dice, 1, 100)),
        "group.users.source": dice.choice(["cubic", "cubic", "newreno", "bbr", "bbr3"]),
        "group.users.ecn": dice.choice(["off", "off", "on"]),
        "group.users.access_delay": ["1 ms", f"{far} ms"],
        "group.flood.count": floods,
        "group.flood.rate": f"{rate * times / floods / 1e3:.1f} kbit/s",
        "group.flood.packet": dice.choice(["200 B", "500 B", "1500 B", "1500 B"]),
        "group.flood.ecn": dice.choice(["off", "off", "on"]),
    }


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return str(value) if isinstance(value, int) else f'"{value}"'


def main():
    dice = random.Random(20261126)
    settings = [drawn(dice) for _ in range(SETTINGS)]
    lines = [
        "# Made by third.py. Do not edit.",
        'scenario = "../scenarios/tuned.toml"',
        'queues = ["tide", "drr", "fq_codel", "cake", "afq", "care"]',
        "seeds = 10",
        "",
        "[set]",
        'run.duration = "30 s"',
        "",
        "[axes.setting.set]",
    ]
    for key in settings[0]:
        lines += [f"{key} = [", *(f"  {toml(each[key])}," for each in settings), "]"]
    (HERE / "third.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
