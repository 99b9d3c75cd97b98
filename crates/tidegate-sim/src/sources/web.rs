//! The short transfers of a web user (a closed loop): think, fetch one object, think again. Each
//! object has a new connection, which begins in slow start. [`Web::neidhardt`] has Neidhardt's
//! heavy-tailed distributions of object sizes and think times, as ott1999 (SRED) gives them.
use tidegate::{ConfigError, Rng, Span, Time};

use super::{Law, Tcp};

/// The parameters of a web user.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// The connection that sends each object, without an amount of data.
    pub tcp: Tcp,
    /// The size of an object, in bytes on the wire; rounded up to whole segments.
    pub size: Law,
    /// The time from the end of one object (or the start) to the request of the next, in
    /// nanoseconds.
    pub think: Law,
}

/// Longer than any run, so that sums of times stay in range.
const LONGEST: u64 = 1_000_000_000_000_000_000;

impl Web {
    /// The distributions of ott1999 §IV. Objects have median 2190 B and mean 15 kB. Think times
    /// have a mean near 3 s and are drawn again below 50 ms.
    pub fn neidhardt(tcp: Tcp) -> Web {
        Web { tcp, size: Web::size(), think: Web::think() }
    }

    /// Neidhardt's distribution of object sizes.
    pub const fn size() -> Law {
        Law::LogLogistic { median: 2190, shape: 1.15066 }
    }

    /// Neidhardt's distribution of think times.
    pub fn think() -> Law {
        let times = [
            Law::LogLogistic { median: 1_000_000_000, shape: 1.243437 },
            Law::LogLogistic { median: 24_503_200, shape: 3.252665 },
        ];
        Law::Within(Box::new(Law::Mix(0.4953916, Box::new(times))), 50_000_000, u64::MAX)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let Some(data) = self.tcp.data {
            return Err(ConfigError::new(
                "data",
                data,
                "must be left open: each object has a size of its own",
            ));
        }
        self.tcp.check()
    }
}

/// A flow of one connection after the other.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    tcp: Tcp,
    /// The distributions of size and think time. Without them a flow starts again only by its
    /// timetable.
    user: Option<(Law, Law)>,
    /// Whether no connection is open.
    pub idle: bool,
    /// The number of think times drawn.
    turn: u64,
}

impl Session {
    /// Connections like `tcp`, started only by the flow's timetable.
    pub fn plain(tcp: &Tcp) -> Session {
        Session { tcp: tcp.clone(), user: None, idle: false, turn: 0 }
    }

    /// The session of flow number `flow`. Values drawn once per flow are drawn now.
    pub fn web(web: &Web, flow: u64, dice: &mut Rng) -> Session {
        let user = (web.size.settle(dice, flow), web.think.settle(dice, flow));
        Session { tcp: web.tcp.clone(), user: Some(user), idle: true, turn: 0 }
    }

    /// Ends the connection at `now`. Returns when the next one opens, [`Time::MAX`] for never.
    pub fn think(&mut self, now: Time, dice: &mut Rng) -> Time {
        let Some((_, think)) = &self.user else { return Time::MAX };
        self.idle = true;
        self.turn += 1;
        now + Span::from_nanos(think.draw(dice, self.turn - 1).clamp(1, LONGEST))
    }

    /// Whether it thinks before it opens a connection.
    pub fn thinks(&self) -> bool {
        self.user.is_some()
    }

    /// Opens the next connection.
    pub fn open(&mut self, dice: &mut Rng) -> &Tcp {
        self.idle = false;
        if let Some((size, _)) = &self.user {
            let segments =
                size.draw(dice, self.turn.saturating_sub(1)).div_ceil(self.tcp.segment.get());
            self.tcp.data = Some(segments.clamp(1, u32::MAX as u64 - 2) as u32);
        }
        &self.tcp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neidhardt_s_laws() {
        let mut session = Session::web(&Web::neidhardt(Tcp::reno()), 0, &mut Rng::from_seed(1));
        let mut dice = Rng::from_seed(2);
        let n = 100_000;
        let draws: Vec<(f64, u32)> = (0..n)
            .map(|_| {
                let think = session.think(Time::ZERO, &mut dice).as_secs();
                (think, session.open(&mut dice).data.unwrap_or(0))
            })
            .collect();
        assert!(draws.iter().all(|d| d.0 >= 0.05 && d.1 >= 1));
        // P(F > 10 kB) = 1 / (1 + (10000 / 2190)^1.15066), which is more than ten segments.
        let p = 1.0 / (1.0 + libm::pow(10_000.0 / 2190.0, 1.15066));
        let over = draws.iter().filter(|d| d.1 > 10).count() as f64;
        assert!((over - n as f64 * p).abs() < 5.0 * (n as f64 * p * (1.0 - p)).sqrt(), "{over}");
        // The share of the slow law above 50 ms, by hand: 0.4954 · 0.9764 / (that + 0.5046 ·
        // 0.0893) above a second.
        let above = |x: f64, median: f64, shape: f64| 1.0 / (1.0 + libm::pow(x / median, shape));
        let slow = 0.4953916 * above(0.05, 1.0, 1.243437);
        let fast = 0.5046084 * above(0.05, 0.0245032, 3.252665);
        let p = (0.4953916 * above(1.0, 1.0, 1.243437)
            + 0.5046084 * above(1.0, 0.0245032, 3.252665))
            / (slow + fast);
        let over = draws.iter().filter(|d| d.0 > 1.0).count() as f64;
        assert!(
            (over - n as f64 * p).abs() < 5.0 * (n as f64 * p * (1.0 - p)).sqrt(),
            "{over} is not {}",
            n as f64 * p
        );
    }
}
