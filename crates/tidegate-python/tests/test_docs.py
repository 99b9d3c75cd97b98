"""The code of the book's page on Python, and of the docstrings, runs."""

import doctest
import re

import pytest
import tidegate
from conftest import ROOT

PAGE = ROOT / "docs/study/python.md"


def test_the_books_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 8
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "drop_tail: tcp gets 0.1 %" in said and "sfb: tcp gets 99 % of its fair share" in said
    assert "3 10 network.limit `parsec` is not a unit" in said
    assert "dropped" in said and "bit/s –" in said and "Newest" in said


@pytest.mark.parametrize("module", ["tidegate", "tidegate._discipline"])
def test_docstrings_run(module):
    import importlib

    done = doctest.testmod(importlib.import_module(module))
    assert done.attempted > 0 and done.failed == 0


def test_everything_public_is_documented():
    for name in tidegate.__all__:
        thing = getattr(tidegate, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        for member in vars(thing) if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(getattr(thing, member, None)):
                assert getattr(thing, member).__doc__, f"{name}.{member}"
