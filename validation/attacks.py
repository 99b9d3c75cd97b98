#!/usr/bin/env python3
"""Writes validation/attacks.md: the same attackers against every queue, in the simulator and on the gate's path.

usage: attacks.py [--seeds N]     build first; `make validate-attacks` does both

Python's standard library only.
"""

import argparse
import collections
import json
import statistics
import subprocess
import sys

from studies import HERE, TIDEGATE, swept

SCENARIO = HERE / "scenarios" / "attacks.toml"
PAGE = HERE / "attacks.md"
ATTACKS = ((1, 0), (4, 0), (16, 0), (64, 0), (16, 1))
MORE = ("sfb/paper", "sfb/moving", "sfb/double")
LINE, FLOOD, USERS = 10_000_000, 20_000_000, 8
# What users together and the worst of them are to keep for a queue to be named, in per cent of a fair share.
ENOUGH, WORST = 90, 50
# Student's t at 0.975, by degrees of freedom.
T = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def run(cmd):
    done = subprocess.run(cmd, capture_output=True, text=True, cwd=HERE.parent)
    if done.returncode:
        sys.exit(f"{' '.join(cmd)} failed:\n{done.stderr}")
    return done.stdout


def simulated(queues, seeds):
    """Users' goodputs of each run, in bit/s, by queue and attack."""
    ecn = ["on" if ecn else "off" for _, ecn in ATTACKS]
    lines = [
        "flows = true",
        "[set]",
        # Users are under way when the flood begins, as on the gate's path.
        'group.flood.start = "uniform(10 s, 10.1 s)"',
        "[axes.attack.set]",
        f"group.flood.count = {[sources for sources, _ in ATTACKS]}",
        f"group.flood.rate = {json.dumps([f'{FLOOD // sources} bit/s' for sources, _ in ATTACKS])}",
        f"group.users.ecn = {json.dumps(ecn)}",
        f"group.flood.ecn = {json.dumps(ecn)}",
    ]
    of = collections.defaultdict(lambda: collections.defaultdict(list))
    named = [f"{queue} as {queue}" for queue in queues]
    for row in swept(SCENARIO, named, seeds, lines, "flows"):
        if row["group"] == "users":
            attack = (row["queue"], *ATTACKS[int(row["cell"])])
            of[attack][int(row["seed"])].append(float(row["goodput_bps"]))
    return {attack: [by_seed[seed] for seed in sorted(by_seed)] for attack, by_seed in of.items()}


def gated(seeds):
    """The same on the gate's path."""
    of = collections.defaultdict(list)
    for line in run(
        [
            "cargo",
            "bench",
            "--locked",
            "-q",
            "-p",
            "tidegate-gateway",
            "--bench",
            "adversary_attacks",
            "--",
            str(seeds),
        ]
    ).splitlines():
        queue, preset, sources, ecn, _, *users = line.split(",")
        of[f"{queue}/{preset}", int(sources), int(ecn)].append([float(u) for u in users])
    return of


def figures(runs, sources):
    """Mean with half its interval, the worst user's mean, and how many users are below a tenth, of a fair share."""
    fair = LINE / (USERS + sources)
    means = [100 * statistics.mean(users) / fair for users in runs]
    half = T[len(means) - 1] * statistics.stdev(means) / len(means) ** 0.5
    worst = statistics.mean(100 * min(users) / fair for users in runs)
    below = statistics.mean(sum(u < fair / 10 for u in users) for users in runs)
    return round(statistics.mean(means)), half, round(worst), below


def cell(runs, sources):
    mean, half, worst, below = figures(runs, sources)
    return f"{mean} ± {half:.0f}; {worst}; {below:.1f}"


def protects(of, queue, most):
    """Whether the queue leaves users enough under every flood of at most so many sources."""
    return all(
        mean >= ENOUGH and worst >= WORST
        for n, e in ATTACKS
        if n <= most
        for mean, _, worst, _ in [figures(of[queue, n, e], n)]
    )


def conclusion(of, queues):
    """Which queues protect users, in a sentence for 16 sources and one for 64."""
    autos = [queue for queue in queues if queue not in MORE]

    def named(most):
        return [f"`{q.split('/')[0]}`" for q in autos if protects(of, q, most)]

    few, many = named(16), named(64)
    return [
        f"**Against up to 16 sources, ECT or not, {len(few)} of {len(autos)} queues leave users at least {ENOUGH} % and the worst {WORST} %**:",
        ", ".join(few) + ".",
        f"Against 64 sources, too: {', '.join(many)}."
        if many
        else "Against 64 sources, too: none.",
    ]


def table(of, queues):
    names = [f"{n} ECT" if ecn else str(n) for n, ecn in ATTACKS]
    lines = ["| queue | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    return lines + [
        f"| {q} | " + " | ".join(cell(of[q, n, e], n) for n, e in ATTACKS) + " |" for q in queues
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=5, choices=range(5, 11), help="runs of each cell (5 to 10; 5)"
    )
    seeds = parser.parse_args().seeds
    queues = [
        f"{q['name']}/auto" for q in json.loads(run([str(TIDEGATE), "list", "--json"]))["queues"]
    ] + list(MORE)
    by_simulator, by_gate = simulated(queues, seeds), gated(seeds)
    text = [
        "# The same attackers against every queue",
        "",
        "Written by `make validate-attacks` with [this scenario](scenarios/attacks.toml).",
        "Every queue of the catalog is here, in its preset `auto`; SFB in others too.",
        "Eight users of CUBIC share 10 Mbit/s with a flood of 20 Mbit/s from the number of sources that heads the column.",
        "With *ECT* users and flood speak ECN, and the flood ignores marks.",
        "",
        f"Each cell: users' mean goodput in per cent of their fair share, with the 95 % interval over {seeds} seeds.",
        f"Then the worst user's, and how many of the {USERS} are below a tenth. A fair share is the line divided by users and sources.",
        "",
        "## In the simulator",
        "",
        *conclusion(by_simulator, queues),
        "",
        *table(by_simulator, queues),
        "",
        "## On the gate's path",
        "",
        "The gate's own hash, its new keys (`rehash` as usual) and its rule against flows that ignore marks.",
        "",
        *conclusion(by_gate, queues),
        "",
        *table(by_gate, queues),
    ]
    PAGE.write_text("\n".join(text) + "\n")


main()
