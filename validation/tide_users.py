#!/usr/bin/env python3
"""Writes docs/tide/users.md: every kind of user behind Tide and other queues, beside a flood of twice the line.

usage: tide_users.py [--tidegate COMMAND] [--seeds N]     (`make tide-users`; Python's standard library only)
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "tide" / "users.md"
TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
QUEUES = ["tide", "drr", "fq_codel", "cake", "afq"]
ALONE, MIXED = "tuned.toml", "dice.toml"
# By the page's name: the source, and whether it speaks ECN.
KINDS = {
    "CUBIC": ("cubic", "off"),
    "CUBIC, ECN": ("cubic", "on"),
    "NewReno": ("newreno", "off"),
    "NewReno, ECN": ("newreno", "on"),
    "BBR": ("bbr", "off"),
    "BBR version 3": ("bbr3", "off"),
    "Vegas": ("vegas", "off"),
    "DCTCP": ("dctcp", "on"),
    "Prague": ("prague", "ect1"),
}
FAR = "100 ms"  # of access delay: a round trip of 220 ms


def group(name, kind, count, delay=None):
    """The settings of a group."""
    source, ecn = KINDS[kind]
    sets = {"count": count, "source": source, "ecn": ecn}
    sets |= {"access_delay": delay} if delay else {}
    return {f"group.{name}.{key}": value for key, value in sets.items()}


def rows():
    """Each row's words, scenario and settings."""
    for kind in KINDS:
        for count in (1, 5, 20):
            yield f"{count} of {kind}", ALONE, group("users", kind, count)
    for kind in KINDS:
        yield f"20 of {kind}, far", ALONE, group("users", kind, 20, FAR)
    for kind in ("CUBIC", "CUBIC, ECN", "NewReno", "BBR"):
        yield f"400 of {kind}", ALONE, group("users", kind, 400)
    small = {"group.users.packet": "300 B"}
    for kind in ("CUBIC", "CUBIC, ECN"):
        yield f"20 of {kind}, packets of 300 B", ALONE, group("users", kind, 20) | small
    for other, delay in [
        ("CUBIC", FAR),
        ("NewReno", None),
        ("BBR", None),
        ("BBR version 3", None),
        ("Vegas", None),
        ("DCTCP", None),
        ("Prague", None),
    ]:
        sets = group("users", "CUBIC", 10, "5 ms") | group("others", other, 10, delay or "5 ms")
        said = f"10 of CUBIC with 10 of {other}{', far' if delay else ''}, and 2 calls"
        flood = {"count": 1, "rate": "40 Mbit/s", "packet": "1500 B"}
        line = {"network.rate": "20 Mbit/s", "network.limit": "250 kB", "group.calls.count": 2}
        yield said, MIXED, sets | line | {f"group.flood.{k}": v for k, v in flood.items()}


def run(tidegate, scenario, queue, sets, seeds):
    words = [str(tidegate), "run", str(HERE / "scenarios" / scenario), "--queue", queue, "--json"]
    words += ["--seeds", str(seeds)]
    done = subprocess.run(
        words + [word for key, value in sets.items() for word in ("--set", f"{key}={value}")],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    document = json.loads(done.stdout)
    document = document[0] if isinstance(document, list) else document
    return {group["name"]: group for group in document["groups"]}


def percent(figure, digits=0):
    """A part as a percentage with half of its interval, where that is to be seen."""
    value, half = 100 * figure["mean"], 100 * (figure["ci95"] or 0)
    shown = f" ± {half:.{digits}f}" if half >= 0.5 * 10**-digits else ""
    return f"{value:.{digits}f}{shown}"


def cell(groups):
    """The worst user of all groups, and what users lose."""
    users = [groups[name] for name in ("users", "others") if name in groups]
    worst = min((group["worst_share"] for group in users), key=lambda share: share["mean"])
    lost = max((group["loss_ratio"] for group in users), key=lambda loss: loss["mean"])
    said = f"{percent(worst)} · {percent(lost, 1)}"
    if "calls" in groups:
        said += f" · {groups['calls']['delay_ms']['p99']['mean']:.0f} ms"
    return said


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--tidegate", default=TIDEGATE, help="the command (default: the release build)"
    )
    ask.add_argument("--seeds", type=int, default=10)
    given = ask.parse_args()
    if not 2 <= given.seeds <= 1000:
        ask.error(f"--seeds {given.seeds}: must lie in 2 to 1000")
    lines = [
        "# Tide: every kind of user",
        "",
        f"Written by `make tide-users`, with {given.seeds} seeds. Users share 20 Mbit/s with a flood of twice the line. Round trips are",
        f"22 to 60 ms, of those who are far 220 ms. The scenarios are `validation/scenarios/{ALONE}` and, of those who are mixed,",
        f"`{MIXED}`.",
        "",
        "The first figure is what the worst user gets of a fair share, in %. The second is what users lose, of a mixture those who lose more. ± is half of",
        "the 95 % interval; it is left out where it rounds to nothing. With calls, their wait is the third figure (99th percentile).",
        "",
        "| users | " + " | ".join(f"`{queue}`" for queue in QUEUES) + " |",
        "|---" * (1 + len(QUEUES)) + "|",
    ]
    one = lambda case: cell(run(given.tidegate, case[1], case[3], case[2], given.seeds))
    cases = [(*row, queue) for row in rows() for queue in QUEUES]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        cells = list(pool.map(one, cases))
    for at in range(0, len(cases), len(QUEUES)):
        lines.append(f"| {cases[at][0]} | {' | '.join(cells[at : at + len(QUEUES)])} |")
    PAGE.write_text("\n".join([*lines, ""]))
    print("\n".join(lines[10:]))


if __name__ == "__main__":
    main()
