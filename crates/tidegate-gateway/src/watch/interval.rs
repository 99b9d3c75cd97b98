//! What arrived in an interval, flow by flow.
use tidegate::Span;
use tidegate_packet::Flow;

/// What arrived in an interval, as bytes on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// How long it was.
    pub span: Span,
    /// What all flows sent that are judged.
    pub arrived: u64,
    /// What was sent besides, of the same link's rate, by those that are not judged.
    pub allowed: u64,
    /// So many bytes may be missing from each flow, and have come at most of one that is not told.
    pub unseen: u64,
    /// What arrived of each class; empty if frames are not told apart.
    pub classes: Vec<u64>,
    /// What nine of ten frames that left the queue had waited at least; zero if none left.
    pub wait: Span,
    /// The flows, in any order; one that sends in several classes has an entry for each.
    pub flows: Vec<FlowSent>,
}

/// What a flow sent in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSent {
    /// Which flow.
    pub flow: Flow,
    /// The class of these frames; 0 if frames are not told apart.
    pub class: u16,
    /// Bytes on the wire.
    pub bytes: u64,
    /// The longest frame, as bytes on the wire.
    pub longest: u32,
    /// Frames of it that were dropped.
    pub lost: u32,
    /// Their bytes on the wire.
    pub lost_bytes: u64,
}

impl Interval {
    /// So many bytes in this interval, in bit/s.
    pub fn per_second(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.span.as_secs().max(1e-9)
    }
}

impl FlowSent {
    /// One of whom nothing came.
    pub const fn nothing(flow: Flow, class: u16) -> FlowSent {
        FlowSent { flow, class, bytes: 0, longest: 0, lost: 0, lost_bytes: 0 }
    }
}
