#!/usr/bin/env python3
"""Checks links, without network: every relative link of every Markdown file leads to a file, and to a heading
if it names one; every page of docs/ stands in docs/SUMMARY.md. With --site DIR it checks built HTML instead.

    tools/links.py               all Markdown files of the project
    tools/links.py --site out/docs
"""

import functools
import html.parser
import os
import re
import sys
import urllib.parse
from pathlib import Path

from ours import ROOT, ours

LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s*\[[^\]]+\]:\s+(\S+)")


def prose(text):
    """The lines outside fences, with their numbers and without code spans."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            fence = None if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def links(text):
    """Every target in `text`, with its line."""
    for number, line in prose(text):
        bare = re.sub(r"(`+)(?:(?!\1).)*?\1", "`", line)
        for target in LINK.findall(bare) + DEFINITION.findall(bare):
            yield number, target


def is_relative(target):
    return (
        not re.match(r"[a-z][a-z0-9+.-]*:", target, re.I)
        and not target.startswith("//")
        and "::" not in target
    )


@functools.lru_cache(None)
def anchors(path):
    """The names by which GitHub, and mdBook, know the headings of a page."""
    names, seen = set(), {}
    text = path.read_text()
    for _, line in prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", shown.strip().lower().replace("*", "")).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            names.add(f"{slug}-{count}" if count else slug)
        names.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
    return names


def markdown():
    """What is wrong with the links of the project's Markdown."""
    for page in (ROOT / name for name in ours("*.md")):
        for number, target in links(page.read_text()):
            if not is_relative(target):
                continue
            name, _, anchor = urllib.parse.unquote(target).partition("#")
            file = Path(os.path.normpath(page.parent / name)) if name else page
            where = f"{page.relative_to(ROOT)}:{number}: {target}"
            if not file.exists():
                yield f"{where}: there is no such file"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{where}: that page has no such heading"
    listed = {target for _, target in links((ROOT / "docs/SUMMARY.md").read_text())}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        if name not in listed | {"SUMMARY.md"}:
            yield f"docs/{name}: add it to docs/SUMMARY.md"


class Page(html.parser.HTMLParser):
    """The ids of an HTML page, and what it refers to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.ids.update(value for key, value in attributes if key in ("id", "name") and value)
        self.targets += [known[key] for key in ("href", "src") if known.get(key)]


def site(folder):
    """What is wrong with the links of the pages in `folder`."""
    pages = {path.resolve(): Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for target in page.targets:
            if not is_relative(target):
                continue
            name, _, anchor = urllib.parse.unquote(target).partition("#")
            file = Path(os.path.normpath(path.parent / name.partition("?")[0])) if name else path
            where = f"{path.relative_to(folder.resolve())}: {target}"
            if not file.is_file() and path.name != "404.html":
                yield f"{where}: there is no such file"
            elif anchor and file in pages and anchor not in pages[file].ids:
                yield f"{where}: that page has no such place"


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--site"] and len(arguments) == 2:
        wrong = list(site(Path(arguments[1])))
    elif not arguments:
        wrong = list(markdown())
    else:
        sys.exit(__doc__)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
