#!/usr/bin/env python3
"""Writes validation/tuned.md: the settings that presets were tuned on, every statement from runs of the simulator.

usage: tuned.py [--seeds N] [--queue NAME …]     build first; `make tuned` does both, twelve minutes on two idle cores

Every queue of the catalog, preset `auto`, meets the same questions: a scenario of ours and what is set in it. A question
is a study with an axis of settings, and asks for one figure; its table has a column for each setting, and what it says is counted from the table. What a packet
costs is what `make cost` measured, what a queue keeps is what `tidegate check` says. With --queue only those are run and
nothing is written.
Python's standard library only.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass

from studies import HERE, TIDEGATE, swept

PAGE = HERE / "tuned.md"
COSTS = HERE.parent / "papers" / "comparison" / "cost.csv"

# What counts as protected: users keep so much of their fair share, at the lower end of the 95 % interval.
PROTECTED = 90.0
# And none of them is left with less than this part of his own, in the mean over seeds: half.
WORST = 50.0
# Beside the best queue of a column, these are as good: a tenth of what the line gives.
NEAR = 10.0


@dataclass(frozen=True)
class Column:
    """A setting of a question: its name, and what is set in the scenario."""

    name: str
    set: tuple = ()


@dataclass(frozen=True)
class Question:
    """What is asked of every queue."""

    title: str
    why: str
    scenario: str
    columns: tuple
    figure: str  # a key of FIGURES
    least: bool = False  # whether the smallest figure is the best


def share(users):
    """What `users` get of their fair share by goodput, in per cent."""
    return scaled(users, "goodput_bps", 100 / float(users["fair_share_bps"]))


def worst(users):
    """What the worst of the users gets of his fair share by goodput, in per cent; none where that is not known."""
    return scaled(users, "worst_share", 100)


def even(users):
    """Jain's index of the users among themselves, in per cent."""
    return scaled(users, "jain", 100)


def slowest(users):
    """The same as a question's own figure."""
    return worst(users)


def transfer(users):
    """The time within which 95 in 100 objects come, in ms; none where fewer than a hundred came in a replication."""
    return scaled(users, "completion_ms_p95", 1) if float(users["completions"]) >= 100 else None


def wait(users):
    """The mean wait in the queue, in ms."""
    return scaled(users, "link_queue_delay_ms_mean", 1)


FIGURES = {
    "share": (
        share,
        "Users' goodput, % of their fair share, and behind the stroke the worst user's",
    ),
    "even": (even, "Jain's index among the users, %"),
    "slowest": (slowest, "The worst user's goodput, % of a fair share"),
    "transfer": (transfer, "Time within which 95 in 100 objects come, ms"),
    "wait": (wait, "Mean wait in the queue, ms"),
}


def scaled(row, figure, by):
    """Mean and half width of the 95 % interval, times `by`."""
    if not row[figure]:
        return None
    return float(row[figure]) * by, float(row[f"{figure}_ci95"] or 0.0) * by


def floods(rates):
    return tuple(Column(name, (f"group.flood.rate={rate}",)) for name, rate in rates)


def offenders(counts):
    """So many floods, that send twice the line together."""
    return tuple(
        Column(str(n), (f"group.flood.count={n}", f"group.flood.rate={40_000 // n} kbit/s"))
        for n in counts
    )


