"""The base class of queues written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._native import Ledger, Link, Packet


class Discipline:
    """A queue written in Python, to be simulated beside those of the catalog.

    Every replication, and every link that has the queue, gets a deep copy of your object. `start` is
    called on the copy, then `enqueue` and `dequeue` as packets come and the link asks. Times are whole
    nanoseconds and never run back. Of each packet that it is offered, a queue must either return it
    once from `dequeue`, or `drop` it once, or hold it; anything else ends the run with an error.

    It is slow: the plainest queue takes ten times as long as the catalog's, and only one thread runs
    Python at a time. For long studies write the queue in Rust.

    An exception that you raise ends the run and comes out of `run` or `compare`.

    >>> from collections import deque
    >>> class Fifo(Discipline):
    ...     def start(self, link, seed):
    ...         self.waiting, self.most = deque(), link.limit
    ...     def enqueue(self, now, packet):
    ...         if len(self.waiting) < self.most:
    ...             self.waiting.append(packet)
    ...         else:
    ...             self.drop(packet)
    ...     def dequeue(self, now):
    ...         return self.waiting.popleft() if self.waiting else None
    """

    _ledger: Ledger

    @property
    def name(self) -> str:
        """What results call it; by default the name of its class. Set it as a class's attribute."""
        return type(self).__name__

    def params(self) -> Mapping[str, Any]:
        """Parameters for the result document, by name. By default none."""
        return {}

    def start(self, link: Link, seed: int) -> None:
        """Begins, empty, before ``link``. ``seed`` is for dice of your own: use no others."""

    def enqueue(self, now: int, packet: Packet) -> None:
        """Takes ``packet``, offered at ``now`` ns, or drops it or another."""
        raise NotImplementedError(f"{type(self).__name__} has no method enqueue")

    def dequeue(self, now: int) -> Packet | None:
        """The packet to send at ``now`` ns, or None when there is none to send yet."""
        raise NotImplementedError(f"{type(self).__name__} has no method dequeue")

    def wake_at(self) -> int | None:
        """When to ask again, in ns, if `dequeue` holds packets back. By default at the next packet."""
        return None

    def probe(self) -> Mapping[str, float]:
        """The inner state for `Result.series`, by the name of the gauge. By default nothing."""
        return {}

    def drop(self, packet: Packet, reason: str = "overlimit") -> None:
        """Drops ``packet``, the one that is offered or one that you hold.

        Args:
            reason: ``overlimit``, ``early``, ``forced``, ``bin_full``, ``penalty``, ``unfair`` or
                ``evicted``.

        Raises:
            RuntimeError: You do not hold the packet.
            ValueError: There is no such reason.
        """
        self._ledger.drop(packet, reason)

    def mark(self, packet: Packet, reason: str = "early") -> None:
        """Marks ``packet``, the one that is offered or one that you hold, with ECN.

        Args:
            reason: ``early`` or ``forced``.

        Raises:
            RuntimeError: You do not hold the packet.
            ValueError: It cannot be marked (see `Packet.ecn_capable`); there is no such reason.
        """
        self._ledger.mark(packet, reason)
