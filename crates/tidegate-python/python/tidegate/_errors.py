"""Exceptions and warnings of the package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Attributes:
        file: The file, ``scenario.toml`` for text or a dict; None for a value given by ``set``.
        line: The line, from 1; None where no line is concerned.
        column: The column where the value begins, from 1, in characters; None as for ``line``.
        field: The field's path, as in ``group.flood.rate``; empty where none is concerned.
        value: The value as it was written; empty where there is none.
        why: What is wrong, what would be right and, where one can guess it, what was meant.
    """

    file: str | None
    line: int | None
    column: int | None
    field: str
    value: str
    why: str


class ScenarioError(ValueError):
    """A scenario that cannot be. Its text is the command's: the line, with a caret below the place.

    Attributes:
        problems: Everything that was found wrong, in the order of the file; at least one.
    """

    problems: tuple[Problem, ...]

    def __init__(self, message: str, problems: list[tuple] | tuple[Problem, ...]) -> None:
        super().__init__(message)
        self.problems = tuple(p if isinstance(p, Problem) else Problem(*p) for p in problems)

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.problems)


class QueueError(ValueError):
    """A queue, or the link it is built for, that cannot be.

    Attributes:
        field: What is wrong: ``queue``, a parameter's name, ``rate``, ``limit`` …
        value: Its value, as text.
        why: The bound that it breaks, or what was expected.
    """

    field: str
    value: str
    why: str

    def __init__(self, message: str, field: str = "", value: str = "", why: str = "") -> None:
        super().__init__(message)
        self.field, self.value, self.why = field, value, why

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.field, self.value, self.why)


class CaptureError(ValueError):
    """A capture that cannot be read, or holds no packet."""


class StoreError(OSError):
    """The store of a study refuses or fails: another process works on it, it is of another version,
    the disk is full. What was stored before is whole."""


class TidegateWarning(UserWarning):
    """Something odd about a scenario or capture; there is a result all the same."""
