#!/usr/bin/env python3
"""Writes docs/study/choosing.md, which queue for what, and docs/study/today.md, what Linux's own queues do, from the two
suites' scores and the runs of Linux's queues.

usage: choosing.py PROTECTION RFC7928 PROTECTION RFC7928     --out directories: of every queue's `auto`, then of Linux's
presets. `make choosing` runs the suites before.

Python's standard library only.
"""

import csv
import json
import statistics
import sys
from pathlib import Path

import tuned
from linux import ours as simulated
from studies import HERE, TIDEGATE

sys.path.insert(0, str(HERE / "linux"))
from cells import CELLS, shares, starved

PAGE = HERE.parent / "docs" / "study" / "choosing.md"
TODAY = HERE.parent / "docs" / "study" / "today.md"
# What protects users, in tests of the protection suite.
QUESTIONS = (
    ("Floods of datagrams", ("P1", "P2", "P14")),
    ("Floods in pulses, for a time, or that follow windows", ("P3", "P4", "P5", "P17")),
    ("Senders that ignore marks", ("P8", "P9")),
    ("A host with many connections, a tunnel", ("P6", "P15")),
    ("TCP that takes more than its share, or whose receivers cheat", ("P10", "P13")),
    ("As many floods as hash places", ("P12",)),
    ("Far users and slow lines", ("P16",)),
    ("Forged addresses", ("P7",)),
    ("Abuse of priority for new flows", ("P11",)),
    ("Floods on the way back, or where two queues are in a row", ("P18", "P19")),
    ("Nobody attacks", ("N",)),
)
# Without an attack: title, test and cell of the RFC's suite, figure, scale, digits, unit.
LOAD, MIX = ("8.2.3", "14 connections"), ("9.1", "call, pages, UDP, video, 5 downloads")
CALM = (
    ("14 connections: a packet waits", *LOAD, "link_queue_delay_ms_mean", 1, 0, " ms"),
    ("the line is used", *LOAD, "link_utilization", 100, 0, " %"),
    ("they lose", *LOAD, "users_loss_ratio", 100, 1, " %"),
    ("the worst gets of a fair share", *LOAD, "users_worst_share", 100, 0, " %"),
    ("of them starve", *LOAD, "users_starved", 1, 1, ""),
    ("a mix: pages take", *MIX, "web_page_ms_p95", 1e-3, 1, " s"),
    ("calls lose", *MIX, "call_loss_ratio", 100, 1, " %"),
)
NAMED = 4  # queues that an answer names
AS_LINUX = ("cake/linux", "fq_codel/linux")  # shown among all queues
NEAR = 2  # cells below the best that are nearly as good
# What Linux's queues did: one flood; and forty, whose frames are as long as a quantum or a little shorter.
ONE, FORTY = "closed-20m", {frame: f"closed-50m-40x{frame}" for frame in (1514, 1500, 1400)}


def read(folder):
    return json.loads((Path(folder) / "scores.json").read_text())


def kept(size):
    """A number of bytes, short."""
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def time(queue):
    """What a packet costs; a queue whose cost was not measured yet has none."""
    return "–" if queue["ns"] is None else f"{queue['ns']:.0f} ns"


def cost(queue):
    return float("inf") if queue["ns"] is None else queue["ns"]


def price(queue):
    return f"`{queue['queue']}` ({time(queue)}, {kept(queue['state_bytes'])})"


def passed(queue, tests):
    """How many cells of these tests it passes, and of how many."""
    of = [test for test in queue["tests"] if test["test"] in tests]
    return sum(test["passed"] for test in of), sum(test["of"] for test in of)


def nobody(protection):
    """The tests of which some cells are passed behind no queue, and how many."""
    passed = {}
    for cell in protection["cells"]:
        place = cell["test"], cell["cell"]
        passed[place] = passed.get(place, False) or cell["passed"]
    failed = [test for (test, _), some in passed.items() if not some]
    return [f"{failed.count(test)} of {test}" for test in dict.fromkeys(failed)]


def answers(queues):
    known = {test["test"] for test in queues[0]["tests"]}
    lines = [
        "| what comes | tests | cells passed | the cheapest of the best: time of a packet, memory |",
        "|---|---|---|---|",
    ]
    for title, tests in QUESTIONS:
        count = {queue["queue"]: passed(queue, tests) for queue in queues}
        most, cells = max(count.values())
        if not cells:
            continue
        best = [queue for queue in queues if count[queue["queue"]][0] == most]
        best.sort(key=cost)
        names = ", ".join(price(queue) for queue in best[:NAMED])
        more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
        lines.append(
            f"| {title} | {', '.join(test for test in tests if test in known)} | {most} of {cells} | {names + more if most else '**none**'} |"
        )
    return lines


