//! What a result's metrics are made of.
use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Whether senders slow down when packets are lost or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conduct {
    /// They heed congestion, like TCP.
    Responsive,
    /// They do not, like a UDP flood.
    Unresponsive,
}

/// Gaps between successive drops at one queue: of a queue between any of its drops, of a group or
/// flow between its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Mean, in ms.
    pub mean: Option<Figure>,
    /// Coefficient of variation, population standard deviation over mean: 0 for periodic drops,
    /// about 1 for random ones.
    pub cov: Option<Figure>,
}

/// Mean and standard deviation over a group's flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverFlows {
    /// Mean over flows.
    pub mean: Option<Figure>,
    /// Population standard deviation over flows.
    pub sd: Option<Figure>,
}

/// A delay over many packets, in ms. In a queue it is waiting only, without the packet's own time
/// on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// Mean.
    pub mean: Option<Figure>,
    /// Standard deviation over packets.
    #[serde(default)]
    pub sd: Option<Figure>,
    /// Median.
    pub p50: Option<Figure>,
    /// 95th percentile.
    #[serde(default)]
    pub p95: Option<Figure>,
    /// 99th percentile.
    pub p99: Option<Figure>,
}

impl Delay {
    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        self.mean.is_none()
    }
}

/// How a figure is spread over the intervals of `run.series` in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// 5th percentile.
    pub p5: Option<Figure>,
    /// Lower quartile.
    pub p25: Option<Figure>,
    /// Median.
    pub p50: Option<Figure>,
    /// Upper quartile.
    pub p75: Option<Figure>,
    /// 95th percentile.
    pub p95: Option<Figure>,
}

impl OverTime {
    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        self.p50.is_none()
    }
}

/// The spread of a figure over a group's flows, each itself a mean over replications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerFlow {
    /// Mean over flows.
    pub mean: Option<Figure>,
    /// The least flow.
    pub min: Option<Figure>,
    /// The greatest flow.
    pub max: Option<Figure>,
}

/// What became of a flow's packets or bytes: offered = delivered + dropped + still queued at the
/// end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Offered to the queue.
    pub offered: u64,
    /// Sent on.
    pub delivered: u64,
    /// Dropped.
    pub dropped: u64,
    /// Marked; these are delivered too, unless a head drop took them.
    pub marked: u64,
}
