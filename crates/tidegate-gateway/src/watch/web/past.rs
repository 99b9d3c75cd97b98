//! How the last minutes were: what a page draws, second by second.
use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use crate::watch::rates::{Both, Rates};
use crate::watch::snapshot::{Direction, QueueSnapshot, Snapshot};

/// A moment.
#[derive(Debug, Serialize)]
pub struct Point {
    /// The time of day, in seconds from 1970 on.
    time_s: f64,
    /// For each link both directions: the managed one, the reverse.
    links: Vec<[WayPoint; 2]>,
}

/// A direction at a moment. What is not known is null.
#[derive(Debug, Serialize)]
struct WayPoint {
    /// Rates over the second before, in bit/s.
    received_bps: Option<f64>,
    sent_bps: Option<f64>,
    lost_bps: Option<f64>,
    /// What offenders sent, in bit/s; null where nobody looks for them.
    offenders_bps: Option<f64>,
    /// How long frames had waited, in seconds: the mean, and what 99 of 100 do not exceed.
    mean_s: Option<f64>,
    p99_s: Option<f64>,
    /// Frames that wait.
    waiting: Option<u64>,
    /// The queue's gauges by name.
    gauges: BTreeMap<String, Option<f64>>,
}

/// The point of `snapshot`, before which `rates` were.
pub fn point(snapshot: &Snapshot, rates: &[Option<Both>]) -> Point {
    let both = |at: usize| rates.get(at).and_then(Option::as_ref);
    let links = snapshot.links.iter().enumerate().map(|(at, link)| {
        [way(&link.managed, both(at).map(|b| &b[0])), way(&link.reverse, both(at).map(|b| &b[1]))]
    });
    Point { time_s: rounded(snapshot.time_s, 1e3), links: links.collect() }
}

fn way(direction: &Direction, rates: Option<&Rates>) -> WayPoint {
    let queue = direction.queue.as_ref();
    let delay = queue.and_then(|queue| queue.delay.as_ref());
    let gauges = queue.map_or(&[][..], |queue| &queue.gauges);
    let offenders = |queue: &QueueSnapshot| {
        queue.flows.offenders.iter().fold(0.0, |sum, flow| sum + flow.rate_bps).round()
    };
    WayPoint {
        received_bps: rates.map(|rates| rates.received.bps.round()),
        sent_bps: rates.map(|rates| rates.sent.bps.round()),
        lost_bps: rates.map(|rates| rates.lost.bps.round()),
        offenders_bps: queue.map(offenders),
        mean_s: delay.map(|delay| rounded(delay.mean_s, 1e7)),
        p99_s: delay.map(|delay| rounded(delay.p99_s, 1e7)),
        waiting: queue.map(|queue| queue.backlog.frames),
        gauges: gauges.iter().map(|gauge| (gauge.name.clone(), gauge.value)).collect(),
    }
}

/// `of` in one line.
pub fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("names and finite numbers are always JSON")
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Points of late, as they are sent.
#[derive(Debug, Default)]
pub struct Past {
    points: VecDeque<String>,
    bytes: usize,
}

impl Past {
    /// Keeps one more; of all, the last ones: at most so many, and so many bytes.
    pub fn keep(&mut self, point: &Point, points: usize, bytes: usize) {
        let text = json(point);
        self.bytes += text.len();
        self.points.push_back(text);
        while self.points.len() > points || self.bytes > bytes {
            let Some(oldest) = self.points.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }

    /// They as a list, in the order of time.
    pub fn list(&self) -> String {
        let all: Vec<&str> = self.points.iter().map(String::as_str).collect();
        format!("[{}]", all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_may_be() {
        let point = Point { time_s: 1.0, links: vec![] };
        let len = json(&point).len();
        let kept = |points, bytes| {
            let mut past = Past::default();
            (0..10).for_each(|_| past.keep(&point, points, bytes));
            (past.points.len(), past.bytes)
        };
        assert_eq!(kept(3, usize::MAX), (3, 3 * len));
        assert_eq!(kept(20, 4 * len + 1), (4, 4 * len));
        assert_eq!(kept(20, len - 1), (0, 0));
        assert_eq!(kept(20, usize::MAX), (10, 10 * len));
    }
}