BASE, WEB, GREEDY = "tuned.toml", "tuned-web.toml", "tuned-greedy.toml"
ASLEEP = "group.flood.rate=1 kbit/s"
QUESTIONS = (
    Question(
        "How hard the flood is",
        "One sender that heeds nothing, of five times its fair share to ten times the line. Fair would be 0.95 Mbit/s for each.",
        BASE,
        floods(
            [
                ("5 × fair", "4.8 Mbit/s"),
                ("half the line", "10 Mbit/s"),
                ("2 × line", "40 Mbit/s"),
                ("10 × line", "200 Mbit/s"),
            ]
        ),
        "share",
    ),
    Question(
        "How many offenders",
        "A flood of 40 Mbit/s from 1 to 64 senders. A queue that remembers a few offenders forgets the others. One that takes "
        "its time for each is late.",
        BASE,
        offenders((1, 4, 16, 64)),
        "share",
    ),
    Question(
        "How many users",
        "One flood of twice the line beside 4 to 400 users. With 400 a fair share is half a packet of window.",
        BASE,
        tuple(Column(str(n), (f"group.users.count={n}",)) for n in (4, 20, 100, 400)),
        "share",
    ),
    Question(
        "Short transfers",
        "Two hundred people fetch objects of 15 kB in the mean. A dash: fewer than a hundred came through in a minute.",
        WEB,
        (Column("no flood", (ASLEEP,)), Column("flood")),
        "transfer",
        least=True,
    ),
    Question(
        "Far and near users",
        "No flood. Half of the twenty users have round trips of 24 ms, half have the column's. What the worst of them gets.",
        BASE,
        tuple(
            Column(
                f"{24 + 2 * (ms - 1)} ms", (ASLEEP, f'group.users.access_delay=["1 ms", "{ms} ms"]')
            )
            for ms in (1, 20, 50, 150)
        ),
        "slowest",
    ),
    Question(
        "ECN",
        "Columns name who speaks ECN. The flood sends twice the line. In the last column it says ECN too, and heeds no mark.",
        BASE,
        (
            Column("nobody"),
            Column("users", ("group.users.ecn=on",)),
            Column("users, and the flood lies", ("group.users.ecn=on", "group.flood.ecn=on")),
        ),
        "share",
    ),
    Question(
        "Slow lines",
        "Five users and a flood of twice the line, each line with a buffer of 200 ms.",
        BASE,
        tuple(
            Column(
                name,
                (
                    f"network.rate={rate} kbit/s",
                    f"network.limit={rate // 40} kB",
                    "group.users.count=5",
                    f"group.flood.rate={2 * rate} kbit/s",
                ),
            )
            for name, rate in (("512 kbit/s", 512), ("2 Mbit/s", 2000), ("10 Mbit/s", 10000))
        ),
        "share",
    ),
    Question(
        "Many connections of one client",
        "A client has forty connections, twenty users have one each. By connection the client has two thirds of "
        "the flows; by source it is one.",
        GREEDY,
        (Column("by connection", ("run.flow_key=five-tuple",)), Column("by source")),
        "slowest",
    ),
    Question(
        "What a packet waits",
        "How long packets stay in the queue, without a flood and with one. The buffer holds 100 ms.",
        BASE,
        (Column("no flood", (ASLEEP,)), Column("flood")),
        "wait",
        least=True,
    ),
)


def axis(question):
    """The question's settings as an axis of a study, on which all that they set goes in step."""
    scenario = HERE / "scenarios" / question.scenario
    own = [dict(text.split("=", 1) for text in column.set) for column in question.columns]
    paths = dict.fromkeys(path for of in own for path in of)
    lines = ["[axes.setting.set]"] if paths else []
    for path in paths:
        values = [of.get(path) or as_it_is(scenario, path) for of in own]
        lines.append(f"{path} = [{', '.join(map(toml, values))}]")
    return lines


def toml(value):
    """A value of `--set` as TOML."""
    return value if value.startswith("[") else json.dumps(value)


# What holds where a scenario does not say.
DEFAULTS = {"group.users.ecn": "off", "group.flood.ecn": "off"}


def as_it_is(scenario, path):
    """The value at `path` in the scenario, as a setting that leaves it alone sets it."""
    table, *keys = path.split(".")
    node = tomllib.loads(scenario.read_text())[table]
    if table == "group":
        name, *keys = keys
        node = next(group for group in node if group["name"] == name)
    value = node.get(keys[0], DEFAULTS.get(path))
    return json.dumps(value) if isinstance(value, list) else str(value)


def grouped(scenario, queues, seeds, lines):
    """The means of a study of `scenario`, by queue and number of the cell: each group's row."""
    found = {}
    for row in swept(HERE / "scenarios" / scenario, queues, seeds, lines):
        found.setdefault((row["queue"], int(row["cell"])), {})[row["group"]] = row
    return found


def measured(question, queues, seeds):
    """The figures of a question: for each queue, one for each column."""
    figure = FIGURES[question.figure][0]
    of = grouped(question.scenario, queues, seeds, axis(question))
    table = {queue: [] for queue in queues}
    for queue in queues:
        for number in range(len(question.columns)):
            row = of[queue, number]["users"]
            own = figure(row)
            # The mean, its interval, and the worst user beside it.
            beside = worst(row) if question.figure == "share" else None
            table[queue].append(own and (*own, beside and beside[0]))
    return table


def written(figure):
    """A figure as the tables have it, with its interval where that is wider than a tenth."""
    if figure is None:
        return "–"
    mean, ci95, least = figure
    digits = 0 if mean >= 9.95 else 1
    wide = f" ± {ci95:.{digits}f}" if ci95 > 0.1 * mean and ci95 >= 0.5 else ""
    beside = "" if least is None else f" / {least:.{0 if least >= 9.95 else 1}f}"
    return f"{mean:.{digits}f}{wide}{beside}"


