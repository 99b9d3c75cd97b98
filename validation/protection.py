#!/usr/bin/env python3
"""Writes validation/protection.md: cells of the protection suite on real packets, beside the simulator's figures.

usage: protection.py [--tests IDS] [--queue NAME …]     root, iperf3; build first; `make validate-suite` does both, a quarter of an hour

With --tests or --queue nothing is written. Python's standard library only.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from studies import HERE, TIDEGATE

PAGE = HERE / "protection.md"
TESTS = "P1,P2,P13"
QUEUES = ("drop_tail", "sfb", "care", "drr")


def first():
    """Lets the measurement come before other work of this machine: a session of its own, whose turn is first."""
    os.setsid()
    Path("/proc/self/autogroup").write_text("-20")


def measured(tests, queues):
    words = [str(TIDEGATE), "suite", "protection", "--gate", "--json", "--tests", tests]
    words += [word for queue in queues for word in ("--queue", queue)]
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, preexec_fn=first)
    return json.loads(run.stdout) if run.returncode == 0 else sys.exit(run.returncode)


def per_cent(shares):
    return f"{100 * shares['share']:.0f} / {100 * shares['worst']:.0f}"


def winners(rows, whose):
    """The queues behind which the worst user does best, within 15 %."""
    best = max(row[whose]["worst"] for row in rows)
    return [row["queue"] for row in rows if row[whose]["worst"] >= 0.85 * best]


def page(found):
    rows, cells = found["rows"], {}
    for row in rows:
        cells.setdefault((row["test"], row["cell"]), []).append(row)
    agree = sum(row["within"] for row in rows)
    same = sum(
        bool(set(winners(of, "measured")) & set(winners(of, "simulated"))) for of in cells.values()
    )
    queues = list(dict.fromkeys(row["queue"] for row in rows))
    lines = [
        "# The protection suite on real packets",
        "",
        "Written by `make validate-suite`. This kernel's TCP and UDP go through the gateway; [Suites](../docs/study/suites.md#on-real-packets) says how.",
        "",
        f"**Users' shares agree within 15 % in {agree} of {len(rows)} cases.** In {same} of {len(cells)} cells the worst user does best behind the same queue.",
        "",
        "Each field: what users get of their fair shares together, and behind the stroke the worst of them, in %.",
        "First measured, once; then simulated, the mean of ten seeds. Bold is what does not agree.",
        "",
        "| cell | " + " | ".join(f"`{queue}`" for queue in queues) + " |",
        "|---" * (len(queues) + 1) + "|",
    ]
    for (test, cell), of in cells.items():
        fields = [
            f"{per_cent(row['measured'])}; {per_cent(row['simulated'])}" if row["within"]
            else f"**{per_cent(row['measured'])}; {per_cent(row['simulated'])}**"
            for row in of
        ]
        lines.append(f"| {test} {cell} | " + " | ".join(fields) + " |")
    left = [f"- {one['test']} {one['cell']}: {one['why']}" for one in found["simulated_only"]]
    return "\n".join([*lines, "", "These cells stay in the simulator:", "", *left]) + "\n"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--tests", help=f"tests of the suite ({TESTS})")
    ask.add_argument("--queue", action="append", help="a queue; may be repeated")
    given = ask.parse_args()
    text = page(measured(given.tests or TESTS, given.queue or QUEUES))
    if given.tests or given.queue:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
