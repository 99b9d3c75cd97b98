//! How a connection begins: with a SYN or without, and with which window.
use super::rules::{AfterLostSyn, RuleSet};
use super::{Handshake, Tcp};

/// The beginning of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The segment whose acknowledgement ends the handshake, if there is one.
    ends_with: Option<u32>,
    /// The length of a SYN on the wire.
    pub syn_len: u16,
    /// The retransmission timer has expired.
    timed_out: bool,
    after_lost_syn: AfterLostSyn,
    initial_window: f32,
}

impl Opening {
    /// ns-2's Vegas sends a segment as any other for a SYN, and opens its window with the second
    /// acknowledgement.
    pub fn new(tcp: &Tcp, rules: &RuleSet) -> Opening {
        let vegas = tcp.is_ns2_vegas();
        let syn = if vegas { tcp.segment } else { tcp.ack };
        Opening {
            ends_with: (tcp.handshake == Handshake::Syn).then_some(vegas as u32),
            syn_len: syn.get() as u16,
            timed_out: false,
            after_lost_syn: rules.after_lost_syn,
            initial_window: tcp.initial_window as f32,
        }
    }

    /// The first segment that is not the SYN.
    #[inline]
    pub fn first_data(&self) -> u32 {
        self.ends_with.is_some() as u32
    }

    /// The length of the shorter of a SYN and a data segment, with or without a handshake.
    #[inline]
    pub fn least_len(&self, data: u16) -> u16 {
        data.min(self.syn_len)
    }

    /// Whether `seq` is the SYN.
    #[inline]
    pub fn is_syn(&self, seq: u32) -> bool {
        seq == 0 && self.ends_with.is_some()
    }

    /// Whether the acknowledgement of `una` ends the handshake.
    #[inline]
    pub fn ends_at(&self, una: u32) -> bool {
        self.ends_with == Some(una)
    }

    /// The retransmission timer expires.
    pub fn note_timeout(&mut self) {
        self.timed_out = true;
    }

    /// The window after the handshake.
    pub fn initial_window(&self) -> f64 {
        let lost = self.timed_out && self.after_lost_syn == AfterLostSyn::OneSegment;
        if lost { 1.0 } else { self.initial_window as f64 }
    }
}
