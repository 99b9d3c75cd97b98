"""What the tests share: a short scenario, and the command to compare with."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHORT = {"run.duration": "14 s"}


@pytest.fixture
def short():
    """Changes that make the shipped scenarios short."""
    return dict(SHORT)


@pytest.fixture(scope="session")
def command():
    """The command `tidegate`, as a function from arguments to its JSON."""
    # The wheel is built beside the command, of the same sources.
    path = os.environ.get("TIDEGATE", str(ROOT / "target/debug/tidegate"))

    def call(*arguments):
        done = subprocess.run(
            [path, *arguments, "--json"], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return call


def timeless(document):
    """A document without what differs from run to run."""
    return {key: value for key, value in document.items() if key != "wall_s"}
