#!/usr/bin/env python3
"""Finds circles of imports between the files of a crate.

A module and its descendants may import each other, as long as the circle stays within that module. Any
other circle is an error, since none of its files can be read, tested or moved alone. Files are checked, not folders: two wings may import from each
other, as long as no file's imports lead back to it. Tests are left out. Names that a module re-exports count
as those of the file that defines them.

    tools/circles.py [CRATE...]      crates/* by default; exit status 1 if there is a circle
"""

import pathlib
import re
import sys


def code(text):
    """`text` without comments, strings and modules of tests."""
    text = re.sub(r'r(#*)".*?"\1|"(?:\\.|[^"\\])*"', '""', text, flags=re.S)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*\{", text):
        end, depth = found.end(), 1
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def leaves(tree, before=()):
    """The paths of a use tree, each with the name that it binds."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = tree.partition(" as ")
        parts = before + tuple(p.strip() for p in path.split("::") if p.strip())
        if parts and parts[-1] == "self":
            parts = parts[:-1]
        if parts:
            yield parts, name.strip() or parts[-1]
        return
    before += tuple(p.strip() for p in head.split("::") if p.strip())
    depth, start = 0, 0
    inner = rest[: rest.rindex("}")]
    for at, sign in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield from leaves(inner[start:at], before)
            start = at + 1


def modules(crate):
    """The crate's files by module path, without those of tests."""
    found = {}
    for file in sorted((crate / "src").rglob("*.rs")):
        parts = file.relative_to(crate / "src").with_suffix("").parts
        if parts[-1] in ("mod", "lib", "main"):
            parts = parts[:-1]
        if not {"tests", "test"} & set(parts):
            found[parts] = code(file.read_text())
    return found


def absolute(path, at, known):
    """`path` as seen from module `at`, from the crate's root; None if it leads elsewhere."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return at + path[1:]
    if path[0] == "super":
        while path and path[0] == "super":
            at, path = at[:-1], path[1:]
        return at + path
    return at + path if at + path[:1] in known else None


def graph(crate):
    """Which files each file imports from."""
    known = modules(crate)
    uses, exports = {}, {}
    for at, text in known.items():
        found = []
        for public, tree in re.findall(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", text):
            for path, name in leaves(tree):
                if (path := absolute(path, at, known)) is not None:
                    found.append(path)
                    if public:
                        exports[at, name] = path
        rest = re.sub(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+[^;]+;", "", text)
        for path in re.findall(r"\b((?:crate|super)(?:::\w+)+)", rest):
            found.append(absolute(tuple(path.split("::")), at, known))
        children = [module[-1] for module in known if module[:-1] == at and module]
        found += [at + (child,) for child in children if re.search(rf"\b{child}::", rest)]
        uses[at] = found

    def owner(path):
        """The file that defines what `path` names."""
        for _ in range(20):
            module = path
            while module not in known:
                module = module[:-1]
            rest = path[len(module) :]
            if not rest or (module, rest[0]) not in exports:
                return module
            path = exports[module, rest[0]] + rest[1:]
        return module

    edges = {at: {owner(path) for path in found} - {at} for at, found in uses.items()}
    # The root only lists what there is.
    return {at: owners - {()} for at, owners in edges.items() if at}


def within_one_module(part, edges):
    """Whether no circle of these files leads beyond a module and its descendants."""
    kin = lambda a, b: a[: len(b)] == b or b[: len(a)] == a
    strangers = {at: {to for to in edges[at] if not kin(at, to)} for at in part}
    return len({at[0] for at in part}) == 1 and not circles(strangers)


def circles(edges):
    """The strongly connected components of more than one file (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(at):
        index[at] = low[at] = len(index)
        stack.append(at)
        for to in sorted(edges.get(at, ())):
            if to not in index:
                visit(to)
                low[at] = min(low[at], low[to])
            elif to in stack:
                low[at] = min(low[at], index[to])
        if low[at] == index[at]:
            part = stack[stack.index(at) :]
            del stack[stack.index(at) :]
            if len(part) > 1:
                found.append(part)

    sys.setrecursionlimit(10_000)
    for at in sorted(edges):
        if at not in index:
            visit(at)
    return found


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    crates = [pathlib.Path(c) for c in sys.argv[1:]] or sorted((root / "crates").iterdir())
    wrong = False
    for crate in crates:
        edges = graph(crate)
        for part in circles(edges):
            if within_one_module(part, edges):
                continue
            wrong = True
            print(f"{crate.name}: a circle of imports between {len(part)} files:")
            for at in sorted(part):
                to = ", ".join("::".join(t) for t in sorted(edges[at] & set(part)))
                print(f"    {'::'.join(at)} imports {to}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
