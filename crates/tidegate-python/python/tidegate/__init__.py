"""Simulate, compare and replay bottleneck queues.

>>> import tidegate
>>> both = tidegate.compare("flood", queues=["drop_tail", "sfb"], set={"run.duration": "20 s"})
>>> both["sfb"].document["aggregate"]["utilization"]["mean"] > 0.9
True


`run` and `compare` simulate, `sweep` runs a study of many cells, `suite` published tests, `replay` takes
the packets of a capture. A scenario is a file, a shipped name, TOML or a dict. `Queue` is a queue to be driven packet by
packet, `Discipline` the base class of a queue written in Python. Every quantity has its unit: rates in
bit/s, times in s or ms as the column's name or metadata says, lengths in bytes. `docs/study/python.md`
is the guide.
"""

from ._discipline import Discipline
from ._errors import CaptureError, Problem, QueueError, ScenarioError, StoreError, TidegateWarning
from ._native import VERSION as __version__
from ._native import Backlog, Fate, Link, Packet, Queue, Table, suites
from ._results import Comparison, Result
from ._run import compare, replay, run
from ._show import Page, queues, scenarios, show
from ._suite import SuiteResult, suite
from ._sweep import StudyResult, sweep

__all__ = [
    "Backlog",
    "CaptureError",
    "Comparison",
    "Discipline",
    "Fate",
    "Link",
    "Packet",
    "Page",
    "Problem",
    "Queue",
    "QueueError",
    "Result",
    "ScenarioError",
    "StoreError",
    "StudyResult",
    "SuiteResult",
    "Table",
    "TidegateWarning",
    "__version__",
    "compare",
    "queues",
    "replay",
    "run",
    "scenarios",
    "show",
    "suite",
    "suites",
    "sweep",
]
