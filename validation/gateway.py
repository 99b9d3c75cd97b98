#!/usr/bin/env python3
"""Holds the gateway against the simulator: the same queues, lines and senders, once with real packets, once without.

usage: gateway.py [--rounds N] [--scale PART] [--control C] [--measured FILE] [--add] [QUEUE …]

Runs `tidegate gate demo` (root, iperf3) for every queue, with the kernel's TCP cut down to NewReno, its cubic and its reno.
Runs `tidegate compare` on scenarios/gate8.toml, prints the table and keeps it in gateway.md.
The figures of every run go to gateway.jsonl, in place of those of the same control and scale. --measured reads them from there.
With QUEUE nothing is kept, or with --add it is, beside earlier runs: where runs vary, the mean needs more of them.
With --scale .25 the line and the flood are a quarter, for slow machines. Status 1 if a row disagrees.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import fmean

from setups import HERE, fewest, mean_ci

TIDEGATE = HERE.parent / "target" / "release" / "tidegate"
TWIN = HERE / "scenarios" / "gate8.toml"
KEPT = HERE / "gateway.jsonl"
WARMUP, DURATION = 5, 10  # s, the same on both sides
# The warm-up of queues that take longer to settle, in s. Within 4 to 20 s SFRED takes every connection for unresponsive and
# acquits none. From 5 s on one would measure how many have come that far, which is chance.
SETTLES = {"sfred": 25}
# Those whose papers have classes, which nothing here gives.
FITTED = ("wfq", "ewfq")
SEEDS = 40
# By the table's name: the demo's options, the simulator's source, and that source's settings.
# NewReno without SACK, every segment acknowledged, is what ns-2 has. The others are what users have.
KERNEL = {"delayed_ack": "40 ms"}
CONTROLS = {
    "cubic": (["--congestion", "cubic"], "cubic", {"loss_recovery": "rack", **KERNEL}),
    "reno": (["--congestion", "reno"], "rack", KERNEL),
    "newreno": (["--congestion", "reno", "--newreno"], "newreno", {"timestamps": "off"}),
}
WITHIN = 0.15  # what counts as agreement
VARY = 2  # what runs of their own differ by, in standard deviations
STEP = "simulated connections get into step, which lets the flood have more; out of step they get as much as here"
# Why some rows differ: sender.md has the evidence.
EXPLAINED = {
    (
        "cubic",
        "hhf",
    ): "in part: their first second decides who counts as heavy; by the RFC's rules users get 52",
    ("reno", "fq_codel"): STEP,
    ("reno", "purge"): "in part: the same; out of step they get 43 to 59",
}
LINE, FLOOD, FAIR = 100e6, 300e6, 8 / 9  # bit/s at scale 1; TCP's fair share of the line
# Simulated once more with ends that hold every segment for up to so long, as receivers do that wait for a processor.
HOLD = "1 ms"
STARVED = 0.02  # of the line: below it so few packets are left that their number is chance
HARDLY = 0.05  # of its fair share; less is no protection at all
STEADY = 0.995  # a run counts if the flood offered so much of what it should: else the machine was too busy
TRIES = 4


def run(words, **more):
    """The JSON that the command `tidegate words` prints."""
    done = subprocess.run([str(TIDEGATE), *words, "--json"], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"tidegate {' '.join(words)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def first():
    """Lets the measurement come before other work of this machine: a session of its own, whose turn is first."""
    os.setsid()
    Path("/proc/self/autogroup").write_text("-20")


def worst_of(group):
    """What the worst of a group's users got of a fair share, and how many got less than a tenth."""
    return {
        "worst": (group["worst_share"] or {}).get("mean"),
        "starved": (group["starved"] or {}).get("mean"),
    }


def figures(document):
    """What is compared, of one result."""
    group = {g["name"]: g for g in document["groups"]}
    mean = lambda name, what: group[name][what]["mean"]
    return {
        "queue": document["label"],
        "tcp": mean("tcp", "throughput_bps"),
        "flood": mean("flood", "throughput_bps"),
        **worst_of(group["tcp"]),
        "offered": mean("tcp", "offered_bps") + mean("flood", "offered_bps"),
        "flood_offered": mean("flood", "offered_bps"),
        "delay_p50_ms": (document["aggregate"]["queue_delay_ms"]["p50"] or {}).get("mean"),
        "uncounted": document.get("incomplete"),
    }


