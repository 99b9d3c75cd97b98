//! The congestion window: how it grows, and what a loss, a timeout or an echoed mark does to it.
use tidegate::{ConfigError, Time};

use super::{Rules, Tcp};

mod cubic;
mod hystart;

use cubic::Cubic;
pub use cubic::{CubicParams, FastConvergence, SlowStart};

/// How the congestion window grows and shrinks: the congestion control, one file each.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Congestion {
    /// One segment more in a round trip, half of them after a loss (RFC 5681).
    #[default]
    Reno,
    /// A cubic of the time since the last loss (RFC 9438).
    Cubic(CubicParams),
}

impl Congestion {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Congestion::Reno => Ok(()),
            Congestion::Cubic(params) => params.check(),
        }
    }
}

/// A congestion control at work. What Reno has no need of stands elsewhere, so that its connections stay small.
#[derive(Clone, Debug)]
enum Control {
    Reno,
    Cubic(Box<Cubic>),
}

impl Control {
    fn new(congestion: &Congestion) -> Control {
        match congestion {
            Congestion::Reno => Control::Reno,
            Congestion::Cubic(params) => Control::Cubic(Box::new(Cubic::new(params))),
        }
    }
}

/// What an acknowledgement of new data tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub now: Time,
    /// How many segments it acknowledges.
    pub segments: u32,
    /// The smoothed round-trip time in nanoseconds, 0 before the first measurement.
    pub rtt: u64,
    /// When the segment was sent that it answers.
    pub sent: Time,
    /// The first segment not acknowledged now, and one past the greatest sent.
    pub una: u32,
    pub max: u32,
}

impl Acked {
    /// The round-trip time of the segment that it answers, in nanoseconds.
    fn sample(&self) -> u64 {
        self.now.since(self.sent).as_nanos()
    }
}

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
    control: Control,
}

/// The least window after a halving, in segments (RFC 5681 eq. 4).
const LEAST: f64 = 2.0;

impl Window {
    pub fn new(tcp: &Tcp, cwnd: f64) -> Window {
        Window {
            cwnd,
            ssthresh: tcp.receiver_window as f64,
            inflation: 0,
            most: tcp.receiver_window,
            rules: tcp.rules,
            control: Control::new(&tcp.congestion),
        }
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

    /// An acknowledgement of new data. Reno: one more in slow start, 1/cwnd more in congestion avoidance.
    #[inline]
    pub fn grow(&mut self, ack: &Acked) {
        match &mut self.control {
            Control::Reno => self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd },
            Control::Cubic(cubic) => {
                // What the receiver does not let out cannot have been tried.
                self.cwnd = cubic.acked(self.cwnd, &mut self.ssthresh, ack).min(self.most as f64);
            }
        }
    }

    /// The window that a loss or a mark is held against, with `flight` segments in flight.
    fn found(&self, flight: u32) -> f64 {
        match self.rules {
            Rules::Rfc => flight as f64,
            // A mark echoed as recovery ends finds the window still inflated.
            Rules::Ns2 => (self.cwnd + self.inflation as f64).min(self.most as f64),
        }
    }

    /// What a loss or a mark leaves of the window: of Reno's half.
    fn left(&mut self, flight: u32) -> f64 {
        let found = self.found(flight);
        match &mut self.control {
            Control::Reno => found / 2.0,
            Control::Cubic(cubic) => cubic.cut(self.cwnd, found),
        }
    }

    /// The same for a timeout.
    fn left_by_timeout(&mut self, flight: u32) -> f64 {
        let found = self.found(flight);
        match &mut self.control {
            Control::Reno => found / 2.0,
            Control::Cubic(cubic) => cubic.collapse(self.cwnd, found),
        }
    }

    /// A loss, with `flight` segments in flight.
    pub fn cut(&mut self, flight: u32) {
        let left = self.left(flight);
        match self.rules {
            Rules::Rfc => {
                self.ssthresh = left.max(LEAST);
                self.cwnd = self.ssthresh;
            }
            Rules::Ns2 => {
                self.ssthresh = ((left as u64) as f64).max(LEAST);
                self.cwnd = left;
            }
        }
    }

    /// An echoed mark, with `flight` segments in flight. From one segment the window falls below one.
    pub fn mark(&mut self, flight: u32) {
        match self.rules {
            Rules::Rfc => {
                let left = self.left(flight);
                self.ssthresh = left.max(LEAST);
                self.cwnd = if self.cwnd <= 1.0 { 0.5 } else { left.max(1.0) };
            }
            Rules::Ns2 => self.cut(flight),
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
            Rules::Rfc if first => self.ssthresh = self.left_by_timeout(flight).max(LEAST),
            Rules::Rfc => {}
            Rules::Ns2 => self.ssthresh = ((self.left_by_timeout(flight) as u64) as f64).max(LEAST),
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
