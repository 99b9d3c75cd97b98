#!/usr/bin/env python3
"""The kernel's TCP as witness of the simulator's: reno, cubic and bbr, each alone and all three together.
Each case runs through the gateway and simulated, without and with a flood of three times the line.

usage: witness.py [--quick] [--rounds N] [--scale PART] [--measured FILE] [--add] [--mix MIX] [QUEUE …]

The line has 100 Mbit/s. `make validate-witness` uses --scale .25, a quarter, which two processors can bear with all senders.
Each round measures every case once, and the means are compared.
Prints the table and keeps it in witness.md. The figures of every run go to witness.jsonl; --measured reads a file of them.
With QUEUE or --mix nothing is kept, or with --add it is, beside earlier runs.
Root, iperf3, and an idle machine. Status 1 if somewhere another group wins.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import fmean

from gateway import (
    FLOOD,
    LINE,
    SEEDS,
    STARVED,
    STEADY,
    TRIES,
    TWIN,
    WITHIN,
    first,
    interval,
    mbit,
    run,
    worst,
    worst_of,
)
from setups import HERE

KEPT = HERE / "witness.jsonl"
QUEUES = ["drop_tail", "red", "fq_codel", "care"]
# By the kernel's congestion control: the simulator's source and that source's settings.
SOURCES = {
    "reno": ("rack", {"delayed_ack": "40 ms"}),
    "cubic": ("cubic", {"loss_recovery": "rack", "delayed_ack": "40 ms"}),
    "bbr": ("bbr", {"loss_recovery": "rack", "delayed_ack": "40 ms", "margin": 0.01}),
}
TIE = 0.05  # who leads by less, on both sides, leads by chance
MIXES = {**{name: [name] for name in SOURCES}, "together": list(SOURCES)}


def preset(queue):
    """The queue as it is measured."""
    return f"{queue}/auto as {queue}"


def times(mix):
    """Connections of each kind, and seconds of warm-up and of measuring: kinds that share take longer to settle."""
    return (8, 5, 15) if len(MIXES[mix]) == 1 else (3, 10, 30)


def twin(mix, flood):
    """The scenario of the same set-up."""
    head, tcp, udp = TWIN.read_text().split("[[group]]\n")
    count = times(mix)[0]
    groups = []
    for name in MIXES[mix]:
        source, more = SOURCES[name]
        words = {
            'name = "tcp"': f'name = "{name}"',
            "count = 8": f"count = {count}",
            '"newreno"': f'"{source}"',
        }
        text = tcp
        for old, new in words.items():
            assert text.count(old) == 1, f"{TWIN.name} has no {old}"
            text = text.replace(old, new)
        told = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
        groups.append(f"{text.rstrip()}\n{told}\n")
    return "[[group]]\n".join([head, *groups, *([udp] if flood else [])])


def figures(document, names):
    """What is compared, of one result; a single group of TCP is called so by the demo."""
    groups = {g["name"]: g for g in document["groups"]}
    if len(names) == 1 and "tcp" in groups:
        groups[names[0]] = groups.pop("tcp")
    return {
        "rates": {name: g["throughput_bps"]["mean"] for name, g in groups.items()},
        "users": {name: worst_of(g) for name, g in groups.items() if name != "flood"},
        "half": {name: g["throughput_bps"]["ci95"] or 0.0 for name, g in groups.items()},
        "offered": {name: g["offered_bps"]["mean"] for name, g in groups.items()},
        "delay_p50_ms": (document["aggregate"]["queue_delay_ms"]["p50"] or {}).get("mean"),
        "uncounted": document.get("incomplete"),
    }


def measure(mix, flood, queue, scale, quick):
    """One run on real packets; again if the machine was too busy for the flood."""
    count, warmup, duration = times(mix)
    # The simulator's flows keep their keys.
    words = ["gate", "demo", "--bbr", "0", "--rehash", "off", "--tcp", str(count)]
    words += ["--queue", preset(queue)]
    words += [
        "--rate",
        f"{LINE * scale:.0f}bit",
        "--flood",
        f"{FLOOD * scale if flood else 0:.0f}bit/s",
    ]
    words += [word for name in MIXES[mix] for word in ("--congestion", name)]
    words += [
        "--warmup",
        f"{2 if quick else warmup}s",
        "--duration",
        f"{3 if quick else duration}s",
    ]
    for thrown in range(TRIES):
        found = figures(run(words, preexec_fn=first)[0], MIXES[mix])
        steady = not flood or found["offered"]["flood"] >= STEADY * FLOOD * scale
        if quick or steady and not found["uncounted"]:
            break
        thrown += 1
    return {"scale": scale, "mix": mix, "flood": flood, "queue": queue, "thrown": thrown, **found}


def simulate(mix, flood, queues, scale, quick):
    """The simulator's figures for each queue."""
    _, warmup, duration = times(mix)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "witness.toml"
        path.write_text(twin(mix, flood))
        words = ["compare", str(path), "--seeds", str(2 if quick else SEEDS)]
        words += [
            "--set",
            f"run.warmup={warmup + 1}s",
            "--set",
            f"run.duration={warmup + 1 + duration}s",
        ]
        words += [
            "--set",
            f"network.rate={LINE * scale:.0f} bit/s",
            "--set",
            f"network.limit={LINE * scale / 80:.0f} B",
        ]
        words += ["--set", f"group.flood.rate={FLOOD * scale:.0f} bit/s"] if flood else []
        documents = run(words + [word for queue in queues for word in ("--queue", preset(queue))])
    return {document["label"]: figures(document, MIXES[mix]) for document in documents}