def preset(queue):
    """The queue as it is measured: the paper's own values, but where those are for classes that a driver gives."""
    return f"{queue}/{'auto' if queue in FITTED else 'paper'} as {queue}"


def measure(queue, control, scale=1):
    """One run on real packets, and how many were thrown away before because the machine was too busy."""
    # The simulator's flows keep their keys.
    words = [
        "gate",
        "demo",
        "--bbr",
        "0",
        "--rehash",
        "off",
        *CONTROLS[control][0],
        "--queue",
        preset(queue),
    ]
    words += ["--rate", f"{LINE * scale:.0f}bit", "--flood", f"{FLOOD * scale:.0f}bit"]
    words += ["--warmup", f"{SETTLES.get(queue, WARMUP)}s", "--duration", f"{DURATION}s"]
    for thrown in range(TRIES):
        found = figures(run(words, preexec_fn=first)[0])
        if found["flood_offered"] >= STEADY * FLOOD * scale and not found["uncounted"]:
            return {**found, "queue": queue, "control": control, "scale": scale, "thrown": thrown}
    return {**found, "queue": queue, "control": control, "scale": scale, "thrown": TRIES}


def simulate(queues, control, scale, hold="0 s"):
    """The simulator's figures for each queue, means over the seeds with half widths of their 95 % intervals."""
    found = {}
    for warmup in {SETTLES.get(queue, WARMUP) for queue in queues}:
        some = [queue for queue in queues if SETTLES.get(queue, WARMUP) == warmup]
        found.update(simulate_after(warmup, some, control, scale, hold))
    return found


def simulate_after(warmup, queues, control, scale, hold):
    """The same for queues with this warm-up."""
    # The demo's clock starts with TCP, and the flood follows; the twin's flood starts at 1 s.
    _, source, more = CONTROLS[control]
    words = ["compare", str(TWIN), "--seeds", str(SEEDS), "--set", f"group.tcp.source={source}"]
    words += [word for key, value in more.items() for word in ("--set", f"group.tcp.{key}={value}")]
    words += [
        "--set",
        f"network.rate={LINE * scale:.0f} bit/s",
        "--set",
        f"network.limit={LINE * scale / 80:.0f} B",
    ]
    words += [
        "--set",
        f"group.flood.rate={FLOOD * scale:.0f} bit/s",
        "--set",
        f"group.tcp.overhead={hold}",
    ]
    words += [
        "--set",
        f"run.warmup={warmup + 1}s",
        "--set",
        f"run.duration={warmup + 1 + DURATION}s",
    ]
    for queue in queues:
        words += ["--queue", preset(queue)]
    documents = run(words)
    half = lambda d, name: (
        next(g for g in d["groups"] if g["name"] == name)["throughput_bps"]["ci95"] or 0.0
    )
    return {
        d["label"]: {**figures(d), "tcp_ci": half(d, "tcp"), "flood_ci": half(d, "flood")}
        for d in documents
    }


def mbit(rate):
    """In Mbit/s; less than a bit a second is what sums of floats leave."""
    return f"{round(rate) / 1e6:.3g}"


def interval(middle, half):
    """In Mbit/s."""
    return f"{mbit(middle)} ± {mbit(half)}"


def worst(runs):
    """The worst user's share and how many starved, means over the runs."""
    shares = [r["worst"] for r in runs if r.get("worst") is not None]
    starved = [r["starved"] for r in runs if r.get("starved") is not None]
    if not shares:
        return "–"
    return fewest(fmean(shares), fmean(starved or [0]))


def mean(runs, what):
    return fmean(r[what] for r in runs)


def known(runs, group):
    """The mean of the runs; of three or more with its interval, which two are too few for."""
    return (
        interval(*mean_ci([r[group] for r in runs])) if len(runs) > 2 else mbit(mean(runs, group))
    )