def waits(protection):
    """By queue: the median over cells of light traffic's 99th percentile, in ms."""
    of = {}
    for cell in protection["cells"]:
        wait = cell["figures"].get("light_wait_ms")
        if wait and wait["mean"] is not None and cell["test"] != "N":
            of.setdefault(cell["queue"], []).append(wait["mean"])
    return {queue: statistics.median(found) for queue, found in of.items()}


def cheaper(queues):
    """The queue that costs least per packet among those that pass nearly as much as the best."""
    best = queues[0]
    near = [queue for queue in queues if queue["passed"] >= best["passed"] - NEAR]
    least = min(near, key=cost)
    if least is best:
        return []
    return [
        f"{price(least)} passes {least['passed']} and costs least among those within {NEAR} of that."
    ]


def in_short(queues):
    """The queues that pass most cells."""
    of = queues[0]
    names = [price(queue) for queue in queues if queue["passed"] == of["passed"]]
    verb = "pass" if names[1:] else "passes"
    named = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    suite = "[protection suite](suites.md#what-scores-mean)"
    return f"**In short.** {named} {verb} most cells of the {suite}: {of['passed']} of {of['of']}."


def table(protection, linux):
    """Every queue's `auto`, and among them some as Linux has them."""
    queues = [*protection["queues"], *(of for of in linux["queues"] if of["queue"] in AS_LINUX)]
    queues.sort(key=lambda of: -of["passed"])
    protection = {"queues": queues, "cells": protection["cells"] + linux["cells"]}
    wait = waits(protection)
    of = {}
    for cell in protection["cells"]:
        of.setdefault(cell["queue"], []).append(cell)
    lines = [
        "| queue | cells passed | cells failed, by test | worst user, usual cell | somebody starves in | light traffic waits | a packet | memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for queue in protection["queues"]:
        cells = of[queue["queue"]]
        failed = [
            f"{test['test']} {test['of'] - test['passed']}"
            for test in queue["tests"]
            if test["passed"] < test["of"]
        ]
        most = 3 * queue["passed"] < queue["of"]
        usual = statistics.median(cell["sure"] for cell in cells)
        starve = sum(cell["figures"]["starved"]["mean"] > 0 for cell in cells)
        lines.append(
            f"| `{queue['queue']}` | **{queue['passed']} of {queue['of']}** | {'most' if most else ', '.join(failed)} | {100 * usual:.0f} % | "
            f"{starve} | {wait[queue['queue']]:.0f} ms | {time(queue)} | {kept(queue['state_bytes'])} |"
        )
    return lines


def fared(cell):
    """By queue of Linux, in a cell of the closed loop: what users get of a fair share, the worst of them, and how many starve."""
    with (HERE / "linux" / "results" / "7.3.4.csv").open(newline="") as rows:
        found = shares(csv.DictReader(rows), cell)
    figures = (statistics.mean, min, starved)
    return {
        queue: [statistics.mean(map(of, runs)) for of in figures] for queue, runs in found.items()
    }


def linux(cell):
    lines = []
    for queue, (together, worst, below) in fared(cell).items():
        words = f"{100 * together:.0f} % | {100 * worst:.0f} % | {below:.3g} of {cell.connections}"
        lines.append((-worst, -together, f"| `{queue}` | {words} |"))
    head = ["| Linux's queue | users together | worst user | below a tenth |", "|---|---|---|---|"]
    return head + [text for *_, text in sorted(lines)]


def many():
    """The same of forty floods, by the length of their frames."""
    lines = [
        "| floods' frames, B | Linux's queue | users together | worst user | below a tenth |",
        "|---" * 5 + "|",
    ]
    for frame, name in FORTY.items():
        lines += [f"| {frame} {line}" for line in linux(CELLS[name])[2:]]
    return lines


def many_of_ours():
    """The same behind some queues of ours, simulated: users together, and the worst of them."""
    queues = ("tide", "ewfq", "fq_codel", "drr", "care")
    lines = [
        "| floods' frames, B | " + " | ".join(f"`{q}`" for q in queues) + " |",
        "|---" * 6 + "|",
    ]
    for frame, name in FORTY.items():
        cell, cells = CELLS[name], []
        fair = cell.rate * cell.connections / (cell.connections + cell.floods)
        for queue in queues:
            groups, (worst, _) = simulated(TIDEGATE, cell, queue)
            cells.append(f"{100 * groups['tcp'][0] / fair:.0f} % / {100 * worst:.0f} %")
        lines.append(f"| {frame} | {' | '.join(cells)} |")
    return lines


def calm(rfc):
    """Where nobody attacks: what the RFC's suite measures of each queue."""
    cells = {(cell["queue"], cell["test"], cell["cell"]): cell["figures"] for cell in rfc["cells"]}
    lines = ["| queue | " + " | ".join(title for title, *_ in CALM) + " |"]
    lines.append("|---" * (len(CALM) + 1) + "|")
    rows = []
    for queue in (queue["queue"] for queue in rfc["queues"]):
        found = [cells[queue, test, cell][name]["mean"] for _, test, cell, name, *_ in CALM]
        shown = [
            f"{scale * value:.{digits}f}{unit}"
            for value, (*_, scale, digits, unit) in zip(found, CALM)
        ]
        rows.append((found[0], f"| `{queue}` | " + " | ".join(shown) + " |"))
    return lines + [text for _, text in sorted(rows)]


def page(protection, rfc, linux):
    cells = len({(cell["test"], cell["cell"]) for cell in protection["cells"]})
    one = {queue: f"{100 * worst:.0f} %" for queue, (_, worst, _) in fared(CELLS[ONE]).items()}
    forty = [fared(CELLS[name]) for name in FORTY.values()]
    worst = {queue: [100 * of[queue][1] for of in forty] for queue in forty[0]}
    span = lambda of: dict.fromkeys(f"{share:.0f}" for share in (min(of), max(of)))
    least = {queue: f"{' to '.join(span(of))} %" for queue, of in worst.items()}
    return [
        "# Which queue for what",
        "",
        "This page says which queue protects the worst of its users from what, and what it costs. `make choosing` writes it from",
        "the two [suites](suites.md). Every queue has its preset `auto`, fitted to its line.",
        "",
        in_short(protection["queues"]),
        *cheaper(protection["queues"]),
        "A cell is passed if the worst user is sure of half of a fair share, of nine tenths where nobody attacks.",
        f"Linux's own `cake` and `fq_codel` leave the worst of four users {one['cake']} and {one['fq_codel']} beside one flood.",
        f"Beside forty floods they leave the worst of thirty {least['cake']} and {least['fq_codel']} ([what Linux's queues do](today.md)).",
        "",
        "## What protects from what",
        "",
        *answers(protection["queues"]),
        "",
        "A packet's time is measured at twice the line's rate. `cebinae` drops most of that load, which is cheap.",
        "",
        "Where sources are forged, a queue that goes by source protects nobody: a user is one of thousands. A flow key by",
        "destination (`--flow-key destination`) protects users if the flood goes to other receivers.",
        "",
        "Where each packet of a host is a new connection, only a queue by source host [protects](suites.md#limits)",
        "(`isolation=srchost`, `--flow-key source`).",
        "",
        "## Every queue",
        "",
        *table(protection, linux),
        "",
        "- *Worst user, usual cell*: what the worst user is sure of, as a part of a fair share. The median of all cells.",
        "- *Somebody starves in*: how many cells had a user with less than a tenth of a fair share, in one seed or more.",
        "- *Light traffic*: senders of a few kbit/s. The 99th percentile of their wait, in the median cell with an attack.",
        "- *A packet*: [measured](../../papers/comparison/cost.csv) with a thousand flows of twice a line of 10 Gbit/s.",
        "- *Memory*: what the queue keeps besides packets, at most, on the suite's lines.",
        f"- {' and '.join(f'`{queue}`' for queue in AS_LINUX)} are ours with Linux's defaults. Their cost was not measured.",
        "",
        "No queue passes these cells: " + "; ".join(nobody(protection)) + ".",
        "In P7 all addresses that one sender forges count as one user. No queue can know that, so these cells tell queues apart by",
        "shares only. In P12 a sender that knows the key aims at users' places. If there are none, or it finds no such flow, it",
        "forges at random ([which](traffic.md#forged-flows)).",
        "",
        "## Where nobody attacks",
        "",
        "From [the suite of RFC 7928](rfc7928.md), the shortest wait first. Pages have the 95th percentile.",
        "",
        *calm(rfc),
        "",
        "[Tidegate and CAKE, fq_codel, L4S](today.md) says when `tc` alone does.",
        "",
        "## How this was made",
        "",
        f"The simulator runs {cells} cells with {len(protection['seeds'])} seeds each. [On real packets](../../validation/protection.md)",
        "and [against Linux](../../validation/linux.md) says how far it can be believed. The page of the suite has every figure",
        "with its interval: `tidegate suite protection --out out/protection`.",
        "[The same attackers against every queue](../../validation/attacks.md) has 1 to 64 floods, in the simulator and on the gate's path.",
        "",
        "Presets were tuned on [other settings](../../validation/tuned.md), and held against",
        "[settings that nobody tuned on](../../validation/unseen.md).",
    ]


# Shown beside Linux's queues: a plain buffer, and ours.
PLAIN = "drop_tail"
BESIDE = ("tide", "drr", "ewfq", "care", "sfb", "purge", "bare", "afd")
# Cells of the protection suite that tell them apart: what stands above the column, test, the cell's name.
APART = (
    ("1 flood", "P1", "1 flood, twice the line"),
    ("64 floods", "P1", "64 floods together, twice the line"),
    ("flood of 10 lines", "P2", "10 times the line"),
    ("ECT(1) flood", "P8", "ECT(1) at 2 times the line"),
    ("64 connections of a host", "P6", "a host with 64 connections"),
    ("16 floods on the way back", "P18", "16 floods together, twice the way back"),
    ("4 BBR", "P13", "4 BBR"),
)


def joined(auto, presets):
    """The scores of Linux's queues and of those shown beside them, the best first."""
    both = {
        part: [of for of in auto[part] if of["queue"] in (PLAIN, *BESIDE)] + presets[part]
        for part in ("queues", "cells")
    }
    both["queues"].sort(key=lambda of: -of.get("passed", 0))
    return both


def apart(protection):
    """What the worst user is sure of behind each of them."""
    sure = {(c["queue"], c["test"], c["cell"]): c["sure"] for c in protection["cells"]}
    wait = waits(protection)
    lines = [
        "| queue | cells passed | "
        + " | ".join(title for title, *_ in APART)
        + " | light traffic waits | a packet | memory |",
        "|---" * (len(APART) + 5) + "|",
    ]
    for queue in protection["queues"]:
        name = queue["queue"]
        shares = [f"{100 * sure[name, test, cell]:.0f} %" for _, test, cell in APART]
        shown = f"`{name}`" if name in BESIDE else f"**`{name}`**"
        lines.append(
            f"| {shown} | {queue['passed']} of {queue['of']} | {' | '.join(shares)} | {wait[name]:.0f} ms | {time(queue)} | {kept(queue['state_bytes'])} |"
        )
    return lines


# Scalable senders: the queues, and what the flood of ECT(1) sends.
SCALABLE = ("dualpi2/linux", "dualpi2/auto", "fq_codel/linux", "cake/linux", "tide")
FLOODS = (("none", "1 kbit/s"), ("twice the line", "100 Mbit/s"))


def l4s():
    """TCP Prague beside CUBIC: what each gets, and how long packets wait."""
    lines = [
        "| flood, ECT(1) | queue | Prague gets | the worst of them | CUBIC gets | the worst of them | Prague's packets wait, 99th percentile | CUBIC's |",
        "|---" * 8 + "|",
    ]
    for title, rate in FLOODS:
        found = tuned.grouped("l4s.toml", SCALABLE, 10, ["[set]", f'"group.flood.rate" = "{rate}"'])
        for queue in SCALABLE:
            groups = found[queue, 0]
            cells = []
            for name in ("prague", "cubic"):
                share, ci95 = tuned.share(groups[name])
                cells += [f"{share:.0f} ± {ci95:.0f} %", f"{tuned.worst(groups[name])[0]:.0f} %"]
            for name in ("prague", "cubic"):
                wait, ci95 = tuned.scaled(groups[name], "delay_ms_p99", 1)
                cells.append(f"{wait:.0f} ± {ci95:.0f} ms")
            lines.append(f"| {title} | `{queue}` | {' | '.join(cells)} |")
    return lines


def today(protection, rfc):
    named = "".join(f"`{name}`, " for name in BESIDE[:-1]) + f"`{BESIDE[-1]}`"
    return [
        "# Tidegate and CAKE, fq_codel, L4S",
        "",
        "This page answers: why not just `tc`? It is for operators of Linux routers. `make choosing` writes it from measurements.",
        "",
        "**In short.** If Linux forwards your traffic and its `cake` or `fq_codel` does what you need, use `tc`. It is in the",
        "kernel already. Tidegate has four things that `tc` has not.",
        "",
        "- Queues of 20 to 130 kB that still protect users: `tide`, `care`, `purge` and `sfb`. You can compare them, or build them into hardware.",
        "- [An adviser](../operate/advise.md). From a capture it says whether a queue will help, with the `tc` line if there is one.",
        "- [Offenders by name](../operate/offenders.md), and a gate that fails open.",
        "- Every queue in a simulator, so that you can try before you deploy.",
        "",
        "`tidegate show cake` prints the nearest `tc` line, and what differs.",
        "",
        "## In Linux itself",
        "",
        "Four users of CUBIC share 20 Mbit/s with a flood of three times the line, in a kernel of its own",
        "([set-up](../../validation/kernel-setup.md)). Shares are of what is fair. `pfifo` is drop-tail; `cake` has no tins",
        "there, and only `cake-shaper` a shaper. `cobalt` is `cake` with `flowblind`.",
        "[Ours beside them](../../validation/linux.md) agree within 10 % in most rows.",
        "[The others](../../validation/kernel-queues.md) are listed with what we know of the cause.",
        "",
        *linux(CELLS[ONE]),
        "",
        "Many floods, each near a fair share, are another matter. Thirty users share 50 Mbit/s with forty floods that together",
        "send four times the line:",
        "",
        *many(),
        "",
        "Behind Linux's `cake` floods gain if their frames are a little shorter than a quantum ([why](../../validation/kernel-cake.md)). Behind",
        "`fq_codel` a user starves that shares a queue with a flood. Behind `fq_pie` floods fill the buffer, and arrivals are lost.",
        "With some of our queues, all `auto`, the same users get this together, and the worst of them this (simulated):",
        "",
        *many_of_ours(),
        "",
        "Our `fq_codel` and `drr` find a free place for a flow that meets another. When the buffer is full, the longest queue pays.",
        "",
        "## In the protection suite",
        "",
        "Linux's queues are bold, here as we have them, with Linux's defaults. The presets that `tc` has are named; `auto` may do better, or",
        f"worse: see [every queue](choosing.md#every-queue). Beside them stand {named}, all `auto`.",
        "Buffers are the suite's, most of them 100 ms. Linux's defaults are longer, from 1,000 packets to 10,240.",
        "A share is what the worst user is sure of in that [cell](suites.md). Light traffic's wait is the 99th percentile in the",
        "median cell. Costs are those of `auto`; other presets have a dash.",
        "",
        *apart(protection),
        "",
        "## Where nobody attacks",
        "",
        "From [the suite of RFC 7928](rfc7928.md), the shortest wait first.",
        "",
        *calm(rfc),
        "",
        "## When to take which",
        "",
        "| you have | take |",
        "|---|---|",
        "| Linux, a home or an office, few offenders | `tc … cake`: a host's connections count as one, and packets wait little |",
        "| Linux, and many offenders | `tc … fq_codel`, where few users starve; or a gate with `tide`, `ewfq` or `fq_codel`, where none does |",
        "| floods, and no memory for a queue per flow | `care`; `sfb` and `purge` if offenders are few |",
        "| floods, on a way back that acknowledgements need | `care` or `cake` |",
        "| L4S senders (ECT(1)) and nobody who floods | `dualpi2`, which protects delay and not shares |",
        "| forged sources | none of them by source; each of the schedulers by destination (`--flow-key destination`) |",
        "",
        "## What L4S asks",
        "",
        "Four connections of TCP Prague, whose packets are ECT(1), share 50 Mbit/s with four of CUBIC. The round trip is",
        "22 ms, and the flood's packets are ECT(1), too. A share is of what is fair.",
        "",
        *l4s(),
        "",
        "`dualpi2` lets scalable senders' packets pass in a few ms, beside CUBIC's. It has no accounts by flow: under a flood both",
        "get nothing. RFC 9332 leaves such senders to other means. Its queue protection (in `auto`, not in Linux) moves a flow that",
        "builds the delay to the classic queue, but does not bound what it takes. The others bound it, and by default mark ECT(1)",
        "like ECT(0). Linux's `fq_codel` can mark ECT(1) alone at a threshold of its own (`ce_threshold … ce_threshold_selector`).",
        "Ours has no such parameter, and we did not measure it.",
    ]


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    protection, rfc, *linux = map(read, sys.argv[1:])
    PAGE.write_text("\n".join(page(protection, rfc, linux[0])) + "\n")
    both = joined(protection, linux[0]), joined(rfc, linux[1])
    TODAY.write_text("\n".join(today(*both)) + "\n")


if __name__ == "__main__":
    main()
