#!/usr/bin/env python3
"""Finds crates that would be compiled once more when one of our packages is built alone.

Cargo compiles a crate anew for each set of features. Tests of the workspace ask for more of them than the
command alone. crates/tidegate-features makes them the same; this says what it lacks.

    tools/features.py      exit status 1 if a crate has other features
"""

import subprocess
import sys

# What tests build beside the workspace's tests.
ALONE = ["tidegate-cli", "tidegate-python", "tidegate-c"]


def features(*chosen):
    """Each crate of the chosen packages, with its features."""
    words = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *chosen]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = {line.removesuffix(" (*)") for line in said.splitlines() if line}
    return {tuple(line.split("|")) for line in lines if "|" in line}


def main():
    together = features("--workspace", "--edges", "normal,build,dev")
    known = {crate for crate, _ in together}
    others = 0
    for package in ALONE:
        for crate, has in sorted(features("--package", package, "--edges", "normal,build")):
            if crate in known and (crate, has) not in together:
                wanted = next(of for name, of in together if name == crate)
                print(f"{package} alone: {crate} has [{has}], in tests [{wanted}]")
                others += 1
    if others:
        print(
            "crates/tidegate-features/Cargo.toml or the package's own can ask for what is missing."
        )
    sys.exit(others > 0)


if __name__ == "__main__":
    main()
