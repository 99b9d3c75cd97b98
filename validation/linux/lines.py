#!/usr/bin/env python3
"""Gives the `tc` lines that `tidegate show` prints to the kernel that build.sh built, by the `tc` that tc.sh found, and
writes ../tc.md. Status 1 if the kernel refuses one that its `tc` knows.

usage: lines.py
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from run import OUT, TIDEGATE, boot

TC = OUT / "tc" / "tc"
PAGE = Path(__file__).parent.parent / "tc.md"
LINKS = {"1 Mbit/s": "50 packets", "100 Mbit/s": "1.25 MB", "10 Gbit/s": "50 MB"}
# By whether `tc` knows the queue, and whether the kernel took the line.
FATES = {
    (True, None): "not run",
    (False, None): "no line",
    (False, True): "taken",
    (False, False): "**refused**",
}
HEAD = """# The `tc` lines that we print

Written by `make validate-linux`. `tidegate show QUEUE` and `tidegate advise` say how Linux is asked for a queue. Each line below
was given to {kernel} by {tc}, in a class of `htb` as `advise` puts it. `no line`: Linux cannot take values of
that size, and `show` says so.

**{verdict}**

| queue | {links} | what the kernel then says of 100 Mbit/s |
|---|{rules}---|
"""


def lines():
    """By queue and link, what follows `root` in the line of `show`."""
    names = [row["name"] for row in json.loads(asked("list", "queues", "--json"))["queues"]]
    found = {}
    for name in names:
        for rate, limit in LINKS.items():
            text = asked("show", name, "--rate", rate, "--limit", limit, "--mean-packet", "1514 B")
            if line := re.search(r"^ +tc qdisc replace dev DEV root (.*)$", text, re.M):
                found.setdefault(name, {})[rate] = line[1]
    return found


def asked(*words):
    return subprocess.run([TIDEGATE, *words], check=True, capture_output=True, text=True).stdout


def script(found):
    """What the kernel runs: each line on an interface of its own class, and what `tc` says of it."""
    text = [
        "#!/bin/sh",
        f"export PATH={TC.parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        "mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp",
        "ip link add v0 type veth peer name v1 || echo @error veth",
        "ip link set v0 up; ip link set v1 up",
    ]
    for name, of in found.items():
        for rate, line in of.items():
            bits = rate.replace(" ", "").removesuffix("/s")
            text += [
                "tc qdisc replace dev v0 root handle 1: htb default 1 || echo @error htb",
                f"tc class replace dev v0 parent 1: classid 1:1 htb rate {bits} || echo @error class",
                f"if tc qdisc replace dev v0 parent 1:1 handle 10: {line} 2>/tmp/why",
                f"then echo '@took {name} {rate}' $(tc -d qdisc show dev v0 | grep ' 10:')",
                f"else echo '@refused {name} {rate}' $(cat /tmp/why); fi",
                "tc qdisc del dev v0 root",
            ]
    return "\n".join([*text, "echo @end", f"{OUT / 'load'} halt"]) + "\n"


def page(found, told):
    """The page, and whether the kernel took every line that `tc` knows."""
    unknown = [
        name
        for name in found
        if any("Unknown qdisc" in told[name, rate][1] for rate in found[name])
    ]
    run = {key: took for key, (took, _) in told.items() if key[0] not in unknown}
    verdict = f"The kernel took {sum(run.values())} of {len(run)} lines."
    if unknown:
        verdict += f" This `tc` does not know {', '.join(f'`{name}`' for name in unknown)}, so its lines were not run."
    kernel = (OUT / "kernel").resolve().name
    text = HEAD.format(
        kernel=f"Linux {kernel}",
        tc=subprocess.run([TC, "-V"], check=True, capture_output=True, text=True)
        .stdout.strip()
        .replace("tc utility, ", ""),
        verdict=verdict,
        links=" | ".join(LINKS),
        rules="---|" * len(LINKS),
    )
    for name in found:
        word = lambda rate: FATES[name in unknown, run.get((name, rate))]
        says = re.sub(r"^qdisc | 10: parent 1:1| refcnt \d+", "", told[name, "100 Mbit/s"][1])
        says = f"`{says}`" if name not in unknown else ""
        text += f"| {name} | {' | '.join(map(word, LINKS))} | {says} |\n"
    return text, all(run.values())


def main():
    found = lines()
    told = {}
    for line in boot("tc lines", script(found)).splitlines():
        if match := re.match(r"@(took|refused) (\S+) (\S+ .bit/s) ?(.*)", line):
            told[match[2], match[3]] = match[1] == "took", match[4].strip()
    wanted = {(name, rate) for name in found for rate in found[name]}
    if wanted != set(told):
        sys.exit(f"the kernel did not say what became of {sorted(wanted - set(told))}")
    text, all_taken = page(found, told)
    PAGE.write_text(text)
    for (name, rate), (took, why) in told.items():
        if not took:
            print(f"{name} at {rate}: {why}", file=sys.stderr)
    sys.exit(not all_taken)


if __name__ == "__main__":
    main()
