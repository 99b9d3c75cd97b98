#!/usr/bin/env python3
"""Writes papers/pairs.csv and papers/pairs.md: do other readings, or pairs, meet rows that differ?

usage: pairs.py [--out DIR] [--plan] [--first] [EXPERIMENT[:QUEUE]...]
       build first; `make pairs` does all of it

The rows are those of papers/results.csv that differ. For each experiment with such rows, each queue
that has some of them gets a grid: as run, every choice alone, and every two. Choices are the words
of the queue's manual page and the NUMBERS below. Grids run on few seeds (SEEDS, SHORT). The best
cell of each is then run again at the paper's own length and number of seeds, not with --first.

Both files are written after each grid. With EXPERIMENT or EXPERIMENT:QUEUE only these are run, and
what pairs.csv has of others stays. What DIR has already is not run again.
Python's standard library only.
"""

import argparse
import csv
import os
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDEGATE = os.environ.get("TIDEGATE", str(ROOT / "target/release/tidegate"))
# `pass` is first or again, or words: an earlier one, of the words of the paper's own queue alone.
# `meets` has the lines of the paper's printed.csv that differ in results.csv, differ as run on the
# same seeds, and are met; with words there are none.
COLUMNS = "paper experiment queue pass choice and met of gained lost meets factor refused".split()

# Numbers of which a manual page or explained.toml says that the paper leaves them open, or that
# another version has them. Queue, parameter, values, experiments (none: all), why.
NUMBERS = [
    ("bare", "roomy", ["15", "20"], [], "its Fig. 1 is lost: presets `flat120` and `flat160`"),
    ("bare", "crowded", ["30"], [], "its Fig. 1 is lost: preset `flat120`"),
    ("bare", "weight", ["0.009"], [], "the copy is damaged: 6 or 9"),
    ("bare", "update_after", ["9"], [], "the copy is damaged: 6 or 9"),
    ("bare", "share_weight", ["0.002", "0.2"], ["E8"], "eq. (5)'s weight is not printed"),
    ("bare", "chance", ["0.005", "0.1"], ["E8"], "the constant probability is not printed"),
    ("red", "max", ["80kB", "120kB"], ["E5"], "RED's greatest threshold is not printed"),
    ("red", "probability", ["0.02"], ["E5"], "floyd1993's, where ns-2 has .1"),
    ("red", "probability", ["0.02", "1"], ["C1", "C2"], "not printed"),
    ("red", "weight", ["0.02"], ["C1", "C2"], "not printed"),
    ("red", "min", ["30packets"], ["B9"], "not printed: 20 % of the limit, as `ns2` has it"),
    ("red", "max", ["120packets"], ["B9"], "not printed: 80 % of the limit, as `ns2` has it"),
    ("fred", "min_queue", ["4packets"], ["E6"], "lin1997's minq with large buffers"),
    ("care", "gate", ["0.05"], [], "a reading of ours: no drops while little waits"),
    ("care", "least_captures", ["1"], [], "the paper has no such rule"),
    ("care", "expire", ["2s"], [], "a reading of ours: captures that are forgotten"),
    ("care", "pull", ["0.5"], [], "with `share` line"),
    ("care", "occasions", ["50", "200", "1000"], ["B9", "B10", "B11"], "t, the number of captures"),
    (
        "care",
        "flow_occasions",
        ["50", "200", "1000"],
        ["B9", "B10", "B11"],
        "t, the number of captures",
    ),
    ("sfb", "d_up", ["0.005"], [], "one delta, as `literal` has it"),
    ("sfb", "d_down", ["0.005"], [], "one delta, as `literal` has it"),
    ("sfb", "d_down", ["0.0000001"], ["B5", "B9", "B10", "B11"], "not printed: it hardly falls"),
    ("sfb", "bin_size", ["5"], ["B5", "B9", "B10", "B11"], "not printed by chan2003"),
    ("sfb", "d_down", ["0.0001"], ["C1", "C2", "C4", "C6"], "not printed"),
    ("sfb", "penalty_depth", ["20packets"], ["C1", "C2", "C4", "C6"], "not printed: Linux's"),
    ("sred", "zombies", ["1000"], [], "preset `paper`; ours is the port's"),
    ("sred", "overwrite", ["0.25"], [], "preset `paper`; ours is the port's"),
    ("sred", "flows", ["256"], [], "preset `paper`; ours is the port's"),
    ("red_pd", "start", ["0s"], [], "preset `paper`; ours is the scripts'"),
    ("red_pd", "hold", ["401ms"], [], "ns-2 adds up times in floating point"),
    ("ewfq", "rtt", ["250ms", "1s"], [], "not printed"),
    ("ewfq", "threshold", ["0.2", "0.8"], [], "T is not printed"),
    ("ewfq", "cache", ["200"], [], "N_c is not printed"),
    ("wfq", "alpha", ["2"], [], "buffers that are not static"),
    ("wfq", "least", ["4packets"], [], "as `auto` has it"),
    ("black", "threshold", ["1B"], [], "q_th is not printed: whatever waits is enough"),
    ("black", "samplings", ["1000"], [], "periods that end with so many samplings"),
    ("black", "interval", ["100ms", "5s"], [], "shorter and longer periods"),
    ("black", "cache", ["4096"], [], "room for every flow"),
    ("purge", "past", ["1"], [], "Omega over all samplings ever"),
    ("purge", "cache", ["4096"], [], "room for every flow"),
    ("purge", "persist", ["0", "1000000"], [], "*persisting* has no number"),
    ("purge", "update", ["100ms"], [], "Omega with a clock of its own"),
    ("purge", "fresh", ["0"], [], "newcomers judged by the present alone"),
    ("rem", "interval", ["1ms", "2ms"], [], "the price's unit and pace are not printed; ns-2's"),
    ("sfq_red", "weight", ["0.02", "0.25"], [], "not printed"),
    ("sfq_red", "probability", ["0.02", "1"], [], "not printed"),
    ("sfred", "bin_weight", ["0.02", "0.25"], [], "not printed"),
    ("sfred", "alpha", ["1.1"], [], "not printed"),
]

