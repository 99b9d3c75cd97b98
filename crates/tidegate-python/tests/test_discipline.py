"""A queue written in Python is judged as one of the catalog is."""

import random
from collections import deque

import pytest
import tidegate


class DropTail(tidegate.Discipline):
    """What the catalog's drop_tail is, from its page."""

    def start(self, link, seed):
        self.link, self.waiting, self.bytes = link, deque(), 0

    def enqueue(self, now, packet):
        assert packet.arrived == now
        if self.link.has_room(len(self.waiting), self.bytes, packet.bytes):
            self.waiting.append(packet)
            self.bytes += packet.bytes
        else:
            self.drop(packet)

    def dequeue(self, now):
        if not self.waiting:
            return None
        packet = self.waiting.popleft()
        self.bytes -= packet.bytes
        return packet


def figures(document):
    """A document without what says which queue it is of."""
    own = ("label", "queue", "wall_s")
    return {key: value for key, value in document.items() if key not in own}


def rows(table, queue):
    pyarrow = pytest.importorskip("pyarrow")
    found = pyarrow.table(table).to_pylist()
    return [
        {k: v for k, v in row.items() if k != "queue"} for row in found if row["queue"] == queue
    ]


@pytest.mark.parametrize("limit", ["100 packets", "50 kB"])
def test_a_python_drop_tail_equals_the_catalogs_in_every_figure(short, limit):
    short |= {"network.limit": limit}
    both = tidegate.compare("flood", ["drop_tail", DropTail()], set=short, seeds=2, flows=True)
    assert figures(both["drop_tail"].document) == figures(both["DropTail"].document)
    assert rows(both.series, "drop_tail") == rows(both.series, "DropTail") != []
    assert both["DropTail"].document["queue"] == {"name": "DropTail", "preset": None, "params": {}}


def test_on_every_link_of_a_network(short):
    scenario = """
[run]
duration = "5 s"
warmup = "1 s"
[network]
kind = "graph"
[[link]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "5 ms"
limit = "40 packets"
watch = true
[[link]]
from = "b"
to = "c"
rate = "8 Mbit/s"
delay = "5 ms"
limit = "30 packets"
[[link]]
from = "c"
to = "d"
rate = "7 Mbit/s"
delay = "5 ms"
limit = "30 packets"
queue = { name = "red" }
[[group]]
name = "tcp"
count = 5
source = "newreno"
from = "a"
to = "d"
"""
    both = tidegate.compare(scenario, ["drop_tail", DropTail()], seeds=2)
    assert len(both[0].document["links"]) == 3
    assert figures(both[0].document) == figures(both[1].document)


class Half(DropTail):
    """Marks half of the packets that can be, drops a third of the others at the head."""

    name = "half and half"

    def __init__(self, part=0.5):
        self.part = part

    def params(self):
        return {"part": self.part}

    def start(self, link, seed):
        super().start(link, seed)
        self.dice = random.Random(seed)

    def enqueue(self, now, packet):
        super().enqueue(now, packet)
        if packet in self.waiting and packet.ecn_capable and self.dice.random() < self.part:
            self.mark(packet)
            assert packet.ecn == "ce"

    def dequeue(self, now):
        while (packet := super().dequeue(now)) is not None:
            if packet.ecn_capable or self.dice.random() > 1 / 3:
                return packet
            self.drop(packet, "unfair")
        return None

    def probe(self):
        return {"held": len(self.waiting), "dice": 1.5}


