//! Which packets are one flow, and which hosts divide a share: the parameter `isolation`
//! (tc-cake(8), *Flow isolation parameters*).
//!
//! ```
//! use tidegate::{Hosts, Packet, parts::isolation::{Divide, Isolation}};
//! let pkt = Packet::new(0xf10, 1000).with_hosts(Hosts::new(7, 1));
//! assert_eq!((Isolation::SrcHost.key(&pkt), Isolation::DualSrcHost.key(&pkt)), (7, 0xf10));
//! assert_eq!(Isolation::DualSrcHost.divide(), Divide::BySource);
//! ```
use crate::choices;
use crate::config::{ConfigError, Value};
use crate::packet::{Asks, Hosts, Packet};

choices! {
    /// Which packets are one flow, and which hosts divide a share.
    pub enum Isolation {
        /// All are one flow.
        FlowBlind = "flowblind",
        /// Those of one source are.
        SrcHost = "srchost",
        /// Those to one destination are.
        DstHost = "dsthost",
        /// Those between two hosts are.
        Hosts = "hosts",
        /// As the driver tells flows apart.
        Flows = "flows",
        /// The same, and flows of one source divide its share.
        DualSrcHost = "dual-srchost",
        /// The same, and flows to one destination divide its share.
        DualDstHost = "dual-dsthost",
        /// The same on the side where a flow's host is busier.
        Triple = "triple-isolate",
    }
}

impl Isolation {
    /// Whose bulk flows divide a share.
    pub const fn divide(self) -> Divide {
        match self {
            Isolation::DualSrcHost => Divide::BySource,
            Isolation::DualDstHost => Divide::ByDestination,
            Isolation::Triple => Divide::ByBusier,
            _ => Divide::Never,
        }
    }

    /// Whether it goes by hosts.
    pub const fn asks_for_hosts(self) -> bool {
        !matches!(self, Isolation::FlowBlind | Isolation::Flows)
    }

    /// What a queue asks of its driver for it.
    pub fn asks(self) -> Asks {
        Asks { hosts: self.asks_for_hosts(), ..Asks::default() }
    }

    /// What is hashed to a queue.
    #[inline]
    pub fn key(self, pkt: &Packet) -> u64 {
        let Hosts { source, destination } = pkt.hosts();
        let (source, destination) = (u64::from(source), u64::from(destination));
        match self {
            Isolation::FlowBlind => 0,
            Isolation::SrcHost => source,
            Isolation::DstHost => destination,
            Isolation::Hosts => source << 32 | destination,
            _ => pkt.flow,
        }
    }
}

/// Whose bulk flows divide a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divide {
    /// Nobody's: every flow has a share of its own.
    Never,
    /// Those of the same source.
    BySource,
    /// Those of the same destination.
    ByDestination,
    /// Those of the source or of the destination, whichever has more.
    ByBusier,
}

impl Divide {
    /// Whether flows are counted by their sources, and by their destinations.
    pub const fn sides(self) -> [bool; 2] {
        match self {
            Divide::Never => [false, false],
            Divide::BySource => [true, false],
            Divide::ByDestination => [false, true],
            Divide::ByBusier => [true, true],
        }
    }

    /// How many of them.
    pub fn count(self) -> u64 {
        self.sides().into_iter().map(u64::from).sum()
    }
}

/// Whether `isolation` can be: only where a queue hashes `flows`. Where the driver gives classes,
/// these are what is served in turn.
///
/// # Errors
/// When it cannot.
pub fn needs_flows(isolation: Isolation, flows: bool) -> Result<(), ConfigError> {
    if flows || isolation == Isolation::Flows {
        return Ok(());
    }
    Err(ConfigError::new("isolation", isolation.write(), "needs map = flow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of every isolation, of a packet whose flow and hosts all differ.
    #[test]
    fn keys_are_flows_hosts_or_pairs() {
        let pkt = Packet::new(0xf10, 1000).with_hosts(Hosts::new(7, 9));
        for (isolation, key) in [
            (Isolation::FlowBlind, 0),
            (Isolation::SrcHost, 7),
            (Isolation::DstHost, 9),
            (Isolation::Hosts, 0x7_0000_0009),
            (Isolation::Flows, 0xf10),
            (Isolation::DualSrcHost, 0xf10),
            (Isolation::DualDstHost, 0xf10),
            (Isolation::Triple, 0xf10),
        ] {
            assert_eq!(isolation.key(&pkt), key, "{isolation:?}");
        }
    }
}