def good(question, figures):
    """Which queues do well in a column of figures, by queue."""
    known = {queue: f for queue, f in figures.items() if f is not None}
    if question.figure == "share":
        return [
            queue
            for queue, (mean, ci95, least) in known.items()
            if mean - ci95 >= PROTECTED and (least is None or least >= WORST)
        ]
    if not known:
        return []
    if question.least:
        best = min(mean for mean, *_ in known.values())
        return [queue for queue, (mean, *_) in known.items() if mean <= 1.25 * best]
    best = max(mean for mean, *_ in known.values())
    return [queue for queue, (mean, *_) in known.items() if mean >= best - NEAR]


def told(question, counts, queues):
    """What a table's figures are, what bold means, and how many queues are bold in each column."""
    well = {
        "share": f"users keep {PROTECTED:.0f} % or more, the worst of them {WORST:.0f} %",
        "transfer": "within a quarter of the fastest",
        "wait": "within a quarter of the shortest",
    }.get(question.figure, f"within {NEAR:.0f} points of the best")
    listed = ", ".join(map(str, counts))
    return f"{FIGURES[question.figure][1]}. **Bold** ({listed} of {queues} queues): {well}."


def section(question, table):
    """A question's part of the page."""
    names = [column.name for column in question.columns]
    does = [
        good(question, {queue: row[number] for queue, row in table.items()})
        for number in range(len(names))
    ]
    lines = [f"## {question.title}", "", question.why, ""]
    lines += [
        told(question, [len(names) for names in does], len(table)),
        "",
        "| queue | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for queue, row in table.items():
        cells = [f"**{written(f)}**" if queue in of else written(f) for f, of in zip(row, does)]
        lines.append(f"| `{queue}` | " + " | ".join(cells) + " |")
    last = question.columns[-1]
    words = "".join(f" --set '{text}'" for text in last.set)
    lines += [
        "",
        f"The last column as a report: `tidegate compare validation/scenarios/{question.scenario}{words} --out out/tuned"
        " --queue sfb --queue …`",
        "",
    ]
    return lines


def states(queues):
    """What each queue keeps besides the packets on the base line, as `tidegate check` says."""
    text = (HERE / "scenarios" / BASE).read_text()
    listed = ", ".join(f'"{queue}"' for queue in queues)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "all.toml"
        path.write_text(
            text.replace("[[group]]", f"[compare]\nqueues = [{listed}]\n\n[[group]]", 1)
        )
        said = subprocess.run(
            [str(TIDEGATE), "check", str(path)], capture_output=True, text=True, check=True
        ).stdout
    lines = [line.strip() for line in said.splitlines() if " of state;" in line]
    of = {line.split(" ")[0]: line.split("): ")[1].split(" of state;")[0] for line in lines}
    return {queue: of[queue] for queue in queues}


def costs(queues):
    """What a packet costs in each queue, in ns, as `make cost` found it."""
    with COSTS.open(newline="") as table:
        of = {row["queue"]: float(row["ns"]) for row in csv.DictReader(table)}
    missing = [queue for queue in queues if queue not in of]
    if missing:
        sys.exit(f"{COSTS}: no line for {', '.join(missing)}; `make cost` measures them")
    return of


def in_bytes(text):
    """A size as `tidegate` writes it, in bytes."""
    number, unit = text.split(" ")
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


def short(size):
    """A size with three significant digits, as in `126 kB`."""
    number, unit = size.split(" ")
    return f"{float(f'{float(number):.3g}'):g} {unit}"


def priced(queue, cost, memory):
    """A queue with what it costs."""
    return f"`{queue}` ({cost[queue]:.0f} ns, {short(memory[queue])})"


# How many queues an answer names.
NAMED = 4


def answers(tables, cost, memory):
    """A line for each question: who does well in most of its settings, the cheapest first."""
    lines = [
        "| for | do well in | the cheapest of them (time of a packet, memory) |",
        "|---|---|---|",
    ]
    for question in QUESTIONS:
        table, count = tables[question.title], len(question.columns)
        well = [
            good(question, {queue: row[number] for queue, row in table.items()})
            for number in range(count)
        ]
        times = {queue: sum(queue in column for column in well) for queue in table}
        most = max(times.values())
        best = sorted(
            (queue for queue in table if times[queue] == most), key=lambda queue: cost[queue]
        )
        names = ", ".join(priced(queue, cost, memory) for queue in best[:NAMED])
        more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
        lines.append(
            f"| {link(question)} | {most} of {count} settings | {names if most else '**none**'}{more if most else ''} |"
        )
    return lines


def link(question):
    """A question's title as a link to its part of the page."""
    return f"[{question.title}](#{question.title.lower().replace(' ', '-')})"


def pick(rows, cost, memory, count):
    """The answer in sentences: the queue that protects most often, and the ones that do best with less memory."""
    lines, least = [], float("inf")
    for whole, queue, _ in sorted(rows, key=lambda row: (-row[0], in_bytes(memory[row[1]]))):
        if whole and in_bytes(memory[queue]) < least:
            begin = "with less memory than that" if lines else "of all queues"
            lines.append(
                f"- {begin}: {priced(queue, cost, memory)}, which protects users in {whole} of {count} settings"
            )
            least = in_bytes(memory[queue])
    return lines


def first(tables, cost, memory, count):
    """Of the settings with a flood, in how many each queue protects the users, and what it costs."""
    asked = [q for q in QUESTIONS if q.figure == "share"]
    names = [link(q) for q in asked]
    rows = []
    for queue in memory:
        kept = [
            sum(
                queue in good(q, {n: row[i] for n, row in tables[q.title].items()})
                for i in range(len(q.columns))
            )
            for q in asked
        ]
        rows.append((sum(kept), queue, kept))
    rows.sort(key=lambda row: (-row[0], cost[row[1]]))
    lines = [
        *pick(rows, cost, memory, count),
        "",
        "| queue | " + " | ".join(names) + " | of all | ns per packet | memory |",
    ]
    lines.append("|---" * (len(names) + 4) + "|")
    for whole, queue, kept in rows:
        cells = [f"{n} of {len(q.columns)}" for n, q in zip(kept, asked)]
        lines.append(
            f"| `{queue}` | "
            + " | ".join(cells)
            + f" | **{whole} of {count}** | {cost[queue]:.0f} | {short(memory[queue])} |"
        )
    return lines


def page(tables, cost, memory, seeds):
    """The whole of validation/tuned.md."""
    count = sum(len(q.columns) for q in QUESTIONS if q.figure == "share")
    lines = [
        "# The settings that presets were tuned on",
        "",
        "**In short.** Of the queues that do well in the most settings of a question, the four that cost least:",
        "",
        *answers(tables, cost, memory),
        "",
        "Some presets `auto` were tuned on these settings, so no praise follows from them. [Which queue for what](../docs/study/choosing.md)",
        "goes by the suites, and [unseen.md](unseen.md) by settings that nobody tuned on.",
        "",
        "**Who protects users at all.** A queue protects users in a setting if they keep",
        f"{PROTECTED:.0f} % of their fair share, and the worst of them {WORST:.0f} % of a fair share. Settings with a flood, by question:",
        "",
        *first(tables, cost, memory, count),
        "",
        f"**How this was made.** `make tuned` runs every queue in the simulator, {seeds} seeds of each setting, and writes this page.",
        "The link has 20 Mbit/s and a buffer of 100 ms. Users are connections of CUBIC with selective acknowledgements",
        "([the scenario](scenarios/tuned.toml)). Figures are means. The 95 % interval stands beside those that are",
        "uncertain by more than a tenth. [Real TCP](gateway.md) has judged the simulator.",
        "",
        "A packet's time is from [the benchmark](../papers/comparison/cost.csv) (`make cost`), the loop included. A thousand flows send",
        "twice a link of 10 Gbit/s there, and a queue with classes has a hundred. Memory is what the queue keeps on the link of this",
        "page besides packets.",
        "",
        "[attacks.md](attacks.md) has one flood from 1, 4, 16 or 64 sources, in the simulator and on the gate's path.",
        "",
    ]
    for question in QUESTIONS:
        lines += section(question, tables[question.title])
    return "\n".join(lines).rstrip() + "\n"


def catalog():
    """Every queue's name."""
    listed = subprocess.run(
        [str(TIDEGATE), "list", "--json"], capture_output=True, text=True, check=True
    ).stdout
    return [queue["name"] for queue in json.loads(listed)["queues"]]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each setting (5)")
    parser.add_argument("--queue", action="append", help="only this queue; nothing is written")
    args = parser.parse_args()
    queues = args.queue or catalog()
    cost = costs(queues)
    tables = {}
    for number, question in enumerate(QUESTIONS, 1):
        print(f"{number} of {len(QUESTIONS)}: {question.title}", file=sys.stderr, flush=True)
        tables[question.title] = measured(question, queues, args.seeds)
    text = page(tables, cost, states(queues), args.seeds)
    if args.queue:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
