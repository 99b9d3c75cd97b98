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
class Sender:
    """So many senders of datagrams, from one host to another."""

    name: str
    source: int  # hosts of each side are counted from 1
    target: int
    times: float  # what each sends, of the line
    count: int = 1


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
    back_rate: int = 0  # of the way back, where acknowledgements meet the queue; datagrams none
    front: str = ""  # then the queue that the connections' packets meet
    senders: tuple = ()  # in the open loop, in place of the usual four, all of one host to one other
    every_ms: int = 0  # how often connections say their state, for looking closer
    # Behind a gate in our words.
    queues: tuple = tuple(name for name, of in QUEUES.items() if not of.named)
    explained: dict = field(default_factory=dict)

    @property
    def hosts(self):
        """How many addresses each side has."""
        return max([1, *(max(of.source, of.target) for of in self.senders)])

    def flow_names(self):
        """What each of the senders' flows is called: a group's alone has its name."""
        number = lambda of, n: n + 1 if of.count > 1 else ""
        return [f"{of.name}{number(of, n)}" for of in self.senders for n in range(of.count)]


def ours(cell, queue):
    """Our words for what the cell calls so."""
    return queue if cell.loop == "gate" else QUEUES[queue].ours


def twin(cell):
    """The scenario that stands beside the cell."""
    if cell.loop == "open":
        return "linux-hosts.toml" if cell.senders else "linux-open.toml"
    return f"linux-{'closed' if cell.floods else 'l4s' if cell.scalable else 'tcp'}.toml"


def cell(name, of):
    """The cell that the table `of` describes."""
    senders = tuple(Sender(**sender) for sender in of.get("senders", []))
    return Cell(name, **{**of, "senders": senders})


CELLS = {name: cell(name, of) for name, of in ALL["cell"].items()}


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
