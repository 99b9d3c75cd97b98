#!/usr/bin/env python3
"""Runs the experiments of papers/*/paper.toml and writes our numbers beside the printed ones in printed.csv.

usage: refresh.py [KEY ...]     build first; `make papers` does both

Each [[run]] of a paper.toml names the rows of printed.csv that it fills (experiment, setting), a scenario, and what is
set in it; a row's queue is the label of a result. Verdicts are computed: `holds` within the paper's tolerance (a share
of what is printed, or points where that is per cent), `differs` outside; where a parameter was fitted to the number,
`fitted` or `fitted, not met`. Where a figure has no numbers, `printed` is what it says: `> black`, more than the same
quantity of that queue, holds if the two 95 % intervals lie apart in that order, differs if they do in the other, and
`cannot be told` if they meet; `<= 1` holds up to that number and the tolerance. Rows that no run fills are `not run`.
Python's standard library only.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TIDEGATE = HERE.parent / "target" / "release" / "tidegate"


def figure(document, row):
    """The mean and 95 % interval of the row's quantity in its unit; the interval None where it is not known."""
    what, group = row["quantity"].split()[:2]
    if what == "jain":
        jain = document["aggregate"]["jain"]
        return jain["mean"], jain["ci95"]
    field = {"loss": "loss_bps", "throughput": "throughput_bps", "goodput": "goodput_bps"}[what]
    groups = [g for g in document["groups"] if group in (g["name"], "total")]
    if not groups:
        sys.exit(f"{row['quantity']}: no group {group}")
    fair = sum(g["fair_share_bps"]["mean"] for g in groups)
    count = sum(g["count"] for g in groups)
    scale = {"Mbit/s": 1e-6, "kbit/s each": 1e-3 / count, "% of fair share": 100 / fair}[row["unit"]]
    mean = sum(g[field]["mean"] for g in groups) * scale
    alone = groups[0][field]["ci95"] if len(groups) == 1 else None
    return mean, None if alone is None else alone * scale


def order(row, ours, theirs):
    """What two figures, each with its interval, say of a printed `>` or `<`."""
    ahead = ours[0] - theirs[0] if row["printed"].startswith(">") else theirs[0] - ours[0]
    if abs(ahead) <= ours[1] + theirs[1]:
        return "cannot be told"
    return "holds" if ahead > 0 else "differs"


def verdict(row, results, paper):
    """What our number says of the printed one."""
    mean, ci95 = figure(results[row["queue"]], row)
    sign, _, operand = row["printed"].rpartition(" ")
    if sign in ("<", ">"):
        said = order(row, (mean, ci95), figure(results[operand], row))
    else:
        printed, tolerance = float(operand), paper["tolerance"]
        share = tolerance.get(row["queue"], tolerance.get("default"))
        most = tolerance["points"] if row["unit"].startswith("%") else share * printed
        near = mean - printed <= most and (sign == "<=" or printed - mean <= most)
        said = "holds" if near else "differs"
    if [row["queue"], row["quantity"]] in paper.get("fitted", []):
        return "fitted" if said == "holds" else "fitted, not met"
    return said


def run(folder, spec, seeds):
    """The results of one [[run]], by label."""
    cmd = [str(TIDEGATE), "compare", str(folder / spec["scenario"]), "--seeds", str(seeds), "--json"]
    cmd += [word for text in spec.get("set", []) for word in ("--set", text)]
    out = subprocess.run(cmd, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {document["label"]: document for document in json.loads(out)}


def refresh(folder):
    """Fills printed.csv of one paper and prints its rows."""
    paper = tomllib.loads((folder / "paper.toml").read_text())
    path = folder / paper["printed"]
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update(ours="", ci95="", verdict="not run")
    for spec in paper.get("run", []):
        mine = [r for r in rows if (r["experiment"], r["setting"]) == (spec["experiment"], spec["setting"])]
        if not mine:
            sys.exit(f"{path}: no row for {spec['experiment']}, {spec['setting']}")
        results = run(folder, spec, paper["seeds"])
        for row in mine:
            if row["queue"] in results:
                mean, ci95 = figure(results[row["queue"]], row)
                digits = 4 if not row["unit"] else 2 if row["unit"].startswith("%") else 3
                row["ours"] = f"{mean:.{digits}f}"
                row["ci95"] = "" if ci95 is None else f"{ci95:.{max(digits, 3)}f}"
                row["verdict"] = verdict(row, results, paper)
                print(", ".join(row.values()), flush=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    keys = sys.argv[1:] or sorted(p.parent.name for p in HERE.glob("*/paper.toml"))
    for key in keys:
        refresh(HERE / key)


main()
