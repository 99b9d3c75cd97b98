"""Tables reach data frames of all kinds, with types, units and gaps as they are."""

import pytest
import tidegate


@pytest.fixture(scope="module")
def both():
    return tidegate.compare(
        "flood", ["red", "sfb"], set={"run.duration": "14 s"}, seeds=2, flows=True
    )


def test_polars(both):
    polars = pytest.importorskip("polars")
    groups = polars.DataFrame(both.groups)
    assert groups["queue"].to_list() == ["red"] * 3 + ["sfb"] * 3
    expected = [g["throughput_bps"]["mean"] for d in both.documents for g in d["groups"]]
    assert groups["throughput_bps"].to_list() == expected
    assert groups.schema["flows"] == polars.Int64
    # A transfer that nobody made has no time.
    assert groups["completion_ms_mean"].null_count() == 6


def test_pyarrow_has_units(both):
    pyarrow = pytest.importorskip("pyarrow")
    flows = pyarrow.table(both.flows)
    assert flows.num_rows == 82
    field = flows.schema.field("throughput")
    assert field.metadata[b"unit"] == b"bit/s" and field.metadata[b"description"]
    assert pyarrow.schema(both.flows) == flows.schema
    labels = [flow["label"] for d in both.documents for flow in d["flows"]]
    assert flows["label"].to_pylist() == labels


def test_pandas(both):
    pandas = pytest.importorskip("pandas")
    series = pandas.DataFrame.from_arrow(both.series)
    assert set(series.quantity) == {"queue", "delay", "throughput", "loss", "gauge"}
    queue = series[(series.queue == "sfb") & (series.quantity == "queue")]
    assert queue.time.is_monotonic_increasing and len(queue) == 140
    assert set(queue.unit) == {"packets"}


def test_duckdb(both):
    duckdb = pytest.importorskip("duckdb")
    queues = both.queues
    found = duckdb.sql("SELECT queue, utilization FROM queues ORDER BY queue").fetchall()
    assert found == [(d["label"], d["aggregate"]["utilization"]["mean"]) for d in both.documents]
    assert queues is both.queues, "a table is made once"


def test_a_result_of_several_has_its_own_rows(both):
    pyarrow = pytest.importorskip("pyarrow")
    for result in both:
        for table in (result.queues, result.groups, result.flows, result.series):
            assert set(pyarrow.table(table)["queue"].to_pylist()) == {result.label}


def test_a_table_says_what_it_holds(both):
    table = both["sfb"].groups
    assert len(table) == 3 and table.columns[:3] == ["scenario", "queue", "group"]
    assert table.units["throughput_bps"] == "bit/s" and list(table.units) == table.columns
    assert all(table.descriptions.values())
    assert repr(table).startswith("<tidegate.Table of 3 rows: scenario, queue, group, flows, ")


def test_a_stream_outlives_its_table(both):
    pyarrow = pytest.importorskip("pyarrow")
    stream = tidegate.run(
        "flood", set={"run.duration": "11 s"}, seeds=1
    ).series.__arrow_c_stream__()
    reader = pyarrow.RecordBatchReader._import_from_c_capsule(stream)
    assert reader.read_all().num_rows > 1000