def verdict(simulated, runs, scale):
    """Whether both groups' throughputs are within 15 % of the simulator's; of a starved TCP a handful of packets are left,
    whose number says nothing. Where simulated runs differ by as much among themselves, so few runs decide nothing."""
    starved = STARVED * LINE * scale
    both_starve = max(mean(runs, "tcp"), simulated["tcp"]) < starved
    groups = ("flood",) if both_starve else ("tcp", "flood")
    far = [
        name
        for name in groups
        if abs(mean(runs, name) - simulated[name]) > WITHIN * simulated[name]
    ]
    # Of one simulated run, from half the width of the interval of their mean.
    deviation = lambda name: simulated[f"{name}_ci"] * SEEDS**0.5 / 2.02
    chance = lambda name: VARY * deviation(name) * (1 / len(runs) + 1 / SEEDS) ** 0.5
    off = [name for name in far if abs(mean(runs, name) - simulated[name]) > chance(name)]
    why = EXPLAINED.get((runs[0]["control"], simulated["queue"]))
    if off:
        said = f"explained: {why}" if why else "NO: " + ", ".join(off)
    elif far:
        said = f"runs vary: {', '.join(f'{mbit(deviation(name))} of {name}' for name in far)}"
    elif both_starve:
        nothing = max(mean(runs, "flood"), simulated["flood"]) < starved
        said = "nothing passes on both" if nothing else "TCP starves on both"
    else:
        said = "yes"
    busy = [r["flood_offered"] for r in runs if r["thrown"] >= TRIES]
    return f"{said} (flood only {min(busy) / 1e6:.0f})" if busy else said


def protects(part):
    """In a word, of TCP's part of its fair share."""
    return (
        "yes" if part >= 0.8 else "in part" if part >= 0.5 else "hardly" if part >= HARDLY else "no"
    )


def row(queue, scale, prompt, held, runs):
    """One queue's line of a table, of its measured runs."""
    cells = [queue]
    for group in ("tcp", "flood"):
        cells += [
            interval(prompt[group], prompt[f"{group}_ci"]),
            mbit(held[group]),
            known(runs, group),
        ]
        cells += [worst([prompt]), worst(runs)] if group == "tcp" else []
    protected = protects(mean(runs, "tcp") / (FAIR * LINE * scale))
    return (
        "| " + " | ".join([*cells, str(len(runs)), verdict(prompt, runs, scale), protected]) + " |"
    )


def table(control, scale, queues, measured):
    """Simulated beside measured, for one congestion control at one scale; nothing if none was measured."""
    runs = {
        q: [r for r in measured if (r["queue"], r["control"], r["scale"]) == (q, control, scale)]
        for q in queues
    }
    queues = [queue for queue in queues if runs[queue]]
    if not queues:
        return []
    prompt, held = (simulate(queues, control, scale, hold) for hold in ("0 s", HOLD))
    rates = f"{mbit(LINE * scale)} Mbit/s, a flood of {mbit(FLOOD * scale)}"
    return [
        f"## The kernel's {control}, the simulator's {CONTROLS[control][1]}: {rates}",
        "",
        f"| queue | TCP: simulated | ends hold {HOLD} | measured | worst: simulated | measured | flood: simulated | ends hold {HOLD} | measured | runs | within 15 % | protects TCP |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *(row(queue, scale, prompt[queue], held[queue], runs[queue]) for queue in queues),
        "",
        *care(control, [r for r in measured if (r["control"], r["scale"]) == (control, scale)]),
    ]


def care(control, measured):
    """CARE's closed form: of the flood it admits the sum of arrivals over the number of flows and one."""
    runs = [r for r in measured if r["queue"] == "care"]
    if not runs:
        return []
    form, flood = mean(runs, "offered") / (8 + 1 + 1), mean(runs, "flood")
    return [
        f"CARE with {control}: the closed form, (sum of arrivals)/(n + 1), admits {mbit(form)} Mbit/s of the flood; "
        f"measured {mbit(flood)}, {flood / form:.3f} of it.",
        "",
    ]


