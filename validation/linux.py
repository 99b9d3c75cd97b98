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
from cells import CELLS, QUEUES, shares, starved, twin  # noqa: E402
from cells import ours as words_of  # noqa: E402
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


def fates(rows, cell, queue):
    """By group, what became of its frames in each run: bit/s, wait in ms, and of what came to the queue the parts lost and marked."""
    runs = {}
    for row in rows:
        if (row["cell"], row["queue"]) == (cell, queue):
            group = row["flow"].rstrip("0123456789")
            runs.setdefault(group, {}).setdefault(row["run"], []).append(row)
    found = {}
    for group, of in runs.items():
        for flows in of.values():
            total = lambda what: sum(float(row[what]) for row in flows)
            rate, entered = total("throughput_bps"), total("entered")
            wait = (
                sum(float(row["delay_ms"]) * float(row["throughput_bps"]) for row in flows) / rate
            )
            run = rate, wait, total("lost") / entered, total("marked") / entered
            found.setdefault(group, []).append(run)
    return {group: list(zip(*of)) for group, of in found.items()}


def several_hosts(cell):
    """What makes the twin of the cell's senders, whose line is the first link of its graph."""
    sets = [f"link.1.rate={cell.rate} bit/s", f"link.1.delay={cell.delay_ms} ms"]
    for of in cell.senders:
        sets += [
            f"group.{of.name}.count={of.count}",
            f"group.{of.name}.rate={cell.rate * of.times:.0f} bit/s",
            f"group.{of.name}.from=source{of.source}",
            f"group.{of.name}.to=target{of.target}",
        ]
    return sets


def one_host(cell):
    """What makes the twin of another cell."""
    sets = [f"network.rate={cell.rate} bit/s", f"network.delay={cell.delay_ms} ms"]
    ecn = lambda point: ("off", "ect1", "on")[point]
    start = f'start="uniform(0 s, {cell.spread_ms} ms)"'
    if cell.floods:
        sets += [
            f"group.flood.rate={cell.rate * cell.times / cell.floods:.0f} bit/s",
            f"group.flood.count={cell.floods}",
            f"group.flood.packet={cell.flood_frame} B",
            f"group.flood.ecn={ecn(cell.flood_ecn)}",
        ]
    if cell.loop == "open":
        sets += [f"group.user.ecn={ecn(cell.user_ecn)}", f"group.user.dscp={cell.user_dscp}"]
    else:
        sets += [
            f"group.tcp.count={cell.connections}",
            f"group.tcp.{start}",
            f"group.tcp.source={cell.control}",
            f"group.tcp.ecn={'on' if cell.tcp_ecn else 'off'}",
        ]
    if cell.scalable:
        sets += [f"group.scalable.count={cell.scalable}", f"group.scalable.{start}"]
    return sets


def way_back(cell, queue):
    """The twin's way back with a queue, which nothing fills."""
    line = f'rate="{cell.back_rate} bit/s", delay="{cell.delay_ms} ms", limit="5000 packets"'
    return f'network.back={{{line}, queue="{queue}"}}'


def acknowledgements(document, cell):
    """What became of them on the way back, as of a group."""
    back = next(link for link in document["links"] if link["name"] == "right->left")
    used = {what: value and value * cell.back_rate for what, value in back["utilization"].items()}
    return {**back, "throughput_bps": used, "delay_ms": back["queue_delay_ms"]}


