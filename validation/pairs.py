#!/usr/bin/env python3
"""Writes papers/pairs.csv and papers/pairs.md: every pair of readings of each experiment that differs.

usage: pairs.py [--out DIR] [--seeds N]     build first; `make pairs` does both

Experiments are those of papers/results.csv with a claim that differs. The choices are the words that
the manual page of the paper's own queue lists. Cells that DIR has already are not run again.
Python's standard library only.
"""

import argparse
import csv
import io
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDEGATE = os.environ.get("TIDEGATE", str(ROOT / "target/release/tidegate"))
COLUMNS = "paper experiment choice and met of gained lost factor refused".split()


def differing():
    """Experiments with a claim that differs, each with its paper and how many."""
    found = {}
    with (ROOT / "papers/results.csv").open() as file:
        for row in csv.DictReader(file):
            if row["verdict"] == "differs":
                key = row["paper"], row["experiment"]
                found[key] = found.get(key, 0) + 1
    return found


def grid(paper, experiment, out, seeds):
    """The lines of `paper pairs`; none where the experiment has nothing to choose."""
    command = [TIDEGATE, "paper", "pairs", experiment, "--queue", paper, "--seeds", str(seeds)]
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True)
    if "nothing" in done.stderr and "to choose" in done.stderr:
        return []
    if done.returncode:
        raise SystemExit(done.stderr)
    text = (pathlib.Path(out) / f"pairs-{experiment}.csv").read_text()
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        row["met"], row["of"] = row["met"].split(" of ") if row["met"] else ("", "")
        rows.append({"paper": paper, "experiment": experiment, **row})
    return rows


def best(rows):
    """The cell that gains most; of equals the one with fewer choices, then the smaller factor."""
    ran = [row for row in rows if row["met"] and row["choice"] != "as run"]

    def rank(row):
        net = int(row["gained"]) - int(row["lost"])
        return -net, bool(row["and"]), float(row["factor"] or "inf")

    return min(ran, key=rank)


def page(grids, seeds):
    """The page: a line for each experiment."""
    lines = [
        "# Pairs of readings",
        "",
        "Would another reading of the text make a claim hold that differs? Each experiment with a claim",
        "that differs was run under every choice that the manual page of its queue lists, and under every",
        f"two of them, with {seeds} seeds. The table shows the choices that gain most.",
        "[pairs.csv](pairs.csv) has every cell. `make pairs` makes both.",
        "",
        "| experiment | differ | cells | met as run | gain most | met | gained | lost | off as run | off |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (paper, experiment), (differ, rows) in grids.items():
        if not rows:
            lines.append(f"| {paper} {experiment} | {differ} | | | nothing to choose | | | | | |")
            continue
        run = next(row for row in rows if row["choice"] == "as run")
        top = best(rows)
        met = f"{run['met']} of {run['of']}"
        if int(top["gained"]) <= int(top["lost"]):
            choice = "none gains"
            rest = "| | "
        else:
            choice = " and ".join(f"`{c.split(':')[-1]}`" for c in (top["choice"], top["and"]) if c)
            rest = f"{top['met']} of {top['of']} | {top['gained']} | {top['lost']} "
        off = f"{run['factor']} | {top['factor'] if choice != 'none gains' else ''}"
        lines.append(
            f"| {paper} {experiment} | {differ} | {len(rows)} | {met} | {choice} | {rest}| {off} |"
        )
    refused = sum(bool(row["refused"]) for _, rows in grids.values() for row in rows)
    lines += [
        "",
        "- *differ*: claims that differ in papers/results.csv.",
        "- *met*: claims that hold or are fitted, of those with a figure.",
        "- *gained*, *lost*: against the experiment as run.",
        "- *off*: the factor that ours is off the printed numbers, root mean square.",
        "",
        f"A queue refuses {refused} of the cells, since the two choices contradict each other. A choice that",
        "gains claims is no proof that the authors made it. Where a reading is adopted or judged, the",
        "paper's own page says so.",
        "",
    ]
    return "\n".join(lines)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--out", default=str(ROOT / "out/pairs"))
    args.add_argument("--seeds", type=int, default=3)
    args = args.parse_args()
    grids = {}
    for (paper, experiment), differ in sorted(differing().items()):
        grids[paper, experiment] = differ, grid(paper, experiment, args.out, args.seeds)
        print(f"{paper} {experiment}: {len(grids[paper, experiment][1])} cells", flush=True)
    with (ROOT / "papers/pairs.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for _, rows in grids.values():
            table.writerows(rows)
    (ROOT / "papers/pairs.md").write_text(page(grids, args.seeds))


if __name__ == "__main__":
    main()
