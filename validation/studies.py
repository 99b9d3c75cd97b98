"""Many runs for the scripts of this folder: `tidegate sweep`, and its tables as rows.

Python's standard library only.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TIDEGATE = HERE.parent / "target" / "release" / "tidegate"


def swept(scenario, queues, seeds, lines, table="summary"):
    """The rows of a table of a study of the file `scenario` with these lines: dicts of text."""
    head = [
        f"scenario = {json.dumps(str(scenario))}",
        f"queues = {json.dumps(list(queues))}",
        f"seeds = {seeds}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = folder / "study.toml"
        path.write_text("\n".join([*head, *lines]) + "\n")
        cmd = [str(TIDEGATE), "sweep", str(path), "--csv", "--out", str(folder / "out")]
        run = subprocess.run(cmd, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{' '.join(cmd)} failed:\n{run.stderr}\n{path.read_text()}")
        with (folder / "out" / f"{table}.csv").open(newline="") as rows:
            return list(csv.DictReader(rows))
