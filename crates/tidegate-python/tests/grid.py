"""A small study, and the command that runs it."""

import os
import subprocess

from conftest import ROOT

# Two rates, two numbers of users, two queues, three seeds: 24 replications.
GRID = """\
scenario = "small.toml"
queues = ["drop_tail", "blue as BLUE"]
seeds = 3
flows = true
[set]
group.flood.rate = "0.5 × network.rate"
[axes]
network.rate = ["1 Mbit/s", "3 Mbit/s"]
group.tcp.count = [1, 3]
"""

SMALL = """\
[run]
duration = "2 s"
warmup = "1 s"
[network]
rate = "2 Mbit/s"
limit = "30 packets"
[[group]]
name = "tcp"
source = "newreno"
count = 3
[[group]]
name = "flood"
source = "cbr"
rate = "1 Mbit/s"
"""

TABLES = ["groups.parquet", "summary.parquet", "flows.parquet"]


def write(directory, grid=GRID):
    """A directory with the study and its scenario; the study's path."""
    directory.mkdir(exist_ok=True)
    (directory / "small.toml").write_text(SMALL)
    (directory / "grid.toml").write_text(grid)
    return directory / "grid.toml"


def command(*arguments):
    """Runs `tidegate`; what it says on standard error."""
    path = os.environ.get("TIDEGATE", str(ROOT / "target/debug/tidegate"))
    done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def tables(directory):
    """The bytes of each table that a study left."""
    return {name: (directory / name).read_bytes() for name in TABLES if (directory / name).exists()}
