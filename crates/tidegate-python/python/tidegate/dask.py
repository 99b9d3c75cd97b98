"""Studies on many machines, by Dask: ``pip install 'tidegate[dask]'``.

>>> from distributed import Client, LocalCluster
>>> import tidegate.dask
>>> with LocalCluster(n_workers=2) as cluster, Client(cluster) as client:
...     result = tidegate.dask.sweep("rtt.toml", client)

Dask has the machines: a ``LocalCluster``, a ``SLURMCluster`` or ``PBSCluster`` of ``dask_jobqueue``,
or a scheduler at an address. Every worker needs this package, in the same version.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

from ._native import Store
from ._native import Study as Checked
from ._sweep import Listening, Place, Progress, Study, StudyResult, check

try:
    from distributed import Client, Future, as_completed
except ImportError as error:
    raise ImportError("tidegate.dask needs Dask: pip install 'tidegate[dask]'") from error

# A batch takes so many seconds: few enough that little is lost with a worker, so many that Dask's
# work for a task does not show.
LEAST, MOST = 1.0, 5.0
# Batches become shorter when less than so many are left for each thread, so that all end together.
GUIDE = 3
# So many batches are with Dask at once for each thread, and at least so many.
DEEP, FEW = 3, 8

Replications = tuple[int, int, int]


def sweep(
    study: Study,
    client: Client | object,
    out: str | os.PathLike[str] | None = None,
    *,
    csv: bool = False,
    progress: bool | Progress | None = None,
) -> StudyResult:
    """Runs a study on the workers of ``client``.

    The tables are the same bytes as those of `tidegate.sweep`. This process alone writes the store,
    while results come: an interrupted study goes on where it was, here or by ``tidegate sweep``. The
    batches of a lost worker run again. Captures that a scenario replays must lie at the same path on
    every worker; the study and its scenarios are sent to them.

    Args:
        study: As in `tidegate.sweep`.
        client: A ``distributed.Client``, or what makes one: a cluster, or a scheduler's address.
        out: The directory of the results, as in `tidegate.sweep`.
        csv: Whether to write the tables as CSV, too.
        progress: As in `tidegate.sweep`.

    Raises:
        ScenarioError: The study or one of its scenarios is wrong; ``problems`` has each place.
        StoreError: Another process works on the store, it is of another version, the disk is full.
        RuntimeError: A worker has another version of the package.
    """
    checked = check(study)
    checked.drawable()
    place = Place(study, checked, out)
    store = Store(place.path)
    try:
        with (
            nullcontext(client) if isinstance(client, Client) else Client(client) as connected,
            Listening(progress) as listener,
        ):
            run, had = _Job(checked, store, connected, listener).rounds()
        published = store.publish(checked, csv, sys.orig_argv)
        return StudyResult(checked, store.dir, run, had, published, place)
    finally:
        store.close()


class _Job:
    """A study that is under way."""

    def __init__(
        self, study: Checked, store: Store, client: Client, listener: Progress | None
    ) -> None:
        if client.asynchronous:
            raise TypeError(
                "an asynchronous client cannot be waited for; make one without asynchronous=True"
            )
        self.study, self.store, self.client, self.listener = study, store, client, listener
        self.weights = study.weights()
        text, file, scenarios = study.parts()
        self.parts = text, file, tuple(scenarios)
        # Seconds for a unit of weight: a guess first, then what workers measure.
        self.pace = 0.0
        self.measured = [0.0, 0.0]

    def rounds(self) -> tuple[int, int]:
        """Runs what is missing, and again while a case needs more seeds. Replications run, and had."""
        run, had = 0, None
        while missing := self.store.missing(self.study):
            count = sum(seeds for _, _, seeds in missing)
            had = self.study.planned - count if had is None else had
            seconds = self.study.seconds(missing)
            assert seconds is not None, "something is missing, so it takes time"
            self.pace = self.pace or seconds / self.weight(missing)
            self.round(missing, count)
            run += count
        return run, self.study.planned if had is None else max(had, 0)

    def round(self, missing: list[Replications], count: int) -> None:
        """Runs ``missing``, which are ``count`` replications."""
        whole, work, done = self.weight(missing), 0.0, 0
        queue = batches(missing, self.weights, lambda: self.pace, self.threads)
        running: dict[Future, list[Replications]] = {}
        completed = as_completed(with_results=True)
        try:
            self.submit(queue, running, completed)
            # What has come while the last was stored is stored together.
            for finished in completed.batches():
                results = [_result(result) for _, result in finished]
                self.store.add([(rows, flows) for rows, flows, _ in results])
                for (future, _), (_, _, seconds) in zip(finished, results):
                    batch = running.pop(future)
                    self.measure(batch, seconds)
                    work += self.weight(batch)
                    done += sum(seeds for _, _, seeds in batch)
                if self.listener:
                    self.listener(work / whole, done, count)
                self.submit(queue, running, completed)
        finally:
            if running:
                self.client.cancel(list(running))

    def submit(
        self, queue: Iterator[list[Replications]], running: dict, completed: as_completed
    ) -> None:
        """Gives Dask batches, as far as the bound."""
        bound = max(FEW, DEEP * self.threads())
        while len(running) < bound and (batch := next(queue, None)):
            future = self.client.submit(_compute, Checked.MAKER, self.parts, batch, pure=False)
            running[future] = batch
            completed.add(future)

    def measure(self, batch: list[Replications], seconds: float) -> None:
        """Learns from a batch how long work takes."""
        self.measured[0] += seconds
        self.measured[1] += self.weight(batch)
        self.pace = self.measured[0] / self.measured[1]

    def weight(self, replications: Sequence[Replications]) -> float:
        return sum(self.weights[case] * seeds for case, _, seeds in replications)

    def threads(self) -> int:
        """How many there are now, at least one."""
        return max(1, sum(self.client.nthreads().values()))


def batches(
    missing: Sequence[Replications],
    weights: Sequence[float],
    pace: Callable[[], float],
    threads: Callable[[], int],
) -> Iterator[list[Replications]]:
    """``missing`` in batches of `LEAST` to `MOST` seconds, short ones last; the last may be shorter.

    Args:
        weights: The work of a replication of each case.
        pace: The seconds of a unit of work, as far as is known now.
        threads: How many run side by side now.
    """
    left = sum(weights[case] * seeds for case, _, seeds in missing)

    def size() -> float:
        seconds = left * pace() / (GUIDE * threads())
        return min(max(seconds, LEAST), MOST) / pace()

    batch, full, enough = [], 0.0, size()
    for case, seed, seeds in missing:
        end = seed + seeds
        while seed < end:
            take = min(end - seed, max(1, math.ceil((enough - full) / weights[case])))
            batch.append((case, seed, take))
            seed += take
            full += take * weights[case]
            if full >= enough:
                yield batch
                left -= full
                batch, full, enough = [], 0.0, size()
    if batch:
        yield batch


def _result(result: Any) -> tuple[bytes, bytes | None, float]:
    if isinstance(result, BaseException):  # a batch that somebody cancelled
        raise result
    return result


def _compute(
    maker: str, parts: tuple, batch: list[Replications]
) -> tuple[bytes, bytes | None, float]:
    """What a worker does: the rows of a batch, and the seconds that it took."""
    if maker != Checked.MAKER:
        raise RuntimeError(
            f"this worker has tidegate {Checked.MAKER}, and the client {maker}: install the same"
        )
    with _lock:
        study = _prepared(parts)
    begun = time.perf_counter()
    rows, flows = study.compute(batch)
    return rows, flows, time.perf_counter() - begun


# A worker checks a study once, and keeps it. Its threads wait for the one that does.
_lock = threading.Lock()


@lru_cache(maxsize=2)
def _prepared(parts: tuple) -> Checked:
    text, file, scenarios = parts
    return Checked(text, file, list(scenarios))
