"""A suite run from Python is the one that the command runs, with a queue written in Python beside ours."""

import json
import os
import subprocess

import pytest
import tidegate
from conftest import ROOT
from test_discipline import DropTail

COMMAND = os.environ.get("TIDEGATE", str(ROOT / "target/debug/tidegate"))


def test_it_says_what_the_command_says(tmp_path):
    done = tidegate.suite(
        "protection", ["drop_tail", "sfb"], tests="P1", quick=True, out=tmp_path / "out"
    )
    arguments = [
        "suite",
        "protection",
        "--quick",
        "--tests",
        "P1",
        "--queue",
        "drop_tail",
        "--queue",
        "sfb",
        "--json",
    ]
    told = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True).stdout
    assert json.loads(told) == done.document
    assert json.loads((tmp_path / "out/scores.json").read_text()) == done.document
    assert [queue["queue"] for queue in done.document["queues"]] == ["sfb", "drop_tail"]
    assert len(done.scores) == 2 * 2 and done.html.startswith("<!doctype html>")
    assert repr(done).startswith("protection/2\nsfb: ")


def test_a_queue_written_in_python_is_judged_as_the_catalogs():
    done = tidegate.suite("protection", [DropTail(), "drop_tail"], tests=["P2", "N"], quick=True)
    mine, ours = (
        [
            (cell["test"], cell["cell"], cell["figures"])
            for cell in done.document["cells"]
            if cell["queue"] == name
        ]
        for name in (DropTail().name, "drop_tail")
    )
    assert mine == ours and len(mine) == 3


def test_what_is_wrong_is_said():
    with pytest.raises(tidegate.ScenarioError, match="did you mean `protection`"):
        tidegate.suite("protecton")
    with pytest.raises(tidegate.ScenarioError, match="there is no such test"):
        tidegate.suite(tests="P99")
    with pytest.raises(tidegate.ScenarioError, match="did you mean `levels`"):
        tidegate.suite(queues="sfb,levls=2", quick=True, tests="P1")
    with pytest.raises(tidegate.QueueError):
        tidegate.suite(queues="sfb,,")
    with pytest.raises(ValueError, match="seeds = 1"):
        tidegate.suite(seeds=1)
    assert "protection" in dict(tidegate.suites())
