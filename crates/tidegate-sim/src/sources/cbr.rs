//! Constant bit rate: packets of one length at intervals of `8 · packet / rate`, whatever is lost.
//! With jitter j each interval is multiplied by a number uniform on [1 − j, 1 + j); ns-2's
//! `random_` is j = 0.5.
use tidegate::units::Pacer;
use tidegate::{Bytes, ConfigError, Ecn, Prob, Rate, Rng, Time};

use super::{check_packet, check_rate};

/// The parameters of a source of constant bit rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cbr {
    /// The mean rate, counted on the wire.
    pub rate: Rate,
    /// The length of a packet on the wire, 1 B to 65535 B.
    pub packet: Bytes,
    /// How far an interval may lie from the mean one, as a fraction of it: 0 for strictly
    /// periodic, ns-2's `random_` is 0.5.
    pub jitter: Prob,
    /// The ECN codepoint that its packets bear.
    pub ecn: Ecn,
}

impl Cbr {
    /// Strictly periodic packets of `packet` at `rate`, Not-ECT.
    pub const fn new(rate: Rate, packet: Bytes) -> Cbr {
        Cbr { rate, packet, jitter: Prob::ZERO, ecn: Ecn::NotEct }
    }

    /// The same with `jitter`.
    pub fn with_jitter(self, jitter: Prob) -> Cbr {
        Cbr { jitter, ..self }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)?;
        check_packet(self.packet)
    }
}

/// The state of a source of constant bit rate.
#[derive(Clone, Debug)]
pub(crate) struct CbrSender {
    pub len: u32,
    pub ecn: Ecn,
    pacer: Pacer,
    /// The range of a jittered interval, in nanoseconds: its least value and its width.
    spread: (f64, f64),
    /// The number of packets sent.
    sent: u32,
}

impl CbrSender {
    pub fn new(cbr: &Cbr) -> CbrSender {
        let jitter = cbr.jitter.get();
        let mean = cbr.packet.bits() as f64 * 1e9 / cbr.rate.as_bps() as f64;
        CbrSender {
            len: cbr.packet.get() as u32,
            ecn: cbr.ecn,
            pacer: Pacer::new(cbr.rate),
            spread: (mean * (1.0 - jitter), mean * 2.0 * jitter),
            sent: 0,
        }
    }

    /// Sends a packet at `now`: its number, and when to send the next (at least a nanosecond
    /// later).
    pub fn send(&mut self, now: Time, dice: &mut Rng) -> (u32, Time) {
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        let (least, width) = self.spread;
        let interval = if width > 0.0 {
            (least + width * dice.uniform() + 0.5) as u64
        } else {
            self.pacer.next(self.len).as_nanos()
        };
        (number, now + tidegate::Span::from_nanos(interval.max(1)))
    }
}
