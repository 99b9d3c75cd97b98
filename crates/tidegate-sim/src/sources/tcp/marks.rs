//! A sender's part in ECN: which segments are ECN-capable, and how echoed marks are answered.
use tidegate::Ecn;

use super::rules::{EctSegments, MarkResponse, MarkedAck, RuleSet};
use super::{EcnUse, Tcp};
use crate::net::flight::flag;

/// What one connection sends and answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkReply {
    ect: EctSegments,
    codepoint: Ecn,
    /// Whether echoed marks are answered.
    heeds: bool,
    pub response: MarkResponse,
    pub marked_ack: MarkedAck,
    /// The next new segment (ns-2: the next segment) tells the receiver that the window was
    /// reduced.
    pub reduced: bool,
    /// By ns-2's rules: the last mark came when the window could not be halved, so that another
    /// one doubles the timer instead.
    pub doubles: bool,
}

impl MarkReply {
    pub fn new(tcp: &Tcp, rules: &RuleSet) -> MarkReply {
        MarkReply {
            ect: rules.ect,
            codepoint: match tcp.ecn {
                EcnUse::Ect1 => Ecn::Ect1,
                _ => tcp.congestion.needs().codepoint,
            },
            heeds: tcp.ecn != EcnUse::Ignore,
            response: rules.mark_response,
            marked_ack: rules.marked_ack,
            reduced: false,
            doubles: false,
        }
    }

    /// Whether an echoed mark is one to this sender.
    #[inline]
    pub fn heeds(&self, echo: bool) -> bool {
        echo && self.heeds
    }

    /// Whether marks are answered at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.ect != EctSegments::Never
    }

    /// The flags of a data segment that is sent, `again` or for the first time. What is sent again
    /// is not ECN-capable, and only new data say that the window was reduced (RFC 3168 §6.1.5).
    #[inline]
    pub fn flags(&mut self, again: bool) -> u8 {
        let capable = match self.ect {
            EctSegments::Never => false,
            EctSegments::NewData => !again,
            EctSegments::AllData => true,
        };
        if !capable {
            return 0;
        }
        let reduced = std::mem::take(&mut self.reduced);
        self.codepoint as u8 | if reduced { flag::REDUCED } else { 0 }
    }
}
