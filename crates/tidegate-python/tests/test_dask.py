"""Studies on Dask's workers: the same bytes, whatever happens to a worker."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest
import tidegate
from conftest import ROOT
from grid import GRID, command, tables, write

distributed = pytest.importorskip("distributed")
import tidegate.dask  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def expected(tmp_path):
    """A study of some seconds, and its tables."""
    path = write(tmp_path, GRID.replace("seeds = 3", "seeds = 60").replace("flows = true", ""))
    small = path.with_name("small.toml")
    small.write_text(small.read_text().replace('"2 s"', '"80 s"'))
    command("sweep", path, "--out", tmp_path / "command")
    return path, tables(tmp_path / "command")


def test_batches_are_of_a_second_and_more():
    missing = [(0, 1, 100), (1, 1, 1), (2, 5, 400), (0, 200, 3)]
    weights = [0.5, 30.0, 2.0]
    for pace, threads in ((0.1, 2), (1.0, 1), (0.01, 50)):
        found = list(tidegate.dask.batches(missing, weights, lambda: pace, lambda: threads))
        units = [
            (case, s)
            for batch in found
            for case, first, n in batch
            for s in range(first, first + n)
        ]
        assert units == [(case, s) for case, first, n in missing for s in range(first, first + n)]
        seconds = [sum(weights[case] * n * pace for case, _, n in batch) for batch in found]
        assert min(seconds[:-1], default=1) >= 1 - 1e-9
        # No more than the longest by one replication, which cannot be divided.
        assert max(seconds) < 5 + 30 * pace


def test_two_workers_make_the_commands_bytes(client, expected, tmp_path):
    path, whole = expected
    heard = []
    result = tidegate.dask.sweep(
        path, client, tmp_path / "out", progress=lambda *news: heard.append(news)
    )
    assert (result.run, result.had) == (480, 0) and tables(tmp_path / "out") == whole
    assert heard[-1] == (pytest.approx(1), 480, 480)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["command"] == sys.orig_argv
    # Nothing is left to do; and Dask holds nothing of it.
    assert tidegate.dask.sweep(path, client, tmp_path / "out").had == 480
    assert not client.futures


def test_seeds_until_an_interval_is_narrow(client, tmp_path):
    seeds = 'seeds = { until = "20 %", of = "tcp.goodput_bps", least = 3, most = 6 }'
    path = write(tmp_path, GRID.replace("seeds = 3", seeds))
    command("sweep", path, "--out", tmp_path / "command")
    result = tidegate.dask.sweep(path, client, tmp_path / "out")
    assert result.run > 24 and tables(tmp_path / "out") == tables(tmp_path / "command")


def test_a_killed_worker_loses_nothing(client, expected, tmp_path):
    path, whole = expected
    victim = client.run(os.getpid).popitem()[1]
    killed = []

    def kill(fraction, done, of):
        if not killed:
            killed.append(done)
            os.kill(victim, signal.SIGKILL)

    result = tidegate.dask.sweep(path, client, tmp_path / "out", progress=kill)
    assert 0 < killed[0] < result.run == 480 and tables(tmp_path / "out") == whole
    assert victim not in client.run(os.getpid).values()


# What PBS answers to: a job begins at once, on this machine. Its script is the submitter's, who deletes it.
QSUB = """#!/bin/sh
script=$(mktemp) && cp "$1" "$script"
bash "$script" >/dev/null 2>&1 &
echo $!.here
"""
QDEL = """#!/bin/sh
kill "${1%.here}" 2>/dev/null || true
"""


def test_jobs_of_pbs_make_the_commands_bytes(expected, tmp_path, monkeypatch):
    """A real ``PBSCluster`` writes, submits and ends its jobs; only PBS itself is played."""
    jobqueue = pytest.importorskip("dask_jobqueue")
    for name, text in (("qsub", QSUB), ("qdel", QDEL)):
        played = tmp_path / "bin" / name
        played.parent.mkdir(exist_ok=True)
        played.write_text(text)
        played.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    path, whole = expected
    asked = dict(cores=1, processes=1, memory="1 GB", walltime="00:10:00")
    scheduler = {"dashboard_address": None, "host": "127.0.0.1"}
    with jobqueue.PBSCluster(**asked, scheduler_options=scheduler, silence_logs=50) as cluster:
        script = cluster.job_script()
        assert "#PBS -l select=1:ncpus=1" in script and "#PBS -l walltime=00:10:00" in script
        cluster.scale(jobs=2)
        with distributed.Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            result = tidegate.dask.sweep(path, client, tmp_path / "out")
    assert result.run == 480 and tables(tmp_path / "out") == whole


def test_an_interrupted_study_goes_on_elsewhere(client, expected, tmp_path):
    path, whole = expected

    def stop(fraction, done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tidegate.dask.sweep(path, client, tmp_path / "out", progress=stop)
    assert "were stored already" in command("sweep", path, "--out", tmp_path / "out")
    assert tables(tmp_path / "out") == whole


def test_a_worker_of_another_version_is_refused(client, tmp_path, monkeypatch):
    class Other:
        MAKER = "9.9.9+other"

    monkeypatch.setattr(tidegate.dask, "Checked", Other)
    with pytest.raises(RuntimeError, match="and the client 9.9.9"):
        tidegate.dask.sweep(write(tmp_path), client, tmp_path / "out")
    with pytest.raises(tidegate.ScenarioError, match="no such file"):
        tidegate.dask.sweep(tmp_path / "none.toml", client)


def test_the_books_page_on_rented_machines(tmp_path):
    page = (ROOT / "docs/study/rented-cluster.md").read_text()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    here = {"10.0.0.5": "127.0.0.1", "8786": str(port), "nworkers 16": "nworkers 1"}

    def local(text):
        for there, instead in here.items():
            text = text.replace(there, instead)
        return text

    path = write(tmp_path)
    path.rename(tmp_path / "rtt.toml")
    (tmp_path / "rtt.py").write_text(
        local(re.search(r"^```python\n(.*?)^```", page, re.S | re.M)[1])
    )
    with contextlib.ExitStack() as stack:
        for line in re.findall(r"^    studies/bin/dask (.*)", page, re.M):
            options = ["--no-dashboard"] if line.startswith("sch") else ["--no-nanny"]
            begun = [sys.executable, "-m", "dask", *shlex.split(local(line)), *options]
            process = stack.enter_context(
                subprocess.Popen(begun, stderr=subprocess.DEVNULL, cwd=tmp_path)
            )
            stack.callback(process.terminate)
        done = subprocess.run(
            [sys.executable, "rtt.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
    assert (
        done.returncode == 0 and "24 replications run, 0 stored before, in rtt.study" in done.stdout
    ), done
    command("sweep", tmp_path / "rtt.toml", "--out", tmp_path / "command")
    assert tables(tmp_path / "rtt.study") == tables(tmp_path / "command")
