"""Studies give the command's tables, go on where they were, and say what is wrong."""

import gc
import os
import signal
import threading
import time
import tomllib

import pytest
import tidegate
from grid import GRID, SMALL, command, tables, write
from tidegate._native import Store, Study


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """The study's path, and the tables that the command makes of it."""
    path = write(tmp_path_factory.mktemp("grid"))
    command("sweep", path, "--out", path.parent / "command")
    return path, tables(path.parent / "command")


def test_tables_are_the_commands_bytes(grid, tmp_path):
    path, expected = grid
    result = tidegate.sweep(path, tmp_path / "out", threads=2)
    assert (result.run, result.had, result.directory) == (24, 0, tmp_path / "out")
    assert len(expected) == 3 and tables(tmp_path / "out") == expected
    # The command finds all of it done.
    assert "All 24 replications were stored already" in command(
        "sweep", path, "--out", tmp_path / "out"
    )


def test_only_what_is_missing_is_run(grid, tmp_path):
    path, expected = grid
    short = write(tmp_path, GRID.replace("seeds = 3", "seeds = 1"))
    command("sweep", short, "--out", tmp_path / "out")
    result = tidegate.sweep(path, tmp_path / "out")
    assert (result.run, result.had) == (16, 8)
    assert tables(tmp_path / "out") == expected


def test_parts_are_merged_by_the_command(grid, tmp_path):
    path, expected = grid
    for shard, run in (("1/3", 9), ("2/3", 9), ("3/3", 6)):
        part = tidegate.sweep(path, tmp_path / "out", shard=shard)
        assert part.run == run and part.directory.parent == tmp_path / "out"
        with pytest.raises(ValueError, match="merge"):
            part.groups
    command("sweep", "merge", path, "--out", tmp_path / "out")
    assert tables(tmp_path / "out") == expected
    with pytest.raises(tidegate.QueueError, match="1/N to N/N"):
        tidegate.sweep(path, tmp_path / "out", shard="4/3")


def test_tables_reach_data_frames(grid, tmp_path):
    polars = pytest.importorskip("polars")
    result = tidegate.sweep(grid[0], tmp_path / "out")
    read = polars.read_parquet(tmp_path / "out/groups.parquet")
    groups = polars.DataFrame(result.groups)
    assert groups.equals(read) and len(groups) == 48
    assert groups["network.rate"].unique().sort().to_list() == [1e6, 3e6]
    assert result.groups.units["network.rate"] == "bit/s"
    summary = polars.DataFrame(result.summary)
    assert summary.equals(polars.read_parquet(tmp_path / "out/summary.parquet"))
    means = groups.group_by("cell", "queue", "group").agg(polars.col("share").mean())
    both = summary.join(means, on=["cell", "queue", "group"])
    assert (both["share"] - both["share_right"]).abs().max() < 1e-12 and len(both) == 16
    assert polars.DataFrame(result.flows).equals(
        polars.read_parquet(tmp_path / "out/flows.parquet")
    )


def test_a_result_keeps_its_tables(tmp_path):
    path = write(tmp_path, GRID.replace("seeds = 3", "seeds = 1"))
    first = tidegate.sweep(path, tmp_path / "out")
    path.write_text(GRID)
    second = tidegate.sweep(path, tmp_path / "out")
    assert (len(first.groups), len(second.groups)) == (16, 48)


def test_text_and_dicts_have_a_directory_as_long_as_their_result(tmp_path, monkeypatch, grid):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for study in (GRID, tomllib.loads(GRID)):
        result = tidegate.sweep(study)
        assert tables(result.directory) == grid[1]
        directory = result.directory
        del result
        gc.collect()
        assert not directory.exists()
    # A file's results go where the command puts them.
    assert tidegate.sweep("grid.toml").directory.absolute() == tmp_path / "grid.study"


def test_a_study_shows_itself(tmp_path):
    path = write(tmp_path, GRID.replace("flows = true", "").replace("BLUE", "<b>"))
    result = tidegate.sweep(path, tmp_path / "out")
    assert repr(result).startswith(
        "grid: 4 cells, 48 rows; 24 replications run, 0 stored before, in "
    )
    assert "drop_tail  tcp" in repr(result) and "network.rate = 1 Mbit/s" in repr(result)
    page = result._repr_html_()
    assert page.count("<tr>") == 5 and "&lt;b&gt;" in page and "<b>" not in page
    with pytest.raises(ValueError, match="flows = true"):
        result.flows