def winner(rates):
    return max(rates, key=rates.get)


def wins(simulated, measured):
    """Who gets most, measured; in capitals where another does when simulated. Two who get the same within 5 % on both sides
    tie."""
    first, other = winner(measured), winner(simulated)
    if first == other:
        return first
    close = all(abs(rates[first] / rates[other] - 1) < TIE for rates in (simulated, measured))
    return f"a tie: {first}, {other}" if close else f"NO: {first} for {other}"


def far(simulated, measured, scale):
    """The groups whose throughputs are not within 15 % of the simulator's; of one that starves on both sides a handful of
    packets are left, whose number says nothing."""
    starved = STARVED * LINE * scale / len(simulated)
    return [
        name
        for name in simulated
        if max(simulated[name], measured[name]) > starved
        and abs(measured[name] / simulated[name] - 1) > WITHIN
    ]


def mean(runs):
    """The runs of one case as one: means, and the flood of the busiest of them."""
    busiest = max(runs, key=lambda run: run["thrown"])
    rates = {name: fmean(run["rates"][name] for run in runs) for name in busiest["rates"]}
    delays = [run["delay_p50_ms"] for run in runs if run["delay_p50_ms"] is not None]
    return {
        **busiest,
        "rates": rates,
        "each": [run["rates"] for run in runs],
        "each_users": [run["users"] for run in runs],
        "delay_p50_ms": fmean(delays) if delays else None,
    }


def row(simulated, measured):
    rates, half, seen = simulated["rates"], simulated["half"], measured["rates"]
    each = lambda name: (
        " (" + ", ".join(mbit(run[name]) for run in measured["each"]) + ")"
        if len(measured["each"]) > 1
        else ""
    )
    delay = lambda figures: (
        "–" if figures["delay_p50_ms"] is None else f"{figures['delay_p50_ms']:.3g}"
    )
    least = lambda users: "; ".join(
        f"{name} {worst([one[name] for one in users])}" for name in simulated["users"]
    )
    apart = far(rates, seen, measured["scale"])
    cells = [
        measured["queue"],
        mbit(FLOOD * measured["scale"]) if measured["flood"] else "–",
        "; ".join(f"{name} {interval(rates[name], half[name])}" for name in rates),
        "; ".join(f"{name} {mbit(seen[name])}{each(name)}" for name in rates),
        least([simulated["users"]]),
        least(measured["each_users"]),
        f"{delay(simulated)}, {delay(measured)}",
        wins(rates, seen),
        f"no: {', '.join(apart)}" if apart else "yes",
    ]
    busy = (
        f" (flood only {mbit(measured['offered']['flood'])})" if measured["thrown"] >= TRIES else ""
    )
    return "| " + " | ".join(cells) + f"{busy} |"


