//! A link as a wire: it transmits one packet at a time, for `8 · length / rate`, and then adds the
//! propagation delay.
use tidegate::{Bytes, Rate, Span};

use crate::event::divide::Divisor;

/// Exact transmission times at one rate: the remainder is carried, as in
/// [`tidegate::units::Pacer`]. No packet needs a division. A packet as long as the last one needs
/// no multiplication.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct TransmissionTimes {
    /// In bit/s.
    rate: Divisor,
    /// Propagation delay, at least 1 ns.
    pub delay: u64,
    /// When the last packet's transmission ends.
    pub free: u64,
    /// The carried remainder of the divisions, in bit/s · ns.
    remainder: u64,
    /// The last packet's transmission time, and the remainder of its division.
    quotient: (u64, u64),
    /// The last packet's length.
    len: u32,
}

const _: () = assert!(size_of::<TransmissionTimes>() == 64);

impl TransmissionTimes {
    pub fn new(rate: Rate, delay: Span) -> TransmissionTimes {
        let rate = Divisor::new(rate.as_bps());
        TransmissionTimes {
            rate,
            delay: delay.as_nanos().max(1),
            free: 0,
            remainder: 0,
            quotient: (0, 0),
            len: 0,
        }
    }

    /// Sends a packet of `len` bytes that is ready at `at`. Returns when it reaches the far end.
    #[inline]
    pub fn transit(&mut self, at: u64, len: u32) -> u64 {
        self.send(at.max(self.free), len) + self.delay
    }

    /// When [`transit`](TransmissionTimes::transit) would have the packet reach the far end.
    #[inline]
    pub fn would_transit(&self, at: u64, len: u32) -> u64 {
        let quotient = if len == self.len { self.quotient } else { self.divide(len) };
        self.transmission(at.max(self.free), quotient).0 + self.delay
    }

    /// Transmits `len` bytes from `start`, when the wire must be free. Returns the end.
    #[inline]
    pub fn send(&mut self, start: u64, len: u32) -> u64 {
        if len != self.len {
            (self.quotient, self.len) = (self.divide(len), len);
        }
        (self.free, self.remainder) = self.transmission(start, self.quotient);
        self.free
    }

    /// The end of a transmission that begins at `start`, when the wire must be free, and the
    /// remainder carried then.
    #[inline]
    fn transmission(&self, start: u64, (whole, rest): (u64, u64)) -> (u64, u64) {
        // A product in place of a branch that nobody can foretell.
        let carried = (start <= self.free) as u64 * self.remainder;
        let end = start + whole;
        match carried + rest {
            remainder if remainder >= self.rate.get() => (end + 1, remainder - self.rate.get()),
            remainder => (end, remainder),
        }
    }

    /// `8·10⁹ · len / rate`: whole nanoseconds and the remainder.
    #[inline]
    fn divide(&self, len: u32) -> (u64, u64) {
        self.rate.divide(Bytes::new(len as u64).bits() * 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::rng::mix;
    use tidegate::units::Pacer;

    #[test]
    fn times_are_the_pacers() {
        for rate in [3, 45_000_000, 99_999_989, 10_000_000_000, 999_999_999_999] {
            let rate = Rate::from_bps(rate);
            let (mut wire, mut pacer) =
                (TransmissionTimes::new(rate, Span::ZERO), Pacer::new(rate));
            let mut at = 0;
            for i in 0..2_000u64 {
                let len = [1000, 40, 1 + (mix(i) % 65_535) as u32][(mix(i + 7) % 3) as usize];
                if i % 50 == 0 {
                    at += 1_000_000;
                    pacer.reset();
                }
                let end = at + pacer.next(len).as_nanos();
                assert_eq!(
                    wire.transit(at, len),
                    end + 1,
                    "a delay of zero counts as one nanosecond"
                );
                at = end;
            }
        }
    }

    #[test]
    fn a_packet_waits_for_the_one_before() {
        let mut wire = TransmissionTimes::new(Rate::from_bps(8_000_000), Span::from_micros(50));
        assert_eq!(wire.transit(1_000, 100), 1_000 + 100_000 + 50_000);
        assert_eq!(wire.transit(1_001, 100), 1_000 + 200_000 + 50_000);
        assert_eq!(wire.transit(900_000, 100), 900_000 + 100_000 + 50_000);
    }
}
