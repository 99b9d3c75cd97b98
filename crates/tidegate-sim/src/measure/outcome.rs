//! The outcome of a run. All counts cover the measuring window: from the end of the warm-up
//! (included) to the end of the run (excluded). Arrivals, departures and deliveries count by their
//! own true times. Bytes are bytes on the wire.
//!
//! A packet counts once per queue that it passes: through two queues it is `offered` twice.
//! Acknowledgements count only in the figures of the queues that they pass, in no flow's.
use tidegate::{DropReason, MarkReason, Rate, Span, Time};

use crate::measure::delay::Delay;
use crate::measure::histogram::Histogram;
use crate::measure::observers::{GroupObserved, Observed};
use crate::measure::plan::Plan;
use crate::measure::spread::Spread;
use crate::net::ids::{GroupId, LinkId};

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Count {
    /// So many packets.
    pub packets: u64,
    /// So many bytes on the wire.
    pub bytes: u64,
}

impl Count {
    /// Counts in a packet of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }

    /// Counts in all of `other`.
    pub fn merge(&mut self, other: Count) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    /// The bytes as a rate over `window`, in bit/s; 0 for an empty window.
    pub fn rate(self, window: Span) -> f64 {
        if window == Span::ZERO { 0.0 } else { self.bytes as f64 * 8.0 / window.as_secs() }
    }
}

/// Counters of a flow, or of a group: its flows' sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counters {
    /// Data packets that the source sent, retransmissions included.
    pub sent: Count,
    /// Offered to queues.
    pub offered: Count,
    /// Sent on by queues. One queue: ns-2's rate, in wire bytes that left the bottleneck.
    pub departed: Count,
    /// Arrived at the receiver, duplicates included: throughput.
    pub delivered: Count,
    /// Bytes new to the receiver: for TCP when they are in order, for others when they arrive.
    /// Goodput.
    pub goodput_bytes: u64,
    /// Dropped by queues.
    pub dropped: Count,
    /// Marked by queues.
    pub marked: Count,
    /// Data segments sent again.
    pub retransmits: u64,
    /// Their bytes on the wire.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Waiting times in queues added up, over `departed`, in nanoseconds.
    pub delay_sum: u64,
}

impl Counters {
    /// Counts in all of `other`.
    pub fn merge(&mut self, other: &Counters) {
        self.sent.merge(other.sent);
        self.offered.merge(other.offered);
        self.departed.merge(other.departed);
        self.delivered.merge(other.delivered);
        self.goodput_bytes += other.goodput_bytes;
        self.dropped.merge(other.dropped);
        self.marked.merge(other.marked);
        self.retransmits += other.retransmits;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.timeouts += other.timeouts;
        self.delay_sum += other.delay_sum;
    }

    /// Mean waiting time in a queue; `None` if no packet left one.
    pub fn mean_delay(&self) -> Option<Span> {
        (self.departed.packets > 0)
            .then(|| Span::from_nanos(self.delay_sum / self.departed.packets))
    }

    /// The goodput over `window`, in bit/s.
    pub fn goodput(&self, window: Span) -> f64 {
        Count { packets: 0, bytes: self.goodput_bytes }.rate(window)
    }
}

/// A flow's figures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Its group.
    pub group: GroupId,
    /// Its counters.
    pub counters: Counters,
    /// Its data packets that links lost behind their queues.
    pub lost: Count,
    /// Its packets' delay in queues; percentiles with [`Flows`](Plan::delays), good to an eighth;
    /// no standard deviation.
    pub delay: Delay,
    /// The bytes delivered in each whole [`rate window`](Plan::rate_window).
    pub windows: Spread,
    /// What meters beside the counters yield.
    pub observed: Observed,
    /// The runs of its losses: a packet lost belongs to the run of the one lost before if its
    /// number follows. With [idle ways](crate::Network::idle_ways).
    pub loss_runs: Option<u32>,
    /// When its latest transfer was finished; with [idle ways](crate::Network::idle_ways).
    pub finished: Option<Time>,
    /// The gaps between its drops at the same queue, in nanoseconds; with [`Flows`](Plan::delays).
    pub drop_gaps: Spread,
}

/// A group's figures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupOutcome {
    /// Its name.
    pub name: String,
    /// How many flows it has.
    pub flows: usize,
    /// Its flows' counters added up.
    pub counters: Counters,
    /// Its flows' data packets that links lost behind their queues.
    pub lost: Count,
    /// Its packets' delay in queues.
    pub delay: Delay,
    /// Its packets' delays in queues; empty with [`Off`](Plan::delays).
    pub delays: Histogram,
    /// From sender to receiver, of packets delivered; empty with [`Off`](Plan::delays).
    pub one_way: Delay,
    /// Round-trip times: from sending a packet to its acknowledgement. Empty with
    /// [`Off`](Plan::delays) and for open-loop flows.
    pub round_trip: Delay,
    /// The gaps between drops of any of its packets at the same queue, in nanoseconds.
    pub drop_gaps: Spread,
    /// What meters beside the counters yield.
    pub observed: GroupObserved,
    /// Flows, or transfers of one, that came to their end: how long they took.
    pub completions: Completions,
    /// How much longer packets took from sender to receiver than on an
    /// [idle way](crate::Network::idle_ways); `None` if those are not known.
    pub variation: Option<Delay>,
    /// From the start of a connection with a handshake and a given amount of data to the arrival of
    /// its request; likewise.
    pub startup: Option<Delay>,
}

