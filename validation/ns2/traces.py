#!/usr/bin/env python3
"""Records what ns-2's TCP sends when exactly given packets are lost or marked: traces/NAME.csv, one per case.

The first line of a file names the sender, the arrivals lost at the second link, and with ECN those marked, counted
among what was not lost; then `seconds,number` of each packet sent. A test of the simulator replays it and expects the same numbers at the
same times.
"""
import random
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def share(part, arrivals, seed):
    """About `part` of the arrivals after the tenth, by dice of our own."""
    dice = random.Random(seed)
    return [i for i in range(10, arrivals) if dice.random() < part]


# name: (sender, simulated seconds, arrivals lost, others marked or None without ECN)
CASES = {
    "no-loss": ("Newreno", 0.4, [], None),
    "one": ("Newreno", 3, [20], None),
    "four-of-a-window": ("Newreno", 3, [20, 22, 24, 26], None),
    "retransmission-lost": ("Newreno", 3, [20, 35, 36, 50], None),
    "small-window": ("Newreno", 3, [3], None),
    "first-data": ("Newreno", 3, [1], None),
    "syn": ("Newreno", 5, [0], None),
    "syn-twice": ("Newreno", 11, [0, 1], None),
    "two-in-a-hundred": ("Newreno", 20, share(0.02, 20000, 1), None),
    "one-in-ten": ("Newreno", 60, share(0.1, 20000, 2), None),
    "one-in-four": ("Newreno", 120, share(0.25, 20000, 3), None),
    "reno-four-of-a-window": ("Reno", 3, [20, 22, 24, 26], None),
    "reno-two-in-a-hundred": ("Reno", 20, share(0.02, 20000, 1), None),
    "reno-one-in-ten": ("Reno", 60, share(0.1, 20000, 2), None),
    "marked-once": ("Newreno", 2, [], [20]),
    "marked-four-of-a-window": ("Newreno", 3, [], [20, 22, 24, 26]),
    "marked-one-in-a-hundred": ("Newreno", 20, [], share(0.01, 20000, 4)),
    "marked-three-in-a-hundred": ("Newreno", 20, [], share(0.03, 20000, 5)),
    "marked-one-in-ten": ("Newreno", 20, [], share(0.1, 20000, 4)),
    "marked-one-in-two": ("Newreno", 60, [], share(0.5, 20000, 5)),
    "lost-and-marked": ("Newreno", 60, share(0.04, 20000, 7), share(0.18, 20000, 8)),
    "mostly-lost-and-marked": ("Newreno", 200, share(0.2, 20000, 31), share(0.12, 20000, 32)),
    "reno-marked": ("Reno", 20, [], share(0.02, 20000, 6)),
}


def main():
    out = HERE / "traces"
    out.mkdir(exist_ok=True)
    for name, (sender, seconds, lost, marked) in CASES.items():
        words = ["lost", *lost, *([] if marked is None else ["marked", *marked])]
        cmd = ["ns", "tcptrace.tcl", sender, str(seconds), *map(str, words)]
        run = subprocess.run(cmd, cwd=HERE, capture_output=True, text=True, check=True)
        sent = [line.split() for line in run.stdout.splitlines() if line.startswith("+ ")]
        rows = [f"{w[1]},{w[10]}" for w in sent if w[2:4] == ["0", "1"]]
        met = [str(word) for word in words if isinstance(word, str) or word <= len(rows)]
        head = " ".join([sender.lower(), *met])
        (out / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
        print(name, len(rows), "packets")


if __name__ == "__main__":
    main()
