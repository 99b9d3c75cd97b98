//! RED read straight from its papers (floyd1993, Fig. 2; gentle and the rules of ns-2 as red.md of
//! the catalog describes them), in floats. Written to be plainly right, not fast.
//!
//! The driver says what arrives, what the queue decided and when the link found nothing.

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// Let it in without a die.
    Pass,
    /// Mark or drop it with probability p_a; here with the p_b that it comes from.
    Die { p_a: f64, p_b: f64 },
    /// Drop (or mark) it.
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    Packets,
    /// Bytes, p_b scaled by the packet's size before the count correction (1993).
    BytesBefore,
    /// Bytes, p_a scaled after it, with the count in bytes (ns-2).
    BytesAfter,
}

#[derive(Clone, Debug)]
pub struct NaiveRed {
    pub unit: Unit,
    /// Thresholds in packets, or in bytes.
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    pub gentle: bool,
    pub wait: bool,
    /// ns-2: one more step of decay than the m of the paper.
    pub idle_plus_one: bool,
    /// ns-2: the packet with which avg crosses min passes.
    pub entry_passes: bool,
    /// ns-2: nothing happens to a packet that finds at most one waiting.
    pub short_passes: bool,
    /// Bytes.
    pub mean_packet: f64,
    /// Time on the wire of a mean packet, in nanoseconds.
    pub s: f64,

    pub avg: f64,
    /// Packets since the last mark; bytes with `BytesAfter`.
    pub count: f64,
    pub was_above: bool,
    pub idle_since: Option<f64>,
}

impl NaiveRed {
    /// The constants of the 1993 paper.
    pub fn paper(mean_packet: f64, s: f64) -> NaiveRed {
        NaiveRed {
            unit: Unit::Packets,
            min: 5.0,
            max: 15.0,
            max_p: 0.02,
            weight: 0.002,
            gentle: false,
            wait: false,
            idle_plus_one: false,
            entry_passes: false,
            short_passes: false,
            mean_packet,
            s,
            avg: 0.0,
            count: -1.0,
            was_above: false,
            idle_since: Some(0.0),
        }
    }

    /// The same on `link`, with packets of its mean length.
    pub fn of(link: &tidegate::Link) -> NaiveRed {
        let s = link.mean_packet.bits() as f64 * 1e9 / link.rate.as_bps() as f64;
        NaiveRed::paper(link.mean_packet.get() as f64, s)
    }

    /// Whether rounding decides on which side of a threshold avg lies, which is `theirs` for
    /// somebody else.
    pub fn is_edge(&self, theirs: f64) -> bool {
        let edges = [self.min, self.max, 2.0 * self.max];
        self.avg != theirs && edges.iter().any(|&edge| is_near(self.avg, edge))
    }

    /// Whether rounding decides how many packet times an idle link has been idle at `now`: this
    /// clock is a float, which late has no single nanoseconds.
    pub fn is_clock_edge(&self, now: f64) -> bool {
        let step = 2.0 * now * f64::EPSILON;
        let times = |idle: f64| (idle / self.s).floor();
        self.idle_since.is_some_and(|since| times(now - since - step) != times(now - since + step))
    }

    /// What avg is at `now` if nothing arrives on an idle link.
    pub fn avg_at(&self, now: f64) -> f64 {
        match self.idle_since {
            Some(since) => {
                self.avg * libm::pow(1.0 - self.weight, ((now - since) / self.s).floor())
            }
            None => self.avg,
        }
    }

    pub fn estimate(&mut self, now: f64, packets: f64, bytes: f64) {
        let q = if self.unit == Unit::Packets { packets } else { bytes };
        if let Some(since) = self.idle_since {
            self.avg = self.avg_at(now);
            if self.idle_plus_one {
                self.avg *= 1.0 - self.weight;
                self.idle_since = Some(now);
            } else {
                // The packet times that have been counted are over; what is left of one is not. The
                // clock has whole nanoseconds.
                self.idle_since = Some(since + (((now - since) / self.s).floor() * self.s).floor());
            }
        } else {
            self.avg = (1.0 - self.weight) * self.avg + self.weight * q;
        }
    }

    /// p_b as a function of avg.
    pub fn p_b(&self) -> f64 {
        if self.avg < self.min {
            0.0
        } else if self.avg < self.max {
            self.max_p * (self.avg - self.min) / (self.max - self.min)
        } else if self.gentle && self.avg < 2.0 * self.max {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max) / self.max
        } else {
            1.0
        }
    }

    /// The count correction: p_a from p_b.
    pub fn p_a(&self, p_b: f64, count: f64) -> f64 {
        let product = count * p_b;
        match self.wait {
            false if product < 1.0 => p_b / (1.0 - product),
            true if product < 1.0 => 0.0,
            true if product < 2.0 => p_b / (2.0 - product),
            _ => 1.0,
        }
    }

    fn nothing_since(&self) -> f64 {
        if self.unit == Unit::BytesAfter { -self.mean_packet } else { -1.0 }
    }

    /// A packet of `size` bytes finds `packets` and `bytes` waiting, and room.
    pub fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        self.estimate(now, packets, bytes);
        self.judge(packets, size)
    }

    pub fn judge(&mut self, packets: f64, size: f64) -> Said {
        if self.avg < self.min || (self.short_passes && packets <= 1.0) {
            self.count = self.nothing_since();
            self.was_above = false;
            return Said::Pass;
        }
        let forced = if self.gentle { 2.0 * self.max } else { self.max };
        if self.avg >= forced {
            self.was_above = true;
            return Said::Forced;
        }
        let step = if self.unit == Unit::BytesAfter { size } else { 1.0 };
        if !self.was_above && self.entry_passes {
            self.was_above = true;
            self.count = step;
            return Said::Pass;
        }
        self.was_above = true;
        self.count = (self.count + step).max(0.0);
        let p_b = self.p_b();
        let ratio = size / self.mean_packet;
        let p_a = match self.unit {
            Unit::Packets => self.p_a(p_b, self.count),
            Unit::BytesBefore => self.p_a(p_b * ratio, self.count),
            Unit::BytesAfter => {
                let p = self.p_a(p_b, self.count / self.mean_packet);
                if p < 1.0 { p * ratio } else { p }
            }
        };
        Said::Die { p_a: p_a.min(1.0), p_b }
    }

    /// The queue marked or dropped the packet that was just judged.
    pub fn signalled(&mut self) {
        self.count = 0.0;
    }

    /// The queue let it in.
    pub fn admitted(&mut self) {
        self.idle_since = None;
    }

    /// A packet found no room.
    pub fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        self.estimate(now, packets, bytes);
        self.overflowed(packets);
    }

    pub fn overflowed(&mut self, packets: f64) {
        if self.avg < self.min || (self.short_passes && packets <= 1.0) {
            self.count = self.nothing_since();
            self.was_above = false;
        } else {
            self.count = 0.0;
            self.was_above = true;
        }
    }

    /// The link asked and found nothing.
    pub fn idle(&mut self, now: f64) {
        self.idle_since = self.idle_since.or(Some(now));
    }
}

/// Whether the two may be one number except for rounding.
pub fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}