def table(mix, measured, scale, quick):
    lines = [
        f"## {mix}: {times(mix)[0]} connections" + ("" if len(MIXES[mix]) == 1 else " each"),
        "",
        "| queue | flood | simulated | measured | worst of each: simulated | measured | median wait, ms | winner | within 15 % |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for flood in (False, True):
        runs = {}
        for taken in measured:
            if (taken["mix"], taken["flood"]) == (mix, flood):
                runs.setdefault(taken["queue"], []).append(taken)
        simulated = simulate(mix, flood, list(runs), scale, quick) if runs else {}
        lines += [row(simulated[queue], mean(of)) for queue, of in runs.items()]
    return [*lines, ""]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--quick", action="store_true", help="three seconds each, kept nowhere: whether it works"
    )
    ask.add_argument("--rounds", type=int, default=1, help="measured runs of each case")
    ask.add_argument(
        "--scale", type=float, default=1, help="of the line's rate and the flood's, 0.05 to 1"
    )
    ask.add_argument("--measured", type=Path, help="take measured runs from this file")
    ask.add_argument(
        "--mix", action="append", choices=list(MIXES), help="only this one; may be repeated"
    )
    ask.add_argument(
        "queues", nargs="*", metavar="QUEUE", help=f"queues (default: {' '.join(QUEUES)})"
    )
    ask.add_argument(
        "--add", action="store_true", help="keep these runs beside those kept before, and show all"
    )
    given = ask.parse_args()
    if not 0.05 <= given.scale <= 1:
        ask.error(f"--scale {given.scale}: must lie in 0.05 to 1")
    if given.add and given.quick:
        ask.error("--add: quick runs are kept nowhere")
    if not 1 <= given.rounds <= 100:
        ask.error(f"--rounds {given.rounds}: must lie in 1 to 100")
    queues, mixes = given.queues or QUEUES, given.mix or list(MIXES)
    if given.measured:
        measured = [json.loads(line) for line in given.measured.read_text().splitlines()]
        measured = [r for r in measured if r["queue"] in queues and r["scale"] == given.scale]
    else:
        measured = []
        cases = [(m, f, q) for m in mixes for f in (False, True) for q in queues]
        for mix, flood, queue in cases * given.rounds:
            measured.append(measure(mix, flood, queue, given.scale, given.quick))
            said = ", ".join(f"{name} {mbit(rate)}" for name, rate in measured[-1]["rates"].items())
            print(
                f"{mix:8} {queue:10} {said}, thrown away {measured[-1]['thrown']}",
                file=sys.stderr,
                flush=True,
            )
    whole = given.add or not given.quick and not given.queues and not given.mix
    if given.add:
        measured = [*map(json.loads, KEPT.read_text().splitlines()), *measured]
        mixes = MIXES
    if whole and not given.measured:
        KEPT.write_text("".join(json.dumps(r) + "\n" for r in measured))
    lines = [line for mix in mixes for line in table(mix, measured, given.scale, given.quick)]
    print("\n".join(lines))
    if whole:
        keep(lines, given.scale)
    sys.exit(any("NO" in line for line in lines))


def keep(lines, scale):
    head = [
        "# The kernel's TCP as witness",
        "",
        f"Written by `make validate-witness`. Mbit/s, frames counted whole, on a line of {mbit(LINE * scale)} Mbit/s, 20 ms each way, a limit of 100 ms.",
        f"Simulated: `scenarios/gate8.toml` with these groups, mean ± half width of the 95 % interval over {SEEDS} seeds.",
        "The kernel's reno is paired with `rack`. All three delay acknowledgements.",
        "Queues are in their preset `auto`.",
        "The worst connection's figure is what it got of a fair share; `starved` got less than a tenth.",
        "Measured through `tidegate gate`: one run, or the mean of several and each of them. [sender.md](sender.md) says what was made the same.",
        "",
    ]
    (HERE / "witness.md").write_text("\n".join([*head, *lines]).rstrip() + "\n")


if __name__ == "__main__":
    main()
