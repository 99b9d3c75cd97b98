#!/usr/bin/env python3
"""Lays out the sources of the book for mdBook: the pages of docs/, and after them every page of the project
that they refer to, with the links changed to fit.

    tools/book.py DIR       writes DIR/book.toml and DIR/src
"""

import os
import re
import shutil
import sys
import urllib.parse
from pathlib import Path

from links import LINK, ROOT, is_relative

DOCS = ROOT / "docs"
MANUALS = ROOT / "crates/tidegate/src/queues"
QUEUES = "- [Queues](reference/queues.md)\n"
# Pages of the project at the end of the list, in this order; further ones come last.
FIRST = ("README", "ARCHITECTURE", "CONTRIBUTING", "LIMITATIONS", "CHANGELOG")


def place(file):
    """Where a file of the project stands in the book."""
    inside = (
        file.relative_to(DOCS) if DOCS in file.parents else Path("project") / file.relative_to(ROOT)
    )
    return inside.with_name("index.md") if inside.name == "README.md" else inside


def leads_to(page, target):
    """The file that a link of `page` means; of a folder its README."""
    file = Path(os.path.normpath(page.parent / urllib.parse.unquote(target.partition("#")[0])))
    return file / "README.md" if file.is_dir() else file


def text(page):
    """A page, with a title."""
    written = page.read_text()
    return f"# {page.stem}\n\n{written}" if page.parent == MANUALS else written


def fitted(page, found):
    """The text of `page` with links as they are in the book; `found` receives what they lead to."""

    def link(match):
        target = match[1]
        if target.startswith("#") or not is_relative(target):
            return match[0]
        file = leads_to(page, target)
        if not file.is_file():
            return re.match(r"!?\[([^\]]*)\]", match[0])[
                1
            ]  # a folder without a README: there is no page
        found.append(file)
        way = os.path.relpath(place(file), place(page).parent)
        anchor = target.partition("#")[1:]
        return match[0].replace(target, way + "".join(anchor))

    parts = re.split(r"(^\s*```.*?^\s*```)", text(page), flags=re.S | re.M)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def title(page):
    """The first heading."""
    heading = re.search(r"^# (.+)$", text(page), re.M)
    return re.sub(r"[\[\]`]", "", heading[1]) if heading else page.stem


def listed(pages, depth=0):
    """Lines of the list for `pages`."""
    return "".join(f"{'  ' * depth}- [{title(page)}]({place(page)})\n" for page in pages)


def project(pages):
    """The end of the list: pages of the project, those of a folder below its README."""
    lines = "\n# The project\n\n" + listed(
        ROOT / f"{name}.md" for name in FIRST if ROOT / f"{name}.md" in pages
    )
    rest = [page for page in pages if page.stem not in FIRST or page.parent != ROOT]
    folders = {}
    for page in rest:
        folders.setdefault(page.relative_to(ROOT).parts[0], []).append(page)
    for name, inside in sorted(folders.items()):
        readme = ROOT / name / "README.md"
        below = [page for page in inside if page != readme]
        lines += listed([readme]) if readme in inside else f"- [{name.capitalize()}]()\n"
        lines += listed(below, 1)
    return lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    waiting, done = sorted(DOCS.rglob("*.md")), set()
    summary = fitted(DOCS / "SUMMARY.md", [])
    while waiting:
        file = waiting.pop()
        if file in done:
            continue
        done.add(file)
        written = target / "src" / place(file)
        written.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            written.write_text(fitted(file, waiting))
        elif file.suffix == ".html":
            # A page of its own goes with all that lies beside it, and shows its link to the book.
            written.write_text(file.read_text().replace("<span hidden>", "<span>"))
            waiting += [beside for beside in file.parent.iterdir() if beside.is_file()]
        else:
            shutil.copyfile(file, written)
    beside = sorted(page for page in done if page.suffix == ".md" and DOCS not in page.parents)
    manuals = [page for page in beside if page.parent == MANUALS]
    summary = summary.replace(QUEUES, QUEUES + listed(manuals, 1))
    summary += project([page for page in beside if page.parent != MANUALS])
    (target / "src/SUMMARY.md").write_text(summary)
    for name in ("book.toml", "book.css"):
        shutil.copyfile(DOCS / name, target / name)


if __name__ == "__main__":
    main()
