//! The congestion window: how it grows, and what a loss, a timeout or an echoed mark does to it.
use super::{Rules, Tcp};

/// The congestion window of one connection, in segments.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// What fast recovery adds for segments that have left the network.
    pub inflation: u32,
    /// The receiver's window.
    most: u32,
    rules: Rules,
}

/// The least window after a halving, in segments (RFC 5681 eq. 4).
const LEAST: f64 = 2.0;

impl Window {
    pub fn new(tcp: &Tcp, cwnd: f64) -> Window {
        Window { cwnd, ssthresh: tcp.receiver_window as f64, inflation: 0, most: tcp.receiver_window, rules: tcp.rules }
    }

    /// How many segments may be in flight.
    #[inline]
    pub fn segments(&self) -> u32 {
        // A float beyond the integers becomes the greatest of them.
        (self.cwnd as u32).saturating_add(self.inflation).min(self.most)
    }

    /// The receiver's window.
    #[inline]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// An acknowledgement of new data: one more in slow start, 1/cwnd more in congestion avoidance.
    #[inline]
    pub fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    fn half(&self, flight: u32) -> f64 {
        match self.rules {
            Rules::Rfc => flight as f64 / 2.0,
            // A mark echoed as recovery ends finds the window still inflated.
            Rules::Ns2 => (self.cwnd + self.inflation as f64).min(self.most as f64) / 2.0,
        }
    }

    /// A loss, with `flight` segments in flight: half the window.
    pub fn halve(&mut self, flight: u32) {
        let half = self.half(flight);
        match self.rules {
            Rules::Rfc => {
                self.ssthresh = half.max(LEAST);
                self.cwnd = self.ssthresh;
            }
            Rules::Ns2 => {
                self.ssthresh = ((half as u64) as f64).max(LEAST);
                self.cwnd = half;
            }
        }
    }

    /// An echoed mark, with `flight` segments in flight: half the window. From one segment it falls below one.
    pub fn mark(&mut self, flight: u32) {
        match self.rules {
            Rules::Rfc => {
                let half = self.half(flight);
                self.ssthresh = half.max(LEAST);
                self.cwnd = if self.cwnd <= 1.0 { 0.5 } else { half.max(1.0) };
            }
            Rules::Ns2 => self.halve(flight),
        }
    }

    /// Whether it lies below one segment, so that nothing is sent before the timer runs out (RFC 3168 §6.1.2).
    #[inline]
    pub fn closed(&self) -> bool {
        self.cwnd < 1.0
    }

    /// A timeout: back to one segment. `first` says that the segment was not lost by timeout before (RFC 5681 §3.1 holds
    /// ssthresh otherwise).
    pub fn collapse(&mut self, flight: u32, first: bool) {
        self.inflation = 0;
        match self.rules {
            Rules::Rfc if first => self.ssthresh = self.half(flight).max(LEAST),
            Rules::Rfc => {}
            Rules::Ns2 => self.ssthresh = ((self.half(flight) as u64) as f64).max(LEAST),
        }
        self.restart();
    }

    /// One segment, and nothing added to it.
    pub fn restart(&mut self) {
        self.cwnd = 1.0;
        self.inflation = 0;
    }

    /// A partial acknowledgement of `acked` segments: the window shrinks by them and grows by one (RFC 6582 §3.2 step 5).
    pub fn deflate(&mut self, acked: u32) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd = (self.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
    }

    /// Fast recovery is over.
    pub fn recovered(&mut self) {
        self.inflation = 0;
        if self.rules == Rules::Rfc {
            self.cwnd = self.ssthresh;
        }
    }
}
