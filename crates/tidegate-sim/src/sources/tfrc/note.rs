//! What packets tell the receiver of their sender.
use super::Times;

/// What a packet tells the receiver of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Note {
    /// The path as it was when the packet was sent; a round trip of 0 before the first report.
    pub path: Times,
    /// How many reports had come and timers run out by then: losses of one round are of one event
    /// (ns-2).
    pub round: u32,
    /// Whether the packet is to be reported at once (ns-2).
    pub urgent: bool,
}
