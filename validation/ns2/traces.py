#!/usr/bin/env python3
"""Records what ns-2's TCP sends when exactly given packets are lost or marked: traces/NAME.csv, one per case.

The first line of a file names the sender, the arrivals lost at the second link, and with ECN those marked, counted
among what was not lost; then `seconds,number` of each packet sent. Arguments: the names of cases (default: all). A test of the simulator replays it and expects the same numbers at the
same times.
"""

import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def share(part, arrivals, seed):
    """About `part` of the arrivals after the tenth, by dice of our own."""
    dice = random.Random(seed)
    return [i for i in range(10, arrivals) if dice.random() < part]


# chan2003's other senders: NewReno with these parameters (decrease_num_ is what is left of the window; of a binomial
# one less what is taken away).
SETTINGS = {
    "aimd": "increase_num_ 0.75 decrease_num_ 0.31",
    "binomial": "windowOption_ 6 increase_num_ 1.5 decrease_num_ 0.0 k_parameter_ 2 l_parameter_ 0",
}

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
    "aimd-one-in-ten": ("aimd", 60, share(0.1, 20000, 2), None),
    "aimd-two-in-a-hundred": ("aimd", 20, share(0.02, 20000, 1), None),
    "binomial-one-in-ten": ("binomial", 60, share(0.1, 20000, 2), None),
    "binomial-two-in-a-hundred": ("binomial", 20, share(0.02, 20000, 1), None),
    "sack1-one": ("Sack1", 3, [20], None),
    "sack1-four-of-a-window": ("Sack1", 3, [20, 22, 24, 26], None),
    "sack1-half-a-window": ("Sack1", 3, list(range(30, 62, 2)), None),
    "sack1-retransmission-lost": ("Sack1", 3, [20, 35, 36, 50], None),
    "sack1-small-window": ("Sack1", 3, [3], None),
    "sack1-syn": ("Sack1", 5, [0], None),
    "sack1-two-in-a-hundred": ("Sack1", 20, share(0.02, 20000, 1), None),
    "sack1-one-in-ten": ("Sack1", 60, share(0.1, 20000, 2), None),
    "sack1-one-in-four": ("Sack1", 120, share(0.25, 20000, 3), None),
    "sack1-marked-three-in-a-hundred": ("Sack1", 20, [], share(0.03, 20000, 5)),
    "sack1-marked-one-in-two": ("Sack1", 60, [], share(0.5, 20000, 5)),
    "sack1-lost-and-marked": ("Sack1", 60, share(0.04, 20000, 7), share(0.18, 20000, 8)),
    "vegas-no-loss": ("Vegas", 4, [], None),
    "vegas-one": ("Vegas", 4, [30], None),
    "vegas-four-of-a-window": ("Vegas", 4, [40, 42, 44, 46], None),
    "vegas-retransmission-lost": ("Vegas", 4, [20, 27], None),
    "vegas-two-in-a-hundred": ("Vegas", 20, share(0.02, 20000, 1), None),
    # With other losses it may come to pass that exactly half a packet waits, which ns-2's seconds round down and our
    # nanoseconds up.
    "vegas-one-in-twenty": ("Vegas", 40, share(0.05, 20000, 12), None),
    "vegas-one-in-ten": ("Vegas", 60, share(0.1, 20000, 12), None),
    "vegas-one-in-four": ("Vegas", 120, share(0.25, 20000, 3), None),
}


def main():
    out = HERE / "traces"
    out.mkdir(exist_ok=True)
    for name, (sender, seconds, lost, marked) in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        words = ["lost", *lost, *([] if marked is None else ["marked", *marked])]
        settings = ["set", *SETTINGS[sender].split()] if sender in SETTINGS else []
        kind = "Newreno" if settings else sender
        cmd = ["ns", "tcptrace.tcl", kind, str(seconds), *settings, *map(str, words)]
        run = subprocess.run(cmd, cwd=HERE, capture_output=True, text=True, check=True)
        sent = [line.split() for line in run.stdout.splitlines() if line.startswith("+ ")]
        rows = [f"{w[1]},{w[10]}" for w in sent if w[2:4] == ["0", "1"]]
        met = [str(word) for word in words if isinstance(word, str) or word <= len(rows)]
        head = " ".join([sender.lower(), *met])
        (out / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
        print(name, len(rows), "packets")


if __name__ == "__main__":
    main()
