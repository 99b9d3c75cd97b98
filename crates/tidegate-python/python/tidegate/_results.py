"""What came of a run: a document, tables, and a look at them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from ._native import Outcomes, Table


class _Tables:
    """The tables of one result or of several."""

    _outcomes: Outcomes
    _index: int | None

    @cached_property
    def queues(self) -> Table:
        """A row for each queue: all flows together, and how the queue fared.

        A column that is a mean over seeds is followed by ``…_ci95``, half the width of its 95 %
        interval. Names end in their unit: ``_bps`` is bit/s, ``_ms`` milliseconds, ``_s`` seconds;
        a ratio is from 0 to 1.
        """
        return self._outcomes.queues(self._index)

    @cached_property
    def groups(self) -> Table:
        """A row for each queue and group of flows; columns as in `queues`."""
        return self._outcomes.groups(self._index)

    @cached_property
    def seeds(self) -> Table:
        """A row for each queue, group and seed: what each replication says, for tests and box plots."""
        return self._outcomes.seeds(self._index)

    @cached_property
    def flows(self) -> Table:
        """A row for each queue and flow: rates in bit/s, delays in ms.

        Raises:
            ValueError: Flows were not kept; ask for them with ``flows=True``.
        """
        table = self._outcomes.flows(self._index)
        if len(table) == 0:
            raise ValueError("flows were not kept; ask for them with flows=True")
        return table

    @cached_property
    def series(self) -> Table:
        """A row for each queue, line and point of time, from the first seed.

        ``time`` is in s since the start, warm-up included. ``quantity`` is ``queue``, ``delay``,
        ``throughput``, ``loss`` or ``gauge`` (the queue's inner state); ``unit`` is that of
        ``value``. At the step of ``run.series``.
        """
        return self._outcomes.series(self._index)

    def _repr_html_(self) -> str:
        return self._outcomes.html(self._index)

    def __repr__(self) -> str:
        return self._outcomes.text(
            self._index, shutil.get_terminal_size((100, 24)).columns
        ).rstrip()


class Result(_Tables):
    """What one queue did to the traffic."""

    def __init__(self, outcomes: Outcomes, index: int) -> None:
        self._outcomes, self._index = outcomes, index
        self._at = index

    @property
    def label(self) -> str:
        """What this result is called beside others; by default the queue's own text."""
        return self._outcomes.labels()[self._at]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document by the schema ``tidegate.result/1``, as the command's ``--json`` prints it.

        A figure is a dict of ``mean`` over the seeds and ``ci95``, half the width of its 95 %
        interval (None for one seed).
        """
        return json.loads(self._outcomes.json(self._at))


class Comparison(_Tables, Sequence[Result]):
    """Results of several queues under the same traffic, by place or by label."""

    _index = None

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._results = [Result(outcomes, index) for index in range(len(outcomes))]

    @property
    def labels(self) -> list[str]:
        """What each result is called, in order."""
        return self._outcomes.labels()

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The document of each result, in order; see `Result.document`."""
        return [result.document for result in self._results]

    def report(self) -> str:
        """The report, one page of HTML that works offline."""
        return self._outcomes.report()

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the result directory that the command's ``--out`` writes, whole or not at all.

        Args:
            directory: It does not exist, is empty, or holds an earlier result to be replaced.

        Raises:
            OSError: It holds something else, or cannot be written.
        """
        self._outcomes.save(os.fspath(directory))

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @overload
    def __getitem__(self, key: int | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Result]: ...
    def __getitem__(self, key):
        if isinstance(key, str):
            try:
                return self._results[self.labels.index(key)]
            except ValueError:
                raise KeyError(f"no result is called {key!r}; those are {self.labels}") from None
        return self._results[key]
