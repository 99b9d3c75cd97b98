//! Receivers that cheat: Savage, Cardwell, Wetherall, Anderson, *TCP Congestion Control with a
//! Misbehaving Receiver*, ACM CCR 29(5), 1999, §2.
//!
//! | Receiver | What it does | Which sender is taken in |
//! |---|---|---|
//! | divides (§2.1) | a segment is acknowledged in parts | one that counts acknowledgements |
//! | repeats (§2.2) | each acknowledgement is followed by duplicates | one without SACK, whose window each inflates |
//! | anticipates (§2.3) | what is lost, or has yet to come, is acknowledged | any: only a nonce would tell |
//! | conceals marks | no mark is echoed (RFC 3168 §18.1.4) | any: only a nonce would tell (RFC 3540) |
//!
//! With selective acknowledgements a duplicate that says nothing new counts for nothing (RFC 6675
//! §2). That a sender without them may bound the inflation (RFC 5681 §3.2) is in none of our rules.
//! Anticipated acknowledgements leave when segments come, not by a timer of their own.
//!
//! Numbers count segments here. A part of one is an acknowledgement of its own kind, which says
//! nothing but that there is more of the segment expected next.
use tidegate::{ConfigError, Span};

use super::Tcp;

/// What a receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acks {
    /// What has come, and each mark.
    #[default]
    Honest,
    /// What has come, each segment in so many parts, 2 to 1000.
    Divided(u32),
    /// What has come, and so many duplicates after each acknowledgement, 1 to 1000.
    Repeated(u32),
    /// What has come, what was lost, and so many segments beyond, at most 100000.
    Anticipated(u32),
    /// What has come, but no mark.
    Unmarked,
}

impl Acks {
    /// Checks it as the receiver of `tcp`.
    pub(super) fn check(self, tcp: &Tcp) -> Result<(), ConfigError> {
        let (number, least, most) = match self {
            Acks::Honest | Acks::Unmarked => return Ok(()),
            Acks::Divided(parts) => (parts, 2, 1000),
            Acks::Repeated(duplicates) => (duplicates, 1, 1000),
            Acks::Anticipated(ahead) => (ahead, 0, 100_000),
        };
        if !(least..=most).contains(&number) {
            let why = format!("must lie in {least} to {most}");
            return Err(ConfigError::new("receiver_acks", number, why));
        }
        if tcp.delayed_ack > Span::ZERO {
            let why = "must be 0 s with a receiver that cheats with acknowledgements";
            return Err(ConfigError::new("delayed_ack", tcp.delayed_ack, why));
        }
        Ok(())
    }

    /// How often each of the two acknowledgements of such a receiver is sent.
    pub(crate) fn repeats(self) -> [u32; 2] {
        match self {
            Acks::Divided(parts) => [parts - 1, 1],
            Acks::Repeated(duplicates) => [1, duplicates],
            Acks::Honest | Acks::Anticipated(_) | Acks::Unmarked => [1, 1],
        }
    }

    /// Whether it takes what was lost for received.
    pub(crate) fn conceals_losses(self) -> bool {
        matches!(self, Acks::Anticipated(_))
    }

    /// Whether its acknowledgements are other than those of an honest receiver beside the marks.
    pub(crate) fn cheats(self) -> bool {
        !matches!(self, Acks::Honest | Acks::Unmarked)
    }
}