# Seeds of the first pass: 3, and one where runs are long and no order differs, only numbers.
SEEDS = dict.fromkeys(["A6", "B5", "B9", "B10", "B11", "C1", "C2", "C4", "C6"], 1)
# Experiments that the first pass runs short (`--quick`).
SHORT = {"B6", "B8", "D3"}


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def differing():
    """By paper and experiment: the lines in printed.csv of the rows that differ, by label."""
    found, results = {}, read(ROOT / "papers/results.csv")
    for paper in sorted({row["paper"] for row in results}):
        ours = [row for row in results if row["paper"] == paper]
        printed = read(ROOT / "papers" / paper / "printed.csv")
        same = ("experiment", "setting", "queue")
        ordered = [[[row[name] for name in same] for row in rows] for rows in (ours, printed)]
        assert ordered[0] == ordered[1], f"{paper}: results.csv has other rows than printed.csv"
        for line, row in enumerate(ours, 2):
            if row["verdict"] == "differs":
                of = found.setdefault((paper, row["experiment"]), {})
                of.setdefault(row["queue"], []).append(line)
    return found


def compared(paper, experiment):
    """What an experiment compares: by label the queue, its preset and its parameters."""
    folder = ROOT / "papers" / paper
    runs = tomllib.loads((folder / "paper.toml").read_text()).get("run", [])
    found = {}
    for run in (run for run in runs if run["experiment"] == experiment):
        queues = tomllib.loads((folder / run["scenario"]).read_text())["compare"]["queues"]
        for setting in run.get("set", []):
            if setting.startswith("compare.queues="):
                queues = tomllib.loads(setting.replace("compare.queues", "queues"))["queues"]
        for spec in queues:
            text, _, label = spec.partition(" as ")
            name, *params = text.split(",")
            name, _, preset = name.partition("/")
            found[label or name] = name, preset, dict(param.split("=", 1) for param in params)
    return found


