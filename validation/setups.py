"""The set-ups on which Tidegate and ns-2 are compared: one row per network and queue.

A row names the ns-2 script with its arguments and our twin scenario with its queue. Everything that is
the same in all rows stands in COMMON. ns2.md says how each ns-2 setting corresponds to ours.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON = "ecn=0 tcp=Newreno udpjit=1 sched=Splay stats=flow"
RESULTS = HERE / "ns2" / "results"
# Figures compared: name in the ns-2 result, what it is, and where it is in ours: the group, its figure, the scale.
UDP_AND_TCP = [
    ("udp_thr_mbps", "UDP throughput, Mbit/s", "udp", "throughput_bps", 1e-6),
    ("tcp_thr_mean_mbps", "mean TCP throughput, Mbit/s", "tcp", "per_flow", 1e-6),
    ("jain_tcp", "Jain index of the TCP flows", "tcp", "jain", 1.0),
    ("loss_tcp", "loss ratio, TCP", "tcp", "loss_ratio", 1.0),
    ("loss_udp", "loss ratio, UDP", "udp", "loss_ratio", 1.0),
    ("mean_q_pkts", "mean queue, packets", None, "queue_packets", 1.0),
]
# Of several UDP flows ns-2's is the mean of one.
FLOODS_AND_TCP = [
    ("udp_thr_mbps", "mean UDP throughput, Mbit/s", "udp", "per_flow", 1e-6)
] + UDP_AND_TCP[1:]
TFRC = [
    ("tfrc_thr_mean_mbps", "mean TFRC throughput, Mbit/s", "tfrc", "per_flow", 1e-6),
    ("jain_tfrc", "Jain index of the TFRC flows", "tfrc", "jain", 1.0),
    ("loss_tfrc", "loss ratio, TFRC", "tfrc", "loss_ratio", 1.0),
    ("mean_q_pkts", "mean queue, packets", None, "queue_packets", 1.0),
]
KINDS = ["lat10", "std", "binA", "binB", "aimd2_.5", "aimd.75_.31", "aimd1_.9", "udp"]
MIX = [
    (
        f"class.{kind}.kbps",
        f"mean throughput of {kind}, kbit/s",
        kind.replace(".", ""),
        "per_flow",
        1e-3,
    )
    for kind in KINDS
] + [
    ("mean_q_pkts", "mean queue, packets", None, "queue_packets", 1.0),
]
HELD_DOWN = [m for m in MIX if m[2] == "udp"]
TFRC_AND_TCP = TFRC[:3] + [m for m in UDP_AND_TCP if m[2] != "udp"]
# What ns-2 calls each queue.
NS2 = {
    "drop_tail": "DropTail",
    "red": "RED",
    "rem": "REM",
    "drr": "DRR",
    "sfq": "SFQ",
    "red_pd": "RED/PD",
}


@dataclass(frozen=True)
class Setup:
    """One network with one queue and one kind of traffic."""

    name: str  # of the network, and of our scenario
    queue: str  # a key of NS2, with -ecn if it marks and TCP speaks ECN
    script: str  # in ns2/
    args: str  # for the script, beyond COMMON
    seeds: int  # replications, on either side
    ours: tuple  # what `tidegate run` is given beyond the scenario
    instead: str = ""  # for the script, in place of what COMMON says
    kind: str = ""  # of the traffic, where it is not the network's first
    metrics: list = field(default_factory=lambda: UDP_AND_TCP)
    within: float = 0.05  # what counts as agreement
    narrow: float = 0.025  # what each side's 95 % interval must be below, as a part of its mean

    @property
    def label(self):
        return "-".join(part for part in (self.name, self.queue, self.kind) if part)

    @property
    def twin(self):
        return HERE / "scenarios" / f"{self.name}.toml"

    @property
    def ns2_args(self):
        queue = self.queue.removesuffix("-ecn")
        words = (
            f"queue={NS2[queue]} {self.args} {COMMON} {self.instead}".split()
        )  # the last word wins
        return words + ["ecn=1"] if self.queue.endswith("-ecn") else words

    @property
    def ns2_results(self):
        return RESULTS / f"{self.label}.jsonl"


def drop_tail(path, packets):
    """Our arguments for drop-tail: ns-2's holds one packet less than its limit."""
    return ("--queue", "drop_tail", *one_less(path, packets))


def one_less(path, packets):
    """Our limit for ns-2's drop-tail and REM, which hold one packet less than theirs."""
    return ("--set", f"{path}={packets - 1} packets")


