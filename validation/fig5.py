#!/usr/bin/env python3
"""Writes papers/purge/fig5.csv: how long MINCOUNT and BLACK's matches take for a second of 10 Gbit/s, from `tidegate sketch`.

usage: fig5.py [TIDEGATE]      on an idle machine; `make cost` does it

A second of 10 Gbit/s is 1.25 million packets of 1 kB (the paper's §4.2). Python's standard library only.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parent / "papers" / "purge" / "fig5.csv"
PACKETS = 1_250_000
LINES = {"mincount/censored": "purge", "black/matches": "black"}


def main():
    tidegate = (
        sys.argv[1] if len(sys.argv) > 1 else str(HERE.parent / "target" / "release" / "tidegate")
    )
    told = subprocess.run(
        [tidegate, "sketch", "--quick", "--json"], check=True, capture_output=True
    ).stdout
    rows = []
    for row in json.loads(told)["rows"]:
        if row["estimator"] in LINES and row["skew"] == "equal":
            seconds = row["ns_per_packet"] * PACKETS / 1e9
            rows.append(f"{LINES[row['estimator']]},{row['flows']},{seconds:.4f}")
    if not rows:
        sys.exit("`tidegate sketch` names neither estimator")
    TABLE.write_text("line,x,y\n" + "\n".join(rows) + "\n")
    print(f"{TABLE}: {len(rows)} points")


if __name__ == "__main__":
    main()
