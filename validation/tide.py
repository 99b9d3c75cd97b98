#!/usr/bin/env python3
"""Judges Tide in 100 settings drawn by dice, after its parameters were last changed.

usage: tide.py          writes docs/tide/fourth.toml, the study; run it with `tidegate sweep … --csv`
       tide.py STUDY    writes docs/tide/fourth.md from what the study gave; `make tide` does all three

Every value is drawn by itself from the ranges below, so no setting was chosen. Python's standard library only.
"""

import argparse
import csv
import math
import pathlib
import random
import statistics

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tide" / "fourth.md"
# As in the protection suite: the worst user is sure of so much of a fair share.
WORST = 0.5
# A call is whole with so much of its packets.
HEARD = 0.98
SETTINGS = 100


def between(dice, low, high):
    """A number of even logarithm."""
    return math.exp(dice.uniform(math.log(low), math.log(high)))


SOURCES = ["cubic", "cubic", "newreno", "bbr", "bbr3", "vegas", "dctcp", "prague"]


def crowd(dice, name):
    """A group of users."""
    source = dice.choice(SOURCES)
    ecn = dice.choice(["off", "off", "on"])
    return {
        f"group.{name}.count": round(between(dice, 1, 200)),
        f"group.{name}.source": source,
        # What is made for marks speaks ECN.
        f"group.{name}.ecn": {"dctcp": "on", "prague": "ect1"}.get(source, ecn),
        f"group.{name}.access_delay": ["1 ms", f"{round(between(dice, 2, 120))} ms"],
    }


def drawn(dice):
    rate = between(dice, 0.512e6, 300e6)
    floods = round(between(dice, 1, 200))
    times = between(dice, 0.7, 20)
    return {
        "network.rate": f"{rate / 1e3:.0f} kbit/s",
        "network.limit": f"{max(rate / 8 * dice.uniform(0.05, 0.25), 15000):.0f} B",
        **crowd(dice, "users"),
        **crowd(dice, "others"),
        "group.calls.count": dice.randint(1, 4),
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


def shares(row):
    """What the worst user of a group gets of a max-min share, and the lower end of its interval; `fair_share_bps` is the group's sum."""
    share = float(row["fair_share_bps"]) / int(row[f"group.{row['group']}.count"])
    worst = float(row["per_flow_min"])
    return worst / share, (worst - float(row["per_flow_min_ci95"])) / share


def judged(cells):
    """A queue's line of the page, with its rank."""
    worst, sure, share, wait, loss, calls, heard = [], [], [], [], [], [], []
    for groups in cells:
        users = [groups["users"], groups["others"]]
        both = [shares(row) for row in users]
        worst.append(min(w for w, _ in both))
        sure.append(min(s for _, s in both))
        share.append(
            sum(float(row["throughput_bps"]) for row in users)
            / sum(float(row["fair_share_bps"]) for row in users)
        )
        # The two groups meet the same queue: one value for both.
        loss.append(statistics.fmean(float(row["loss_ratio"]) for row in users))
        # Where nothing of them came through in a replication there is no wait to speak of.
        waits = [float(row["delay_ms_mean"]) for row in users if row["delay_ms_mean"]]
        wait += [statistics.fmean(waits)] if waits else []
        calls += [float(groups["calls"]["delay_ms_p99"])] if groups["calls"]["delay_ms_p99"] else []
        heard.append(1 - float(groups["calls"]["loss_ratio"]))
    passed, starved = sum(s >= WORST for s in sure), sum(w < 0.1 for w in worst)
    good = sum(h >= HEARD for h in heard)
    cell = lambda values, times=1, digits=0: "{:.{d}f} ± {:.{d}f}".format(
        *(times * part for part in mean(values)), d=digits
    )
    return -passed, (
        f"{passed} | {cell([min(w, 1) for w in worst], 100)} % | {starved} | {cell(share, 100)} % | {cell(wait)} ms | {cell(loss, 100, 1)} % "
        f"| {statistics.median(calls):.0f} ms | {good}"
    )


def page(study):
    by_queue = {}
    with (study / "summary.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            by_queue.setdefault(row["queue"], {}).setdefault(row["cell"], {})[row["group"]] = row
    lines = []
    for queue, cells in by_queue.items():
        rank, line = judged(cells.values())
        lines.append((rank, f"| `{queue}` | {line} |"))
    settings = len(next(iter(by_queue.values())))
    PAGE.write_text(
        "\n".join(
            [
                "# Tide: the fourth set",
                "",
                f"{settings} settings that dice drew, after the last change of Tide that they could show. `make tide` writes this page. Each has two groups of users, of",
                "CUBIC, NewReno, BBR, BBR version 3, Vegas, DCTCP or Prague, 1 to 200 in each, near and far, with ECN or without. The line has",
                ".5 to 300 Mbit/s. There are 1 to 4 calls of 80 kbit/s, and 1 to 200 floods. Floods send .7 to 20 times the line together, in",
                "packets of 200 to 1500 bytes. Buffers hold 50 to 250 ms. Every setting ran with 10 seeds. [The study](fourth.toml) has all values.",
                "",
                "| queue | settings in which the worst user is sure of half a fair share | worst user, mean | settings in which the worst user has less than a tenth | users together, mean | they wait, mean | they lose, mean | calls wait (99th percentile, median setting) | settings in which calls lose at most 2 % |",
                "|---|---|---|---|---|---|---|---|---|",
                *(line for _, line in sorted(lines)),
                "",
                "Behind ± is half of the 95 % interval over settings. A worst user above a fair share counts as one. A call wants 80 kbit/s also where",
                "that is more than a fair share; there no queue keeps it whole.",
                "",
            ]
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", type=pathlib.Path, help="what `tidegate sweep` gave")
    study = parser.parse_args().study
    if study and not (study / "summary.csv").exists():
        parser.error(
            f"{study}: no summary.csv; run `tidegate sweep docs/tide/fourth.toml --csv --out {study}`"
        )
    if study:
        return page(study)
    dice = random.Random(20261127)
    settings = [drawn(dice) for _ in range(SETTINGS)]
    lines = [
        "# Made by validation/tide.py. Do not edit.",
        'scenario = "../../validation/scenarios/dice.toml"',
        'queues = ["tide", "drr", "fq_codel", "cake", "afq", "care"]',
        "seeds = 10",
        "",
        "[axes.setting.set]",
    ]
    for key in settings[0]:
        lines += [f"{key} = [", *(f"  {toml(each[key])}," for each in settings), "]"]
    PAGE.with_suffix(".toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
