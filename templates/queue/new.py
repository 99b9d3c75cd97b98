#!/usr/bin/env python3
"""Writes everything that a new queue needs: `make queue NAME=coin`.

usage: new.py NAME [ROOT]

The files come from this directory. `template`, `Template` and `TEMPLATE` become the queue's name,
its Rust type and its title. The lines in the lists go to their places in the alphabet; the
catalog's goes to the end.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
CRATE = pathlib.Path("crates/tidegate")
FILES = {
    "twin.rs": CRATE / "tests/naive/{}.rs",
    "queue.rs": CRATE / "src/queues/{}.rs",
    "template.md": CRATE / "src/queues/{}.md",
    "twinned.rs": CRATE / "tests/twinned/{}.rs",
    "test.rs": CRATE / "tests/queues/{}.rs",
}


def fail(why):
    sys.exit(f"new queue: {why}")


def insert(path, pattern, line):
    """Puts `line` among the lines that match `pattern`, in the order of the alphabet."""
    lines = path.read_text().splitlines(keepends=True)
    places = [i for i, old in enumerate(lines) if re.match(pattern, old)]
    if not places:
        fail(f"{path} has no line like `{line.strip()}`")
    at = next((i for i in places if lines[i] > line), places[-1] + 1)
    lines.insert(at, line)
    path.write_text("".join(lines))


def append(path, begin, end, line):
    """Puts `line` before the first line `end` that follows the line `begin`."""
    lines = path.read_text().splitlines(keepends=True)
    try:
        at = lines.index(end, lines.index(begin))
    except ValueError:
        fail(f"{path} lacks `{begin.strip()}` … `{end.strip()}`")
    lines.insert(at, line)
    path.write_text("".join(lines))


def main(name, root):
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        fail(f"`{name}` is no name; use lower-case letters, digits and single underscores")
    kind = "".join(word.capitalize() for word in name.split("_"))
    targets = {HERE / source: root / str(target).format(name) for source, target in FILES.items()}
    for target in targets.values():
        if target.exists():
            fail(f"{target} exists; choose another name")
    for source, target in targets.items():
        text = source.read_text()
        text = text.replace("TEMPLATE", kind).replace("Template", kind).replace("template", name)
        target.write_text(text)
        print(target.relative_to(root))
    crate = root / CRATE
    insert(crate / "src/queues/mod.rs", r"pub mod ", f"pub mod {name};\n")
    insert(crate / "src/queues/mod.rs", r"pub use ", f"pub use {name}::{kind};\n")
    append(crate / "src/catalog.rs", "catalog! {\n", "}\n", f"    {name} => {kind},\n")
    insert(crate / "tests/queues/main.rs", r"mod [a-z_]+;$", f"mod {name};\n")
    insert(crate / "tests/naive/mod.rs", r"pub mod ", f"pub mod {name};\n")
    insert(crate / "tests/twinned/mod.rs", r"pub mod ", f"pub mod {name};\n")
    arm = f'            "{name}" => with::<{name}::Twinned>(case, tape),\n'
    insert(
        crate / "tests/twinned/mod.rs", r'            "\w+" => with::<\w+::Twinned>\(case, ', arm
    )


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else HERE / "../..").resolve())
