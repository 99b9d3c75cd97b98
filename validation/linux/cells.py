"""The set-ups of cells.toml, for the kernel and for what stands beside it."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FRAME = 1514  # bytes
USERS, FLOOD = (
    1 / 5,
    3,
)  # of the line: each of three datagram senders in the open loop, and the flood in both
ALL = tomllib.loads((Path(__file__).parent / "cells.toml").read_text())


@dataclass(frozen=True)
class Queue:
    """What `tc` is told, and our queue's words."""

    tc: str
    ours: str
    classes: bool = False  # a class for each flow, by source port
    shapes: bool = False  # at the line's rate, so that nothing else does
    netlink: bool = False  # load.c asks for it, since tc does not know it
    named: bool = False  # only in cells that name it


QUEUES = {name: Queue(**of) for name, of in ALL["queue"].items()}


@dataclass(frozen=True)
class Cell:
    """A set-up: the line, and who sends. Times in seconds from the cell's beginning."""

    name: str
    loop: str  # open; closed; gate: closed, with our queue in a gate in place of the kernel's
    rate: int = 20_000_000
    delay_ms: int = 20  # each way
    connections: int = 4
    control: str = "cubic"
    tcp_ecn: bool = False
    scalable: int = 0  # connections of dctcp beside them, whose packets are ECT(1)
    floods: int = 1
    times: float = FLOOD  # what floods send together, of the line
    flood_frame: int = FRAME
    flood_begins: float = 1
    spread_ms: int = 10  # within which connections begin
    warmup: float = 5
    duration: float = 25
    user_ecn: int = 0  # the code point of datagrams
    flood_ecn: int = 0
    user_dscp: int = 0
    every_ms: int = 0  # how often connections say their state, for looking closer
    # Behind a gate in our words.
    queues: tuple = tuple(name for name, of in QUEUES.items() if not of.named)
    explained: dict = field(default_factory=dict)


def ours(cell, queue):
    """Our words for what the cell calls so."""
    return queue if cell.loop == "gate" else QUEUES[queue].ours


def twin(cell):
    """The scenario that stands beside the cell."""
    if cell.loop == "open":
        return "linux-open.toml"
    return f"linux-{'closed' if cell.floods else 'l4s' if cell.scalable else 'tcp'}.toml"


CELLS = {name: Cell(name, **of) for name, of in ALL["cell"].items()}


TENTH = 0.1  # of a fair share; a connection that gets less starves


def starved(run):
    """How many of the shares of a run are of connections that starve."""
    return sum(share < TENTH for share in run)


def shares(rows, cell):
    """By queue, of each run of a cell of the closed loop: what each connection got of a fair share."""
    connections = cell.connections + cell.scalable
    fair = cell.rate / (connections + cell.floods)
    found = {}
    for row in rows:
        if row["cell"] == cell.name:
            got = found.setdefault(row["queue"], {}).setdefault(row["run"], [])
            if not row["flow"].startswith("flood"):
                got.append(float(row["throughput_bps"]) / fair)
    # Who got nothing at all has no line.
    silent = lambda got: [0.0] * (connections - len(got))
    return {queue: [got + silent(got) for got in runs.values()] for queue, runs in found.items()}
