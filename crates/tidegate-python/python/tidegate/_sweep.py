"""`sweep`: a study, on this machine."""

from __future__ import annotations

import html
import os
import shutil
import sys
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _toml
from ._errors import TidegateWarning
from ._native import Published, Store, Table
from ._native import Study as Checked

Study = str | os.PathLike[str] | Mapping[str, Any]
Progress = Callable[[float, int, int], object]

# What messages call a study that is no file.
TEXT = "study.toml"


def sweep(
    study: Study,
    out: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    shard: str | None = None,
    csv: bool = False,
    progress: bool | Progress | None = None,
) -> StudyResult:
    """Runs a study: scenarios and queues over axes, with every seed.

    Does what ``tidegate sweep`` does, with the same store, tables and plots of the same bytes. Warns of
    a plot that cannot be. What is done is stored while it goes on, and only what is missing is run.
    Other Python threads run on meanwhile; Ctrl-C ends it, and what was done stays stored.

    Args:
        study: A file, as a path or text without line ends; TOML, as text with line ends; or a dict
            of what the TOML would say. Scenarios of the last two are found from the working directory.
        out: The directory of the results. Without it, a file's name with the ending ``.study``; for
            TOML and dicts a temporary one, which lives as long as what this returns.
        threads: How many to use; without it, one a core. The result is the same.
        shard: Run one part of several, as in ``"3/10"``. It goes into a folder of its own below
            ``out``, and has no tables: ``tidegate sweep merge`` puts the parts together.
        csv: Whether to write the tables as CSV, too.
        progress: A function of the fraction that is done, the replications done, and how many there
            are; or whether to draw a bar on standard error. Without it, if that is a terminal.

    Raises:
        ScenarioError: The study or one of its scenarios is wrong; ``problems`` has each place.
        StoreError: Another process works on the store, it is of another version, the disk is full.
    """
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError(f"threads = {threads}: must lie in 1 to 1024")
    checked = check(study)
    if shard is None:
        checked.drawable()
    place = Place(study, checked, out)
    store = Store(place.path, shard)
    try:
        with Listening(progress) as listener:
            run, had = store.sweep(checked, threads, shard, listener)
        published = store.publish(checked, csv, sys.orig_argv) if shard is None else None
        return StudyResult(checked, store.dir, run, had, published, place)
    finally:
        store.close()


class StudyResult:
    """What came of a study, and where it lies.

    Attributes:
        directory: Where its store and tables are.
        run: How many replications were run.
        had: How many were stored already.
        plots: The pictures that the study declares, as files in ``directory``.
        notes: What a reader of the pictures cannot see in them.
    """

    def __init__(
        self,
        study: Checked,
        directory: Path,
        run: int,
        had: int,
        published: Published | None,
        place: object,
    ) -> None:
        self.directory, self.run, self.had = Path(directory), run, had
        self.plots: list[Path] = []
        self._study, self._published, self._place = study, published, place
        self.notes: list[str] = []
        for plot, files, notes, refused in published.plots() if published else ():
            self.plots += [self.directory / file for file in files]
            self.notes += [f"plot {plot}: {note}" for note in notes]
            if refused:
                warnings.warn(f"plot {plot}: {refused}", TidegateWarning, stacklevel=3)

    @property
    def _tables(self) -> Published:
        if self._published is None:
            raise ValueError(
                "a part of a study has no tables; `tidegate sweep merge` makes them of all parts"
            )
        return self._published

    @cached_property
    def groups(self) -> Table:
        """A row for each cell, queue, group and seed. Every axis is a column, with its unit.

        Names end in their unit: ``_bps`` is bit/s, ``_ms`` milliseconds, ``_s`` seconds; a ratio is
        from 0 to 1. ``share`` is what the group received over its fair share.
        """
        return self._tables.groups()

    @cached_property
    def summary(self) -> Table:
        """The means over seeds: a row for each cell, queue and group.

        A figure is followed by ``…_ci95``, half the width of its 95 % interval.
        """
        return self._tables.summary()

    @cached_property
    def flows(self) -> Table:
        """A row for each flow and seed.

        Raises:
            ValueError: Flows were not kept; ask for them with ``flows = true`` in the study.
        """
        return self._tables.flows()

    def _rows(self) -> list[list[str]]:
        return self._published.answers() if self._published else []

    def _repr_html_(self) -> str:
        head, *rows = self._rows() or [[]]

        def row(cells: list[str], tag: str) -> str:
            return (
                "<tr>"
                + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
                + "</tr>\n"
            )

        body = "".join(row(cells, "td") for cells in rows)
        return f"<table>\n<thead>{row(head, 'th')}</thead>\n<tbody>{body}</tbody>\n</table>\n"

    def __repr__(self) -> str:
        rows = f", {self._published.rows} rows" if self._published else ""
        head = (
            f"{self._study.name}: {self._study.cells} cells{rows}; {self.run} replications run, "
            f"{self.had} stored before, in {self.directory}"
        )
        table = self._rows()
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in table
        ]
        return "\n".join([head, *lines, *self.notes])


class Place:
    """Where results go: a directory of the user's, or a temporary one that goes with this object."""

    def __init__(self, study: Study, checked: Checked, out: str | os.PathLike[str] | None) -> None:
        if out is not None:
            self.path = os.fspath(out)
        elif _is_text(study):
            temporary = tempfile.mkdtemp(prefix="tidegate-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            self.path = os.path.join(temporary, "study")
        else:
            self.path = f"{checked.name}.study"


def check(study: Study) -> Checked:
    """The study with every cell checked."""
    if isinstance(study, Mapping):
        return Checked(_toml.dumps(study), TEXT)
    if isinstance(study, str) and _is_text(study):
        return Checked(study, TEXT)
    return Checked.open(os.fspath(study))


def _is_text(study: Study) -> bool:
    return isinstance(study, Mapping) or (isinstance(study, str) and "\n" in study)


class Listening:
    """Whom to call with how far a study has come; the bar, if that is what is wanted."""

    def __init__(self, progress: bool | Progress | None) -> None:
        self._bar = None
        if callable(progress):
            self._listener: Progress | None = progress
        else:
            wanted = sys.stderr.isatty() if progress is None else progress
            self._listener = self._bar = _Bar() if wanted else None

    def __enter__(self) -> Progress | None:
        return self._listener

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.end()


class _Bar:
    """A bar on standard error with the time that is left."""

    WIDTH = 40

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._drawn = 0

    def __call__(self, fraction: float, done: int, of: int) -> None:
        if fraction <= 0:
            return
        fraction = min(fraction, 1.0)
        left = (time.monotonic() - self._begun) * (1 - fraction) / fraction
        full = int(self.WIDTH * fraction)
        bar = "█" * full + "░" * (self.WIDTH - full)
        line = f"{bar} {fraction:4.0%}  {done} of {of} done  {left:.0f} s left"
        print("\r" + line.ljust(self._drawn), end="", file=sys.stderr, flush=True)
        self._drawn = len(line)

    def end(self) -> None:
        """Takes the bar away."""
        if self._drawn:
            print("\r" + " " * self._drawn, end="\r", file=sys.stderr, flush=True)
