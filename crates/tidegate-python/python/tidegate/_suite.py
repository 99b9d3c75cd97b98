"""`suite`: published tests of queues."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ._native import Judged, Table, run_suite
from ._run import Queue, _queues
from ._sweep import Listening, Progress


def suite(
    name: str | os.PathLike[str] = "protection",
    queues: Sequence[Queue] | Queue | None = None,
    *,
    tests: Sequence[str] | str = (),
    quick: bool = False,
    seeds: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
) -> SuiteResult:
    """Runs a suite: published tests that every queue meets.

    Does what ``tidegate suite`` does. Ctrl-C ends it; with ``out``, what was done stays stored.

    Args:
        name: A suite that comes with Tidegate (see `suites`), or the path of a ``suite.toml``.
        queues: The queues, as in `run`, also written in Python; without them, every one of the catalog.
        tests: Only these, as in ``["P1", "P3"]``.
        quick: Few and short replications of a part of the cells.
        seeds: Number of replications, from 2 to 10000; without it, the suite's own.
        out: A directory for page, scores, tables and store; the same call goes on from what is there.
        progress: As in `sweep`.

    Raises:
        ScenarioError: The suite or one of its scenarios is wrong, there is no such suite or test, or a
            queue cannot be on its line.
        QueueError: A queue's text is none, or two have the same label.
        StoreError: The directory holds other things, or results of another version.
        Exception: What a queue written in Python raised.
    """
    if seeds is not None and not 2 <= seeds <= 10_000:
        raise ValueError(f"seeds = {seeds}: must lie in 2 to 10000")
    options = {
        "queues": None if queues is None else _queues(queues),
        "tests": [tests] if isinstance(tests, str) else list(tests),
        "quick": quick,
        "seeds": seeds,
        "out": None if out is None else os.fspath(out),
        "command": sys.orig_argv,
    }
    with Listening(progress) as listener:
        return SuiteResult(run_suite(os.fspath(name), options, listener))


class SuiteResult:
    """How queues did in a suite."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged

    @cached_property
    def document(self) -> dict[str, Any]:
        """``tidegate.suite/1``: ``queues``, the best first, and ``cells`` with every figure."""
        document: dict[str, Any] = json.loads(self._judged.json())
        return document

    @cached_property
    def scores(self) -> Table:
        """A row for each cell and queue. A figure is followed by ``…_ci95``, half its 95 % interval."""
        return self._judged.scores()

    @cached_property
    def groups(self) -> Table:
        """A row for each cell, queue, seed and group."""
        return self._judged.groups()

    @cached_property
    def html(self) -> str:
        """The page: one file that loads nothing."""
        return self._judged.html()

    def __repr__(self) -> str:
        document = self.document
        lines = [f"{document['suite']}/{document['version']}"]
        if document["bound"] is None:
            return f"{lines[0]}: {len(document['cells'])} cells and queues measured"
        for queue in document["queues"]:
            tests = "  ".join(f"{test['test']} {test['sure']:.2f}" for test in queue["tests"])
            lines.append(
                f"{queue['queue']}: {queue['passed']} of {queue['of']} cells passed;  {tests}"
            )
        return "\n".join(lines)
