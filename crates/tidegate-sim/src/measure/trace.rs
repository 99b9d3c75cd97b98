//! A record of every packet, for tests.

/// A packet sent or delivered, for tests: time, flow, sequence number, length.
pub type Sight = (u64, u32, u32, u16);

/// A record of every packet, for tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Packets sent by senders.
    pub sent: Vec<Sight>,
    /// Packets delivered to receivers.
    pub delivered: Vec<Sight>,
    /// Packets dropped by queues: time, link, flow, length.
    pub dropped: Vec<Sight>,
    /// Packets lost behind queues: the same.
    pub lost: Vec<Sight>,
}
