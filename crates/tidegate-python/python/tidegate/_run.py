"""`run`, `compare` and `replay`."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native, _toml
from ._discipline import Discipline
from ._errors import TidegateWarning
from ._results import Comparison, Result

Queue = str | Discipline
Scenario = str | os.PathLike[str] | Mapping[str, Any]


def run(
    scenario: Scenario,
    queue: Queue | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    flows: bool = False,
    threads: int | None = None,
) -> Result:
    """Simulates a scenario with one queue, once for every seed.

    The same seed gives the same result on any machine and with any number of threads. Other Python
    threads run on meanwhile, and Ctrl-C ends it.

    Args:
        scenario: A file, as a path or text without line ends; the name of a shipped scenario
            (see `scenarios`); TOML, as text with line ends; or a dict of what the TOML would say.
        queue: ``NAME[/PRESET][,param=value…][ as LABEL]``, as in ``"sfb/paper,bins=46"``. Without
            it, the watched link's own or the scenario's. Or a `Discipline`: a queue written in
            Python.
        set: Values to change, by path: ``{"run.duration": "30 s", "group.flood.rate": "20 Mbit/s"}``.
            None takes a key away.
        seeds: Number of replications, from 1 to 10000; without it, the scenario's own.
        seed: Seed of the first replication; the others take the next ones.
        flows: Whether to keep each flow, in `Result.flows` and the document.
        threads: How many to use; without it, one a core.

    Raises:
        ScenarioError: The scenario is wrong; ``problems`` has each place.
        QueueError: The queue is wrong.
        Exception: What a queue written in Python raised.
    """
    queues = False if queue is None else [_queue(queue)]
    return _simulate(scenario, queues, set, seeds, seed, flows, threads)[0]


def compare(
    scenario: Scenario,
    queues: Sequence[Queue] | Queue | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    flows: bool = False,
    threads: int | None = None,
) -> Comparison:
    """Simulates a scenario with several queues, each with the same traffic and seeds.

    Args:
        queues: The queues, as in `run`; without them, those that the scenario compares.

    The other arguments and the errors are those of `run`.
    """
    given = True if queues is None else _queues(queues)
    return _simulate(scenario, given, set, seeds, seed, flows, threads)


def replay(
    capture: str | os.PathLike[str],
    rate: str,
    queues: Sequence[str] | str,
    *,
    limit: str | None = None,
    mean_packet: str = "1000 B",
    flow_key: str = "five-tuple",
    seed: int = 1,
    listed: int = 1000,
) -> Comparison:
    """Offers the packets of a capture to queues, at their recorded times.

    The senders of a capture do not react: a replay shows what a queue would have done to this
    traffic. Memory does not grow with the file. Warns where a part of the capture cannot be read.

    Args:
        capture: A pcap or pcapng file, perhaps packed by gzip.
        rate: The link's rate, as in ``"10 Mbit/s"``.
        queues: The queues, as in `run`; at least one.
        limit: How much may wait, as ``"125 kB"`` or ``"100 packets"``; without it, what the link
            sends in 100 ms.
        mean_packet: The usual length of a packet, which turns bytes into packets and back.
        flow_key: ``five-tuple``, ``source``, ``destination``, ``pair`` or ``source-prefix/N``.
        seed: Seed of the queue's dice and of the flow hash.
        listed: How many flows to list, those that offered most; the others are summed up as one.

    Raises:
        QueueError: A queue or the link is wrong.
        CaptureError: The capture cannot be read at all, or holds no packet.
        OSError: There is no such file, or it may not be read.
    """
    with open(capture, "rb"):
        pass
    texts = _queues(queues)
    if any(isinstance(queue, Discipline) for queue in texts):
        raise TypeError("a queue written in Python can only be simulated")
    options = {
        "rate": rate,
        "queues": texts,
        "limit": limit,
        "mean_packet": mean_packet,
        "flow_key": flow_key,
        "seed": seed,
        "listed": listed,
        "command": sys.orig_argv,
    }
    outcomes, notes = _native.replay(os.fspath(capture), options)
    return _told(Comparison(outcomes), notes)


def _simulate(
    scenario: Scenario,
    queues: bool | list[Queue],
    set: Mapping[str, Any] | None,
    seeds: int | None,
    seed: int | None,
    flows: bool,
    threads: int | None,
) -> Comparison:
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError(f"threads = {threads}: must lie in 1 to 1024")
    sets = [(path, _set(path, of)) for path, of in (set or {}).items()]
    sets += [
        (f"run.{key}", str(of)) for key, of in (("seeds", seeds), ("seed", seed)) if of is not None
    ]
    options = {"sets": sets, "flows": flows, "threads": threads, "command": sys.orig_argv}
    outcomes, notes = _native.run(*_text(scenario), queues, options)
    return _told(Comparison(outcomes), notes)


def _text(scenario: Scenario) -> tuple[str, bool]:
    """The scenario as text, and whether that is TOML rather than a path or a name."""
    if isinstance(scenario, Mapping):
        return _toml.dumps(scenario), True
    if isinstance(scenario, str):
        return scenario, "\n" in scenario
    return os.fspath(scenario), False


def _set(path: str, of: Any) -> str:
    """A value as an override has it: bare text, or TOML."""
    if of is None:
        return ""
    return of if isinstance(of, str) else _toml.value(of, path)


def _queue(queue: Queue) -> Queue:
    if not isinstance(queue, (str, Discipline)):
        raise TypeError(f"a queue must be text, as in 'sfb/paper', or a Discipline, not {queue!r}")
    return queue


def _queues(queues: Sequence[Queue] | Queue) -> list[Queue]:
    return [
        _queue(queue) for queue in ([queues] if isinstance(queues, (str, Discipline)) else queues)
    ]


def _told(result: Comparison, notes: Sequence[str]) -> Comparison:
    for note in notes:
        warnings.warn(note, TidegateWarning, stacklevel=4)
    return result