def simulated(tidegate, cell, queue):
    """Our groups, as a result says them."""
    sets = [f"run.duration={cell.duration} s"]
    sets += several_hosts(cell) if cell.senders else one_host(cell)
    if cell.back_rate:
        sets.append(way_back(cell, queue))
        queue = QUEUES[cell.front].ours
    scenario = HERE / "scenarios" / twin(cell)
    words = [str(tidegate), "run", str(scenario), "--queue", queue, "--seeds", "10", "--json"]
    done = subprocess.run(
        words + [w for s in sets for w in ("--set", s)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    document = json.loads(done.stdout)
    document = document[0] if isinstance(document, list) else document
    groups = {group["name"]: group for group in document["groups"]}
    return {**groups, "ack": acknowledgements(document, cell)} if cell.back_rate else groups


def figure(of):
    """Mean and half width of the 95 % interval."""
    return of["mean"], of["ci95"] or 0.0


def ours(tidegate, cell, queue):
    """By group, mean and half width of the 95 % interval, in bit/s; and of the connections' shares the worst and how many
    starved, means over the seeds."""
    groups = simulated(tidegate, cell, queue)
    users = groups.get("tcp", {})
    shares = [(users.get(what) or {}).get("mean") for what in ("worst_share", "starved")]
    return {name: figure(group["throughput_bps"]) for name, group in groups.items()}, shares


def mbit(value):
    return f"{value / 1e6:.3g}"


def spread(values):
    return f"{mbit(fmean(values))} ± {mbit(stdev(values))}" if len(values) > 1 else mbit(values[0])


def apart(cell, name, far):
    """The verdict on a row whose figures `far` differ."""
    why = cell.explained.get(name) if cell.loop != "open" else None
    if not why:
        return f"NO: {', '.join(far)}"
    return f"explained {why}" if why.startswith("in part: ") else f"explained: {why}"


def verdict(cell, name, theirs, us):
    """Whether every group that is not starved on both sides agrees; of the flood and the others, in this order."""
    most = {group: max(fmean(values), us[group][0]) for group, values in theirs.items()}
    alive = [group for group in most if most[group] > STARVED * cell.rate]
    far = [
        group for group in alive if abs(us[group][0] / fmean(theirs[group]) - 1) > WITHIN[cell.loop]
    ]
    if far:
        return apart(cell, name, far)
    if not alive:
        return "nothing passes on both"
    return "yes" if len(alive) == len(most) else "yes, TCP starves on both"


def floods_of(cell):
    return (
        "a flood"
        if cell.floods == 1
        else f"{cell.floods} floods of {cell.flood_frame}-byte frames, together"
    )


def title(cell):
    if cell.senders:
        sent = lambda of: f"{of.times:g} from host {of.source} to {of.target}"
        many = lambda of: f"{of.count} times " if of.count > 1 else ""
        each = [f"{of.name} {many(of)}{sent(of)}" for of in cell.senders]
        return f"Open loop, datagrams of three hosts, in parts of the line: {', '.join(each)}"
    if cell.loop == "open":
        who = ("users", cell.user_ecn), ("flood", cell.flood_ecn)
        said = "".join(f"; {name} with ECT(1)" for name, point in who if point)
        said += f"; users with code point {cell.user_dscp}" if cell.user_dscp else ""
        return f"Open loop: three datagram senders at a fifth of the line each, and a flood of three times the line{said}"
    begin = "Through our gate" if cell.loop == "gate" else "Closed loop"
    begin += f": {cell.connections} connections of {cell.control}{' with ECN' * cell.tcp_ecn}"
    begin += f" and {cell.scalable} of dctcp with ECT(1)" * bool(cell.scalable)
    flood = (
        f"and {floods_of(cell)} of {cell.times} times the line" if cell.floods else "and no flood"
    )
    back = f"; the queue is on a way back of {cell.back_rate // 1000} kbit/s, {cell.front} on the way there"
    return f"{begin}, begun within {cell.spread_ms} ms, {flood}{back * bool(cell.back_rate)}"


def calm(rows, cell, tidegate):
    """The table of a cell without a flood: what became of each group's frames."""
    titles = {
        "rate, Mbit/s": 1e-6,
        "wait in the queue, ms": 1.0,
        "lost, %": 100.0,
        "marked, %": 100.0,
    }
    said = lambda middle, around: f"{middle:.3g} ± {around:.2g}"
    within = f"within {100 * WITHIN[cell.loop]:.0f} %"
    both = [word for title in titles for word in (f"kernel: {title}", "ours")]
    head = ["queue", "who", *both, "runs", within]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in cell.queues:
        theirs = fates(rows, cell.name, name)
        groups = simulated(tidegate, cell, words_of(cell, name))
        for group, figures in theirs.items():
            us = groups[group]
            us = us["throughput_bps"], us["delay_ms"]["mean"], us["loss_ratio"], us["mark_ratio"]
            words, far = [], []
            for (title, scale), runs, of in zip(titles.items(), figures, us):
                runs, (mean, half) = [scale * run for run in runs], [scale * n for n in figure(of)]
                if not mean and not any(runs):
                    words += ["0", "0"]
                    continue
                words += [said(fmean(runs), stdev(runs)), said(mean, half)]
                # How connections lose is the other queue's.
                theirs_alone = cell.back_rate and (group, title) == ("tcp", "lost, %")
                if theirs_alone:
                    continue
                if not fmean(runs) or abs(mean / fmean(runs) - 1) > WITHIN[cell.loop]:
                    far.append(title.split(",")[0])
            row = [
                name,
                group,
                *words,
                str(len(figures[0])),
                apart(cell, name, far) if far else "yes",
            ]
            lines.append(f"| {' | '.join(row)} |")
    return lines


def table(rows, cell, tidegate):
    names = [
        name
        for name in cell.queues
        if any((r["cell"], r["queue"]) == (cell.name, name) for r in rows)
    ]
    groups = [of.name for of in cell.senders]
    groups = groups or ["flood", "user" if cell.loop == "open" else "tcp"]
    within = f"within {100 * WITHIN[cell.loop]:.0f} %"
    closed = cell.loop != "open"
    users = shares(rows, cell) if closed else {}
    head = ["queue", *(word for group in groups for word in (f"kernel: {group}", "ours"))]
    head += ["kernel: worst of them", "ours"] * closed + ["runs", within]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        theirs = kernel(rows, cell.name, name)
        us, few = ours(tidegate, cell, words_of(cell, name))
        said = lambda group: f"{mbit(us[group][0])} ± {mbit(us[group][1])}"
        judged = verdict(cell, name, theirs, us)
        cells = [name]
        for group in groups:
            cells += [spread(theirs.get(group, [0.0])), said(group)]
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
        "",
        "- *Worst*: what the worst connection got of a fair share. *Starved* got less than a tenth. Both are shown, not judged:",
        "  a connection starves if it shares a hash with a flood, and two runs say little of that.",
        "- A group that gets less than a fiftieth of the line on both sides is not compared. The verdict says so.",
        "- Without a flood, a frame's wait, loss and mark are compared, too. They count from the router's first device to the",
        "  receiver's, less the line's delay.",
        "- Acknowledgements (`ack`) go the other way. Where the queue is theirs, losses the other way are not judged.",
        "",
        "[kernel-setup.md](kernel-setup.md) says what was made the same, [kernel-queues.md](kernel-queues.md) what differs. `linux/cells.toml` has the set-ups.",
    ]
    lines = []
    for cell in CELLS.values():
        lines += ["", f"## {title(cell)}", ""]
        lines += [
            f"{cell.rate // 10**6} Mbit/s, {cell.delay_ms} ms each way.",
            "",
            *(table if cell.floods else calm)(rows, cell, given.tidegate),
        ]
    (HERE / "linux.md").write_text("\n".join(head + lines) + "\n")
    print("\n".join(lines))
    sys.exit(any("| NO" in line for line in lines))


if __name__ == "__main__":
    main()
