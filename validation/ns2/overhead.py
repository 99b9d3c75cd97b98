#!/usr/bin/env python3
"""sfb400 with 2 Mbit/s of jittered UDP and little or no `overhead`, in ns-2 and here: TCP's loss and Jain's index.

usage: overhead.py [--seeds N] [--ours N] [--cases N] [--jobs N] [--tidegate FILE] [QUEUE …]

`--cases 4 --seeds 12` prints ties.md's table.

Without `overhead` a packet sent by a timer and one sent by an acknowledgement meet at the bottleneck at exactly one
time. The other rows part them by next to nothing: a line that is a ten-millionth faster or slower, access links whose
rates are a millionth apart.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from compare import TIDEGATE  # noqa: E402
from setups import ECN, NS2, drop_tail, mean_ci  # noqa: E402

TWIN = HERE.parent / "scenarios" / "sfb400-2m.toml"
OURS = {"drop_tail": drop_tail("link.1.limit", 200), "red": (), "red-ecn": ECN}
FIGURES = {"loss_tcp": "loss_ratio", "jain_tcp": "jain"}


def line(bps):
    """Both links between A and C at this rate."""
    return [f"bw={bps}"], [f"link.{link}.rate={bps} bit/s" for link in (1, 7)]


def apart():
    """Access links a millionth apart, on either side."""
    return ["apart=1e-6"], [
        f"link.{first + i}.rate={100_000_000 + 100 * i} bit/s" for first in (2, 8) for i in range(5)
    ]


# What is changed: a label, ns-2's words, our settings.
CASES = [
    ("nothing", [], []),
    ("nothing, 140 to 240 s", ["warm=140", "T=240"], ["run.warmup=140 s", "run.duration=240 s"]),
    ("line 10⁻⁷ slower", *line(44_999_995)),
    ("line 10⁻⁷ faster", *line(45_000_005)),
    ("access links 10⁻⁶ apart", *apart()),
] + [
    (f"overhead {n} {unit}", [f"overhead={n}e-{digits}"], [f"group.tcp.overhead={n} {unit}"])
    for n, unit, digits in (
        (1, "ns", 9),
        (10, "ns", 9),
        (100, "ns", 9),
        (1, "us", 6),
        (10, "us", 6),
    )
]


def output(cmd):
    run = subprocess.run(["nice", "-n", "10", *cmd], cwd=HERE, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(cmd)} failed:\n{run.stdout[-400:]}{run.stderr[-800:]}")
    return run.stdout


def theirs(queue, words, seed):
    """One run of ns-2."""
    ecn = ["ecn=1"] if queue.endswith("-ecn") else []
    kind = NS2[queue.removesuffix("-ecn")]
    base = ["udp=2e6", "udpjit=1", "sched=Splay", "warm=20", "T=100", f"queue={kind}", *ecn]
    out = output(["ns", "sfb400.tcl", *base, *words, f"seed={seed}"])
    return json.loads(out[out.index("JSON ") + 5 :].splitlines()[0])


def ours(tidegate, queue, settings, seeds):
    """Our mean and half width for each figure."""
    sets = [
        word for setting in ["group.tcp.overhead=0 s", *settings] for word in ("--set", setting)
    ]
    out = output(
        [
            str(tidegate),
            "run",
            str(TWIN),
            "--json",
            "--threads",
            "1",
            "--seeds",
            str(seeds),
            *OURS[queue],
            *sets,
        ]
    )
    tcp = next(group for group in json.loads(out)["groups"] if group["name"] == "tcp")
    return {name: (tcp[key]["mean"], tcp[key]["ci95"]) for name, key in FIGURES.items()}


def figure(mean, ci):
    """A cell. Next to 1, Jain's index has no interval."""
    return f"{mean:.4f}" if ci is None else f"{mean:.4f} ± {ci:.4f}"


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, default=4, help="ns-2's replications, at least 2")
    ask.add_argument("--ours", type=int, default=8, help="our replications, at least 2")
    ask.add_argument("--cases", type=int, default=len(CASES), help="only so many first rows")
    ask.add_argument("--jobs", type=int, default=2, help="runs at a time")
    ask.add_argument("--tidegate", type=Path, default=TIDEGATE, help="our program")
    ask.add_argument(
        "queues", nargs="*", metavar="QUEUE", help=f"of {', '.join(OURS)} (default: all)"
    )
    given = ask.parse_args()
    if unknown := set(given.queues) - set(OURS):
        ask.error(f"unknown queue {sorted(unknown)}; known: {', '.join(OURS)}")
    if min(given.seeds, given.ours) < 2:
        ask.error("an interval wants two runs or more")
    print("| queue | changed | loss: ns-2 | ours | ratio | Jain: ns-2 | ours | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    with ThreadPoolExecutor(given.jobs) as pool:
        rows = [
            (
                queue,
                label,
                [pool.submit(theirs, queue, words, seed) for seed in range(1, given.seeds + 1)],
                sets,
            )
            for queue in given.queues or OURS
            for label, words, sets in CASES[: given.cases]
        ]
        for queue, label, runs, sets in rows:
            runs = [run.result() for run in runs]
            us = ours(given.tidegate.resolve(), queue, sets, given.ours)
            cells = [queue, label]
            for name in FIGURES:
                a, b = mean_ci([run[name] for run in runs]), us[name]
                cells += [figure(*a), figure(*b), f"{b[0] / a[0]:.3f}"]
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
