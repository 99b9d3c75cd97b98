"""What the package is built on, in Rust."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, final

VERSION: str

@final
class Table:
    """A table of results: a row for each observation, a column for each variable.

    It speaks the Arrow PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``pandas.DataFrame.from_arrow(table)`` and DuckDB's ``FROM table`` take it without a copy. Every
    field's metadata has its ``unit`` and what it is (``description``).
    """

    @property
    def columns(self) -> list[str]:
        """The columns' names, in order."""
    @property
    def units(self) -> dict[str, str]:
        """Each column's unit; empty for texts and pure numbers."""
    @property
    def descriptions(self) -> dict[str, str]:
        """What each column is, in one line."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Link:
    """The link that a queue is built for."""

    @property
    def rate(self) -> int:
        """Its rate, in bit/s."""
    @property
    def limit(self) -> int:
        """How much may wait: a number of `limit_unit`."""
    @property
    def limit_unit(self) -> Literal["packets", "bytes"]: ...
    @property
    def mean_packet(self) -> int:
        """The usual length of a packet, in bytes."""
    def has_room(self, packets: int, bytes: int, length: int) -> bool:
        """Whether one more packet of ``length`` bytes fits beside ``packets`` packets of ``bytes`` bytes."""

@final
class Packet:
    """A packet: what a queue knows of it."""

    @property
    def id(self) -> int:
        """Its number: of packets offered to one queue, no two have the same."""
    @property
    def flow(self) -> int:
        """Its flow, from 0 to 2**64 - 1: equal for all packets of a flow."""
    @property
    def bytes(self) -> int:
        """Its length on the wire, in bytes."""
    @property
    def class_(self) -> int:
        """Its class of service; queues without classes ignore it."""
    @property
    def arrived(self) -> int:
        """When it was offered to the queue, in ns."""
    @property
    def ecn(self) -> Literal["not_ect", "ect0", "ect1", "ce"]:
        """Its ECN codepoint; a mark makes it ``ce``."""
    @property
    def ecn_capable(self) -> bool:
        """Whether it can be marked."""

@final
class Fate:
    """What became of a packet that was dropped or marked."""

    @property
    def kind(self) -> Literal["dropped", "marked"]: ...
    @property
    def packet(self) -> Packet:
        """The packet that was offered, or a victim."""
    @property
    def reason(self) -> str:
        """``overlimit``, ``early``, ``forced``, ``bin_full``, ``penalty``, ``unfair`` or ``evicted``."""

@final
class Backlog:
    """What waits in a queue; a packet in transmission has left it."""

    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...

@final
class Queue:
    """A queue of the catalog, to be driven packet by packet.

    Times are whole nanoseconds, so that they are exact, and never run back. A hash of a flow's number,
    keyed by the seed, decides where the flow belongs, as everywhere in Tidegate.

    Args:
        queue: ``NAME[/PRESET][,param=value…]``, as in ``"sfb/paper,bins=46"``.
        rate: The link's rate, to which presets fit the queue, as in ``"10 Mbit/s"``.
        limit: How much may wait, as in ``"100 packets"`` or ``"125 kB"``.
        mean_packet: The usual length of a packet.
        seed: Seed of the queue's dice and of the hash of flows, from 0 to 2**64 - 1.

    Raises:
        QueueError: The queue or the link cannot be.
    """

    def __new__(
        cls, queue: str, *, rate: str, limit: str, mean_packet: str = "1000 B", seed: int = 1
    ) -> Queue: ...
    def enqueue(
        self,
        now: int,
        *,
        flow: int,
        bytes: int,
        ecn: Literal["not_ect", "ect0", "ect1", "ce"] = "not_ect",
        class_: int = 0,
    ) -> list[Fate]:
        """Offers a packet at ``now`` ns.

        Args:
            now: In ns, at least as late as in every earlier call.
            flow: The flow's number, from 0 to 2**64 - 1.
            bytes: The packet's length on the wire, from 20 to 65535 bytes.
            ecn: Its ECN codepoint.
            class_: Its class of service, from 0 to 65535.

        Returns:
            What was dropped or marked: the packet itself, or victims.

        Raises:
            ValueError: Time runs back, or the packet cannot be.
        """
    def dequeue(self, now: int) -> tuple[Packet | None, list[Fate]]:
        """Takes the packet to send at ``now`` ns.

        Returns:
            The packet, None for none; and what was dropped or marked on the way.
        """
    def advance(self, now: int) -> None:
        """Does the periodic work that has fallen due by ``now`` ns, while nobody offers or asks."""
    def probe(self) -> dict[str, float]:
        """The queue's inner state: a number for each gauge, in the paper's terms.

        The queue's page (`show`) says what each is and its unit.
        """
    @property
    def backlog(self) -> Backlog:
        """What waits."""
    @property
    def wake_at(self) -> int | None:
        """When to ask again, in ns, of a queue that holds packets back although the link is free."""
    @property
    def link(self) -> Link:
        """The link it was built for."""
    @property
    def params(self) -> dict[str, str]:
        """Every parameter with its value on this link, as text."""

@final
class Ledger:
    def drop(self, packet: Packet, why: str) -> None: ...
    def mark(self, packet: Packet, why: str) -> None: ...

@final
class Outcomes:
    def labels(self) -> list[str]: ...
    def json(self, index: int) -> str: ...
    def text(self, index: int | None = None, width: int | None = None) -> str: ...
    def html(self, index: int | None = None) -> str: ...
    def queues(self, index: int | None = None) -> Table: ...
    def groups(self, index: int | None = None) -> Table: ...
    def seeds(self, index: int | None = None) -> Table: ...
    def flows(self, index: int | None = None) -> Table: ...
    def series(self, index: int | None = None) -> Table: ...
    def report(self) -> str: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def resolved(self) -> str: ...
    def __len__(self) -> int: ...

@final
class Study:
    """A study whose every cell was read and checked.

    A case is a queue in a cell. Replications are triples: case, first seed, number of seeds.
    """

    MAKER: str
    """What results hang on: the version of the package and a hash of its sources."""

    def __init__(
        self, text: str, file: str, scenarios: Sequence[tuple[str, str, bytes]] | None = None
    ) -> None:
        """Reads TOML that messages call ``file``. Its scenarios are files beside it or shipped
        ones, unless ``scenarios`` has their names, files and bytes."""
    @staticmethod
    def open(path: str | os.PathLike[str]) -> Study: ...
    @property
    def name(self) -> str: ...
    @property
    def cells(self) -> int: ...
    @property
    def replications(self) -> int:
        """The most that it may need."""
    @property
    def planned(self) -> int:
        """Those that are sure to be needed."""
    def parts(self) -> tuple[str, str, list[tuple[str, str, bytes]]]:
        """What makes the same study on another machine: the arguments of `Study`."""
    def drawable(self) -> None: ...
    def weights(self) -> list[float]:
        """About how much work a replication of each case is, in no unit."""
    def seconds(self, replications: Sequence[tuple[int, int, int]]) -> float | None:
        """The seconds that a sample says these take on one thread; None of nothing."""
    def compute(self, replications: Sequence[tuple[int, int, int]]) -> tuple[bytes, bytes | None]:
        """Runs these one after the other; their rows, as two Parquet files: of groups, and of flows
        where the study keeps them."""

@final
class Store:
    """The store of a study in a directory. No other process can work on it until it is closed."""

    def __init__(self, dir: str | os.PathLike[str], shard: str | None = None) -> None: ...
    @property
    def dir(self) -> Path: ...
    def close(self) -> None: ...
    def missing(self, study: Study) -> list[tuple[int, int, int]]:
        """The replications that ``study`` needs and the store has not, as far as it is known."""
    def add(self, parts: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Stores what `Study.compute` gave, all of it at once or nothing."""
    def sweep(
        self,
        study: Study,
        threads: int | None = None,
        shard: str | None = None,
        progress: Callable[[float, int, int], object] | None = None,
    ) -> tuple[int, int]:
        """Runs what is missing. How many replications were run, and how many the store had."""
    def publish(self, study: Study, csv: bool, command: Sequence[str]) -> Published:
        """Writes the tables and draws the plots of what the store has, and how they came about."""

@final
class Published:
    """The tables of a study."""

    @property
    def rows(self) -> int:
        """How many the table of groups has."""
    @property
    def missing(self) -> int:
        """Replications that are not done."""
    def groups(self) -> Table: ...
    def summary(self) -> Table: ...
    def flows(self) -> Table: ...
    def answers(self) -> list[list[str]]: ...
    def plots(self) -> list[tuple[str, list[str], list[str], str | None]]: ...

@final
class Judged:
    """How queues did in a suite."""

    def json(self) -> str: ...
    def scores(self) -> Table: ...
    def groups(self) -> Table: ...
    def html(self) -> str: ...

def suites() -> list[tuple[str, str]]:
    """The suites that come with Tidegate, with their titles."""

def run_suite(
    name: str, options: dict[str, Any], progress: Callable[[float, int, int], object] | None
) -> Judged: ...
def run(
    scenario: str, text: bool, queues: bool | list[Any], options: dict[str, Any]
) -> tuple[Outcomes, list[str]]: ...
def replay(capture: str, options: dict[str, Any]) -> tuple[Outcomes, list[str]]: ...
def queues() -> str: ...
def scenarios() -> list[tuple[str, str]]: ...
def show(name: str, rate: str, limit: str, mean_packet: str) -> str: ...
