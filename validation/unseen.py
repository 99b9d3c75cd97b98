#!/usr/bin/env python3
"""Writes validation/unseen.md: what every queue does in settings that no preset was tuned on, and without an attack.

usage: unseen.py [--seeds N] [--queue NAME …]     build first; `make unseen` does both

Presets were tuned on some settings of validation/tuned.md. Here are others: other rates, crowds and floods, and a lone connection.
The presets were frozen before. With --queue only those queues run, and nothing is written.
Python's standard library only.
"""

import argparse
import pathlib
import sys
from dataclasses import dataclass

from tuned import (
    BASE,
    PROTECTED,
    WORST,
    catalog,
    grouped,
    scaled,
    share,
    toml,
    transfer,
    worst,
)

PAGE = pathlib.Path(__file__).resolve().parent / "unseen.md"
# Greatest loss of a thin sender's packets, in per cent.
THIN = 2.0
# Least goodput of a lone connection, in per cent of the line; and beside a thin sender.
ALONE, BESIDE = 95.0, 90.0
# Shows what a line gives where it is less.
PLAIN = "drop_tail"
# The 95th percentile of transfers is good up to so many times the best queue's.
NEAR = 2.0


@dataclass(frozen=True)
class Setting:
    """One line with its crowd."""

    name: str
    set: tuple
    senders: int = 0  # flooding at a time, where not all of the group do: fair is the line's part of users and these
    figure: str = "share"  # share, transfer
    scenario: str = BASE


def line(rate, users, floods, total, more=(), buffer=100, delays=None):
    """`rate` Mbit/s with so many users and floods, which send `total` times the line together."""
    words = [
        f"network.rate={rate} Mbit/s",
        f"network.limit={int(rate * 125 * buffer)} B",
        f"group.users.count={users}",
    ]
    words += [
        f"group.flood.count={floods or 1}",
        f"group.flood.rate={int(rate * total * 1e6 / floods) if floods else 1000} bit/s",
    ]
    if delays:
        words.append("group.users.access_delay=[" + ", ".join(f'"{ms} ms"' for ms in delays) + "]")
    return (*words, *more)


def pulses(on, off, start="0 s"):
    """Floods that send for `on` and are silent for `off`."""
    return (
        "group.flood.source=on_off",
        "group.flood.jitter=",
        f"group.flood.on={on}",
        f"group.flood.off={off}",
        f"group.flood.start={start}",
    )


ECN = ("group.users.ecn=on", "group.flood.ecn=on")
ENDLESS = tuple(
    Setting(name, words, *senders)
    for name, words, *senders in (
        ("2 Mbit/s, 3 users, a flood of 1.5 × the line", line(2, 3, 1, 1.5, buffer=200)),
        ("2 Mbit/s, 10 users, 5 floods of 3 ×", line(2, 10, 5, 3, buffer=200)),
        (
            "5 Mbit/s, 12 far users, a flood of 1.2 ×",
            line(5, 12, 1, 1.2, delays=(20, 60, 100, 140)),
        ),
        ("30 Mbit/s, 10 near users, a flood of 3 ×", line(30, 10, 1, 3, delays=(0, 1, 2))),
        ("50 Mbit/s, 60 users, 10 floods of 1.5 ×", line(50, 60, 10, 1.5)),
        ("50 Mbit/s, 30 users, 40 floods of 4 ×", line(50, 30, 40, 4)),
        ("100 Mbit/s, 50 users, a flood of 1.1 ×", line(100, 50, 1, 1.1)),
        ("100 Mbit/s, 150 users, 20 floods of 3 ×", line(100, 150, 20, 3)),
        ("155 Mbit/s, 300 users, 40 floods of 2 ×", line(155, 300, 40, 2)),
        ("300 Mbit/s, 100 users, 5 floods of 2 ×", line(300, 100, 5, 2)),
        ("1 Gbit/s, 200 users, 150 floods of 2 ×", line(1000, 200, 150, 2)),
        ("1 Gbit/s, 300 users, a flood of 2 ×", line(1000, 300, 1, 2)),
        (
            "30 Mbit/s, 12 users, a flood of 2 × in packets of 200 B",
            line(30, 12, 1, 2, ("group.flood.packet=200 B",)),
        ),
        (
            "12 Mbit/s, 25 users of SACK, a flood of 2 ×",
            line(12, 25, 1, 2, ("group.users.source=sack", "group.users.packet=1000 B")),
        ),
        (
            "30 Mbit/s, 15 users, pulses of 2 ×: 200 ms of every second",
            line(30, 15, 1, 2, pulses("200 ms", "800 ms")),
            1,
        ),
        (
            "8 Mbit/s, 8 users, ten in step, 3 ×: 100 ms of every 1.2 s",
            line(8, 8, 10, 3, pulses("100 ms", "1100 ms")),
            10,
        ),
        (
            "30 Mbit/s, 15 users, a new flood of 1 × every 300 ms",
            line(30, 15, 100, 100, pulses("300 ms", "29.7 s", "uniform(0 s, 30 s)")),
            1,
        ),
        (
            "80 Mbit/s, 40 users, five new floods of .2 × every 500 ms",
            line(80, 40, 300, 60, pulses("500 ms", "29.5 s", "uniform(0 s, 30 s)")),
            5,
        ),
        ("30 Mbit/s, 12 users with ECN, a flood of 2 × that lies", line(30, 12, 1, 2, ECN)),
        ("100 Mbit/s, 40 users with ECN, 10 floods of 2 × that lie", line(100, 40, 10, 2, ECN)),
        ("2 Mbit/s, 5 users, no flood", line(2, 5, 0, 0)),
        ("30 Mbit/s, 12 users near and far, no flood", line(30, 12, 0, 0, delays=(1, 20, 60, 90))),
        ("200 Mbit/s, 100 users, no flood", line(200, 100, 0, 0)),
    )
)
WEB = tuple(
    Setting(name, words, figure="transfer", scenario="tuned-web.toml")
    for name, words in (
        ("30 Mbit/s, 300 people fetch objects, a flood of 2 ×", line(30, 300, 1, 2)),
        ("30 Mbit/s, 300 people fetch objects, 8 floods of 3 ×", line(30, 300, 8, 3)),
        ("5 Mbit/s, 60 people fetch objects, no flood", line(5, 60, 0, 0)),
    )
)
SETTINGS = ENDLESS + WEB


