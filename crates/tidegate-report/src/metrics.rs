//! The metrics of links, groups and flows, each declared once: field, shape in the schema, unit,
//! how replications are taken together, one line of what it is. Samples, documents, schema, tables
//! of the documentation, Parquet columns and papers' quantities follow.
use std::collections::BTreeMap;

use crate::figure::Figure;
use crate::metric::metrics;
use crate::parts::{Conduct, Counts, Delay, Gaps, OverFlows, OverTime, PerFlow};

metrics! {
    /// All flows together, and the watched link's queue.
    pub struct Aggregate, sampled by AggregateSample:
        {}
        [
            jain: Option<Figure> = ratio, "", SkewedPart,
                "Jain's index of the flows' throughputs, from 1/n to 1";
            utilization: Option<Figure> = ratio, "", Part,
                "bits sent over bits the link could have sent, 0 to 1";
            queue_delay_ms: Delay = delay, "ms", Skewed,
                "waiting time in the queue of delivered packets, in ms";
            #[serde(default)]
            throughput_bps: Option<Figure> = rate, "bit/s", Mean,
                "bits delivered, in bit/s";
            #[serde(default)]
            loss_ratio: Option<Figure> = ratio, "", Rare,
                "packets lost over packets offered, 0 to 1";
            #[serde(default)]
            mark_ratio: Option<Figure> = ratio, "", Rare,
                "packets marked over packets offered, 0 to 1";
            #[serde(default)]
            queue_packets: Option<Figure> = amount, "packets", Skewed,
                "mean length of the queue over time, in packets";
        ]
        {
            /// Drops by reason, in packets per replication.
            #[serde(default)]
            drops: BTreeMap<String, Figure>,
            /// Marks by reason, in packets per replication.
            #[serde(default)]
            marks: BTreeMap<String, Figure>,
        }
        [
            #[serde(default)]
            norm_kbps: Option<Figure> = amount, "kbit/s", Mean,
                "distance of the flows over the bottleneck to C/n, √Σ(b_j − C/n)² of their \
                 throughputs, in kbit/s (chan2010's norm)";
            #[serde(default)]
            fair_deviation: Option<Figure> = amount, "", Mean,
                "standard deviation around 1 of the goodputs over C/n, √(Σ(g_i/(C/n) − 1)² / \
                 (n − 1)) (cho2001 eq. 7)";
            #[serde(default)]
            nearly_full_s: Option<Figure> = amount, "s", Mean,
                "time for which the queue held 95 % of its limit or more, in s per replication \
                 (cho2001's dwell)";
            #[serde(default)]
            drop_gap_ms: Gaps = gaps, "ms", Mean,
                "gaps between successive drops of the queue";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            packets: Option<Counts> = counts, "packets", Sum,
                "what became of its packets, over all replications together";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            wire_loss_ratio: Option<Figure> = ratio, "", Rare,
                "packets lost on the link over packets sent on it; only where the link has a `loss`";
        ]
}

