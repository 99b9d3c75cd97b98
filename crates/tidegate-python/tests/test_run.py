"""Runs and comparisons give what the command gives, whatever form the scenario has."""

import pathlib
import re
import tomllib

import pytest
import tidegate
from conftest import ROOT, timeless


def test_run_gives_the_commands_document(short, command):
    result = tidegate.run("flood", "red/paper,ecn=on", set=short, seeds=2, seed=7, flows=True)
    expected = command(
        *("run", "flood", "--queue", "red/paper,ecn=on", "--set", "run.duration=14 s"),
        *("--seeds", "2", "--seed", "7", "--flows"),
    )
    assert timeless(result.document) == timeless(expected)
    assert result.document["seeds"] == [7, 8] and result.label == "red/paper,ecn=on"


def test_compare_gives_the_commands_documents(short, command):
    queues = ["drop_tail as FIFO", "sfb"]
    both = tidegate.compare("flood", queues, set=short, seeds=1, threads=2)
    expected = command(
        *("compare", "flood", "--queue", queues[0], "--queue", "sfb"),
        *("--set", "run.duration=14 s", "--seeds", "1"),
    )
    assert [timeless(d) for d in both.documents] == [timeless(d) for d in expected]
    assert both.labels == ["FIFO", "sfb"] and len(both) == 2
    assert both["sfb"].document == both[1].document and both[-1].label == "sfb"
    with pytest.raises(KeyError, match="no result is called 'red'; those are"):
        both["red"]


def test_without_queues_the_scenarios_own_are_run(short):
    short |= {"compare.queues": ["drr", "red"]}
    assert tidegate.run("flood", set=short, seeds=1).label == "sfb"
    assert tidegate.compare("flood", set=short, seeds=1).labels == ["drr", "red"]


def test_replay_gives_the_commands_documents(command):
    capture = ROOT / "captures/flood.pcapng"
    with pytest.warns(tidegate.TidegateWarning, match="stamped earlier"):
        both = tidegate.replay(capture, "10 Mbit/s", ["red", "sfb"], limit="125 kB", listed=5)
    expected = command(
        *("replay", str(capture), "--rate", "10 Mbit/s", "--queue", "red", "--queue", "sfb"),
        *("--limit", "125 kB", "--list", "5"),
    )
    assert [timeless(d) for d in both.documents] == [timeless(d) for d in expected]
    assert len(both["red"].flows) == 6, "five, and the rest as one"


def test_a_scenario_is_a_file_a_name_toml_or_a_dict(tmp_path, short):
    text = tidegate.scenarios()["flood"]
    file = tmp_path / "flood.toml"
    file.write_text(text)
    forms = ["flood", file, str(file), text, tomllib.loads(text)]
    documents = [timeless(tidegate.run(form, set=short, seeds=1).document) for form in forms]
    names = [document.pop("scenario") for document in documents]
    assert names == ["flood", "flood", "flood", "scenario", "scenario"]
    assert all(document == documents[0] for document in documents)


def test_every_shipped_scenario_survives_the_way_through_a_dict():
    from tidegate import _toml

    for name, text in tidegate.scenarios().items():
        assert tomllib.loads(_toml.dumps(tomllib.loads(text))) == tomllib.loads(text), name


def test_a_dict_of_all_kinds_is_the_toml_that_it_says():
    from tidegate import _toml

    everything = {
        "text": 'a "quote", a \\, a \x00, a \x7f, an ü and a\nline',
        "path": pathlib.PurePosixPath("/a/b"),
        "odd key": {"a.b": 1, "nested": {"deep": [1.5, -2, True]}},
        "tables": [{"name": "x", "sub": {"y": 1e300}}, {"name": "z"}],
        "mixed": [1, {"inline": "table"}],
        "empty": [],
    }
    read = tomllib.loads(_toml.dumps(everything))
    assert read == everything | {"path": "/a/b"}
    for bad, why in [
        ({"a": None}, "a: a NoneType"),
        ({1: 2}, "must be text"),
        ({"a": {"b": [1j]}}, "a.b: a complex"),
    ]:
        with pytest.raises(TypeError, match=re.escape(why)):
            _toml.dumps(bad)
    with pytest.raises(ValueError, match="x = nan: must be a finite number"):
        _toml.dumps({"x": float("nan")})


def test_values_are_set_and_taken_away(short):
    changed = tidegate.run("flood", set=short | {"group.tcp.ecn": None, "run.seeds": 1})
    plain = tidegate.run("flood", set=short, seeds=1)
    assert changed.document["seeds"] == [1]
    assert changed.document["groups"] != plain.document["groups"]


def test_results_show_themselves(short):
    result = tidegate.run("flood", set=short, seeds=2)
    assert repr(result).startswith("sfb: tcp gets ") and "of fair share" in repr(result)
    assert max(map(len, repr(result).splitlines())) <= 100
    page = result._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 4 and "<td>greedy</td>" in page
    both = tidegate.compare("flood", ["red as <b>", "sfb"], set=short, seeds=1)
    assert both._repr_html_().count("<tr>") == 7 and "&lt;b&gt;" in both._repr_html_()
    assert repr(both).startswith("sfb: tcp gets ")


def test_a_comparison_is_saved_as_the_command_saves_it(tmp_path, short):
    both = tidegate.compare("flood", ["red", "sfb"], set=short, seeds=1, flows=True)
    both.save(tmp_path / "out")
    files = {file.name for file in (tmp_path / "out").iterdir()}
    assert files >= {"result.json", "run.json", "scenario.toml", "flows.parquet", "report.html"}
    assert (tmp_path / "out/report.html").read_text() == both.report()
    both.save(tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("mine")
    with pytest.raises(OSError, match="other"):
        both.save(tmp_path / "other")


def test_the_catalog_and_its_pages():
    queues = tidegate.queues()
    assert {queue["name"] for queue in queues} >= {"sfb", "drop_tail", "fq_codel"}
    sfb = next(queue for queue in queues if queue["name"] == "sfb")
    assert {preset["name"] for preset in sfb["presets"]} >= {"paper", "auto"}
    page = tidegate.show("sfb", rate="45 Mbit/s", limit="200 kB")
    assert page.startswith("sfb\n") and "45 Mbit/s" in page and repr(page) == page
    assert "tidegate run flood" in tidegate.show("flood")
    with pytest.raises(tidegate.QueueError, match="did you mean `sfb`"):
        tidegate.show("sbf")
