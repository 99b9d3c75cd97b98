"""Simulate, compare and replay bottleneck queues.

>>> import tidegate
>>> both = tidegate.compare("flood", queues=["drop_tail", "sfb"], set={"run.duration": "20 s"})
>>> both["sfb"].document["aggregate"]["utilization"]["mean"] > 0.9
True

`run` and `compare` simulate, `replay` takes the packets of a capture. A scenario is a file, a shipped
name, TOML or a dict. Every quantity has its unit: rates in bit/s, times in s or ms as the column's name
or metadata says, lengths in bytes. `docs/study/python.md` is the guide.
"""

from ._errors import CaptureError, Problem, QueueError, ScenarioError, TidegateWarning
from ._native import VERSION as __version__
from ._native import Table
from ._results import Comparison, Result
from ._run import compare, replay, run
from ._show import Page, queues, scenarios, show

__all__ = [
    "CaptureError",
    "Comparison",
    "Page",
    "Problem",
    "QueueError",
    "Result",
    "ScenarioError",
    "Table",
    "TidegateWarning",
    "__version__",
    "compare",
    "queues",
    "replay",
    "run",
    "scenarios",
    "show",
]
