//! What happened over time, on a grid that grows with the capture.
use tidegate::catalog::AnyQueue;
use tidegate::{Qdisc, Span, Time};
use tidegate_report::{Line, Series, SeriesQuantity};

use super::ReplayGroup;

/// The most points of a series.
pub const POINTS: usize = 1200;
/// The grid at the start.
const FINEST: Span = Span::from_millis(1);

/// One interval of the grid.
#[derive(Clone, Debug, Default)]
struct SeriesPoint {
    /// Packets waiting at its end.
    queue: u32,
    delivered: u64,
    waited: u128,
    /// Bytes delivered, by class.
    bytes: [u64; ReplayGroup::ALL.len()],
    /// Readings at its end.
    gauges: Vec<f64>,
}

/// A series being recorded: as many points as fit, then every second one of them, and so on.
#[derive(Debug)]
pub(super) struct SeriesRecorder {
    step: Span,
    points: Vec<SeriesPoint>,
    current: SeriesPoint,
    gauges: Vec<(&'static str, &'static str)>,
}

impl SeriesRecorder {
    pub(super) fn new() -> SeriesRecorder {
        SeriesRecorder {
            step: FINEST,
            points: Vec::new(),
            current: SeriesPoint::default(),
            gauges: Vec::new(),
        }
    }

    /// The end of the current interval.
    fn due(&self) -> Time {
        Time::ZERO
            + Span::from_nanos(self.step.as_nanos().saturating_mul(self.points.len() as u64 + 1))
    }

    /// Closes every interval that ends before `now` or at it, while `queue` is as it was since the
    /// last event.
    pub(super) fn catch_up(&mut self, now: Time, queue: &mut AnyQueue) {
        while self.due() <= now {
            queue.advance(self.due());
            let mut point = std::mem::take(&mut self.current);
            point.queue = queue.backlog().packets;
            queue.probe(&mut |gauge| {
                if self.points.is_empty() {
                    self.gauges.push((gauge.name, gauge.unit));
                }
                point.gauges.push(gauge.value);
            });
            self.points.push(point);
            if self.points.len() == POINTS {
                self.halve();
            }
        }
    }

    /// Makes one point of every two.
    fn halve(&mut self) {
        let mut pairs = std::mem::take(&mut self.points).into_iter();
        while let (Some(a), Some(mut b)) = (pairs.next(), pairs.next()) {
            b.delivered += a.delivered;
            b.waited += a.waited;
            for (later, earlier) in b.bytes.iter_mut().zip(a.bytes) {
                *later += earlier;
            }
            self.points.push(b);
        }
        self.step += self.step;
    }

    /// A packet of `len` bytes was sent after waiting for `wait`.
    pub(super) fn delivered(&mut self, class: ReplayGroup, len: u32, wait: Span) {
        self.current.delivered += 1;
        self.current.waited += wait.as_nanos() as u128;
        self.current.bytes[class as usize] += len as u64;
    }

    /// The series, with throughputs of the classes in `seen`.
    pub(super) fn series(&self, seed: u64, seen: &[ReplayGroup]) -> Series {
        let step = self.step.as_secs();
        let each =
            |value: &dyn Fn(&SeriesPoint) -> f64| self.points.iter().map(value).collect::<Vec<_>>();
        let mean_wait = |p: &SeriesPoint| p.waited as f64 / p.delivered as f64 / 1e6;
        let mut lines = vec![
            Line::new(SeriesQuantity::Queue, "queue", "packets", each(&|p| p.queue as f64)),
            Line::new(SeriesQuantity::Delay, "delay", "ms", each(&mean_wait)),
        ];
        for &class in seen {
            let rate = |p: &SeriesPoint| p.bytes[class as usize] as f64 * 8.0 / step;
            lines.push(Line::new(SeriesQuantity::Throughput, class.name(), "bit/s", each(&rate)));
        }
        for (i, (name, unit)) in self.gauges.iter().enumerate() {
            let reading = |p: &SeriesPoint| p.gauges.get(i).copied().unwrap_or(f64::NAN);
            lines.push(Line::new(SeriesQuantity::Gauge, *name, *unit, each(&reading)));
        }
        let time_s = (1..=self.points.len()).map(|i| i as f64 * step).collect();
        Series { seed: Some(seed), time_s, lines }
    }
}
