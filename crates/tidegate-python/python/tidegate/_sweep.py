"""`sweep`: a study over axes."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native, _toml
from ._errors import TidegateWarning
from ._native import Done, Table


class StudyResult:
    """The tables of a study that was run, and where they lie as Parquet."""

    def __init__(self, done: Done) -> None:
        self._done = done

    @property
    def directory(self) -> pathlib.Path:
        """The directory: the store, ``groups.parquet`` and ``summary.parquet``."""
        return self._done.directory

    @property
    def groups(self) -> Table:
        """A row for each cell, queue, group and seed. Axes are columns; units are in the metadata."""
        return self._done.groups

    @property
    def summary(self) -> Table:
        """A row for each cell, queue and group: means over seeds, each with half its 95 % interval."""
        return self._done.summary

    @property
    def flows(self) -> Table:
        """A row for each cell, queue, seed and flow.

        Raises:
            ValueError: Flows were not kept; the study must say ``flows = true``.
        """
        if self._done.flows is None:
            raise ValueError("flows were not kept; the study must say flows = true")
        return self._done.flows

    @property
    def plots(self) -> list[pathlib.Path]:
        """The pictures that the study declares, as files in `directory`."""
        return self._done.plots

    @property
    def notes(self) -> list[str]:
        """What a reader of the pictures cannot see in them."""
        return self._done.notes

    @property
    def run(self) -> int:
        """How many replications were run now; the store had the others."""
        return self._done.run

    def __repr__(self) -> str:
        d = self._done
        return (
            f"<tidegate.StudyResult {d.name}: {d.cells} cells, {len(d.groups)} rows; "
            f"{d.run} replications run, {d.had} stored before, in {d.directory}>"
        )


def sweep(
    study: str | os.PathLike[str] | Mapping[str, Any],
    directory: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    csv: bool = False,
    columns: Sequence[str] | None = None,
) -> StudyResult:
    """Runs a study: scenarios and queues over axes, with every seed.

    What is done is stored while it goes on. The same call, made again, runs only what is missing,
    also after Ctrl-C or after axes or seeds were added. Its plots are drawn; warns of one that cannot be.

    Args:
        study: A file, as a path or text without line ends; TOML, as text with line ends; or a dict
            of what the TOML would say. Scenarios are files beside it, or shipped ones.
        directory: Where results go; without it, the study's name with the ending ``.study``.
        threads: How many to use, from 1 to 1024; without it, one a core.
        csv: Whether the tables are written as CSV, too.
        columns: The columns to keep in memory, beside those that plots need; without it, all of
            them. The files have them all.

    Raises:
        ScenarioError: The study is wrong; ``problems`` has each place.
        OSError: The directory holds something else, is in use, or cannot be written.
    """
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError(f"threads = {threads}: must lie in 1 to 1024")
    if isinstance(study, Mapping):
        text, given = True, _toml.dumps(study)
    else:
        given = os.fspath(study)
        text = isinstance(study, str) and "\n" in study
    directory = None if directory is None else os.fspath(directory)
    columns = None if columns is None else list(columns)
    options = {"directory": directory, "threads": threads, "csv": csv, "columns": columns}
    done = _native.sweep(given, text, options)
    for why in done.refused:
        warnings.warn(why, TidegateWarning, stacklevel=2)
    return StudyResult(done)
