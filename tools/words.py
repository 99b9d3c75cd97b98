#!/usr/bin/env python3
"""Checks the words of our documents: long sentences, and words that a stranger stumbles over.

    tools/words.py [FILE...]      all our Markdown files by default, and
                                  the doc comments of every crate, its tests, benches and examples
    tools/words.py --shares       also one line a file: words, long sentences

tools/words.toml has the bounds and the words. A remark overrules the check for the paragraph, table
or list after it, and gives the reason: <!-- words: the sentence is RFC 3168's own -->
In Rust the remark is a line of its own before the doc comment: // words: RFC 3168's own sentence
Linters of prose (vale, textlint) know both checks; they come as binaries or need another runtime,
and `make test` installs neither.
"""

import fnmatch
import re
import sys
import tomllib

from ours import ROOT, ours

RULES = tomllib.loads((ROOT / "tools/words.toml").read_text())
OVERRULED = re.compile(r"<!-- words: (.*?)-->", re.S)
DOC = re.compile(r"\s*//[/!] ?(.*)")
REMARK = re.compile(r"\s*// words:(.*)")
SOURCES = [f"crates/*/{part}/*.rs" for part in ("src", "tests", "benches", "examples")] + [
    "fuzz/*.rs"
]
MARKER = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def paragraphs(text):
    """The paragraphs, list items and table rows that count, as (first line, kind, text)."""
    lines, fenced, skip, part, first = text.split("\n"), None, False, [], 0

    def done():
        nonlocal part
        whole, part = " ".join(part), []
        return [(first, "text", whole)] if whole.strip() and not skip else []

    for number, line in enumerate([*lines, ""], 1):
        if fence := re.match(r"\s*(```+|~~~+)", line):
            fenced = None if fenced else fence[1]
        if fenced or fence:
            yield from done()
            continue
        if line.lstrip().startswith("<!-- words:"):
            yield from done()
            skip = True
            if len(OVERRULED.findall(line)) != 1 or len(OVERRULED.findall(line)[0].split()) < 3:
                yield number, "reason", line
            continue
        if not line.strip() or line.startswith("#"):
            blank = bool(part) or line.startswith("#")
            yield from done()
            skip = skip and not blank
        elif line.lstrip().startswith("|"):
            yield from done()
            if not skip:
                yield number, "row", line
        elif line.startswith("    ") and not part:
            continue
        else:
            if MARKER.match(line):
                yield from done()
                line = MARKER.sub("", line, count=1)
            first = first if part else number
            part.append(line)


def documentation(source):
    """The doc comments of a Rust source as Markdown, each on its line."""
    for line in source.split("\n"):
        if remark := REMARK.match(line):
            yield f"<!-- words:{remark[1]} -->"
        else:
            doc = DOC.fullmatch(line)
            yield doc[1] if doc and not doc[1].startswith("/") else ""


def read(name):
    """The Markdown of a file."""
    text = (ROOT / name).read_text()
    return "\n".join(documentation(text)) if name.endswith(".rs") else text


def plain(text):
    """`text` as it is read: a link is its label, and code is one word."""
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?", r"\1", text)
    return re.sub(r"`[^`]*`", "Code", text)


def sentences(text):
    """The sentences of a paragraph, each with its number of words."""
    for part in re.split(r"(?<=[.!?;:])[\"*)]*\s+(?=[\"*(]*[A-Z0-9])", plain(text)):
        words = [w for w in part.split() if re.search(r"\w", w)]
        if len(words) > 2:
            yield part, len(words)


def bounds(name):
    """The set of rules that holds for a file."""
    return next(s for s in RULES["set"] if any(fnmatch.fnmatch(name, f) for f in s["files"]))


def check(name, text, shares):
    """Complaints about one document."""
    rule, long, total, told = bounds(name), [], 0, []
    for line, kind, part in paragraphs(text):
        if kind == "reason":
            told.append(f"{name}:{line}: an overruled check needs a reason: <!-- words: REASON -->")
            continue
        for avoid in RULES["avoid"]:
            if found := re.search(rf"\b{avoid['words']}\b", plain(part), re.I):
                told.append(f'{name}:{line}: "{found[0]}": say instead: {avoid["say"]}')
        for sentence, words in sentences(part) if kind == "text" else ():
            total += 1
            if words > rule["long"]:
                most = f"{words} words, at most {rule['long']}"
                long.append(f"{name}:{line}: {most}: {sentence[:70]}…")
    share = 100 * len(long) / max(1, total)
    if shares:
        many = f"{len(long)} of {total} sentences long ({share:.1f} %)"
        print(f"{name}: {len(text.split())} words, {many}")
    if share > rule["share"]:
        told += long
        if rule["share"]:
            bound = f"at most {rule['share']} %"
            told.append(f"{name}: {share:.1f} % of its sentences are long, {bound}")
    return told


def main():
    args = sys.argv[1:]
    shares = "--shares" in args
    names = [a for a in args if a != "--shares"]
    if not names:
        names = [n for n in ours("*.md", *SOURCES) if "/vendor/" not in n]
    told = [t for name in names for t in check(name, read(name), shares)]
    print("\n".join(told), end="\n" if told else "")
    sys.exit(bool(told))


if __name__ == "__main__":
    main()
