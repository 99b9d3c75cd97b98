#!/usr/bin/env python3
"""Records what ns-2's NewReno sends when exactly given packets are lost: traces/NAME.csv, one per case.

The first line of a file names the arrivals lost at the lossy link; then `seconds,number` of each packet sent.
A test of the simulator replays the losses and expects the same numbers at the same times.
"""
import random
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def share(part, arrivals, seed):
    """About `part` of the arrivals after the tenth, by dice of our own."""
    dice = random.Random(seed)
    return [i for i in range(10, arrivals) if dice.random() < part]


# name: (simulated seconds, arrivals lost)
CASES = {
    "no-loss": (0.4, []),
    "one": (3, [20]),
    "four-of-a-window": (3, [20, 22, 24, 26]),
    "retransmission-lost": (3, [20, 35, 36, 50]),
    "small-window": (3, [3]),
    "first-data": (3, [1]),
    "syn": (5, [0]),
    "syn-twice": (11, [0, 1]),
    "two-in-a-hundred": (20, share(0.02, 20000, 1)),
    "one-in-ten": (60, share(0.1, 20000, 2)),
    "one-in-four": (120, share(0.25, 20000, 3)),
}


def main():
    out = HERE / "traces"
    out.mkdir(exist_ok=True)
    for name, (seconds, lost) in CASES.items():
        cmd = ["ns", "tcptrace.tcl", str(seconds), *map(str, lost)]
        run = subprocess.run(cmd, cwd=HERE, capture_output=True, text=True, check=True)
        sent = [line.split() for line in run.stdout.splitlines() if line.startswith("+ ")]
        rows = [f"{w[1]},{w[10]}" for w in sent if w[2:4] == ["0", "1"]]
        head = "lost " + " ".join(str(i) for i in lost if i < len(rows) + 1)
        (out / f"{name}.csv").write_text("\n".join([head.strip(), *rows]) + "\n")
        print(name, len(rows), "packets")


if __name__ == "__main__":
    main()
