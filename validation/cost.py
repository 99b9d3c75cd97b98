#!/usr/bin/env python3
"""Writes papers/comparison/cost.csv: what a packet costs in every queue, in ns, from the benchmark's own estimates.

usage: cost.py [--least]      after `cargo bench -p tidegate --bench queue_cost`; `make cost` does both, three times

A thousand flows, twice the link's rate, the loop included: the medians of criterion's batches of a thousand packets.
With --least a figure of the table that is less stays: others on the machine can only make a packet dearer.
Python's standard library only.
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE.parent / "target" / "criterion"
TABLE = HERE.parent / "papers" / "comparison" / "cost.csv"
GROUP = "flows 1000"
PACKETS = 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", action="store_true", help="a less figure of the table stays")
    known = {}
    if parser.parse_args().least:
        known = dict(line.split(",") for line in TABLE.read_text().splitlines()[1:])
    rows = []
    for found in sorted(MEASURED.glob(f"{GROUP}/*/new/estimates.json")):
        queue = found.parent.parent.name
        if queue == "empty":
            continue
        median = json.loads(found.read_text())["median"]["point_estimate"]
        least = min(median / PACKETS, float(known.get(queue, "inf")))
        rows.append(f"{queue},{least:.1f}")
    if not rows:
        sys.exit(f"{MEASURED}: no estimates of `{GROUP}`; run the benchmark first")
    TABLE.write_text("queue,ns\n" + "\n".join(rows) + "\n")
    print(f"{TABLE}: {len(rows)} queues")


if __name__ == "__main__":
    main()