def rem(path, packets, more=""):
    """Our arguments for REM as common.tcl sets it."""
    return (
        "--queue",
        f"rem/ns2,target=20 packets,gamma=0.001,phi=1.001{more} as REM",
        *one_less(path, packets),
    )


def by_class(queue, of, tcp, limit):
    """Our arguments for a `queue` whose bins are the driver's classes: `of(n)` is that of flow n, and the UDP flow comes last."""
    dealt = ", ".join(str(of(flow)) for flow in range(tcp))
    return (
        "--queue",
        queue,
        "--set",
        f"group.tcp.class=[{dealt}]",
        "--set",
        f"group.udp.class={of(tcp)}",
        "--set",
        limit,
    )


def drr(tcp, path, packets):
    """Our arguments for DRR as common.tcl sets it: a queue for each flow, since no two of its nodes' numbers meet in 1024."""
    queue = f"drr/ns2,map=class,classes={tcp + 1},quantum=1000 B as DRR"
    return by_class(queue, lambda flow: flow, tcp, f"{path}={packets} kB")


def sfq(tcp, bins, first, path, packets):
    """Our arguments for SFQ with so many bins: ns-2 hashes the sum of the numbers of the two nodes, which is `first` for the first
    flow and 4 more for each next one."""

    def bin_of(flow):
        nodes = first + 4 * flow
        return (nodes + (nodes >> 8) + ~(nodes >> 4)) % ((2 << 19) - 1) % bins

    return by_class(
        f"sfq/ns2,map=class,bins={bins} as SFQ", bin_of, tcp, f"{path}={packets} packets"
    )


ECN = ("--set", "group.tcp.ecn=on")
SACK = ("--set", "group.tcp.source=sack")
# ns-2's Vegas alone adds no headers to what it sends: with packetSize_ 960 its packets are 960 bytes on the wire.
VEGAS = ("--set", "group.tcp.source=vegas", "--set", "group.tcp.packet=960 B")
# Seeds, and what counts as agreement: its losses vary much from run to run, most on care26 with drop-tail.
VEGAS_RUNS = {
    ("care26", "red"): (24, 0.05),
    ("care26", "drop_tail"): (160, 0.07),
    ("bare20", "red"): (340, 0.05),
    ("bare20", "drop_tail"): (60, 0.05),
}
SFB400 = "overhead=0.0002 warm=20 T=100"
BARE20 = "ncbr=1 udp=1e6 overhead=0.0008 warm=20 T=100"
CARE26 = "mix=std udp=1e6 overhead=0.0008 warm=100 T=600"
# Name, script, arguments, seeds (with NewReno; with another TCP as many as its intervals want), our drop-tail.
NETWORKS = [
    ("sfb400-45m", "sfb400.tcl", f"udp=45e6 {SFB400}", (40, 15), drop_tail("link.1.limit", 200)),
    ("sfb400-2m", "sfb400.tcl", f"udp=2e6 {SFB400}", (40, 8), drop_tail("link.1.limit", 200)),
    ("care26", "care26.tcl", CARE26, (40, 8), drop_tail("network.limit", 100)),
    ("bare20", "bare20.tcl", BARE20, (60, 48), drop_tail("network.limit", 120)),
]


def held_down(limit, seeds):
    """A set-up of RED-PD, thresholds at a quarter and three quarters of so many packets. A run takes ns-2 a quarter of a minute, so
    there are few of them. Lists are 80 ms long at a limit of 100, and of the five after which P may change again ns-2's sums of
    times make six more often than not: hold."""
    args = f"N=35 mix=paper udp=1000000 limit={limit} red.min={limit // 4} red.max={3 * limit // 4} overhead=0.0008 warm=50 T=250"
    ours = (
        "--set",
        f"network.limit={limit} packets",
        "--queue",
        "red_pd/ns2,hold=401 ms as RED-PD",
    )
    return Setup(
        "redpd36",
        "red_pd",
        "care26.tcl",
        args,
        seeds,
        ours,
        kind=str(limit),
        metrics=HELD_DOWN,
        within=0.07,
        narrow=0.06,
    )


def follows(queue, packets, seeds, ours):
    """A set-up of follow-the-window: its flood goes on while a window is of so many packets at least."""
    return Setup(
        "follow30",
        queue,
        "follow30.tcl",
        f"cut={packets} overhead=0.0016 warm=20 T=100",
        seeds,
        (*ours, "--set", f"group.udp.window={packets} packets"),
        kind=str(packets),
        metrics=FLOODS_AND_TCP,
    )


