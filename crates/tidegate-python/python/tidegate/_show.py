"""What there is: queues, scenarios, and their manual pages."""

from __future__ import annotations

import json
from typing import Any

from . import _native


class Page(str):
    """A manual page: text that a prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def queues() -> list[dict[str, Any]]:
    """Every queue of the catalog, in the order of the documentation.

    Returns:
        A dict for each queue: ``name``, ``title``, ``paper``, ``presets`` (dicts of ``name`` and
        ``title``) and ``params`` (dicts of ``name``, ``symbol``, ``title``, ``kind``, ``range``).
    """
    return json.loads(_native.queues())


def scenarios() -> dict[str, str]:
    """The scenarios that come with Tidegate: their TOML by name."""
    return dict(_native.scenarios())


def show(
    name: str,
    *,
    rate: str = "10 Mbit/s",
    limit: str = "100 packets",
    mean_packet: str = "1000 B",
) -> Page:
    """The manual page of a queue, a traffic source or a shipped scenario.

    Args:
        name: As ``sfb``, ``cubic`` or ``flood``.
        rate: The rate of the link that a queue's presets are scaled to.
        limit: The queue's hard limit on that link, in packets or bytes.
        mean_packet: The usual length of a packet on that link.

    Raises:
        QueueError: Nothing has that name, or the link cannot be.
    """
    return Page(_native.show(name, rate, limit, mean_packet))
