#!/usr/bin/env python3
"""Runs the ns-2 side: every set-up of ../setups.py over its seeds, one JSON line per run in results/.

usage: run.py [--seeds N] [LABEL …]     runs what is missing; --fresh starts each file anew

RED-PD's wants RED_PD_TCL, the folder tcl/ex/red-pd of ns-2.35's source, since the package lacks its controller.
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from setups import RESULTS, SETUPS, mean_ci  # noqa: E402

KEEP = [
    "jain_all",
    "loss_tcp_mbps",
    "loss_udp_mbps",
    "mean_q_bytes",
    "util",
    "tcp_goodput_total_mbps",
    "bott_arrivals",
    "bott_drops",
    "bott_departures",
    "tcp_data_sent",
    "tcp_rtx",
    "tcp_rto",
    "tcp_cuts",
]


def once(setup, seed):
    """One run; returns the figures to keep."""
    cmd = ["nice", "-n", "10", "ns", setup.script, *setup.ns2_args, f"seed={seed}"]
    run = subprocess.run(cmd, cwd=HERE, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("JSON ")]
    if not lines:
        sys.exit(f"{' '.join(cmd)} gave no result:\n{run.stdout[-400:]}{run.stderr[-800:]}")
    result = json.loads(lines[-1][5:])
    return {
        "seed": seed,
        "args": result["args"],
        **{key: result[key] for key in [m[0] for m in setup.metrics] + KEEP},
    }


def versions():
    """Of ns-2, as the package manager knows it, and of the machine."""
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", "ns2"]
    package = subprocess.run(query, capture_output=True, text=True).stdout.strip()
    return {
        "ns2": package or "unknown",
        "machine": platform.machine(),
        "system": platform.platform(),
    }


def fill(setup, seeds, fresh):
    """Brings the results file of a set-up to `seeds` runs; whether any had to be made."""
    path = setup.ns2_results
    path.parent.mkdir(exist_ok=True)
    done = []
    if path.exists() and not fresh:
        done = [json.loads(line) for line in path.read_text().splitlines()]
        wanted = " ".join(setup.ns2_args)
        if any(row["args"].rsplit(" seed=", 1)[0] != wanted for row in done):
            sys.exit(f"{path} was made with other arguments than `{wanted}`: run with --fresh")
    have = {row["seed"] for row in done}
    missing = [seed for seed in range(1, seeds + 1) if seed not in have]
    with path.open("w" if fresh else "a") as out:
        for seed in missing:
            row = once(setup, seed)
            done.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
    print(setup.label, len(done), "runs")
    for name, *_ in setup.metrics:
        mean, ci = mean_ci([row[name] for row in done])
        width = 100 * ci / mean if ci is not None and mean else 0
        print(f"  {name:20} {mean:12.5g} ± {width:.2f} %", flush=True)
    return bool(missing)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, help="replications (default: as setups.py says)")
    ask.add_argument("--fresh", action="store_true", help="discard what results/ holds")
    ask.add_argument("labels", nargs="*", metavar="LABEL", help="set-ups to run (default: all)")
    given = ask.parse_args()
    unknown = set(given.labels) - {s.label for s in SETUPS}
    if unknown:
        sys.exit(f"unknown set-up {sorted(unknown)}; known: {[s.label for s in SETUPS]}")
    wanted = [s for s in SETUPS if not given.labels or s.label in given.labels]
    if any([fill(setup, given.seeds or setup.seeds, given.fresh) for setup in wanted]):
        (RESULTS / "versions.json").write_text(json.dumps(versions(), indent=2) + "\n")


if __name__ == "__main__":
    main()
