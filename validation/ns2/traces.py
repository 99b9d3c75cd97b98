#!/usr/bin/env python3
"""Records what ns-2's TCP sends when exactly given packets are lost or marked: traces/NAME.csv, one per case.

The first line of a file names the sender, the fate and the arrivals that met it at the second link; then
`seconds,number` of each packet sent. A test of the simulator replays it and expects the same numbers at the
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


# name: (sender, fate, simulated seconds, arrivals)
CASES = {
    "no-loss": ("Newreno", "lost", 0.4, []),
    "one": ("Newreno", "lost", 3, [20]),
    "four-of-a-window": ("Newreno", "lost", 3, [20, 22, 24, 26]),
    "retransmission-lost": ("Newreno", "lost", 3, [20, 35, 36, 50]),
    "small-window": ("Newreno", "lost", 3, [3]),
    "first-data": ("Newreno", "lost", 3, [1]),
    "syn": ("Newreno", "lost", 5, [0]),
    "syn-twice": ("Newreno", "lost", 11, [0, 1]),
    "two-in-a-hundred": ("Newreno", "lost", 20, share(0.02, 20000, 1)),
    "one-in-ten": ("Newreno", "lost", 60, share(0.1, 20000, 2)),
    "one-in-four": ("Newreno", "lost", 120, share(0.25, 20000, 3)),
    "reno-four-of-a-window": ("Reno", "lost", 3, [20, 22, 24, 26]),
    "reno-two-in-a-hundred": ("Reno", "lost", 20, share(0.02, 20000, 1)),
    "reno-one-in-ten": ("Reno", "lost", 60, share(0.1, 20000, 2)),
    "marked-once": ("Newreno", "marked", 2, [20]),
    "marked-four-of-a-window": ("Newreno", "marked", 3, [20, 22, 24, 26]),
    "marked-one-in-a-hundred": ("Newreno", "marked", 20, share(0.01, 20000, 4)),
    "marked-three-in-a-hundred": ("Newreno", "marked", 20, share(0.03, 20000, 5)),
    "marked-one-in-ten": ("Newreno", "marked", 20, share(0.1, 20000, 4)),
    "marked-one-in-two": ("Newreno", "marked", 60, share(0.5, 20000, 5)),
    "reno-marked": ("Reno", "marked", 20, share(0.02, 20000, 6)),
}


def main():
    out = HERE / "traces"
    out.mkdir(exist_ok=True)
    for name, (sender, fate, seconds, hit) in CASES.items():
        cmd = ["ns", "tcptrace.tcl", sender, fate, str(seconds), *map(str, hit)]
        run = subprocess.run(cmd, cwd=HERE, capture_output=True, text=True, check=True)
        sent = [line.split() for line in run.stdout.splitlines() if line.startswith("+ ")]
        rows = [f"{w[1]},{w[10]}" for w in sent if w[2:4] == ["0", "1"]]
        head = f"{sender.lower()} {fate} " + " ".join(str(i) for i in hit if i < len(rows) + 1)
        (out / f"{name}.csv").write_text("\n".join([head.strip(), *rows]) + "\n")
        print(name, len(rows), "packets")


if __name__ == "__main__":
    main()
