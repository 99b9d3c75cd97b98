#!/usr/bin/env python3
"""Checks three queues, written here anew, against the reference vectors of Tidegate.

    check.py [FILE...]      drop_tail-*, red-* and drr-*.jsonl beside this script by default

It knows docs/embed/vectors.md and the manual pages (`tidegate show red`), and nothing of the
library. For a queue of yours, write a class like these and add it to QUEUES.
"""

import json
import pathlib
import sys

UNITS = {"packets": 1, "packet": 1, "B": 1, "kB": 1000, "MB": 1000_000, "GB": 1000_000_000}


def size(text, link):
    """A length of queue: (number, whether it counts bytes)."""
    number, unit = text.split()
    return float(number) * UNITS[unit], not unit.startswith("packet")


def in_packets(text, link):
    number, bytes_ = size(text, link)
    return number / link["mean_packet"] if bytes_ else number


def mix(x):
    """The hash that the page calls mix."""
    top = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & top
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & top
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & top
    return x ^ x >> 31


class Dice:
    def __init__(self, words):
        self.words, self.at = words, 0

    def word(self):
        self.at += 1
        return int(self.words[self.at - 1], 16)

    def uniform(self):
        return (self.word() >> 11) / (1 << 53)


class Packet:
    def __init__(self, line):
        self.number, self.len, self.now = line["offer"], line["len"], line["at"]
        self.flow, self.ecn = int(line["flow"], 16), line.get("ecn", 0)
        self.service_class = line.get("class", 0)


class Told(dict):
    """What a call reported."""

    def __init__(self):
        super().__init__(dropped=[], marked=[])

    def __call__(self, what, packet, why):
        self[what].append([packet.number, why])


class DropTail:
    """One FIFO. `verdict` may refuse or mark what finds room."""

    def __init__(self, params, link, dice):
        self.params, self.link, self.dice, self.waiting = params, link, dice, []

    def backlog(self):
        return len(self.waiting), sum(packet.len for packet in self.waiting)

    def has_room(self, extra):
        packets, octets = self.backlog()
        if "limit_packets" in self.link:
            return packets < self.link["limit_packets"]
        return octets + extra <= self.link["limit_bytes"]

    def offer(self, packet, told):
        if not self.has_room(packet.len):
            self.overflow(packet)
            return told("dropped", packet, "overlimit")
        fate = self.verdict(packet)
        if fate:
            told(fate[0], packet, fate[1])
        if not fate or fate[0] == "marked":
            self.admitted()
            self.waiting.append(packet)
        return None

    def ask(self, now, told):
        if not self.waiting:
            self.idle(now)
            return None
        return self.waiting.pop(0)

    def verdict(self, packet):
        return None

    def admitted(self):
        pass

    def overflow(self, packet):
        pass

    def idle(self, now):
        pass

    def gauges(self):
        return {}


class Red(DropTail):
    """RED in packets, as `tidegate show red` has it."""

    def __init__(self, params, link, dice):
        super().__init__(params, link, dice)
        assert params["mode"] == "packets", "this checker counts packets"
        self.min, self.max = in_packets(params["min"], link), in_packets(params["max"], link)
        self.max_p, self.weight = float(params["probability"]), float(params["weight"])
        self.gentle = params["gentle"] == "on"
        self.top = 2 * self.max if self.gentle else self.max
        self.avg, self.count, self.above = 0.0, -1, False
        self.since, self.packet_time = 0, link["mean_packet"] * 8e9 / link["rate"]

    def estimate(self, now):
        if self.since is None:
            self.avg += self.weight * (len(self.waiting) - self.avg)
            return
        m = int((now - self.since) / self.packet_time)
        one_more = self.params["idle_decay"] == "m+1"
        self.since = now if one_more else self.since + int(m * self.packet_time)
        self.avg *= (1 - self.weight) ** (m + one_more)

    def passes(self):
        lenient = self.params["short_queue"] == "pass" and len(self.waiting) <= 1
        if self.avg < self.min or lenient:
            self.count, self.above = -1, False
            return True
        return False

    def p_b(self):
        if self.avg < self.max:
            return self.max_p * (self.avg - self.min) / (self.max - self.min)
        return self.max_p + (1 - self.max_p) * (self.avg - self.max) / self.max

    def p_a(self, p_b):
        product = self.count * p_b
        if self.params["wait"] == "on":
            return 0 if product < 1 else 1 if 2 - product <= p_b else p_b / (2 - product)
        return 1 if 1 - product <= p_b else p_b / (1 - product)

    def signal(self, packet, why, may_mark):
        marks = may_mark and self.params["ecn"] == "on" and packet.ecn != 0
        return ("marked" if marks else "dropped", why)

    def verdict(self, packet):
        self.estimate(packet.now)
        if self.passes():
            return None
        crossing, self.above = not self.above, True
        if self.avg >= self.top:
            self.count = 0
            return self.signal(packet, "forced", self.params["mark_above_max"] == "on")
        if crossing and self.params["on_crossing"] == "pass":
            self.count = 1
            return None
        self.count = max(self.count + 1, 0)
        p_b, u = self.p_b(), self.dice.uniform()
        if u >= self.p_a(p_b):
            return None
        self.count = 0
        return self.signal(packet, "early", p_b <= float(self.params["mark_up_to"]))

    def admitted(self):
        self.since = None

    def overflow(self, packet):
        self.estimate(packet.now)
        if not self.passes():
            self.count, self.above = 0, True

    def idle(self, now):
        self.since = now if self.since is None else self.since

    def gauges(self):
        return {"avg": self.avg, "count": self.count}


