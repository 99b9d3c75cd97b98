"""The set-ups on which Tidegate and ns-2 are compared: one row per network and queue.

A row names the ns-2 script with its arguments and our twin scenario with its queue. Everything that is
the same in all rows stands in COMMON. How each ns-2 setting corresponds to ours: README.md.
"""
import math
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON = "ecn=0 tcp=Newreno udpjit=1 sched=Splay stats=flow"
RESULTS = HERE / "ns2" / "results"
# Figures compared: (name in the ns-2 result, what it is).
METRICS = [
    ("udp_thr_mbps", "UDP throughput, Mbit/s"),
    ("tcp_thr_mean_mbps", "mean TCP throughput, Mbit/s"),
    ("jain_tcp", "Jain index of the TCP flows"),
    ("loss_tcp", "loss ratio, TCP"),
    ("loss_udp", "loss ratio, UDP"),
    ("mean_q_pkts", "mean queue, packets"),
]


@dataclass(frozen=True)
class Setup:
    """One network with one queue."""

    name: str  # of the network, and of our scenario
    queue: str  # drop_tail, red, or red-ecn (RED that marks, TCP with ECN)
    script: str  # in ns2/
    args: str  # for the script, beyond COMMON
    seeds: int  # replications, on either side
    ours: tuple  # what `tidegate run` is given beyond the scenario

    @property
    def label(self):
        return f"{self.name}-{self.queue}"

    @property
    def twin(self):
        return HERE / "scenarios" / f"{self.name}.toml"

    @property
    def ns2_args(self):
        kind = "DropTail" if self.queue == "drop_tail" else "RED"
        words = f"queue={kind} {self.args} {COMMON}".split()
        return words + ["ecn=1"] if self.queue == "red-ecn" else words  # the last word wins

    @property
    def ns2_results(self):
        return RESULTS / f"{self.label}.jsonl"


def drop_tail(path, packets):
    """Our arguments for drop-tail: ns-2's holds one packet less than its limit."""
    return ("--queue", "drop_tail", "--set", f"{path}={packets - 1} packets")


ECN = ("--set", "group.tcp.ecn=on")
SFB400 = "overhead=0.0002 warm=20 T=100"
SETUPS = [
    Setup(name, queue, script, args, seeds, ours)
    for name, script, args, seeds, tail in [
        ("sfb400-45m", "sfb400.tcl", f"udp=45e6 {SFB400}", 40, drop_tail("link.1.limit", 200)),
        ("sfb400-2m", "sfb400.tcl", f"udp=2e6 {SFB400}", 40, drop_tail("link.1.limit", 200)),
        ("care26", "care26.tcl", "mix=std udp=1e6 overhead=0.0008 warm=100 T=600", 40, drop_tail("network.limit", 100)),
        ("bare20", "bare20.tcl", "ncbr=1 udp=1e6 overhead=0.0008 warm=20 T=100", 60, drop_tail("network.limit", 120)),
    ]
    for queue, ours in (("red", ()), ("drop_tail", tail), ("red-ecn", ECN))
    if queue != "red-ecn" or name.startswith("sfb400")
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