metrics! {
    /// A group of flows. Rates are the group's total.
    pub struct Group, sampled by GroupSample:
        {
            /// Its name in the scenario.
            name: String,
            /// Number of flows.
            count: u64,
        }
        [
            throughput_bps: Option<Figure> = rate, "bit/s", Mean,
                "bits received, in bit/s";
            goodput_bps: Option<Figure> = rate, "bit/s", Mean,
                "bits new to the receiver, in bit/s";
            loss_ratio: Option<Figure> = ratio, "", Rare,
                "packets lost over packets offered";
            loss_bps: Option<Figure> = rate, "bit/s", Rare,
                "bits lost at the queue, in bit/s";
            mark_ratio: Option<Figure> = ratio, "", Rare,
                "packets marked over packets offered";
            per_flow: PerFlow = per_flow, "bit/s", Mean,
                "throughput of its flows one by one, in bit/s";
            #[serde(default)]
            jain: Option<Figure> = ratio, "", SkewedPart,
                "Jain's index of its flows' throughputs in one replication";
            #[serde(default)]
            fair_share_bps: Option<Figure> = rate, "bit/s", Mean,
                "the max-min shares of its flows added up, demand counted where known, in bit/s";
            #[serde(default)]
            offered_bps: Option<Figure> = rate, "bit/s", Mean,
                "what it offered to the queue, in bit/s";
            #[serde(default)]
            delay_ms: Delay = delay, "ms", Skewed,
                "wait at one queue, over every passage of its packets through a managed queue; \
                 with several managed links neither the watched link's alone nor the sum over a \
                 path";
        ]
        {
            /// Whether its senders heed congestion, where that is known.
            #[serde(default)]
            conduct: Option<Conduct>,
        }
        [
            #[serde(default)]
            one_way_ms: Delay = delay, "ms", Skewed,
                "from sender to receiver, of packets delivered: all links and queues of the way";
            #[serde(default)]
            rtt_ms: Delay = delay, "ms", Skewed,
                "round trips: of every acknowledgement, the time since the packet that it answers \
                 was sent";
            #[serde(default)]
            retransmitted_bytes: Option<Figure> = amount, "bytes", Mean,
                "bytes of data sent again, per replication";
            #[serde(default)]
            drop_gap_ms: Gaps = gaps, "ms", Mean,
                "gaps between successive drops of any of its packets";
            #[serde(default)]
            rate_cov: OverFlows = over_flows, "", Mean,
                "coefficient of variation of each flow's throughput over successive windows";
            #[serde(default)]
            completions: Option<Figure> = amount, "transfers", Mean,
                "transfers of a given size that were finished, per replication";
            #[serde(default)]
            completion_ms: Delay = delay, "ms", Skewed,
                "from the start of such a transfer to the arrival of its last byte";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            worst_share: Option<Figure> = amount, "", SkewedRare,
                "what the worst of its users (what the flow key makes one flow) gets of his own \
                 fair share by goodput: the least of each replication; can exceed 1";
        ]
        {
            /// How many users the flow key makes of its flows, where that is not as many.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            user_count: Option<u64>,
        }
        [
            #[serde(default, skip_serializing_if = "Option::is_none")]
            starved: Option<Figure> = amount, "users", Rare,
                "how many of its users get less than a tenth of theirs";
        ]
        {
            /// What it [`received`](Group::received) over its fair share in each replication, in
            /// the order
            /// of the seeds, so that results can be compared pair by pair.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            share_by_seed: Vec<f64>,
        }
        [
            #[serde(default, skip_serializing_if = "Option::is_none")]
            packets: Option<Counts> = counts, "packets", Sum,
                "what became of its packets at queues, over all replications together";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            loss_synchronization: Option<Figure> = ratio, "", Mean,
                "part of its flows that lose in a congestion event, which begins with a loss of \
                 the group and lasts 100 ms; mean over events; null of one flow or without losses";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            starved_time: Option<Figure> = ratio, "", Rare,
                "part of the windows (run.rate_window) in which a flow's goodput is below a tenth \
                 of its fair share, mean over its flows; null where senders may be silent by \
                 themselves";
            #[serde(default, skip_serializing_if = "Delay::is_unknown")]
            delay_variation_ms: Delay = delay, "ms", Skewed,
                "how much longer packets took from sender to receiver than on an idle way: \
                 packet delay variation (RFC 5481); with run.metrics = \"rfc7928\"";
            #[serde(default, skip_serializing_if = "Delay::is_unknown")]
            startup_ms: Delay = delay, "ms", Skewed,
                "from the start of a transfer with a handshake to the arrival of its request; with \
                 run.metrics = \"rfc7928\"";
            #[serde(default, skip_serializing_if = "Delay::is_unknown")]
            page_ms: Delay = delay, "ms", Skewed,
                "of a host with several transfers, all finished: from the first start to the last \
                 end; with run.metrics = \"rfc7928\"";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            loss_run: Option<Figure> = amount, "packets", Mean,
                "packets of a flow that were lost one after the other, by their numbers: mean over \
                 runs; null without losses; with run.metrics = \"rfc7928\"";
            #[serde(default, skip_serializing_if = "OverTime::is_unknown")]
            rate_over_time_bps: OverTime = over_time, "bit/s", Mean,
                "throughput in the intervals of run.series; with run.metrics = \"rfc7928\"";
            #[serde(default, skip_serializing_if = "OverTime::is_unknown")]
            loss_over_time: OverTime = over_time, "", Mean,
                "bytes lost over bytes lost or received in these intervals; with run.metrics = \
                 \"rfc7928\"";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            wire_loss_ratio: Option<Figure> = ratio, "", Rare,
                "data packets lost on links, behind their queues, over data packets sent; only \
                 where some link has a `loss`";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            active_goodput_bps: Option<Figure> = rate, "bit/s", Mean,
                "goodput of its flows, each over the time for which it is active, in bit/s (purge \
                 eq. (6)); only where flows are active more than once";
        ]
}

