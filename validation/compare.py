#!/usr/bin/env python3
"""Runs our side of every set-up and prints the table of agreement with ns-2. Status 1 if a row disagrees.

usage: compare.py [--seeds N] [LABEL …]     the ns-2 side is read from ns2/results (see ns2/run.py)

The rows of a run with seeds as setups.py says are kept in agreement.md, in place of the same set-ups' old ones.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from setups import HERE, RESULTS, SETUPS, mean_ci

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"


def theirs(setup):
    """ns-2's mean and half width for each figure."""
    if not setup.ns2_results.exists():
        sys.exit(f"{setup.ns2_results} is missing: run validation/ns2/run.py")
    rows = [json.loads(line) for line in setup.ns2_results.read_text().splitlines()]
    return {name: mean_ci([row[name] for row in rows]) for name, *_ in setup.metrics}


def ours(tidegate, setup, seeds):
    """Our version, and our mean and half width for each figure."""
    cmd = [
        str(tidegate),
        "run",
        str(setup.twin),
        *setup.ours,
        "--seeds",
        str(seeds or setup.seeds),
        "--json",
    ]
    run = subprocess.run(cmd, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(cmd)} failed:\n{run.stderr}")
    document = json.loads(run.stdout)
    document = document[0] if isinstance(document, list) else document
    groups = {group["name"]: group for group in document["groups"]}

    def figure(key, value, scale):
        """A part near one has no interval in a result: what is missing to one stands in."""
        mean, ci = value["mean"], value["ci95"]
        if ci is None and key == "jain":
            ci = 1 - mean
        return mean * scale, None if ci is None else ci * scale

    figures = {}
    for name, _, group, key, scale in setup.metrics:
        value = (groups[group] if group else document["aggregate"])[key]
        figures[name] = figure(key, value["mean"] if key == "per_flow" else value, scale)
    return document["version"], figures


def width(mean, ci):
    """The half width as a part of the mean; infinite when it is unknown, nothing where every run has nothing."""
    if ci == 0:
        return 0.0
    return float("inf") if ci is None or mean == 0 else ci / abs(mean)


def judge(setup, a, b):
    """Ratio of ours to theirs, and the verdict."""
    if a[0] == 0:
        return (1.0, "yes") if b[0] == 0 else (float("inf"), "NO")
    ratio = b[0] / a[0]
    if max(width(*a), width(*b)) >= setup.narrow:
        return ratio, "interval too wide"
    return ratio, "yes" if abs(ratio - 1) <= setup.within else "NO"


def row(setup, what, a, b):
    """A row of the table."""
    ratio, verdict = judge(setup, a, b)
    cells = [f"{mean:.5g} ± {100 * width(mean, ci):.2g} %" for mean, ci in (a, b)]
    return f"| {setup.label} | {what} | {cells[0]} | {cells[1]} | {ratio:.4f} | {verdict} |"


HEAD = [
    "| set-up | figure | ns-2 | ours | ours / ns-2 | within 5 % (RED-PD, Vegas on care26 through drop-tail: 7 %) |",
    "|---|---|---|---|---|---|",
]


def keep(version, fresh):
    """Writes the `fresh` rows, by set-up, into agreement.md beside those of the other set-ups."""
    path = HERE / "agreement.md"
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        label = line.split(" | ")[0].removeprefix("| ")
        rows.setdefault(label, []).append(line)
    rows.update(fresh)
    table = HEAD + [line for setup in SETUPS for line in rows.get(setup.label, [])]
    package = json.loads((RESULTS / "versions.json").read_text())["ns2"]
    head = [
        "# Agreement with ns-2",
        "",
        f"Written by `validation/compare.py`; {package} against tidegate {version}.",
        "Mean ± half width of the 95 % interval over the seeds, in percent of the mean. [ns2.md](ns2.md) says how both were made the same.",
        "Of Jain's index above .98 ours has no interval. What it lacks to one stands in its place.",
        "",
    ]
    path.write_text("\n".join([*head, *table]) + "\n")


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, help="our replications (default: as setups.py says)")
    ask.add_argument(
        "--tidegate", default=TIDEGATE, help="the command (default: the release build)"
    )
    ask.add_argument("labels", nargs="*", metavar="LABEL", help="set-ups to compare (default: all)")
    given = ask.parse_args()
    unknown = set(given.labels) - {s.label for s in SETUPS}
    if unknown:
        sys.exit(f"unknown set-up {sorted(unknown)}; known: {[s.label for s in SETUPS]}")
    if not Path(given.tidegate).exists():
        sys.exit(f"{given.tidegate} is missing: run `make build`")
    wanted = [s for s in SETUPS if not given.labels or s.label in given.labels]
    print("\n".join(HEAD), flush=True)
    fresh = {}
    for setup in wanted:
        left = theirs(setup)
        version, right = ours(given.tidegate, setup, given.seeds)
        rows = [row(setup, what, left[name], right[name]) for name, what, *_ in setup.metrics]
        print("\n".join(rows), flush=True)
        fresh[setup.label] = rows
        if not given.seeds:
            keep(version, fresh)
    sys.exit(0 if all(line.endswith("| yes |") for rows in fresh.values() for line in rows) else 1)


if __name__ == "__main__":
    main()