def read(path):
    """The measured runs of a file; the oldest do not say their scale, which was 1."""
    return [{"scale": 1, **json.loads(line)} for line in path.read_text().splitlines()]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument(
        "--rounds", type=int, default=1, help="measured runs of each queue and congestion control"
    )
    ask.add_argument(
        "--scale", type=float, default=1, help="of the line's rate and the flood's, 0.05 to 1"
    )
    ask.add_argument("--measured", type=Path, help="take measured runs from this file")
    ask.add_argument(
        "--add", action="store_true", help="keep the runs of these queues, beside those kept before"
    )
    ask.add_argument(
        "--control", action="append", choices=list(CONTROLS), help="only this one; may be repeated"
    )
    ask.add_argument(
        "queues", nargs="*", metavar="QUEUE", help="queues to compare (default: the whole catalog)"
    )
    given = ask.parse_args()
    if not 0.05 <= given.scale <= 1:
        ask.error(f"--scale {given.scale}: must lie in 0.05 to 1")
    listed = subprocess.run(
        [str(TIDEGATE), "list", "queues"], capture_output=True, text=True
    ).stdout
    catalog = [
        line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.split()
    ]
    queues = given.queues or catalog
    if given.add and not given.queues:
        ask.error("--add: name the queues that are to be measured again")
    controls = given.control or list(CONTROLS)
    if given.measured:
        measured = read(given.measured)
    else:
        measured = []
        for _ in range(given.rounds):
            for control in controls:
                for queue in queues:
                    measured.append(measure(queue, control, given.scale))
                    print(
                        f"{control:7} {queue:12} tcp {mbit(measured[-1]['tcp'])}, flood {mbit(measured[-1]['flood'])}, "
                        f"thrown away {measured[-1]['thrown']}",
                        file=sys.stderr,
                        flush=True,
                    )
        if given.add:
            measured = [*read(KEPT), *measured]
            KEPT.write_text("".join(json.dumps(r) + "\n" for r in measured))
        elif not given.queues:
            others = [
                r for r in read(KEPT) if r["control"] not in controls or r["scale"] != given.scale
            ]
            measured = [*others, *measured]
            KEPT.write_text("".join(json.dumps(r) + "\n" for r in measured))
    scales = sorted({r["scale"] for r in measured}, reverse=True)
    lines = [
        line
        for scale in scales
        for control in CONTROLS
        for line in table(control, scale, catalog if given.add else queues, measured)
    ]
    print("\n".join(lines))
    if given.add or not given.queues:
        keep(lines)
    sys.exit(any("NO" in line for line in lines))


def keep(lines):
    head = [
        "# The gateway against the simulator",
        "",
        "Written by `make validate-gateway`. Mbit/s, frames counted whole. [sender.md](sender.md) says what was made the same, and why.",
        "",
        f"- Queues have their preset `paper`, {' and '.join(f'`{queue}`' for queue in sorted(FITTED))} `auto`.",
        f"- Simulated: mean ± half width of the 95 % interval over {SEEDS} seeds.",
        "- Measured: mean of the runs (± the same, of three or more). The kernel's TCP and iperf3's UDP go through `tidegate gate --rehash off`.",
        "- `newreno`: the kernel's TCP without SACK, RACK and time stamps.",
        f"- `ends hold`: simulated ends hold each segment for up to {HOLD}, evenly drawn, as a receiver that waits for a processor.",
        f"- `flood only N`: the machine was too busy to offer {STEADY:.1%} of the flood in any of {TRIES} tries. The last one counts.",
        f"- `runs vary`: further off, and within {VARY} standard deviations of such runs. The figure is the deviation of simulated ones.",
        "- `worst`: what the worst connection got of a fair share. `starved` are those that got less than a tenth.",
        "- Simulated worsts go by goodput, so that a gap of NewReno's that is filled after the warm-up counts whole: they can exceed 100 %.",
        "  Measured ones go by frames, repeats included.",
        "- A dash: runs that did not keep their worst connection. [sender.md](sender.md) says why some rows have more runs.",
        f"- SFRED is measured from {SETTLES['sfred']} s on, when it has settled, the others from {WARMUP} s.",
        "",
    ]
    (HERE / "gateway.md").write_text("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
