//! A link as a wire: packets one after the other, each on it for `8 · length / rate`, then the propagation delay.
use tidegate::{Bytes, Rate, Span};

/// Transmission times at one rate with the remainder carried, as [`tidegate::units::Pacer`] has them, but with the
/// quotients of the last two lengths remembered: most links see two lengths, data's and acknowledgements'.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    rate: u64,
    /// Propagation delay, at least 1 ns.
    pub delay: u64,
    /// When the last packet's transmission ends.
    pub free: u64,
    /// What the divisions so far have left, in bit/s · ns.
    remainder: u64,
    known: [Quotient; 2],
}

/// `8·10⁹ · length / rate`: whole nanoseconds and what is left.
#[derive(Clone, Copy, Debug, Default)]
struct Quotient {
    len: u32,
    whole: u64,
    rest: u64,
}

impl Wire {
    pub fn new(rate: Rate, delay: Span) -> Wire {
        let none = Quotient::default();
        Wire { rate: rate.as_bps(), delay: delay.as_nanos().max(1), free: 0, remainder: 0, known: [none; 2] }
    }

    /// A packet of `len` bytes is there to be sent at `at`: when it comes out at the far end.
    #[inline]
    pub fn transit(&mut self, at: u64, len: u32) -> u64 {
        self.send(at.max(self.free), len) + self.delay
    }

    /// Transmission of `len` bytes begins at `start`, not before the wire is free: when it ends.
    #[inline]
    pub fn send(&mut self, start: u64, len: u32) -> u64 {
        if start > self.free {
            self.remainder = 0;
        }
        let Quotient { mut whole, rest, .. } = self.quotient(len);
        self.remainder += rest;
        if self.remainder >= self.rate {
            self.remainder -= self.rate;
            whole += 1;
        }
        self.free = start + whole;
        self.free
    }

    #[inline]
    fn quotient(&mut self, len: u32) -> Quotient {
        if self.known[0].len == len {
            self.known[0]
        } else if self.known[1].len == len {
            self.known[1]
        } else {
            self.divide(len)
        }
    }

    #[cold]
    fn divide(&mut self, len: u32) -> Quotient {
        let work = Bytes::new(len as u64).bits() * 1_000_000_000;
        self.known[1] = self.known[0];
        self.known[0] = Quotient { len, whole: work / self.rate, rest: work % self.rate };
        self.known[0]
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
            let (mut wire, mut pacer) = (Wire::new(rate, Span::ZERO), Pacer::new(rate));
            let mut at = 0;
            for i in 0..2_000u64 {
                let len = [1000, 40, 1 + (mix(i) % 65_535) as u32][(mix(i + 7) % 3) as usize];
                if i % 50 == 0 {
                    at += 1_000_000;
                    pacer.reset();
                }
                let end = at + pacer.next(len).as_nanos();
                assert_eq!(wire.transit(at, len), end + 1, "a delay of zero counts as one nanosecond");
                at = end;
            }
        }
    }

    #[test]
    fn a_packet_waits_for_the_one_before() {
        let mut wire = Wire::new(Rate::from_bps(8_000_000), Span::from_micros(50));
        assert_eq!(wire.transit(1_000, 100), 1_000 + 100_000 + 50_000);
        assert_eq!(wire.transit(1_001, 100), 1_000 + 200_000 + 50_000);
        assert_eq!(wire.transit(900_000, 100), 900_000 + 100_000 + 50_000);
    }
}
