#!/usr/bin/env python3
"""Writes validation/protection.md: cells of the protection suite on real packets, beside the simulator's figures.

usage: protection.py [--tests IDS] [--queue NAME …]     root, iperf3; build first; `make validate-suite` does both, half an hour

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
# Those with a cell that can be on the rig. The others pulse, forge, cheat or stop, or need more than its one path.
TESTS = "P1,P2,P13,P14,P16,N"
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


def reasons(cells):
    """What is known of what does not agree, said only as long as it is so."""
    far = {
        row["queue"]
        for cell in cells
        for row in cell["queues"]
        if not (row["share_within"] and row["worst_within"])
    }
    if far != {"drop_tail"}:
        return [
            f"No reason is known for what does not agree, behind {', '.join(sorted(far))}."
        ] * bool(far)
    return [
        "All that does not agree is behind `drop_tail`. There a few packets that find a place decide what a user gets, and one",
        "measured run is one draw of that. Beside BBR users keep more with the kernel's TCP than with ours; alone, and beside a flood,",
        "the two agree ([figures](witness.md)). Neither was looked into further.",
    ]


def page(found):
    cells = found["cells"]
    rows = [row for cell in cells for row in cell["queues"]]
    agree, worst = (sum(row[f"{what}_within"] for row in rows) for what in ("share", "worst"))
    same = sum(cell["same_best"] for cell in cells)
    queues = [row["queue"] for row in cells[0]["queues"]]
    lines = [
        "# The protection suite on real packets",
        "",
        "Written by `make validate-suite`. This kernel's TCP and UDP go through the gateway; [Suites](../docs/study/suites.md#on-real-packets) says how.",
        "",
        f"**Users' shares agree within 15 % in {agree} of {len(rows)} cases**, the worst user's in {worst}. In {same} of {len(cells)} cells the worst",
        "user does best behind the same queue; queues within 15 % of the best count as best.",
        "",
        "Each field: what users get of their fair shares together, and behind the stroke the worst of them, in %.",
        "First measured, once; then simulated, the mean of ten seeds. Bold is what does not agree.",
        "Two figures that are both below 5 % count as agreeing.",
        "",
        "| cell | " + " | ".join(f"`{queue}`" for queue in queues) + " |",
        "|---" * (len(queues) + 1) + "|",
    ]
    for cell in cells:
        fields = []
        for row in cell["queues"]:
            text = f"{per_cent(row['measured'])}; {per_cent(row['simulated'])}"
            agrees = row["share_within"] and row["worst_within"]
            fields.append(text if agrees else f"**{text}**")
        lines.append(f"| {cell['test']} {cell['cell']} | " + " | ".join(fields) + " |")
    lines += ["", *reasons(cells)]
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