def alone(rate, rtt):
    """One connection, and a flood that sleeps."""
    ends = max(0, rtt / 2 - 10)
    long = max(60, rtt * 4 // 5)
    return (
        f"network.delay={min(10, rtt / 2)} ms",
        f"group.users.access_delay={ends} ms",
        "network.access_rate=10 Gbit/s",
        f"run.duration={long} s",
        f"run.warmup={long // 4} s",
        *line(rate, 1, 0, 0),
    )


LONE = tuple(
    (f"{rate} Mbit/s, {rtt} ms", alone(rate, rtt))
    for rate in (2, 50, 400)
    for rtt in (5, 40, 100, 300)
)
CALLS = tuple(
    (
        f"{rate} Mbit/s, {rtt} ms, {thin} kbit/s",
        (
            *alone(rate, rtt),
            "group.flood.source=cbr",
            f"group.flood.rate={thin} kbit/s",
            "group.flood.packet=200 B",
            "group.flood.jitter=0.5",
            "run.duration=60 s",
            "run.warmup=10 s",
        ),
    )
    for rate, rtt, thin in (
        (2, 40, 20),
        (10, 40, 64),
        (50, 40, 200),
        (50, 100, 200),
        (400, 40, 100),
    )
)


def means(name, sets, queues, seeds, scenario=BASE):
    """What comes of a setting, by queue: each group's means."""
    print(f"  {name}", file=sys.stderr, flush=True)
    # A later word for a path holds, as on the command line.
    own = dict(word.split("=", 1) for word in sets)
    lines = ["[set]", *(f"{path} = {toml(value)}" for path, value in own.items())]
    found = grouped(scenario, queues, seeds, lines)
    return {queue: found[queue, 0] for queue in queues}


def number(setting, key):
    """The number that is set for `key` in a setting."""
    return (
        next(word for word in setting.set if word.startswith(key + "=")).split("=")[1].split(" ")[0]
    )


def protects(queues, seeds):
    """By setting and queue: text, whether it protects, how many starve."""
    table = {}
    for setting in SETTINGS:
        of = means(setting.name, setting.set, queues, seeds, setting.scenario)
        if setting.figure == "transfer":
            figures = {queue: transfer(of[queue]["users"]) for queue in queues}
            best = min((f[0] for f in figures.values() if f), default=0)
            table[setting.name] = {
                q: ("–", False) if f is None else (f"{f[0]:.0f} ms", f[0] <= NEAR * best)
                for q, f in figures.items()
            }
            continue
        table[setting.name] = {}
        for queue in queues:
            users = of[queue]["users"]
            mean, ci95 = share(users)
            least, starved = worst(users)[0], float(users["starved"] or 0.0)
            if setting.senders:
                count, rate = (
                    float(number(setting, key)) for key in ("group.users.count", "network.rate")
                )
                # The table's fair share is of all users together.
                by = (
                    float(users["fair_share_bps"])
                    / count
                    * (count + setting.senders)
                    / (rate * 1e6)
                )
                # Who gets less than a tenth of this share, the table does not count.
                mean, ci95, least, starved = mean * by, ci95 * by, least * by, 0.0
            text = f"{mean:.0f} / {least:.0f}" + (
                f" / {starved:.{0 if starved >= 9.95 else 1}f}" if starved else ""
            )
            table[setting.name][queue] = (text, mean - ci95 >= PROTECTED and least >= WORST)
    return table


def harms(queues, seeds):
    """The lone connection's share of its line and, beside a thin sender, what is left of both; by setting and queue."""
    table = {}
    for name, sets in LONE:
        rate = float(name.split()[0]) * 1e4
        of = means(name, sets, list(dict.fromkeys([*queues, PLAIN])), seeds)
        got = {
            queue: scaled(groups["users"], "goodput_bps", 1 / rate)[0]
            for queue, groups in of.items()
        }
        enough = min(ALONE, got[PLAIN] - 1)
        table[name] = {queue: (f"{got[queue]:.0f}", got[queue] >= enough) for queue in queues}
    for name, sets in CALLS:
        table[name] = {}
        rate = float(name.split()[0]) * 1e4
        for queue, groups in means(name, sets, queues, seeds).items():
            got = scaled(groups["users"], "goodput_bps", 1 / rate)[0]
            lost = 100 * float(groups["flood"]["loss_ratio"])
            table[name][queue] = (f"{got:.0f} / {lost:.1f}", got >= BESIDE and lost <= THIN)
    return table


def tables(title, why, table, queues):
    """A table with a row for each setting, and how many each queue passes first."""
    passed = {queue: sum(row[queue][1] for row in table.values()) for queue in queues}
    order = sorted(queues, key=lambda queue: (-passed[queue], queues.index(queue)))
    lines = [f"## {title}", "", why, "", "| queue | passes, of " + f"{len(table)} |", "|---|---|"]
    lines += [f"| `{queue}` | {passed[queue]} |" for queue in order]
    for some in (order[: len(order) // 2], order[len(order) // 2 :]):
        if some:
            lines += [
                "",
                "| setting | " + " | ".join(f"`{q}`" for q in some) + " |",
                "|---" * (len(some) + 1) + "|",
            ]
            for name, row in table.items():
                cells = [f"**{row[q][0]}**" if row[q][1] else row[q][0] for q in some]
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each setting (3)")
    parser.add_argument("--queue", action="append", help="only this queue; nothing is written")
    args = parser.parse_args()
    queues = args.queue or catalog()
    protected, harmed = protects(queues, args.seeds), harms(queues, args.seeds)
    lines = [
        "# Settings that no preset was tuned on",
        "",
        "Written by `make unseen`. Every queue has its preset `auto`, frozen before this page was made.",
        "Presets that changed after these settings had been seen: `purge` (`weigh`, `spare`); new since: `tide`.",
        "The figures of these two prove nothing new: they were known when the presets were chosen.",
        "[tuned.md](tuned.md) has the settings that some presets were tuned on.",
        "",
        *tables(
            "Protection",
            "Each cell: users' goodput in % of their fair share / the worst user's / how many users got less than a tenth, where any did. "
            f"A bold cell passes: users keep {PROTECTED:.0f} % at the lower end of the 95 % interval, and the worst user {WORST:.0f} %. "
            f"With transfers: the time within which 95 of 100 finish; bold is up to {NEAR:.0f} times the best queue's. "
            f"Means of {args.seeds} seeds. A flood of 2 × offers twice the line's rate, all its senders together.",
            protected,
            queues,
        ),
        *tables(
            "Harm without an attack",
            "One connection of CUBIC, and one packet from somebody else every twelve seconds. "
            f"Each cell: what the connection gets of its line in %. It passes at {ALONE:.0f}, or at drop-tail's figure less one. "
            "Where a third figure names the setting, a thin sender of datagrams at that rate shares the line. "
            f"Then {BESIDE:.0f} % of the line passes, with up to {THIN:.0f} % of the thin sender's packets lost. "
            "The time after the rate is the round trip; the buffer holds 100 ms.",
            harmed,
            queues,
        ),
    ]
    if args.queue:
        print("\n".join(lines))
    else:
        PAGE.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