class Drr(DropTail):
    """Deficit round robin, as `tidegate show drr` has it."""

    def __init__(self, params, link, dice):
        super().__init__(params, link, dice)
        assert params["map"] == "flow" and params["weights"] == "1"
        assert params["overflow"] == "longest_head" and params["longest"] == "bytes"
        self.quantum = size(params["quantum"], link)[0]
        self.places, self.ways = int(params["classes"]), int(params["ways"])
        self.key = dice.word()
        self.lines = [[] for _ in range(self.places)]
        self.deficit, self.turns, self.visited = [0] * self.places, [], None
        self.owner, self.shared = [0] * self.places, [False] * self.places

    def backlog(self):
        packets = [packet for line in self.turns for packet in self.lines[line]]
        return len(packets), sum(packet.len for packet in packets)

    def place(self, flow):
        """The page's "Hashes": the place of a packet that joins."""
        first = (mix(flow ^ self.key) * (self.places // self.ways) >> 64) * self.ways
        if self.ways == 1:
            return first
        of_set, home = range(first, first + self.ways), first + mix(flow) % self.ways
        free = [place for place in of_set if not self.lines[place]]
        own = [place for place in of_set if self.owner[place] == flow]
        if own:
            place = own[0]
        elif (self.shared[home] and self.lines[home]) or not free:
            place = home
        else:
            place = free[0]
        if not self.lines[place]:
            self.owner[place], self.shared[place] = flow, False
        elif self.owner[place] != flow:
            self.shared[place] = True
        return place

    def offer(self, packet, told):
        place = self.place(packet.flow)
        if "limit_bytes" in self.link and packet.len > self.link["limit_bytes"]:
            return told("dropped", packet, "overlimit")
        if not self.lines[place]:
            self.turns.append(place)
            self.deficit[place] = 0
            self.visited = None if self.visited == place else self.visited
        self.lines[place].append(packet)
        while self.is_over():
            self.evict(place, told)
        return None

    def is_over(self):
        packets, octets = self.backlog()
        if "limit_packets" in self.link:
            return packets > self.link["limit_packets"]
        return octets > self.link["limit_bytes"]

    def evict(self, arrival, told):
        def length(line):
            return sum(packet.len for packet in self.lines[line])

        order = self.turns if self.params["ties"] == "turn" else sorted(self.turns)
        longest = max(order, key=length)  # the first of equals
        victim = self.lines[longest].pop(0)
        if not self.lines[longest]:
            self.turns.remove(longest)
        itself = longest == arrival and not self.lines[longest]
        told("dropped", victim, "overlimit" if itself else "evicted")

    def ask(self, now, told):
        while self.turns:
            line = self.turns[0]
            if self.visited != line:
                self.visited = line
                self.deficit[line] += self.quantum
            if self.lines[line][0].len <= self.deficit[line]:
                packet = self.lines[line].pop(0)
                self.deficit[line] -= packet.len
                if not self.lines[line]:
                    self.turns.pop(0)
                return packet
            self.turns.append(self.turns.pop(0))
            self.visited = None
        return None


QUEUES = {"drop_tail": DropTail, "red": Red, "drr": Drr}


def check(path):
    """The first line on which the queue and the file differ, as text; None if they agree."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    head, calls, end = lines[0], lines[1:-1], lines[-1]
    assert head["format"] == 1, "another format"
    dice = Dice(head["dice"][0])
    queue = QUEUES[head["queue"]](head["params"], head["link"], dice)
    for number, line in enumerate(calls, 2):
        told = Told()
        if "offer" in line:
            queue.offer(Packet(line), told)
        elif "sends" in line:
            sent = queue.ask(line["at"], told)
            told["sends"] = sent.number if sent else None
        for what, found in told.items():
            if found != line.get(what, [] if what != "sends" else "missing"):
                return f"{path.name}:{number}: {what} {found}, the file has {line.get(what)}"
    if queue.backlog() != (end["waits"]["packets"], end["waits"]["bytes"]):
        return f"{path.name}: {queue.backlog()} waits, the file has {end['waits']}"
    if dice.at != len(dice.words):
        return f"{path.name}: {dice.at} words drawn, the file has {len(dice.words)}"
    for name, value in queue.gauges().items():
        if abs(value - end["gauges"][name]) > 1e-6 * max(1, abs(value)):
            return f"{path.name}: {name} is {value}, the file has {end['gauges'][name]}"
    return None


def main():
    here = pathlib.Path(__file__).resolve().parent
    paths = [pathlib.Path(name) for name in sys.argv[1:]]
    paths = paths or sorted(p for name in QUEUES for p in here.glob(f"{name}-*.jsonl"))
    wrong = [message for message in map(check, paths) if message]
    print("\n".join(wrong or [f"{len(paths)} files agree"]))
    sys.exit(bool(wrong) or not paths)


if __name__ == "__main__":
    main()