LEAF = f"udp=45e6 leaf=1 {SFB400}"  # a node for each end of each flow; routes alone take 7 s a run
QUEUES = [
    ("care26", "rem", "care26.tcl", CARE26, 8, rem("network.limit", 100)),
    ("bare20", "rem", "bare20.tcl", BARE20, 60, rem("network.limit", 120)),
    ("sfb400-2m", "rem", "sfb400.tcl", f"udp=2e6 {SFB400}", 28, rem("link.1.limit", 200)),
    ("care26", "drr", "care26.tcl", CARE26, 8, drr(25, "network.limit", 100)),
    ("bare20", "drr", "bare20.tcl", BARE20, 30, drr(19, "network.limit", 120)),
    ("sfb400-45m", "drr", "sfb400.tcl", LEAF, 11, drr(400, "link.1.limit", 200)),
    (
        "care26",
        "sfq",
        "care26.tcl",
        f"sfq.buckets=16 {CARE26}",
        8,
        sfq(25, 16, 5, "network.limit", 100),
    ),
    (
        "bare20",
        "sfq",
        "bare20.tcl",
        f"sfq.buckets=100 {BARE20}",
        30,
        sfq(19, 100, 5, "network.limit", 120),
    ),
    (
        "sfb400-45m",
        "sfq",
        "sfb400.tcl",
        f"sfq.buckets=46 {LEAF}",
        7,
        sfq(400, 46, 27, "link.1.limit", 200),
    ),
]
TFRC20 = "overhead=0.0008 warm=20 T=100"
SETUPS = (
    [
        Setup(name, queue, script, args, seeds, ours)
        for name, script, args, (seeds, _), tail in NETWORKS
        for queue, ours in (("red", ()), ("drop_tail", tail), ("red-ecn", ECN))
        if queue != "red-ecn" or name.startswith("sfb400")
    ]
    + [
        Setup(name, queue, script, args, seeds, ours + SACK, instead="tcp=Sack1", kind="sack")
        for name, script, args, (_, seeds), tail in NETWORKS
        for queue, ours in (("red", ()), ("drop_tail", tail))
    ]
    + [
        Setup(
            name,
            queue,
            script,
            args,
            seeds,
            ours + VEGAS,
            instead="tcp=Vegas",
            kind="vegas",
            within=within,
            narrow=within / 2,
        )
        for name, script, args, _, tail in NETWORKS
        if (name, "red") in VEGAS_RUNS
        for queue, ours in (("red", ()), ("drop_tail", tail))
        for seeds, within in (VEGAS_RUNS[name, queue],)
    ]
    + [
        Setup(
            "care26-mix",
            queue,
            "care26.tcl",
            CARE26.replace("std", "paper"),
            seeds,
            ours,
            metrics=MIX,
        )
        for queue, seeds, ours in (
            ("red", 12, ()),
            ("drop_tail", 24, drop_tail("network.limit", 100)),
        )
    ]
    + [
        Setup(name, queue, "tfrc20.tcl", f"ntcp={tcp} {TFRC20}", 24, ours, metrics=metrics)
        for name, tcp, metrics in (("tfrc10", 0, TFRC), ("tfrc10-tcp10", 10, TFRC_AND_TCP))
        for queue, ours in (("red", ()), ("drop_tail", drop_tail("network.limit", 120)))
    ]
    + [
        Setup(name, queue, script, args, seeds, ours)
        for name, queue, script, args, seeds, ours in QUEUES
    ]
    + [held_down(100, 12), held_down(200, 6)]
    + [
        follows(queue, packets, seeds, ours)
        for packets, queue, seeds, ours in (
            (2, "red", 32, ()),
            (2, "drop_tail", 32, drop_tail("network.limit", 50)),
            (5, "red", 48, ()),
            (5, "drop_tail", 32, drop_tail("network.limit", 50)),
        )
    ]
)

# Two-sided 95 % quantiles of Student's t, by degrees of freedom; between the rows the next smaller
# degree is taken, which only widens an interval.
T95 = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
    12: 2.179,
    15: 2.131,
    19: 2.093,
    24: 2.064,
    29: 2.045,
    39: 2.023,
    59: 2.001,
    79: 1.990,
    119: 1.980,
}


def fewest(share, starved):
    """The worst of some users' part of a fair share, and how many starved, for a table."""
    return f"{100 * share:.0f} %" + (f", {starved:.2g} starved" if starved else "")


def mean_ci(values):
    """Mean and half width of the 95 % interval; the half width is None for fewer than two values."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    t = T95[max(k for k in T95 if k <= n - 1)]
    return mean, t * sd / math.sqrt(n)
