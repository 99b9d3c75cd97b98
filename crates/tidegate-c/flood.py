#!/usr/bin/env python3
"""What C costs above Rust: flood.c and flood.rs in turn, and the ratio of their times, pair by pair.

flood.py C_PROGRAM RUST_PROGRAM [PAIRS]     `make bench-c` builds both and runs it
"""

import os
import statistics
import subprocess
import sys

PACKETS = 20_000_000


def seconds(program, queue):
    """Processor time of one run."""
    before = os.times()
    command = [program, queue, str(PACKETS)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return os.times().children_user - before.children_user


def main():
    c, rust = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    for queue in ("fq_codel", "sfb", "drop_tail"):
        times = [(seconds(c, queue), seconds(rust, queue)) for _ in range(pairs + 1)][1:]
        ratios = sorted(ours / theirs for ours, theirs in times)
        extra = statistics.median(ours - theirs for ours, theirs in times) / PACKETS * 1e9
        middle = statistics.median(ratios)
        print(
            f"{queue}: C takes {middle:.2f} times Rust's ({ratios[0]:.2f} to {ratios[-1]:.2f})",
            end="",
        )
        print(f", {extra:.1f} ns a packet more")


if __name__ == "__main__":
    main()
