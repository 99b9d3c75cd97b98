"""A library queue, packet by packet, does what the command's replay does with the same packets."""

import random
import struct

import pytest
import tidegate

RATE, LIMIT = 1_000_000, "20 packets"


def capture(path, packets):
    """A capture of UDP packets: (time in us, flow, length on the wire in bytes)."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    with open(path, "wb") as file:
        file.write(head)
        for time, flow, length in packets:
            ip = struct.pack(
                ">BBHHHBBHII", 0x45, 0, length, 0, 0, 64, 17, 0, 0x0A000000 + flow, 0x0B000001
            )
            udp = struct.pack(">HHHH", 1000, 2000, length - 20, 0)
            file.write(struct.pack("<IIII", time // 10**6, time % 10**6, 28, length) + ip + udp)


def driven(queue, packets):
    """The packets through the queue before a link of RATE. What was sent and dropped, by flow."""
    sent, dropped, waits = {}, {}, []
    free = 0
    pending = list(packets)

    def count(of, packet):
        of[packet.flow] = of.get(packet.flow, 0) + 1

    def depart(until):
        nonlocal free
        while free < until:
            packet, fates = queue.dequeue(free)
            for fate in fates:
                count(dropped, fate.packet)
            if packet is None:
                return
            count(sent, packet)
            waits.append(free - packet.arrived)
            # Exact: a bit takes 1000 ns.
            free += packet.bytes * 8 * 10**9 // RATE

    for time, flow, length in pending:
        now = time * 1000
        depart(now + 1)
        for fate in queue.enqueue(now, flow=flow, bytes=length):
            assert fate.kind == "dropped"
            count(dropped, fate.packet)
        free = max(free, now)
    depart(2**63)
    return sent, dropped, waits


def traffic(seed, count):
    dice, time = random.Random(seed), 0
    for _ in range(count):
        time += int(dice.expovariate(1) * 6000)
        yield time, dice.randrange(1, 4), dice.randrange(40, 1500)


@pytest.mark.parametrize("name", ["drop_tail", "codel", "drr"])
def test_it_gives_the_commands_figures(name, tmp_path, command):
    packets = list(traffic(1, 3000))
    capture(tmp_path / "c.pcap", packets)
    document = command(
        *("replay", str(tmp_path / "c.pcap"), "--rate", "1 Mbit/s", "--queue", name),
        *("--limit", LIMIT, "--mean-packet", "770 B"),
    )
    queue = tidegate.Queue(name, rate="1 Mbit/s", limit=LIMIT, mean_packet="770 B")
    sent, dropped, waits = driven(queue, packets)
    assert queue.backlog.packets == 0
    for flow in document["flows"]:
        number = int(flow["label"].split("10.0.0.")[1].split(":")[0])
        assert flow["packets"]["delivered"] == sent[number]
        assert flow["packets"]["dropped"] == dropped.get(number, 0)
    assert (
        sum(flow["packets"]["dropped"] for flow in document["flows"]) == sum(dropped.values()) > 100
    )
    mean = document["aggregate"]["queue_delay_ms"]["mean"]["mean"]
    assert mean == pytest.approx(sum(waits) / len(waits) / 1e6, rel=1e-9)


def test_packets_keep_who_they_are():
    queue = tidegate.Queue("drop_tail", rate="1 Mbit/s", limit="2 packets")
    assert queue.enqueue(5, flow=7, bytes=1500, ecn="ect1", class_=3) == []
    assert queue.enqueue(6, flow=8, bytes=40) == []
    [fate] = queue.enqueue(7, flow=9, bytes=100)
    assert (fate.kind, fate.reason, fate.packet.flow, fate.packet.id) == (
        "dropped",
        "overlimit",
        9,
        2,
    )
    assert queue.backlog == queue.backlog and (queue.backlog.packets, queue.backlog.bytes) == (
        2,
        1540,
    )
    packet, fates = queue.dequeue(8)
    assert (packet.id, packet.flow, packet.bytes, packet.class_, packet.arrived) == (
        0,
        7,
        1500,
        3,
        5,
    )
    assert packet.ecn == "ect1" and packet.ecn_capable and fates == []
    assert queue.dequeue(9)[0].flow == 8 and queue.dequeue(9) == (None, [])
    assert repr(packet) == "<tidegate.Packet 0 of flow 7, 1500 B, ect1>"


def test_marks_are_told_and_seen():
    queue = tidegate.Queue(
        "red,min=1 packets,max=3 packets,weight=1,ecn=on", rate="1 Mbit/s", limit="9 packets"
    )
    fates = [
        fate for now in range(6) for fate in queue.enqueue(now, flow=1, bytes=1000, ecn="ect0")
    ]
    marked = [fate for fate in fates if fate.kind == "marked"]
    assert marked and all(fate.packet.ecn == "ce" for fate in marked)
    assert "avg" in queue.probe() and queue.params["ecn"] == "on"


def test_the_same_seed_has_the_same_fates():
    def fates(seed):
        queue = tidegate.Queue("sfb/paper", rate="1 Mbit/s", limit="20 packets", seed=seed)
        told = []
        for now, flow, length in traffic(2, 2000):
            told += [(f.packet.id, f.reason) for f in queue.enqueue(now, flow=flow, bytes=length)]
            if now % 3 == 0:
                queue.dequeue(now)
        return told

    assert fates(1) == fates(1) != fates(2)


def test_what_cannot_be_is_refused():
    queue = tidegate.Queue("drop_tail", rate="1 Mbit/s", limit="2 packets")
    queue.advance(10)
    with pytest.raises(ValueError, match="now = 9: time must not run back; it was 10 ns"):
        queue.enqueue(9, flow=1, bytes=100)
    with pytest.raises(ValueError, match="bytes = 19: must lie in 20 to 65535"):
        queue.enqueue(10, flow=1, bytes=19)
    with pytest.raises(ValueError, match='ecn = "yes": must be one of not_ect, ect0, ect1, ce'):
        queue.enqueue(10, flow=1, bytes=100, ecn="yes")
    with pytest.raises(OverflowError):
        queue.enqueue(10, flow=-1, bytes=100)
    with pytest.raises(TypeError):
        queue.enqueue(10.5, flow=1, bytes=100)
    assert queue.backlog.packets == 0
    for name, options in [
        ("sbf", {}),
        ("red,min=x", {}),
        ("red", {"rate": "10"}),
        ("red", {"limit": "0 B"}),
    ]:
        with pytest.raises(tidegate.QueueError):
            tidegate.Queue(name, **({"rate": "1 Mbit/s", "limit": "2 packets"} | options))