def manual(queue):
    """Of a manual page: by parameter what each preset has, and its words if it takes words."""
    text = (ROOT / f"crates/tidegate/src/queues/{queue}.md").read_text()
    table = text.split("<!-- parameters")[1].split("<!-- end of parameters")[0]
    values, words = {}, {}
    first = re.search(r"\| symbol \| `(\w+)` \|", table)[1]
    row = r"^\| `(\w+)` \|[^|]*\| ([^|]*) \| ([^|]*) \|"
    for param, value, takes in re.findall(row, table, re.MULTILINE):
        values[param] = {first: value}
        if ", " in takes:
            words[param] = takes.split(", ")
    for preset, line in re.findall(r"^- `(\w+)`, (.*)$", table, re.MULTILINE):
        for param, value in re.findall(r"`(\w+)` ([^,`]+?)(?=, `|\.$)", line):
            values[param][preset] = value
    return {p: {None: of[first], **of} for p, of in values.items()}, words


def choices(experiment, queue, specs):
    """The choices of a queue. A parameter in which two of `specs` differ is what they are for."""
    if not queue:
        return []
    values, words = manual(queue)
    listed = [(param, word) for param in words for word in words[param]]
    for name, param, several, where, _ in NUMBERS:
        if name == queue and (not where or experiment in where):
            listed += [(param, value) for value in several]
    found = []
    for param, value in listed:
        of = values[param]
        now = {params.get(param, of.get(preset, of[None])) for _, preset, params in specs}
        now = {text.replace(" ", "") for text in now}
        if len(now) == 1 and value not in now and ":" not in "".join(now):
            found.append(f"{queue}:{param}={value}")
    return found