def test_marks_head_drops_gauges_and_dice(short):
    queue = Half()
    runs = [tidegate.run("flood", queue, set=short, seeds=2, threads=threads) for threads in (1, 2)]
    documents = [figures(result.document) for result in runs]
    assert documents[0] == documents[1], "the same seed, the same bytes"
    result = runs[0]
    assert result.label == "half and half"
    assert result.document["queue"]["params"] == {"part": "0.5"}
    aggregate = result.document["aggregate"]
    assert aggregate["drops"]["unfair"]["mean"] > 100 and aggregate["marks"]["early"]["mean"] > 50
    gauges = [row for row in rows(result.series, "half and half") if row["quantity"] == "gauge"]
    queues = [row for row in rows(result.series, "half and half") if row["quantity"] == "queue"]
    held = [row["value"] for row in gauges if row["name"] == "held"]
    assert held == [row["value"] for row in queues] and max(held) > 10
    assert {row["value"] for row in gauges if row["name"] == "dice"} == {1.5}
    assert not hasattr(queue, "waiting"), "copies run, not the object itself"


class Shaper(DropTail):
    """Lets a packet go every ten milliseconds at most."""

    next = 0

    def dequeue(self, now):
        if now < self.next:
            return None
        packet = super().dequeue(now)
        if packet:
            self.next = now + 10**7
        return packet

    def wake_at(self):
        return self.next


def test_a_queue_may_hold_packets_back(short):
    result = tidegate.run("flood", Shaper(), set=short, seeds=1)
    # A packet of 1000 B every 10 ms.
    assert result.document["aggregate"]["throughput_bps"]["mean"] == pytest.approx(8e5, rel=0.01)


def wrong(**methods):
    return type("Wrong", (DropTail,), methods)()


class Fault(Exception):
    pass


def raises(self, now, *_):
    if now > 10**9:
        raise Fault(f"at {now}")
    return DropTail.enqueue(self, now, *_) if _ else DropTail.dequeue(self, now)


def twice(self, now):
    packet = DropTail.dequeue(self, now)
    self.last = getattr(self, "last", None) or packet
    return packet if now < 10**9 else self.last


def drops_sent(self, now):
    packet = DropTail.dequeue(self, now)
    if packet:
        self.drop(packet)
    return packet


def bad_reason(self, now, packet):
    self.drop(packet, "because")


def marks_all(self, now, packet):
    self.mark(packet)


@pytest.mark.parametrize(
    ("queue", "error", "why"),
    [
        (wrong(enqueue=raises), Fault, "at 1"),
        (wrong(dequeue=raises), Fault, "at 1"),
        (wrong(start=lambda self, link, seed: 1 / 0), ZeroDivisionError, "division"),
        (wrong(probe=lambda self: 3), TypeError, "int"),
        (wrong(wake_at=lambda self: "soon", dequeue=lambda self, now: None), TypeError, "str"),
        (wrong(dequeue=lambda self, now: 3), TypeError, "must return a packet or None, not int"),
        (wrong(dequeue=twice), RuntimeError, "is not held: it was sent or dropped before"),
        (wrong(dequeue=drops_sent), RuntimeError, "is not held"),
        (
            wrong(enqueue=bad_reason),
            ValueError,
            'reason = "because": must be one of overlimit, early',
        ),
        (wrong(enqueue=marks_all), ValueError, "not_ect> cannot be marked; drop it"),
        (tidegate.Discipline(), NotImplementedError, "Discipline has no method enqueue"),
        (wrong(name="sfb"), tidegate.QueueError, "is a queue of the catalog"),
        (wrong(name="a\nb"), tidegate.QueueError, "a label must be one line"),
        (wrong(name=3), TypeError, "int"),
    ],
)
def test_what_a_python_queue_raises_comes_out(short, queue, error, why):
    with pytest.raises(error, match=why):
        tidegate.compare("flood", ["red", queue], set=short, seeds=2)


def test_two_of_a_name_and_other_places(short):
    with pytest.raises(tidegate.QueueError, match="another queue is called that too"):
        tidegate.compare("flood", [Half(0.1), Half(0.2)], set=short)
    with pytest.raises(TypeError, match="can only be simulated"):
        tidegate.replay(__file__, "1 Mbit/s", [DropTail()])
    with pytest.raises(TypeError, match="or a Discipline, not <class"):
        tidegate.run("flood", DropTail)
