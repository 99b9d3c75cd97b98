#!/usr/bin/env python3
"""Runs our side of every set-up and prints the table of agreement with ns-2. Status 1 if a row disagrees.

usage: compare.py [--seeds N] [LABEL …]     the ns-2 side is read from ns2/results (see ns2/run.py)

A run over all set-ups, seeds as setups.py says, is kept in agreement.md.
"""
import argparse
import json
import subprocess
import sys

from setups import HERE, METRICS, RESULTS, SETUPS, mean_ci

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
WITHIN = 0.05  # what counts as agreement
NARROW = 0.025  # what each side's 95 % interval must be below, as a part of its mean


def theirs(setup):
    """ns-2's mean and half width for each figure."""
    if not setup.ns2_results.exists():
        sys.exit(f"{setup.ns2_results} is missing: run validation/ns2/run.py")
    rows = [json.loads(line) for line in setup.ns2_results.read_text().splitlines()]
    return {name: mean_ci([row[name] for row in rows]) for name, _ in METRICS}


def ours(setup, seeds):
    """Our version, and our mean and half width for each figure."""
    cmd = [str(TIDEGATE), "run", str(setup.twin), *setup.ours, "--seeds", str(seeds or setup.seeds), "--json"]
    run = subprocess.run(cmd, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(cmd)} failed:\n{run.stderr}")
    document = json.loads(run.stdout)
    document = document[0] if isinstance(document, list) else document
    groups = {group["name"]: group for group in document["groups"]}

    def figure(value, scale=1.0):
        ci = value["ci95"]
        return value["mean"] * scale, None if ci is None else ci * scale

    return document["version"], {
        "udp_thr_mbps": figure(groups["udp"]["throughput_bps"], 1e-6),
        "tcp_thr_mean_mbps": figure(groups["tcp"]["per_flow"]["mean"], 1e-6),
        "jain_tcp": figure(groups["tcp"]["jain"]),
        "loss_tcp": figure(groups["tcp"]["loss_ratio"]),
        "loss_udp": figure(groups["udp"]["loss_ratio"]),
        "mean_q_pkts": figure(document["aggregate"]["queue_packets"]),
    }


def width(mean, ci):
    """The half width as a part of the mean; infinite when it is unknown."""
    return float("inf") if ci is None or mean == 0 else ci / abs(mean)


def judge(a, b):
    """Ratio of ours to theirs, and the verdict."""
    ratio = b[0] / a[0]
    if max(width(*a), width(*b)) >= NARROW:
        return ratio, "interval too wide"
    return ratio, "yes" if abs(ratio - 1) <= WITHIN else "NO"


def row(label, what, a, b):
    """A row of the table."""
    ratio, verdict = judge(a, b)
    cells = [f"{mean:.5g} ± {100 * width(mean, ci):.2g} %" for mean, ci in (a, b)]
    return f"| {label} | {what} | {cells[0]} | {cells[1]} | {ratio:.4f} | {verdict} |"


def keep(version, table):
    """Writes the whole table to agreement.md."""
    package = json.loads((RESULTS / "versions.json").read_text())["ns2"]
    head = [
        "# Agreement with ns-2",
        "",
        f"Written by `validation/compare.py`; {package} against tidegate {version}. Mean ± half width of the 95 %",
        "interval over the seeds, in percent of the mean. What is compared, and how it was made the same: README.md.",
        "",
    ]
    (HERE / "agreement.md").write_text("\n".join([*head, *table]) + "\n")


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, help="our replications (default: as setups.py says)")
    ask.add_argument("labels", nargs="*", metavar="LABEL", help="set-ups to compare (default: all)")
    given = ask.parse_args()
    unknown = set(given.labels) - {s.label for s in SETUPS}
    if unknown:
        sys.exit(f"unknown set-up {sorted(unknown)}; known: {[s.label for s in SETUPS]}")
    if not TIDEGATE.exists():
        sys.exit(f"{TIDEGATE} is missing: run `make build`")
    wanted = [s for s in SETUPS if not given.labels or s.label in given.labels]
    table = ["| set-up | figure | ns-2 | ours | ours / ns-2 | within 5 % |", "|---|---|---|---|---|---|"]
    print("\n".join(table), flush=True)
    good = True
    for setup in wanted:
        left = theirs(setup)
        version, right = ours(setup, given.seeds)
        rows = [row(setup.label, what, left[name], right[name]) for name, what in METRICS]
        print("\n".join(rows), flush=True)
        table += rows
        good &= all(line.endswith("| yes |") for line in rows)
    if len(wanted) == len(SETUPS) and not given.seeds:
        keep(version, table)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