def grid(experiment, chosen, how, out):
    """The lines of `paper pairs`."""
    out = pathlib.Path(out) / experiment
    command = [TIDEGATE, "paper", "pairs", experiment, "--from", str(ROOT / "papers")]
    command += ["--out", str(out), *how]
    command += [part for choice in chosen for part in ("--choice", choice)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    rows = read(out / f"pairs-{experiment}.csv")
    for row in rows:
        row["met"], row["of"] = row["met"].split(" of ") if row["met"] else ("", "")
    return rows


def judged(experiment, chosen, how, out, differ):
    """The lines, each with the rows of `differ` that it meets and that are not met as run."""
    rows = grid(experiment, chosen, how, out)
    met = [{int(line) for line in row["lines"].split()} for row in rows]
    plain = met[[row["choice"] for row in rows].index("as run")]
    for row, lines in zip(rows, met, strict=True):
        row["meets"] = " ".join(map(str, sorted(lines & {*differ} - plain)))
    return rows


def how_first(experiment):
    """The arguments of the first pass."""
    return ["--quick"] if experiment in SHORT else ["--seeds", str(SEEDS.get(experiment, 3))]


def gain(row):
    """How many rows that differ a cell meets."""
    earlier = row.get("pass") == "words"
    return int(row["gained"] or 0) if earlier else len(row["meets"].split())


def best(rows):
    """The cell that meets most, less what it loses; of equals the one with fewer choices."""
    ran = [row for row in rows if row["met"] and row["choice"] != "as run"]
    worth = [(gain(row) - int(row["lost"]), not row["and"], gain(row)) for row in ran]
    return ran[worth.index(max(worth))]


def tried(experiment, chosen, differ, given):
    """The lines of a grid over `chosen`, and those of its best cell once more."""
    rows = judged(experiment, chosen, how_first(experiment), given.out, differ)
    top, again = best(rows), []
    if gain(top) and not given.first:
        pair = [choice for choice in (top["choice"], top["and"]) if choice]
        again = judged(experiment, pair, [], given.out, differ)
    return [{**row, "pass": name} for name, of in (("first", rows), ("again", again)) for row in of]


class Grid:
    """What pairs.csv has of a queue in an experiment."""

    def __init__(self, rows, differ, chosen):
        self.differ, self.chosen, self.run = differ, chosen, bool(rows)
        self.first = [row for row in rows if row["pass"] != "again"]
        self.words = bool(rows) and rows[0]["pass"] == "words"
        self.top = best(self.first) if rows else None
        same = [self.top["choice"], self.top["and"]] if rows else None
        again = [row for row in rows if row["pass"] == "again"]
        self.again = next((row for row in again if [row["choice"], row["and"]] == same), None)
        self.some = len({line for row in self.first for line in row["meets"].split()})

    def line(self, paper, experiment, queue):
        """A line of the page's table."""
        cells = [f"{paper} {experiment}", queue, self.differ, len(self.chosen)]
        if not self.chosen:
            cells += ["", "", "nothing to choose", "", "", "", ""]
        elif not self.run:
            cells += ["", "", "not run", "", "", "", ""]
        elif gain(self.top) <= (int(self.top["lost"]) if self.words else 0):
            cells += [len(self.first), "" if self.words else self.some, "none", "", "", "", ""]
        else:
            pair = [choice for choice in (self.top["choice"], self.top["and"]) if choice]
            cells += [len(self.first), "" if self.words else self.some]
            cells += [" and ".join(f"`{choice.split(':')[-1]}`" for choice in pair)]
            cells += [gain(self.top), self.top["lost"]]
            cells += [gain(self.again), self.again["lost"]] if self.again else ["", ""]
        return "|" + "|".join(f" {cell} " if cell != "" else " " for cell in cells) + "|"


def number(queue, param, values, where, why):
    """A line of the page's table of numbers."""
    return f"| {queue} | `{param}` | {', '.join(values)} | {', '.join(where) or 'all'} | {why} |"


PAGE = """\
# Pairs of readings

Would another reading of the text, or two together, make a row hold that differs?

**Of the {differ} rows that differed {tried} were tried in full. Some cell meets {some} of these.**
{answer}

| experiment | queue | differ | choices | cells | some cell | best cell | meets | loses | again | loses |
|---|---|---|---|---|---|---|---|---|---|---|
{lines}

- *differ*: rows of this queue that differed in papers/results.csv when it was run.
- *choices*: those of a full grid. *cells*: those that were run.
- *some cell*: how many of these rows some cell meets. Rows that the same seeds meet as run do
  not count.
- *best cell*: the one that meets most of them, less what it loses of the experiment's rows.
- *again*, *loses*: that cell at the paper's own length and number of seeds.
{earlier}
## What a full grid has

It has the words that the queue's manual page lists and the numbers below. They are tried as run,
each alone, and every two. {full} grids of {all} were run in full, {cells} cells. A queue refuses {refused} of these,
where choices contradict each other. [pairs.csv](pairs.csv) has every cell. `make pairs` runs all.

{numbers}

The first pass has 3 seeds{seeds}. {short} are short in it (`--quick`).
With one seed no order can be judged, so none is lost. A row that a cell meets may be met by chance.

## What was not tried

{left}- Choices of two queues together, and three choices of one.
- A parameter in which an experiment's queues of one name differ. It is what they are compared for.
- Numbers that are not in the table.
- TCP, the network and the traffic. The papers' own pages have readings of them, one at a time.

A choice that gains rows is no proof that the authors made it. Where a reading is adopted or judged,
the paper's own page says so.
"""

EARLIER = """\
- Lines without *some cell* are of an earlier pass, of words alone and with 3 seeds. What they
  *meet* may be any row of the experiment that is not met as run.
"""


def answer(full, again, words, left):
    """What the best cells come to."""
    tops = [grid.top for grid in full if gain(grid.top)]
    meets, loses = sum(gain(row) for row in tops), sum(int(row["lost"]) for row in tops)
    said = [f"The best cells meet {meets}, and lose {loses} that are met as run."]
    if again:
        meets, loses = sum(gain(row) for row in again), sum(int(row["lost"]) for row in again)
        said.append(f"Run again at full length these cells meet {meets} and lose {loses}.")
    else:
        said.append("None was run again at the paper's own length and number of seeds.")
    if words:
        said.append(f"For {words} rows there is an earlier pass, of words alone.")
    if left:
        said.append(f"**{left} rows were not tried, for lack of time.**")
    return "\n".join(said)


def page(grids):
    """The page: what was gained, a line for each grid, and what was tried."""
    full = [grid for grid in grids.values() if grid.run and not grid.words]
    words = sum(grid.differ for grid in grids.values() if grid.words)
    left = sum(grid.differ for grid in grids.values() if grid.chosen and not grid.run)
    differ, tried = (sum(grid.differ for grid in of) for of in (grids.values(), full))
    rows = [row for grid in full for row in grid.first]
    table = ["| queue | number | values | in | why |", "|---|---|---|---|---|"]
    by_seeds = {}
    for experiment, seeds in SEEDS.items():
        by_seeds.setdefault(seeds, []).append(experiment)
    return PAGE.format(
        differ=differ,
        tried=tried,
        some=sum(grid.some for grid in full),
        answer=answer(full, [grid.again for grid in full if grid.again], words, left),
        lines="\n".join(grid.line(*place) for place, grid in grids.items()),
        earlier=EARLIER if words else "",
        full=len(full),
        all=sum(bool(grid.chosen) for grid in grids.values()),
        cells=len(rows),
        refused=sum(bool(row["refused"]) for row in rows),
        numbers="\n".join([*table, *(number(*known) for known in NUMBERS)]),
        seeds="".join(f", {n} in {', '.join(ids)}" for n, ids in sorted(by_seeds.items())),
        short=", ".join(sorted(SHORT)),
        left="- What the table calls *not run*, and numbers where only words were run.\n"
        if left
        else "",
    )


def so_far():
    """What pairs.csv has, by paper, experiment and queue."""
    known = {}
    for row in read(ROOT / "papers/pairs.csv"):
        known.setdefault((row["paper"], row["experiment"], row["queue"]), []).append(row)
    return known


def write(known, plan):
    """Both files."""
    with (ROOT / "papers/pairs.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        for place in plan:
            named = dict(zip(COLUMNS, place, strict=False))
            table.writerows({**row, **named} for row in known.get(place, []))
    grids = {
        place: Grid(known.get(place, []), len(rows), chosen)
        for place, (rows, chosen) in plan.items()
    }
    (ROOT / "papers/pairs.md").write_text(page(grids))


def planned():
    """By paper, experiment and queue: the rows that differ, and the choices."""
    plan = {}
    for (paper, experiment), labels in sorted(differing().items()):
        specs = compared(paper, experiment)
        queues = {}
        for label, lines in labels.items():
            queues.setdefault(specs[label][0] if label else "", []).extend(lines)
        for queue, lines in sorted(queues.items()):
            mine = [spec for spec in specs.values() if spec[0] == queue]
            plan[paper, experiment, queue] = lines, choices(experiment, queue, mine)
    return plan


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--out", default=str(ROOT / "out/pairs"))
    args.add_argument("--plan", action="store_true", help="say which choices, and run nothing")
    args.add_argument("--first", action="store_true", help="do not run the best cells again")
    args.add_argument("experiment", nargs="*")
    args = args.parse_args()
    plan = planned()
    for (paper, experiment, queue), (lines, chosen) in plan.items():
        asked = not args.experiment or {experiment, f"{experiment}:{queue}"} & {*args.experiment}
        if not asked or not chosen:
            continue
        print(paper, experiment, queue, *(chosen if args.plan else []), flush=True)
        if not args.plan:
            found = tried(experiment, chosen, lines, args)
            write({**so_far(), (paper, experiment, queue): found}, plan)


if __name__ == "__main__":
    main()
