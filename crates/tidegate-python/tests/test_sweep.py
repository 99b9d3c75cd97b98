"""A study run from Python is the one that the command runs."""

import os
import subprocess
import threading
import tomllib

import pytest
import tidegate
from conftest import ROOT

STUDY = """\
scenario = "flood"
queues = ["drop_tail", "sfb"]
seeds = 2
[set]
run.duration = "12 s"
[axes]
network.rate = ["5 Mbit/s", "10 Mbit/s"]
group.tcp.count = [5, 10]
"""
COMMAND = os.environ.get("TIDEGATE", str(ROOT / "target/debug/tidegate"))


def frame(table):
    return pytest.importorskip("pyarrow").table(table)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return tidegate.sweep(STUDY, tmp_path_factory.mktemp("study") / "out")


def test_its_tables_are_the_files_and_the_commands(done, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "study.toml").write_text(STUDY)
    subprocess.run(
        [COMMAND, "sweep", "study.toml", "--out", "out"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    for name in ("groups", "summary"):
        table = frame(getattr(done, name))
        assert (
            table.to_pylist() == parquet.read_table(done.directory / f"{name}.parquet").to_pylist()
        )
        assert table.to_pylist() == parquet.read_table(tmp_path / f"out/{name}.parquet").to_pylist()
    assert len(done.groups) == 4 * 2 * 3 * 2 and len(done.summary) == 4 * 2 * 3
    assert done.groups.units["network.rate"] == "bit/s"
    with pytest.raises(ValueError, match="flows = true"):
        done.flows
    assert done.run == 16 and "4 cells, 48 rows; 16 replications run, 0 stored before" in repr(done)


def test_a_cell_says_what_a_run_says(done):
    row = next(
        row
        for row in frame(done.groups).to_pylist()
        if (row["network.rate"], row["group.tcp.count"]) == (5e6, 10)
        and (row["queue"], row["group"], row["seed"]) == ("sfb", "tcp", 2)
    )
    values = {"run.duration": "12 s", "network.rate": "5 Mbit/s", "group.tcp.count": 10}
    one = tidegate.run("flood", "sfb", set=values, seeds=1, seed=2)
    group = next(group for group in one.document["groups"] if group["name"] == "tcp")
    assert row["goodput_bps"] == group["goodput_bps"]["mean"]
    [again] = [row for row in frame(one.seeds).to_pylist() if row["group"] == "tcp"]
    assert again["goodput_bps"] == row["goodput_bps"] and again["seed"] == 2


@pytest.mark.parametrize("form", ["dotted", "nested", "file"])
def test_a_study_is_a_file_or_a_dict_and_goes_on(done, form, tmp_path):
    study = {
        "scenario": "flood",
        "queues": ["drop_tail", "sfb"],
        "seeds": 3,
        "set": {"run.duration": "12 s"},
        "axes": {"network.rate": ["5 Mbit/s", "10 Mbit/s"], "group.tcp.count": [5, 10]},
    }
    if form == "nested":
        study = tomllib.loads(STUDY) | {"seeds": 3}
    if form == "file":
        (tmp_path / "mine.toml").write_text(STUDY.replace("seeds = 2", "seeds = 3"))
        study = tmp_path / "mine.toml"
    more = tidegate.sweep(study, done.directory)
    assert more.run == (8 if form == "dotted" else 0), "only what is missing"
    assert len(more.groups) == 72


def test_what_cannot_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for study, why in [
        (STUDY.replace('"5 Mbit/s"', '"5 ms"'), "ms"),
        (STUDY.replace("count = [5, 10]", "cuont = [5]"), "count"),
        ("nothing.toml", "nothing.toml"),
    ]:
        with pytest.raises(tidegate.ScenarioError, match=why):
            tidegate.sweep(study)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("")
    with pytest.raises(OSError, match="full"):
        tidegate.sweep(STUDY, "full")
    with pytest.raises(ValueError, match="threads"):
        tidegate.sweep(STUDY, threads=0)


def test_an_interrupted_study_goes_on(tmp_path):
    import signal

    long = STUDY.replace("seeds = 2", "seeds = 400")
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tidegate.sweep(long, tmp_path / "out")
    again = tidegate.sweep(STUDY.replace("seeds = 2", "seeds = 3"), tmp_path / "out")
    assert again.run < 24 and len(again.groups) == 72


def test_a_study_draws_its_plots(done):
    plot = (
        '[[plot]]\nname = "rates"\nkind = "lines"\nx = "network.rate"\ny = "share"\ngroup = "tcp"\n'
    )
    drawn = tidegate.sweep(STUDY + plot, done.directory)
    assert drawn.run == 0 and [path.name for path in drawn.plots] == ["rates.svg"]
    assert drawn.notes == ["plot rates: 2 panels, one for each setting that is on no axis"]
    assert drawn.plots[0].read_text().lstrip().startswith("<svg") and done.plots == []
    with pytest.raises(tidegate.ScenarioError, match="plot"):
        tidegate.sweep(STUDY + plot.replace('"tcp"', '"tpc"'), done.directory)