def test_progress_is_heard(tmp_path):
    longer = SMALL.replace('"2 s"', '"60 s"')
    path = write(tmp_path)
    (tmp_path / "small.toml").write_text(longer)
    heard = []
    tidegate.sweep(path, tmp_path / "out", progress=lambda *news: heard.append(news))
    fractions, done, of = zip(*heard)
    assert (
        list(fractions) == sorted(fractions)
        and 0 < fractions[0]
        and fractions[-1] == pytest.approx(1)
    )
    assert done[-1] == 24 and set(of) == {24}
    with pytest.raises(ZeroDivisionError):
        tidegate.sweep(path, tmp_path / "other", progress=lambda *_: 1 / 0)


def test_interrupted_and_gone_on(tmp_path, grid):
    long = GRID.replace("seeds = 3", "seeds = 4000")
    path = write(tmp_path, long)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tidegate.sweep(path, tmp_path / "out")
    assert time.monotonic() - begun < 5
    path.write_text(GRID)
    result = tidegate.sweep(path, tmp_path / "out")
    assert result.had > 0 and tables(tmp_path / "out") == grid[1]


def test_what_is_wrong_has_its_place(tmp_path):
    path = write(tmp_path, GRID.replace('"3 Mbit/s"', '"3 parsec"'))
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.sweep(path)
    [problem, *_] = caught.value.problems
    assert (problem.file, problem.line, problem.column) == (str(path), 8, 30)
    assert (problem.field, problem.value) == ("network.rate", "3 parsec")
    with pytest.raises(tidegate.ScenarioError, match="study.toml:1:13: scenario = none.toml"):
        tidegate.sweep(GRID.replace("small", "none"))
    with pytest.raises(tidegate.ScenarioError, match="no such file"):
        tidegate.sweep(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="must lie in 1 to 1024"):
        tidegate.sweep(path, threads=0)


def test_one_store_one_sweep(tmp_path):
    path = write(tmp_path)
    store = Store(tmp_path / "out")
    with pytest.raises(tidegate.StoreError, match="another process works on this store"):
        tidegate.sweep(path, tmp_path / "out")
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.missing(Study.open(path))
    assert tidegate.sweep(path, tmp_path / "out").run == 24
    (tmp_path / "file").write_text("mine")
    with pytest.raises(tidegate.StoreError, match="not a directory"):
        tidegate.sweep(path, tmp_path / "file")


def test_plots_are_drawn(tmp_path):
    plot = '[[plot]]\nname = "rate"\nkind = "lines"\nx = "network.rate"\ny = "goodput_bps"\ngroup = "tcp"\n'
    path = write(tmp_path, GRID + plot)
    command("sweep", path, "--out", tmp_path / "command")
    result = tidegate.sweep(path, tmp_path / "out")
    [drawn] = result.plots
    assert "plot rate: 2 panels" in repr(result)
    assert drawn.read_bytes() == (tmp_path / "command" / drawn.name).read_bytes()


def test_a_store_filled_by_hand_is_the_same(tmp_path, grid):
    expected = grid[1]
    path = write(tmp_path / "elsewhere")
    parts = Study.open(path).parts()
    # Another machine has neither file.
    path.unlink()
    path.with_name("small.toml").unlink()
    study = Study(*parts)
    store = Store(tmp_path / "out")
    missing = store.missing(study)
    assert (
        missing == [(case, 1, 3) for case in range(8)] and study.planned == study.replications == 24
    )
    assert len(study.weights()) == 8 and study.seconds(missing) > 0
    results = [
        study.compute([(case, seed, 1)]) for case in reversed(range(8)) for seed in (3, 1, 2)
    ]
    store.add(results[:5])
    store.add(results)
    assert store.missing(study) == [] and study.seconds([]) is None
    assert store.publish(study, False, ["a test"]).missing == 0
    assert tables(tmp_path / "out") == expected
    with pytest.raises(ValueError, match="no part of a study"):
        store.add([(b"nothing", None)])
    with pytest.raises(IndexError, match="no case 8"):
        study.compute([(8, 1, 1)])
