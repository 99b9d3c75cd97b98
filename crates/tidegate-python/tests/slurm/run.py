"""The book's page on Slurm, on a real Slurm of one node: ``run.py DIRECTORY-OF-ITS-PACKAGES``.

Runs a small study as an array of jobs and through Dask, and compares the tables with a local run.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from cluster import slurm  # noqa: E402
from conftest import ROOT  # noqa: E402
from grid import GRID, command, tables, write  # noqa: E402

# What is smaller here than on the page.
ARRAY = {"--array=1-10": "--array=1-3", "/10": "/3", "per-task=4": "per-task=1"}
DASK = {"cores=4, processes=4": "cores=1, processes=1", "4 GB": "1 GB", "jobs=10": "jobs=2"}
# No step may take longer.
SECONDS = 120


def blocks():
    """The page's script of an array, and its program, as they are run here."""
    page = (ROOT / "docs/study/slurm.md").read_text()
    for kind, changes in (("bash", ARRAY), ("python", DASK)):
        [block] = re.findall(rf"^```{kind}\n(.*?)^```", page, re.S | re.M)
        for there, here in changes.items():
            assert there in block, f"{there} is no longer on the page"
            block = block.replace(there, here)
        yield block


def as_array(script, work, environment):
    """The study as an array of jobs."""
    (work / "rtt.sbatch").write_text(script)
    subprocess.run(
        ["sbatch", "--wait", "rtt.sbatch"], cwd=work, env=environment, check=True, timeout=SECONDS
    )
    for log in sorted(work.glob("rtt-*.log")):
        print(f"{log.name}: {log.read_text().strip()}")
    command("sweep", "merge", work / "rtt.toml", "--out", work / "rtt.study")


def through_dask(program, work, environment):
    """The study on workers that are jobs."""
    (work / "rtt.py").write_text(program)
    subprocess.run(
        [sys.executable, "rtt.py"], cwd=work, env=environment, check=True, timeout=SECONDS
    )


def main(packages):
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        grid = GRID.replace("seeds = 3", "seeds = 30")
        command("sweep", write(work / "local", grid), "--out", work / "local/out")
        expected = tables(work / "local/out")
        assert len(expected) == 3
        with slurm(packages) as environment:
            program = pathlib.Path(os.environ.get("TIDEGATE", ROOT / "target/debug/tidegate"))
            environment["PATH"] = f"{program.parent}:{environment['PATH']}"
            for run, block in zip((as_array, through_dask), blocks()):
                begun = time.monotonic()
                path = write(work / run.__name__, grid)
                path.rename(path.with_name("rtt.toml"))
                run(block, path.parent, environment)
                assert tables(path.parent / "rtt.study") == expected, (
                    f"{run.__name__}: other tables"
                )
                print(
                    f"{run.__name__}: the tables of a local run, in {time.monotonic() - begun:.0f} s"
                )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
