"""Our files, for the checks: those under version control, and new ones that git does not ignore."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def ours(*patterns):
    """The names of our files that match one of git's patterns, in their order."""
    git = ["git", "ls-files", "-co", "--exclude-standard", *patterns]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())
