"""The set-ups on which Tidegate and ns-2 are compared: one row per network and queue.

A row names the ns-2 script with its arguments and our twin scenario with its queue. Everything that is
the same in all rows stands in COMMON. How each ns-2 setting corresponds to ours: README.md.
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
TFRC = [
    ("tfrc_thr_mean_mbps", "mean TFRC throughput, Mbit/s", "tfrc", "per_flow", 1e-6),
    ("jain_tfrc", "Jain index of the TFRC flows", "tfrc", "jain", 1.0),
    ("loss_tfrc", "loss ratio, TFRC", "tfrc", "loss_ratio", 1.0),
    ("mean_q_pkts", "mean queue, packets", None, "queue_packets", 1.0),
]
KINDS = ["lat10", "std", "binA", "binB", "aimd2_.5", "aimd.75_.31", "aimd1_.9", "udp"]
MIX = [(f"class.{kind}.kbps", f"mean throughput of {kind}, kbit/s", kind.replace(".", ""), "per_flow", 1e-3) for kind in KINDS] + [
    ("mean_q_pkts", "mean queue, packets", None, "queue_packets", 1.0),
]
TFRC_AND_TCP = TFRC[:3] + [m for m in UDP_AND_TCP if m[2] != "udp"]


@dataclass(frozen=True)
class Setup:
    """One network with one queue and one kind of traffic."""

    name: str  # of the network, and of our scenario
    queue: str  # drop_tail, red, or red-ecn (RED that marks, TCP with ECN)
    script: str  # in ns2/
    args: str  # for the script, beyond COMMON
    seeds: int  # replications, on either side
    ours: tuple  # what `tidegate run` is given beyond the scenario
    instead: str = ""  # for the script, in place of what COMMON says
    kind: str = ""  # of the traffic, where it is not the network's first
    metrics: list = field(default_factory=lambda: UDP_AND_TCP)

    @property
    def label(self):
        return "-".join(part for part in (self.name, self.queue, self.kind) if part)

    @property
    def twin(self):
        return HERE / "scenarios" / f"{self.name}.toml"

    @property
    def ns2_args(self):
        kind = "DropTail" if self.queue == "drop_tail" else "RED"
        words = f"queue={kind} {self.args} {COMMON} {self.instead}".split()  # the last word wins
        return words + ["ecn=1"] if self.queue == "red-ecn" else words

    @property
    def ns2_results(self):
        return RESULTS / f"{self.label}.jsonl"


def drop_tail(path, packets):
    """Our arguments for drop-tail: ns-2's holds one packet less than its limit."""
    return ("--queue", "drop_tail", "--set", f"{path}={packets - 1} packets")


ECN = ("--set", "group.tcp.ecn=on")
SACK = ("--set", "group.tcp.source=sack")
SFB400 = "overhead=0.0002 warm=20 T=100"
CARE26 = "mix=std udp=1e6 overhead=0.0008 warm=100 T=600"
# Name, script, arguments, seeds (with NewReno; with another TCP as many as its intervals want), our drop-tail.
NETWORKS = [
    ("sfb400-45m", "sfb400.tcl", f"udp=45e6 {SFB400}", (40, 15), drop_tail("link.1.limit", 200)),
    ("sfb400-2m", "sfb400.tcl", f"udp=2e6 {SFB400}", (40, 8), drop_tail("link.1.limit", 200)),
    ("care26", "care26.tcl", CARE26, (40, 8), drop_tail("network.limit", 100)),
    ("bare20", "bare20.tcl", "ncbr=1 udp=1e6 overhead=0.0008 warm=20 T=100", (60, 48), drop_tail("network.limit", 120)),
]
TFRC20 = "overhead=0.0008 warm=20 T=100"
SETUPS = [
    Setup(name, queue, script, args, seeds, ours)
    for name, script, args, (seeds, _), tail in NETWORKS
    for queue, ours in (("red", ()), ("drop_tail", tail), ("red-ecn", ECN))
    if queue != "red-ecn" or name.startswith("sfb400")
] + [
    Setup(name, queue, script, args, seeds, ours + SACK, instead="tcp=Sack1", kind="sack")
    for name, script, args, (_, seeds), tail in NETWORKS
    for queue, ours in (("red", ()), ("drop_tail", tail))
] + [
    Setup("care26-mix", queue, "care26.tcl", CARE26.replace("std", "paper"), 12, ours, metrics=MIX)
    for queue, ours in (("red", ()), ("drop_tail", drop_tail("network.limit", 100)))
] + [
    Setup(name, queue, "tfrc20.tcl", f"ntcp={tcp} {TFRC20}", 24, ours, metrics=metrics)
    for name, tcp, metrics in (("tfrc10", 0, TFRC), ("tfrc10-tcp10", 10, TFRC_AND_TCP))
    for queue, ours in (("red", ()), ("drop_tail", drop_tail("network.limit", 120)))
]

# Two-sided 95 % quantiles of Student's t, by degrees of freedom; between the rows the next smaller
# degree is taken, which only widens an interval.
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
       12: 2.179, 15: 2.131, 19: 2.093, 24: 2.064, 29: 2.045, 39: 2.023, 59: 2.001, 79: 1.990, 119: 1.980}


def mean_ci(values):
    """Mean and half width of the 95 % interval; the half width is None for fewer than two values."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, None
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    t = T95[max(k for k in T95 if k <= n - 1)]
    return mean, t * sd / math.sqrt(n)
