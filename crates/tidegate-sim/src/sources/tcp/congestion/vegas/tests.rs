//! Vegas on a path of the test's own.
use super::*;

/// A sender that always has as much in flight as its window allows, and a path where each round
/// trip takes as long as the test says.
struct Path {
    control: Vegas,
    cwnd: f64,
    ssthresh: f64,
    now: u64,
    next: u32,
    una: u32,
}

impl Path {
    fn new(cwnd: f64) -> Path {
        let mut path = Path {
            control: Vegas::new(&VegasParams::default(), &Tcp::reno()),
            cwnd,
            ssthresh: 1e6,
            now: 0,
            next: 0,
            una: 0,
        };
        path.fill();
        path
    }

    fn fill(&mut self) {
        while self.next - self.una < self.cwnd as u32 {
            let (now, seq, una) = (Time::from_nanos(self.now), self.next, self.una);
            self.control.on_sent(&Sending { now, seq, una, again: false });
            self.next += 1;
        }
    }

    /// All in flight is acknowledged within an instant, `rtt_ms` after it was sent.
    fn round(&mut self, rtt_ms: u64) -> f64 {
        self.now += rtt_ms * 1_000_000;
        let end = self.next;
        while self.una < end {
            self.una += 1;
            let (now, una, next) = (Time::from_nanos(self.now), self.una, self.next);
            let ack = Acked { now, una, next, max: next, ..super::super::bench::ack() };
            self.cwnd = self.control.on_ack(self.cwnd, &mut self.ssthresh, &ack);
            self.fill();
        }
        self.cwnd
    }
}

/// By hand: from two it doubles in every other round trip while diff = w (1 − 100 / rtt) is at
/// most one.
#[test]
fn slow_start_doubles_every_other_round_trip() {
    let mut path = Path::new(2.0);
    let windows: Vec<f64> = [100; 7].map(|rtt| path.round(rtt)).to_vec();
    assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0]);
    // 16 · (1 − 100 / 112) = 1.7, rounded 2, is more than γ: an eighth less, and slow start is
    // over.
    assert_eq!(path.round(112), 32.0, "it is told of a round trip once it is over");
}