metrics! {
    /// One flow.
    pub struct Flow, sampled by FlowSample:
        {
            /// Its place among all flows, from 0.
            index: u64,
            /// Its name: the scenario's, or the addresses of a capture.
            label: String,
            /// Its group's name.
            group: Option<String>,
        }
        [
            throughput_bps: Option<Figure> = rate, "bit/s", Mean,
                "bits received, in bit/s";
            goodput_bps: Option<Figure> = rate, "bit/s", Mean,
                "bits new to the receiver, in bit/s";
            loss_ratio: Option<Figure> = ratio, "", Rare,
                "packets lost over packets offered";
            mark_ratio: Option<Figure> = ratio, "", Rare,
                "packets marked over packets offered";
            delay_ms: Delay = delay, "ms", Skewed,
                "wait at one queue, over every passage of its packets through a managed queue; \
                 with several managed links neither the watched link's alone nor the sum over a \
                 path";
            #[serde(default)]
            fair_share_bps: Option<Figure> = rate, "bit/s", Mean,
                "its max-min fair share, in bit/s";
            #[serde(default)]
            offered_bps: Option<Figure> = rate, "bit/s", Mean,
                "what it offered to the queue, in bit/s";
            #[serde(default)]
            retransmitted_bytes: Option<Figure> = amount, "bytes", Mean,
                "bytes of data that it sent again, per replication";
            #[serde(default)]
            drop_gap_ms: Gaps = gaps, "ms", Mean,
                "gaps between its successive drops";
            #[serde(default)]
            rate_cov: Option<Figure> = amount, "", Mean,
                "coefficient of variation of its throughput over successive windows";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            packets: Option<Counts> = counts, "packets", Sum,
                "its packets, over all replications";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            bytes: Option<Counts> = counts, "bytes", Sum,
                "its bytes, over all replications";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            loss_synchronization: Option<Figure> = ratio, "", Mean,
                "part of its group's congestion events in which it loses";
            #[serde(default, skip_serializing_if = "Option::is_none")]
            starved_time: Option<Figure> = ratio, "", Rare,
                "part of the windows (run.rate_window) in which its goodput is below a tenth of \
                 its fair share";
        ]
}

/// Goodput below this part of throughput is worth a word.
const WASTED: f64 = 0.95;

impl Group {
    /// What it got for the reckoning of shares: of senders that heed congestion the goodput, where
    /// it is known, else the throughput. What such a sender sends twice is no use to it.
    pub fn received(&self) -> Option<Figure> {
        let goodput = self.goodput_bps.filter(|_| self.conduct == Some(Conduct::Responsive));
        goodput.or(self.throughput_bps)
    }

    /// How many users it has, where the flow key makes fewer of them than there are connections;
    /// else its flows.
    pub fn users(&self) -> u64 {
        self.user_count.unwrap_or(self.count)
    }

    /// Its goodput over its throughput, where that is below 95 %.
    pub fn wasteful(&self) -> Option<f64> {
        let ratio = self.goodput_bps?.mean() / self.throughput_bps?.mean();
        (ratio < WASTED).then_some(ratio)
    }
}
