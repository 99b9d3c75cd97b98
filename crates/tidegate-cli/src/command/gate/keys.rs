//! The keys of a gate's file, and the bounds of their quantities.
use tidegate::units::UnitError;
use tidegate::{Bytes, Rate, Size, Span, params};

use super::link::DRAIN;

params! {
    /// A managed direction's quantities.
    pub struct WayParams {
        /// The managed link's rate.
        rate: Rate = Rate::from_bps(1), "", 1 ..= 1_000_000_000_000_000_u64;
        /// How much may wait.
        limit: Size = Size::Packets(1), "", 1 ..= 1_099_511_627_776_u64;
        /// The usual length of a packet.
        mean_packet: Bytes = Bytes::new(1000), "", 1 ..= 65_535;
    }
}

params! {
    /// A link's quantities.
    pub struct LinkParams {
        /// How long frames are under way.
        delay: Span = Span::ZERO, "", 0 ..= 2_000_000_000_u64;
        /// How long what waits may take to leave at the end.
        drain: Span = DRAIN, "", 0 ..= 60_000_000_000_u64;
        /// How long the capture may become.
        record_limit: Bytes = Bytes::new(1), "", 1 ..= 1_000_000_000_000_000_u64;
    }
}

params! {
    /// A class's quantities.
    pub struct ClassParams {
        /// Its part of the link, in proportion to the others'.
        weight: f64 = 1.0, "", 0.01 ..= 10_000.0;
    }
}

/// Keys of the file itself.
pub const OF_FILE: [&str; 6] = ["socket", "metrics", "metrics_public", "web", "web_public", "link"];
/// Keys of every managed direction.
pub const OF_WAY: [&str; 10] = [
    "rate",
    "limit",
    "mean_packet",
    "queue",
    "flow_key",
    "rehash",
    "overhead",
    "allow",
    "class",
    "offenders",
];
/// Keys that a link has besides.
pub const OF_LINK: [&str; 10] =
    ["name", "in", "out", "back", "delay", "busy", "drain", "on_exit", "record", "record_limit"];
/// What a class may ask for.
pub const OF_CLASS: [&str; 5] = ["name", "weight", "prefix", "dscp", "priority"];
/// Names of classes for the mark that a firewall sets, which no packet socket shows.
pub const MARKS: [&str; 4] = ["mark", "fwmark", "skb_mark", "connmark"];

/// A priority in a VLAN tag.
pub struct Priority(pub u8);

impl std::str::FromStr for Priority {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Priority, UnitError> {
        match text.parse::<u8>() {
            Ok(priority @ 0..=7) => Ok(Priority(priority)),
            _ => Err(UnitError {
                text: text.into(),
                why: "must be a whole number from 0 to 7".into(),
            }),
        }
    }
}
