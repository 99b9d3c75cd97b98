#!/usr/bin/env python3
"""Sets our figures beside the kernel's (linux/results/VERSION.csv) and writes linux.md.
Status 1 if a row disagrees, unless it is of the closed loop and the cell has an explanation.

usage: linux.py [--tidegate COMMAND]
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "linux"))
from cells import CELLS, ours as words_of, shares, starved  # noqa: E402
from setups import fewest  # noqa: E402

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
WITHIN = {"open": 0.03, "closed": 0.10, "gate": 0.10}
STARVED = 0.02  # of the line: below it so few packets are left that their number is chance


def kernel(rows, cell, queue):
    """By group, what each run let through, in bit/s."""
    runs = {}
    for row in rows:
        if (row["cell"], row["queue"]) == (cell, queue):
            group = row["flow"].rstrip("0123456789")
            of = runs.setdefault(group, {})
            of[row["run"]] = of.get(row["run"], 0.0) + float(row["throughput_bps"])
    return {group: list(of.values()) for group, of in runs.items()}


def ours(tidegate, cell, queue):
    """By group, mean and half width of the 95 % interval, in bit/s; and of the connections' shares the worst and how many
    starved, means over the seeds."""
    twin = HERE / "scenarios" / f"linux-{'open' if cell.loop == 'open' else 'closed'}.toml"
    sets = [
        f"run.duration={cell.duration} s",
        f"network.rate={cell.rate} bit/s",
        f"network.delay={cell.delay_ms} ms",
        f"group.flood.rate={cell.rate * cell.times / cell.floods:.0f} bit/s",
        f"group.flood.count={cell.floods}",
        f"group.flood.packet={cell.flood_frame} B",
    ]
    ecn = lambda point: ("off", "ect1", "on")[point]
    sets.append(f"group.flood.ecn={ecn(cell.flood_ecn)}")
    if cell.loop == "open":
        sets += [f"group.user.ecn={ecn(cell.user_ecn)}", f"group.user.dscp={cell.user_dscp}"]
    else:
        sets += [
            f"group.tcp.count={cell.connections}",
            f'group.tcp.start="uniform(0 s, {cell.spread_ms} ms)"',
            f"group.tcp.source={cell.control}",
            f"group.tcp.ecn={'on' if cell.tcp_ecn else 'off'}",
        ]
    words = [str(tidegate), "run", str(twin), "--queue", queue, "--seeds", "10", "--json"]
    done = subprocess.run(
        words + [w for s in sets for w in ("--set", s)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    document = json.loads(done.stdout)
    document = document[0] if isinstance(document, list) else document
    rate = lambda group: (group["throughput_bps"]["mean"], group["throughput_bps"]["ci95"] or 0.0)
    users = next((group for group in document["groups"] if group["name"] == "tcp"), {})
    shares = [(users.get(what) or {}).get("mean") for what in ("worst_share", "starved")]
    return {group["name"]: rate(group) for group in document["groups"]}, shares


def mbit(value):
    return f"{value / 1e6:.3g}"


def spread(values):
    return f"{mbit(fmean(values))} ± {mbit(stdev(values))}" if len(values) > 1 else mbit(values[0])


def verdict(cell, name, theirs, us):
    """Whether every group that is not starved on both sides agrees; of the flood and the others, in this order."""
    most = {group: max(fmean(values), us[group][0]) for group, values in theirs.items()}
    alive = [group for group in most if most[group] > STARVED * cell.rate]
    far = [
        group for group in alive if abs(us[group][0] / fmean(theirs[group]) - 1) > WITHIN[cell.loop]
    ]
    if far:
        why = cell.explained.get(name) if cell.loop != "open" else None
        return f"explained: {why}" if why else f"NO: {', '.join(far)}"
    if not alive:
        return "nothing passes on both"
    return "yes" if len(alive) == len(most) else "yes, TCP starves on both"


def floods_of(cell):
    return "a flood" if cell.floods == 1 else f"{cell.floods} floods of {cell.flood_frame}-byte frames, together"


def title(cell):
    if cell.loop == "open":
        who = ("users", cell.user_ecn), ("flood", cell.flood_ecn)
        said = "".join(f"; {name} with ECT(1)" for name, point in who if point)
        said += f"; users with code point {cell.user_dscp}" if cell.user_dscp else ""
        return f"Open loop: three datagram senders at a fifth of the line each, and a flood of three times the line{said}"
    begin = "Through our gate" if cell.loop == "gate" else "Closed loop"
    return (
        f"{begin}: {cell.connections} connections of {cell.control}{' with ECN' * cell.tcp_ecn}, "
        f"begun within {cell.spread_ms} ms, and {floods_of(cell)} of {cell.times} times the line"
    )


def table(rows, cell, tidegate):
    names = [
        name
        for name in cell.queues
        if any((r["cell"], r["queue"]) == (cell.name, name) for r in rows)
    ]
    other = "user" if cell.loop == "open" else "tcp"
    within = f"within {100 * WITHIN[cell.loop]:.0f} %"
    closed = cell.loop != "open"
    users = shares(rows, cell) if closed else {}
    head = ["queue", "kernel: flood", "ours", f"kernel: {other}", "ours"]
    head += ["kernel: worst of them", "ours"] * closed + ["runs", within]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        theirs = kernel(rows, cell.name, name)
        us, few = ours(tidegate, cell, words_of(cell, name))
        said = lambda group: f"{mbit(us[group][0])} ± {mbit(us[group][1])}"
        judged = verdict(cell, name, theirs, us)
        cells = [
            name,
            spread(theirs["flood"]),
            said("flood"),
            spread(theirs.get(other, [0.0])),
            said(other),
        ]
        if closed:
            cells += [
                fewest(fmean(map(min, users[name])), fmean(map(starved, users[name]))),
                fewest(*few),
            ]
        cells += [len(theirs["flood"]), judged]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--tidegate", default=TIDEGATE, help="the command (default: the release build)"
    )
    given = ask.parse_args()
    kept = sorted(
        (HERE / "linux" / "results").glob("*.csv"),
        key=lambda p: [int(n) for n in p.stem.split(".")],
    )
    if not kept:
        sys.exit("no figures: run validation/linux/run.py")
    rows = list(csv.DictReader(kept[-1].open()))
    package = (HERE / "linux" / "results" / "versions.txt").read_text().strip()
    head = [
        "# Linux's queues beside ours",
        "",
        f"Written by `make validate-linux`, from `linux/results/{kept[-1].name}` ({package}, User-Mode Linux in simulated time).",
        "Mbit/s, frames counted whole. Kernel: mean ± standard deviation over its runs.",
        "Ours: mean ± half width of the 95 % interval over ten seeds.",
        "The worst connection's figure is what it got of a fair share; `starved` got less than a tenth. Both are shown, not judged:",
        "who starves is who shares a hash with a flood, and two runs say little of that. A group that gets less than a fiftieth of",
        "the line on both sides is not compared, and the verdict says so.",
        "",
        "[kernel-queues.md](kernel-queues.md) says what was made the same and what differs. `linux/cells.toml` has the set-ups.",
    ]
    lines = []
    for cell in CELLS.values():
        lines += ["", f"## {title(cell)}", ""]
        lines += [
            f"{cell.rate // 10**6} Mbit/s, {cell.delay_ms} ms each way.",
            "",
            *table(rows, cell, given.tidegate),
        ]
    (HERE / "linux.md").write_text("\n".join(head + lines) + "\n")
    print("\n".join(lines))
    sys.exit(any("| NO" in line for line in lines))


if __name__ == "__main__":
    main()
