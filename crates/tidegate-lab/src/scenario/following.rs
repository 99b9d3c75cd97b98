//! A flood that follows the congestion window of another flow.
use tidegate::config::Value;
use tidegate::units::UnitError;
use tidegate::{Bytes, Rate, Size, Span, params};

use super::forge::Forge;
use super::tcp::Codepoint;

params! {
    /// A group with `source = "following"`: flow i follows flow i of the group `follows`, from the
    /// first on again where that has fewer. The defaults are those of Zhang's set-up for ns-2.
    pub struct Following {
        /// The group whose congestion windows it reads, of TCP; required.
        follows: GroupName = GroupName::default(), "", 0 ..= 0;
        /// The least window at which it sends.
        window: Size = Size::Packets(5), "", 1 ..= 1_000_000_000u64;
        /// How often it reads the window.
        every: Span = Span::from_millis(10), "", 100_000 ..= 1_000_000_000_000_000u64;
        /// Rate of each flow while it sends, in wire bytes; required.
        rate: Rate = Rate::from_bps(1_000_000), "r", 1 ..= 1_000_000_000_000u64;
        /// Length of a packet on the wire.
        packet: Bytes = Bytes::new(1000), "L", 1 ..= 65_535;
        /// Each interval is multiplied by a number drawn from 1 − jitter to 1 + jitter.
        jitter: f64 = 0.0, "", 0.0 ..= 1.0;
        /// Whether its packets are ECN-capable; it heeds no mark all the same.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
        /// The flow that its packets seem to be of, as with `cbr`.
        forge: Forge = Forge::Off, "", 1 ..= 1_000_000;
        /// How long a forged flow is kept; with 0, each packet has another.
        new_key: Span = Span::ZERO, "", 0 ..= 1_000_000_000_000_000u64;
    }
}

/// The name of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupName(pub String);

impl Value for GroupName {
    const KIND: &'static str = "group";
    fn read(text: &str) -> Result<Self, UnitError> {
        if text.is_empty() {
            return Err(UnitError {
                text: String::new(),
                why: "must be the name of a group".into(),
            });
        }
        Ok(GroupName(text.into()))
    }
    fn write(&self) -> String {
        self.0.clone()
    }
    fn magnitude(&self) -> f64 {
        0.0
    }
    fn write_bound(_: f64) -> String {
        "a group".into()
    }
}
