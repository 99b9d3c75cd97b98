"""What is wrong is an exception that says where, and what was meant."""

import pickle

import pytest
import tidegate

TEXT = """\
[network]
rate = "10 Mbit/s"
limit = "100 packets"

[[group]]
name = "tcp"
source = "newreno"
count = -3
"""


def test_a_scenario_error_has_the_place():
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.run(TEXT)
    [problem] = caught.value.problems
    assert (problem.file, problem.line, problem.column) == ("scenario.toml", 8, 9)
    assert (problem.field, problem.value) == ("group.tcp.count", "-3")
    assert problem.why == "must be a whole number from 1 to 1000000"
    assert str(caught.value).startswith("scenario.toml:8:9: group.tcp.count = -3: ")
    assert str(caught.value).endswith("\n 8 | count = -3\n   |         ^^")
    assert isinstance(caught.value, ValueError)


def test_a_file_is_named_in_its_errors(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TEXT.replace("-3", '"many"'))
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.run(file)
    assert caught.value.problems[0].file == str(file)


def test_a_dict_is_refused_with_the_field():
    scenario = {"network": {"rate": "10 Mbit", "limit": "100 parsec"}, "group": []}
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.run(scenario)
    assert "network.limit" in [problem.field for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("scenario", "options", "why"),
    [
        ("flod", {}, "did you mean `flood`"),
        ("flood", {"set": {"run.duratoin": "3 s"}}, "duration"),
        ("flood", {"seeds": 0}, "must lie in 1 to 10000"),
        ("flood", {"seed": -1}, "run.seed = -1"),
        ("", {}, "no such file"),
        ("[network]\nrate = ", {}, "scenario.toml:2:"),
    ],
)
def test_scenarios_that_cannot_be(scenario, options, why):
    with pytest.raises(tidegate.ScenarioError, match=why):
        tidegate.run(scenario, **options)


@pytest.mark.parametrize(
    ("queues", "field", "why"),
    [
        (["sbf"], "queue", "did you mean `sfb`"),
        (["sfb/papr"], "preset", "did you mean `paper`"),
        (["red,min=-3 packets"], "min", "cannot be negative"),
        (["red", "red"], "label", "another queue is called that too"),
        ([], "queues", "names no queue"),
        (["red,,"], "queue", "must be written param=value"),
    ],
)
def test_queues_that_cannot_be(queues, field, why):
    with pytest.raises(tidegate.QueueError, match=why) as caught:
        tidegate.compare("flood", queues)
    assert caught.value.field == field and why in caught.value.why


def test_arguments_of_the_wrong_kind():
    with pytest.raises(TypeError, match="a queue must be text"):
        tidegate.run("flood", 3)
    with pytest.raises(ValueError, match="threads = 0: must lie in 1 to 1024"):
        tidegate.run("flood", threads=0)
    with pytest.raises(TypeError):
        tidegate.run(3)
    with pytest.raises(TypeError, match="a complex cannot stand"):
        tidegate.run("flood", set={"run.seed": 1j})


def test_captures_that_cannot_be(tmp_path):
    with pytest.raises(FileNotFoundError):
        tidegate.replay(tmp_path / "none.pcap", "10 Mbit/s", "red")
    file = tmp_path / "odd.pcap"
    file.write_bytes(b"no capture at all, but long enough")
    with pytest.raises(tidegate.CaptureError, match="odd.pcap"):
        tidegate.replay(file, "10 Mbit/s", "red")
    for options in (
        {"rate": "10"},
        {"rate": "1 Mbit/s", "limit": "3 s"},
        {"rate": "1 Mbit/s", "flow_key": "colour"},
    ):
        with pytest.raises(tidegate.QueueError):
            tidegate.replay(file, queues="red", **options)


def test_flows_that_were_not_kept_are_an_error(short):
    with pytest.raises(ValueError, match="flows=True"):
        tidegate.run("flood", set=short, seeds=1).flows


def test_errors_travel_between_processes():
    for call in (lambda: tidegate.run(TEXT), lambda: tidegate.run("flood", "sbf")):
        with pytest.raises(ValueError) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again)) == (type(caught.value), str(caught.value))
        assert vars(again) == vars(caught.value)
