"""A scenario that is a dict, as TOML."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def dumps(scenario: Mapping[str, Any]) -> str:
    """The TOML of ``scenario``: text, numbers, truth values, lists and dicts of them."""
    return "\n".join(_table(scenario, "")).lstrip() + "\n"


def value(of: Any, path: str) -> str:
    """The TOML of one value, on one line. ``path`` names it in errors."""
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, (str, os.PathLike)):
        # JSON's escapes are TOML's, apart from DEL, which JSON leaves alone.
        return json.dumps(os.fspath(of), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(of, int):
        return str(of)
    if isinstance(of, float):
        if not math.isfinite(of):
            raise ValueError(f"{path} = {of}: must be a finite number")
        return repr(of)
    if isinstance(of, Mapping):
        return (
            "{"
            + ", ".join(f"{_key(k, path)} = {value(v, _join(path, k))}" for k, v in of.items())
            + "}"
        )
    if isinstance(of, Sequence) and not isinstance(of, (bytes, bytearray)):
        return "[" + ", ".join(value(item, path) for item in of) + "]"
    if hasattr(of, "item"):  # a number of NumPy's
        return value(of.item(), path)
    raise TypeError(f"{path}: a {type(of).__name__} cannot stand in a scenario")


def _table(table: Mapping[str, Any], path: str) -> Iterator[str]:
    """The lines of a table: its values first, since a heading would take what follows it."""
    nested = []
    for key, item in table.items():
        if isinstance(item, Mapping) or _is_tables(item):
            nested.append((key, item))
        else:
            yield f"{_key(key, path)} = {value(item, _join(path, key))}"
    for key, item in nested:
        name = _join(path, _key(key, path))
        tables, mark = ([item], "[{}]") if isinstance(item, Mapping) else (item, "[[{}]]")
        for each in tables:
            yield ""
            yield mark.format(name)
            yield from _table(each, name)


def _is_tables(item: Any) -> bool:
    return (
        isinstance(item, (list, tuple)) and bool(item) and all(isinstance(i, Mapping) for i in item)
    )


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{path or 'scenario'}: a key must be text, not {key!r}")
    plain = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if plain else value(key, path)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else str(key)
