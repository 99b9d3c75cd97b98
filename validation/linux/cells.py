"""The set-ups that `make validate-linux` runs in a kernel: a network, its queues, and who sends.

One line, RATE bit/s, 200 packets may wait, delay each way as the cell says:

    senders (a) -- a0|r0 -- router (r) -- r1|d0 -- delay (d) -- d1|b0 -- receiver (b)
                                      ^ htb and the queue    ^ netem
                     netem (back) ^

The delays are on frames that are forwarded, so that they belong to no sender's socket any more.
"""

from dataclasses import dataclass

FRAME = 1514  # bytes, Ethernet header counted, as tc counts
LIMIT = 200  # packets
USERS, FLOOD = (
    1 / 5,
    3,
)  # of the line: each of three datagram senders in the open loop, and the flood in both


@dataclass(frozen=True)
class Queue:
    """What `tc` is told, and our queue's words where we have it."""

    tc: str
    ours: str | None = None
    classes: bool = False  # a class for each flow, by source port


QUEUES = {
    "pfifo": Queue(f"pfifo limit {LIMIT}", "drop_tail"),
    "sfb": Queue(
        f"sfb rehash 600000 db 60000 limit {LIMIT} max 25 target 20 increment .001 decrement .000167 penalty_rate 10 penalty_burst 20",
        "sfb/linux,ecn=off",  # whose defaults are those of tc above
    ),
    "choke": Queue(
        f"choke limit {LIMIT} bandwidth 100mbit min 33 max 66 burst 44 probability .02",
        "choke/paper,min=33 packets,max=66 packets,probability=0.02,weight=0.0625,ecn=off",
    ),
    "red": Queue(
        f"red limit {LIMIT * FRAME} min {33 * FRAME} max {66 * FRAME} avpkt {FRAME} burst 44 probability .02 bandwidth 100mbit",
        f"red/paper,mode=bytes,min={33 * FRAME} B,max={66 * FRAME} B,probability=0.02,weight=0.0625,ecn=off",
    ),
    "sfq": Queue(f"sfq limit 127 quantum {FRAME} divisor 1024 perturb 0", "sfq/paper"),
    "drr": Queue("drr", "drr/paper,quantum=1514 B", classes=True),
    "fq_codel": Queue(
        f"fq_codel limit {LIMIT} flows 1024 quantum {FRAME} target 5ms interval 100ms noecn",
        "fq_codel/linux,ecn=off",
    ),
    "codel": Queue(f"codel limit {LIMIT} target 5ms interval 100ms noecn", "codel/linux,ecn=off"),
    "pie": Queue(
        f"pie limit {LIMIT} target 15ms tupdate 15ms alpha 2 beta 20 noecn", "pie/paper,ecn=off"
    ),
    "cake": Queue(
        "cake unlimited besteffort flows nowash no-ack-filter memlimit 400k",
        "cake/paper,diffserv=besteffort,isolation=flows,mtu=0 B,ecn=off",  # without a rate there is no floor
    ),
    "fq_pie": Queue(
        f"fq_pie limit {LIMIT} flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 quantum {FRAME} noecn",
        "fq_pie/paper",
    ),
    "hhf": Queue(f"hhf limit {LIMIT} quantum {FRAME}", "hhf/paper"),
}


@dataclass(frozen=True)
class Cell:
    """A set-up: the line, and who sends. Times in seconds from the cell's beginning."""

    loop: str  # open: datagrams only; closed: connections and a flood
    rate: int = 20_000_000
    delay_ms: int = 20  # each way
    connections: int = 4
    control: str = "cubic"
    floods: int = 1
    times: float = FLOOD  # what floods send together, of the line
    flood_frame: int = FRAME
    flood_begins: float = 1
    spread_ms: int = 10  # within which connections begin
    warmup: float = 5
    duration: float = 25
    every_ms: int = 0  # how often connections say their state, for looking closer
    queues: tuple = tuple(QUEUES)

    @property
    def name(self):
        crowd = f"-{self.floods}x{self.flood_frame}" if self.floods > 1 else ""
        crowd += f"-{self.spread_ms}ms" if self.floods == 1 and self.spread_ms != 10 else ""
        return f"{self.loop}-{self.rate // 10**6}m{crowd}"


CELLS = {
    cell.name: cell
    for cell in (
        Cell("open", delay_ms=10),
        Cell("closed"),
        # Begun so far apart that connections need not get into step.
        Cell("closed", spread_ms=500, queues=("fq_codel",)),
        Cell("closed", rate=100_000_000, delay_ms=10, connections=8, queues=("sfb",)),
        # Floods whose frames are as long as a quantum, and shorter, beside many users.
        *(
            Cell(
                "closed",
                rate=50_000_000,
                connections=30,
                floods=40,
                times=4,
                flood_frame=frame,
                spread_ms=500,
                queues=("cake", "fq_codel"),
            )
            for frame in (FRAME, 1500, 1400)
        ),
    )
}
