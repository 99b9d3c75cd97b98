#!/usr/bin/env python3
"""Lists all test targets of the workspace by name, each after `waits` or `computes`.

Those of the gateway and the command wait for clocks and links, but for some. A name that both kinds have
waits.

    tools/targets.py
"""

import json
import subprocess

WAITING = {"tidegate-gateway", "tidegate-cli"}
# Theirs, and busy all the time.
COMPUTES = {"alarm", "adversary"}


def main():
    words = ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"]
    packages = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["packages"]
    waits, all_names = set(), set()
    for package in packages:
        names = {of["name"] for of in package["targets"] if "test" in of["kind"]}
        all_names |= names
        if package["name"] in WAITING:
            waits |= names - COMPUTES
    for name in sorted(all_names):
        print("waits" if name in waits else "computes", name)


if __name__ == "__main__":
    main()
