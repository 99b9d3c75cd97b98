//! The sender's state that a data packet carries to the receiver.
use super::Times;

/// The sender's state that a data packet carries to the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Note {
    /// The path when the packet was sent; its round trip is 0 before the first report.
    pub path: Times,
    /// The reports received and timeouts so far. Losses of one round are one event (ns-2).
    pub round: u32,
    /// Whether the receiver must report at once (ns-2).
    pub urgent: bool,
}
