#!/usr/bin/env python3
"""Writes papers/changed.csv: every claim of the papers whose verdict changed since its first listed run, with the cause.

usage: changed.py [--check]     --check only says whether the file is up to date

It goes through the versions of papers/results.csv in git, and at last through the file as it lies here. A verdict's
remark behind a colon does not count. A change without an entry in CAUSES is refused, and so is an entry without a
change. Causes come from the notes of those runs and from the scenarios' history. What these do not tell is "not known".
"""

import argparse
import csv
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = "papers/results.csv"
CHANGED = REPOSITORY / "papers" / "changed.csv"
FIRST = "e0462665"  # the last run before TCP's faults were mended
HERE = "not committed"
KEY = ("paper", "experiment", "setting", "queue", "quantity", "place", "printed")
HEAD = (*KEY, "old_verdict", "old_ours", "new_verdict", "new_ours", "commit", "cause")
# Claims that were called otherwise once: cho2001 had two networks, of which this one stayed.
RENAMED = {"bare": (" and access links of 100 Mbit/s", "")}


class Cause(NamedTuple):
    """What moved verdicts of some experiments in the version behind `after`."""

    after: str  # the version of results.csv before the change
    paper: str
    experiments: str
    cause: str
    queues: str = ""  # only these; else all


MARKS = "TCP took echoes of old marks for new ones after a timeout; mended"
WELCH = "an order goes by the interval of the difference (Welch), no longer by two that meet"
NS1 = "TCP by the rules of ns-1"
STEPS = "TCP by the rules of ns-1, and SFB's d_down refitted with it"
BEND = "BARE's bend refitted: at 9 flows, no longer at 14; Fig. 3 is among its targets now"
CEILING = "EWFQ's m_fair rises no higher than what classes send"
WEB = "the web's users fetch an object every 30 s: a light load"
PACKETS = "packets of 1 kB in place of 8 kB"
READING = "a reading was found under which it holds; ours is the same"
OWN = "goodput goes by each flow's own duration (eq. (6))"
LONGEST = "EWFQ: the longest line makes room when the shared buffer is full"

CAUSES = [
    Cause("e0462665", "sfb", "C1 C5 C6", MARKS),
    Cause("e0462665", "purge", "A6", MARKS),
    Cause("e0462665", "care", "B8", WELCH),
    Cause("b0550d57", "sfb", "C1 C2 C4 C5", NS1),
    Cause("b0550d57", "sfb", "C6", STEPS),
    Cause("b0550d57", "bare", "E2 E5", BEND),
    Cause("b0550d57", "ewfq", "D2 D3", CEILING),
    Cause("b0550d57", "care", "B9", WEB, queues="red sred"),
    Cause(
        "b0550d57", "care", "B9", "not known: a lighter web or SFB's refitted d_down", queues="sfb"
    ),
    Cause("b0550d57", "purge", "A6", PACKETS),
    Cause("1b249844", "purge", "A6", READING),
    Cause("94187e3a", "ewfq", "D2 D3 D5", LONGEST),
    Cause("775cbcac", "purge", "A6", OWN),
    Cause("b421e2e8", "purge", "A6", READING),
    Cause("b421e2e8", "care", "B5", READING),
]


def git(*words):
    run = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"git {' '.join(words)}: {run.stderr.strip()} (this wants the whole history)")
    return run.stdout


def versions():
    """Each version of the results: the commit and the claims by their keys."""
    log = git("log", "--reverse", "--abbrev=8", "--format=%h", f"{FIRST}..HEAD", "--", RESULTS)
    for commit in [FIRST, *log.split()]:
        yield commit, claims(git("show", f"{commit}:{RESULTS}"))
    here = (REPOSITORY / RESULTS).read_text()
    if here != git("show", f"HEAD:{RESULTS}"):
        yield HERE, claims(here)


def claims(text):
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        row["setting"] = row["setting"].replace(*RENAMED.get(row["paper"], ("", "")))
        row["quantity"] = row["quantity"].replace("active goodput", "goodput")
        key = tuple(row[name] for name in KEY)
        if key in found:
            sys.exit(f"{RESULTS} has this claim twice: {', '.join(key)}")
        found[key] = row
    return found


def kind(row):
    """The verdict without its remark, or the name of its reading."""
    under = "holds under"
    return under if row["verdict"].startswith(under) else row["verdict"].split(":")[0]


def why(after, row):
    """The entry that explains a change of this claim, or None."""
    for entry in CAUSES:
        if (
            (entry.after, entry.paper) == (after, row["paper"])
            and row["experiment"] in entry.experiments.split()
            and (not entry.queues or row["queue"] in entry.queues.split())
        ):
            return entry
    return None


def changes():
    """Rows of the table; refuses what has no cause, and causes of nothing."""
    rows, used, missing = [], set(), []
    (after, old), *rest = versions()
    for commit, new in rest:
        for key in (key for key in new if key in old and kind(old[key]) != kind(new[key])):
            entry = why(after, new[key])
            if entry is None or not entry.cause.strip():
                missing.append(
                    f"{', '.join(key)}: {kind(old[key])} to {kind(new[key])} after {after}"
                )
                continue
            used.add(entry)
            was, now = ((row["verdict"], row["ours"]) for row in (old[key], new[key]))
            rows.append((*key, *was, *now, commit, entry.cause))
        after, old = commit, new
    if missing:
        sys.exit("\n".join(["no cause in CAUSES for", *missing]))
    if idle := [entry for entry in CAUSES if entry not in used]:
        sys.exit("\n".join(["these causes explain nothing:", *map(str, idle)]))
    return rows


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--check", action="store_true", help="write nothing; status 1 if it is old")
    given = ask.parse_args()
    rows = changes()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([HEAD, *rows])
    if given.check:
        if not CHANGED.exists() or CHANGED.read_text() != text.getvalue():
            sys.exit(f"{CHANGED} is old: run validation/changed.py")
        return
    CHANGED.write_text(text.getvalue())
    print(f"{len(rows)} changes of verdict")
    print("| commit | paper | rows | cause |\n|---|---|---|---|")
    for (commit, paper, cause), count in Counter(
        (row[-2], row[0], row[-1]) for row in rows
    ).items():
        print(f"| {commit} | {paper} | {count} | {cause} |")


if __name__ == "__main__":
    main()
