#!/usr/bin/env python3
"""Checks the shape of our sources: Rust lines of at most 100 columns, Rust and Python files of at
most 400 lines.

Tests may be longer: a file counts up to its module of tests, and files of tests count not at all.
Clippy counts the lines of functions (`too-many-lines-threshold`), and rustfmt breaks what it can.
A table's row in a comment, and a line that is little but a message, may be longer: a message
in one piece can be searched for.
"""

import re
import sys

from ours import ROOT, ours

COLUMNS, LINES = 100, 400
# Longer lines in macros, attributes, doctests and long strings, which rustfmt leaves alone. A new
# one is an error: lower this number with every line that you break.
LEFT = 0
# Rust files that are read in one piece though they are longer, each with its reason: at most three.
LONGER = {}
# Python files that are longer, each with its reason. A new one is an error.
LONGER_SCRIPTS = {
    "validation/advise.py": "one experiment from top to bottom: network, users, flood, gate and page",
    "validation/choosing.py": "tables of a page, each beside the sentence that it proves",
    "validation/pairs.py": "a list of pairs of readings and what was done with each",
    "validation/tuned.py": "a list of questions and how each is asked, shown and counted",
}


def main():
    assert len(LONGER) <= 3, "three files may be longer, no more"
    told, wide = [], []
    for name in ours("*.rs"):
        lines = (ROOT / name).read_text().split("\n")
        for number, line in enumerate(lines, 1):
            table = re.match(r"\s*//[/!] \|", line)
            short = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            if len(line) > COLUMNS and len(short) > COLUMNS // 2 and not table:
                wide.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")
        tests = re.search(r"/tests/|/tests\.rs|_tests\.rs|/benches/|/examples/|^fuzz/", name)
        if not tests:
            rows = len(lines) - 1
            if "#[cfg(test)]" in lines:
                rows = lines.index("#[cfg(test)]")
            if rows > LINES and name not in LONGER:
                told.append(f"{name}: {rows} lines, at most {LINES}")
    for name in ours("*.py"):
        rows = len((ROOT / name).read_text().splitlines())
        if rows > LINES and name not in LONGER_SCRIPTS:
            told.append(f"{name}: {rows} lines, at most {LINES}")
    gone = [n for n in [*LONGER, *LONGER_SCRIPTS] if not (ROOT / n).exists()]
    told += [f"tools/shape.py: {n} is gone" for n in gone]
    if len(wide) > LEFT:
        told += wide + [f"{len(wide)} lines are too long, at most {LEFT} may be"]
    print("\n".join(told), end="\n" if told else "")
    sys.exit(bool(told))


if __name__ == "__main__":
    main()
