"""The book's notebooks run from their first cell to their last."""

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["figure-of-a-paper", "first-comparison", "study"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# Jupyter's own packages warn of each other.
@pytest.mark.filterwarnings("default")
def test_it_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), (
        "no outputs are kept"
    )
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in kinds and "text/html" in kinds
