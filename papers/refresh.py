#!/usr/bin/env python3
"""Runs the experiments of papers/*/paper.toml and writes our numbers beside the printed ones in printed.csv.

usage: refresh.py [KEY ...]     build first; `make papers` does both

Each [[run]] of a paper.toml names the rows of printed.csv that it fills (experiment, setting), a scenario, and what is
set in it; a row's queue is the label of a result. Verdicts are computed: `holds` within the paper's tolerance,
`differs` outside; where a parameter was fitted to the number, `fitted` or `fitted, not met`. Rows that no run fills are
`not run`. Python's standard library only.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TIDEGATE = HERE.parent / "target" / "release" / "tidegate"


def figure(document, quantity):
    """The mean and 95 % interval of `quantity`, both in Mbit/s; the interval None where it is not known."""
    what, group = quantity.split()[:2]
    field = {"loss": "loss_bps", "throughput": "throughput_bps"}[what]
    figures = [g[field] for g in document["groups"] if group in (g["name"], "total")]
    if not figures:
        sys.exit(f"{quantity}: no group {group}")
    mean = sum(f["mean"] for f in figures) / 1e6
    alone = figures[0]["ci95"] if len(figures) == 1 else None
    return mean, None if alone is None else alone / 1e6


def verdict(row, mean, tolerance, fitted):
    """What the number says of the printed one."""
    near = abs(mean - float(row["printed"])) <= tolerance * abs(float(row["printed"]))
    if fitted:
        return "fitted" if near else "fitted, not met"
    return "holds" if near else "differs"


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
                mean, ci95 = figure(results[row["queue"]], row["quantity"])
                fitted = [row["queue"], row["quantity"]] in paper.get("fitted", [])
                tolerance = paper["tolerance"].get(row["queue"], paper["tolerance"]["default"])
                row["ours"] = f"{mean:.3f}"
                row["ci95"] = "" if ci95 is None else f"{ci95:.3f}"
                row["verdict"] = verdict(row, mean, tolerance, fitted)
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