/// Transfers that were finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Completions {
    /// How many, and their bytes.
    pub transfers: Count,
    /// From the start of the transfer to the arrival of its last byte; a transfer counts when it
    /// ends.
    pub time: Delay,
}

/// A link behind a queue: its figures.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkOutcome {
    /// Which link.
    pub link: LinkId,
    /// Its name.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// What it could carry in the window on average, in bit/s: `rate`, unless that changes.
    pub mean_rate: f64,
    /// Offered to the queue.
    pub arrivals: Count,
    /// Sent on by the queue, counted when transmission begins.
    pub departures: Count,
    /// Dropped, by [`DropReason`], in the order of [`DropReason::ALL`].
    pub drops: Vec<Count>,
    /// Lost behind the queue, of what departed, counted when the last bit has left.
    pub lost: Count,
    /// Marked, by [`MarkReason`], in the order of [`MarkReason::ALL`].
    pub marks: Vec<Count>,
    /// The fraction of the window in which it transmitted. Where the capacity changes, the part of
    /// it that was used.
    pub utilization: f64,
    /// Waiting packets, averaged over time.
    pub mean_packets: f64,
    /// Waiting bytes, averaged over time.
    pub mean_bytes: f64,
    /// How long at least 95 % of its [`limit`](crate::LinkSpec::limit) waited; `None` without one.
    pub nearly_full: Option<Span>,
    /// Delay in the queue, over packets that left it; time in transmission is not in it.
    pub delay: Delay,
    /// The gaps between its drops, in nanoseconds.
    pub drop_gaps: Spread,
    /// The gaps between its drops of data packets of each group.
    pub group_drop_gaps: Vec<Spread>,
    /// Delays in the queue; empty with [`Off`](Plan::delays).
    pub delays: Histogram,
    /// The queue on the grid; `None` without a grid.
    pub series: Option<QueueSeries>,
}

impl LinkOutcome {
    /// Dropped for `why`.
    pub fn dropped(&self, why: DropReason) -> Count {
        self.drops[why as usize]
    }

    /// Marked for `why`.
    pub fn marked(&self, why: MarkReason) -> Count {
        self.marks[why as usize]
    }

    /// Dropped, for any reason.
    pub fn all_drops(&self) -> Count {
        sum(&self.drops)
    }

    /// Marked, for any reason.
    pub fn all_marks(&self) -> Count {
        sum(&self.marks)
    }
}

fn sum(counts: &[Count]) -> Count {
    counts.iter().fold(Count::default(), |mut all, &one| {
        all.merge(one);
        all
    })
}

/// A queue on the grid. The k-th reading is of time (k + 1) × step, after departures and before
/// arrivals of that instant. The whole run is in it, warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QueueSeries {
    /// Waiting packets.
    pub packets: Vec<u32>,
    /// Waiting bytes.
    pub bytes: Vec<u64>,
    /// Mean waiting time of the packets that left during the step before; `None` if none left.
    pub delay: Vec<Option<Span>>,
    /// Packets offered during the step before.
    pub offered: Vec<u32>,
    /// Packets dropped during the step before.
    pub dropped: Vec<u32>,
    /// The queue's gauges, in the order in which it shows them.
    pub gauges: Vec<GaugeSeries>,
}

/// One of a queue's gauges on the grid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GaugeSeries {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its readings; not-a-number where the queue did not show it.
    pub values: Vec<f64>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// What was run.
    pub plan: Plan,
    /// The points of the grid: `step`, 2 `step` … up to the end; empty without a grid.
    pub grid: Vec<Time>,
    /// Every flow, in the network's order.
    pub flows: Vec<FlowOutcome>,
    /// Every group, in the network's order.
    pub groups: Vec<GroupOutcome>,
    /// Every link behind a queue, in the network's order.
    pub links: Vec<LinkOutcome>,
    /// For every group, the bytes delivered during the step before each point of the grid.
    pub delivered_bytes: Vec<Vec<u64>>,
    /// For every group, the bytes dropped by queues during the step before each point of the grid.
    pub dropped_bytes: Vec<Vec<u64>>,
    /// Events that the simulator processed. Only this figure depends on how the simulator works.
    pub events: u64,
    /// Packets that sources and receivers sent in the whole run.
    pub packets: u64,
}
