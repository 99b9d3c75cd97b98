//! Follow-the-window (C. Zhang's AQM and DoS set-up for ns-2, github.com/mleoking/LeoDoS,
//! `setAtkSendState`). It floods at a constant rate while the congestion window of one user is at
//! least a threshold. While the window is less, it is silent.
//!
//! The attacker looks every `every`. Between two looks it goes on as the last one has left it. A
//! flood that begins sends its first packet at once, as ns-2's does. A user without a connection
//! has no window. So the attacker is silent before its start, after its stop, and between two
//! connections. (ns-2 keeps the window that a connection had at its end.)
use tidegate::{ConfigError, Rng, Span, Time};

use super::cbr::{Cbr, CbrSender};
use crate::net::ids::FlowId;

/// The parameters of a source that follows the window of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Following {
    /// The flow whose congestion window it follows; one that uses TCP.
    pub follows: FlowId,
    /// What it sends while that window is open wide enough.
    pub flood: Cbr,
    /// The least window at which it sends, in segments (LeoDoS's `ak_mw`), above 0.
    pub window: f64,
    /// The time from one look at the window to the next (LeoDoS's `ak_cp`), above 0.
    pub every: Span,
}

impl Following {
    /// LeoDoS's attacker: it looks every 10 ms, and sends from five segments on.
    pub const fn new(follows: FlowId, flood: Cbr) -> Following {
        Following { follows, flood, window: 5.0, every: Span::from_millis(10) }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.flood.check()?;
        if !(self.window > 0.0 && self.window <= 1e9) {
            return Err(ConfigError::new(
                "window",
                self.window,
                "must lie above 0 segments, up to 10^9",
            ));
        }
        if self.every == Span::ZERO {
            return Err(ConfigError::new("every", self.every, "must be above zero"));
        }
        Ok(())
    }
}

/// The state of a source that follows a window.
#[derive(Clone, Debug)]
pub(crate) struct FollowingSender {
    pub follows: FlowId,
    pub cbr: CbrSender,
    window: f64,
    every: Span,
    /// When it looks next; when it starts, in the past.
    look: Time,
    /// When its next packet is due; [`Time::MAX`] while it is silent.
    due: Time,
}

impl FollowingSender {
    pub fn new(source: &Following) -> FollowingSender {
        let Following { follows, ref flood, window, every } = *source;
        let cbr = CbrSender::new(flood);
        FollowingSender { follows, cbr, window, every, look: Time::ZERO, due: Time::MAX }
    }

    /// Starts again after its stop: it looks at once.
    pub fn restart(&mut self) {
        (self.look, self.due) = (Time::ZERO, Time::MAX);
    }

    /// Its turn has come at `now`, when the window has `window` segments: the number of a packet,
    /// if it sends one, and when its next turn is.
    pub fn send(&mut self, now: Time, window: f64, dice: &mut Rng) -> (Option<u32>, Time) {
        if now >= self.look {
            self.look = now + self.every;
            if window < self.window {
                self.due = Time::MAX;
            } else if self.due == Time::MAX {
                self.due = now;
            }
        }
        let mut number = None;
        if self.due <= now {
            let (sent, next) = self.cbr.send(now, dice);
            (number, self.due) = (Some(sent), next);
        }
        (number, self.look.min(self.due))
    }
}

#[cfg(test)]
mod tests {
    use tidegate::{Bytes, Rate};

    use super::*;

    /// 1000 bytes every 4 ms, looked at every 10 ms.
    fn source() -> Following {
        Following::new(FlowId(0), Cbr::new(Rate::from_bps(2_000_000), Bytes::new(1000)))
    }

    /// The times at which it sends up to 100 ms, in milliseconds, and those at which it has a turn.
    /// It starts at `start` with a window that `window` gives.
    fn run(
        sender: &mut FollowingSender,
        start: u64,
        window: impl Fn(u64) -> f64,
    ) -> (Vec<u64>, Vec<u64>) {
        let (mut sent, mut turns) = (vec![], vec![]);
        let mut now = Time::ZERO + Span::from_millis(start);
        while now < Time::ZERO + Span::from_millis(start + 100) {
            let ms = now.as_nanos() / 1_000_000;
            turns.push(ms - start);
            let (number, next) = sender.send(now, window(ms - start), &mut Rng::from_seed(1));
            sent.extend(number.map(|_| ms - start));
            assert!(next > now);
            now = next;
        }
        (sent, turns)
    }

    #[test]
    fn it_sends_while_the_window_it_saw_last_is_wide_enough() {
        let mut sender = FollowingSender::new(&source());
        // Wide enough from 15 to 43 ms: seen at 20, and at 50 no more. A packet due at 52 is not
        // sent.
        let window = |ms| if (15..43).contains(&ms) { 5.0 } else { 4.999 };
        let (sent, turns) = run(&mut sender, 0, window);
        assert_eq!(sent, [20, 24, 28, 32, 36, 40, 44, 48]);
        let looks: Vec<u64> = turns.into_iter().filter(|ms| ms % 10 == 0).collect();
        assert_eq!(looks, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    }

    #[test]
    fn what_falls_between_two_looks_is_not_seen() {
        let between = |ms: u64| if ms.is_multiple_of(10) { 2.0 } else { 50.0 };
        let (sent, turns) = run(&mut FollowingSender::new(&source()), 0, between);
        assert_eq!(sent, [0; 0]);
        assert_eq!(turns, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    }

    #[test]
    fn it_looks_at_once_when_it_starts_and_when_it_starts_again() {
        let mut sender = FollowingSender::new(&source());
        let all: Vec<u64> = (0..25).map(|i| 4 * i).collect();
        assert_eq!(run(&mut sender, 3, |_| 5.0).0, all);
        sender.restart();
        assert_eq!(run(&mut sender, 208, |_| 7.0).0, all);
        sender.restart();
        assert_eq!(run(&mut sender, 311, |_| 1.0).0, [0; 0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        source().check().unwrap();
        let window = Following { window: 0.0, ..source() };
        assert_eq!(window.check().unwrap_err().field, "window");
        let every = Following { every: Span::ZERO, ..source() };
        assert_eq!(every.check().unwrap_err().field, "every");
        let flood = Cbr::new(Rate::from_bps(0), Bytes::new(1000));
        assert_eq!(Following { flood, ..source() }.check().unwrap_err().field, "rate");
    }
}
