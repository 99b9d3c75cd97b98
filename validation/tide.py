#!/usr/bin/env python3
"""Judges Tide in 100 settings drawn by dice, after its parameters were last changed.

usage: tide.py          writes docs/tide/third.toml, the study; run it with `tidegate sweep … --csv`
       tide.py STUDY    writes docs/tide/third.md from what the study gave; `make tide` does all three

Every value is drawn by itself from the ranges below, so no setting was chosen. Python's standard library only.
"""

import argparse
import csv
import math
import pathlib
import random
import statistics

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tide" / "third.md"
# As in the protection suite: the worst user is sure of so much of a fair share.
WORST = 0.5
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


def mean(values):
    """A mean with half of its 95 % interval."""
    spread = statistics.stdev(values) / math.sqrt(len(values)) * 1.984
    return statistics.fmean(values), spread


def user(row):
    """A user's max-min share; `fair_share_bps` is the group's sum."""
    return float(row["fair_share_bps"]) / int(row["group.users.count"])


def page(study):
    by_queue = {}
    with (study / "summary.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            if row["group"] == "users":
                by_queue.setdefault(row["queue"], []).append(row)
    lines = []
    for queue, rows in by_queue.items():
        worst = [float(r["per_flow_min"]) / user(r) for r in rows]
        sure = [w - float(r["per_flow_min_ci95"]) / user(r) for w, r in zip(worst, rows)]
        passed = sum(s >= WORST for s in sure)
        share, loss = mean([float(r["share"]) for r in rows]), mean([float(r["loss_ratio"]) for r in rows])
        # Where nothing of them came through in a replication there is no wait to speak of.
        wait, low = mean([float(r["delay_ms_mean"]) for r in rows if r["delay_ms_mean"]]), mean([min(w, 1) for w in worst])
        starved = sum(w < 0.1 for w in worst)
        lines.append(
            (
                -passed,
                f"| `{queue}` | {passed} | {100 * low[0]:.0f} ± {100 * low[1]:.0f} % | {starved} | {100 * share[0]:.0f} ± {100 * share[1]:.0f} % "
                f"| {wait[0]:.0f} ± {wait[1]:.0f} ms | {100 * loss[0]:.1f} ± {100 * loss[1]:.1f} % |",
            )
        )
    settings = len(next(iter(by_queue.values())))
    PAGE.write_text(
        "\n".join(
            [
                "# Tide: the third set",
                "",
                f"{settings} settings that dice drew, after Tide's parameters were last changed. `make tide` writes this page. Each has users of",
                "CUBIC, NewReno, BBR or BBR version 3, 1 to 100 of them, near and far, with ECN or without. They share 1 to 200 Mbit/s",
                "with 1 to 100 floods of .7 to 10 times the line together, in packets of 200 to 1500 bytes. Buffers hold 50 to 250 ms.",
                "Every setting ran with 10 seeds. [The study](third.toml) has all values.",
                "",
                "| queue | settings in which the worst user is sure of half a fair share | worst user, mean | settings in which the worst user has less than a tenth | all users, mean | they wait, mean | they lose, mean |",
                "|---|---|---|---|---|---|---|",
                *(line for _, line in sorted(lines)),
                "",
                "Behind ± is half of the 95 % interval over settings. A worst user above a fair share counts as one.",
                "",
            ]
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", type=pathlib.Path, help="what `tidegate sweep` gave")
    study = parser.parse_args().study
    if study and not (study / "summary.csv").exists():
        parser.error(f"{study}: no summary.csv; run `tidegate sweep docs/tide/third.toml --csv --out {study}`")
    if study:
        return page(study)
    dice = random.Random(20261126)
    settings = [drawn(dice) for _ in range(SETTINGS)]
    lines = [
        "# Made by validation/tide.py. Do not edit.",
        'scenario = "../../validation/scenarios/tuned.toml"',
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
    PAGE.with_suffix(".toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
