//! When the link was busy, and what a flow sent then.
use tidegate::Rate;

use super::conversation::{DirectedFlow, TimeBin, TimeGrid};
use super::survey::{Loaded, Survey};

/// A stretch of time in which the link carries so much of its rate is busy. What Ethernet adds to a
/// frame is no part of a capture: at 1514 bytes 1.6 %, at 100 bytes a fifth.
const BUSY: f64 = 0.85;
/// More than the link carries by so much cannot have passed it.
const BEYOND: f64 = 1.05;
/// So many busy stretches make a congested link; fewer are bursts.
const LEAST_BUSY: u32 = 5;
/// Of the link's rate, what a sender that heeds nothing must send to be what the time is about.
const WEIGHTY: f64 = 0.2;

/// How busy the link was.
#[derive(Clone, Debug)]
pub(super) struct LinkLoad {
    /// Bits a second in each stretch.
    rates: Vec<f64>,
    rate: f64,
    pub(super) grid: TimeGrid,
}

/// Stretches of time, the last not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeWindow {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl LinkLoad {
    /// What the flows in the loaded direction sent.
    pub(super) fn new(survey: &Survey, loaded: &Loaded<'_>, rate: Rate) -> LinkLoad {
        let grid = survey.grid;
        let mut rates = vec![0.0; grid.index(survey.last) as usize + 1];
        let cells = loaded.flows.iter().flat_map(|flow| &flow.way().cells);
        for cell in cells.chain(&survey.others.cells) {
            rates[cell.index as usize] += cell.bytes as f64 * 8.0;
        }
        // The last stretch is not over.
        let whole = rates.len() - 1;
        let left = survey.last.as_nanos() - whole as u64 * grid.step.as_nanos();
        let seconds = |i: usize| {
            if i == whole { left.max(1) as f64 / 1e9 } else { grid.seconds() }
        };
        let mut load: Vec<f64> =
            rates.iter().enumerate().map(|(i, bits)| bits / seconds(i)).collect();
        if whole > 0 && left * 2 < grid.step.as_nanos() {
            load.pop();
        }
        LinkLoad { rates: load, rate: rate.as_bps() as f64, grid }
    }

    fn count(&self, above: f64) -> u32 {
        self.rates.iter().filter(|&&rate| rate > above * self.rate).count() as u32
    }

    /// Part of the time in which the link is busy.
    pub(super) fn busy(&self) -> f64 {
        f64::from(self.count(BUSY)) / self.rates.len().max(1) as f64
    }

    /// The most that a stretch carries, in bit/s.
    pub(super) fn most(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Whether more passes than the link can carry, so that it lies behind this place.
    pub(super) fn beyond(&self) -> bool {
        self.count(BEYOND) >= LEAST_BUSY
    }

    /// From the first busy stretch to the last; none if the link is not congested.
    pub(super) fn congested(&self) -> Option<TimeWindow> {
        let is_busy = |&rate: &f64| rate > BUSY * self.rate;
        let from = self.rates.iter().position(is_busy)? as u32;
        let to = self.rates.iter().rposition(is_busy)? as u32 + 1;
        (self.count(BUSY) >= LEAST_BUSY).then_some(TimeWindow { from, to })
    }

    /// The part of `window` in which a flood is there that is weighty and steady.
    pub(super) fn flooded(&self, window: TimeWindow, floods: &[(TimeWindow, f64)]) -> TimeWindow {
        let weighty = floods.iter().filter(|(_, rate)| *rate > WEIGHTY * self.rate);
        let heaviest = weighty.max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((on, _)) = heaviest else { return window };
        let (from, to) = (window.from.max(on.from), window.to.min(on.to));
        if from + LEAST_BUSY <= to { TimeWindow { from, to } } else { window }
    }
}

impl TimeWindow {
    pub(super) fn seconds(self, grid: TimeGrid) -> f64 {
        f64::from(self.to - self.from) * grid.seconds()
    }

    fn cells(self, cells: &[TimeBin]) -> &[TimeBin] {
        let from = cells.partition_point(|cell| cell.index < self.from);
        let to = cells.partition_point(|cell| cell.index < self.to);
        &cells[from..to]
    }
}

/// What a flow sent within a window.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowSent {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Packets that were sent because others were lost.
    pub(super) again: u64,
    /// From the first stretch with a packet to the last.
    pub(super) span: Option<TimeWindow>,
    /// How long it sent, and was silent in between, time after time, in stretches.
    pub(super) on: Vec<u32>,
    pub(super) off: Vec<u32>,
    /// Bytes of the stretches in the midst of sending.
    steady: Vec<f64>,
}

/// Less than this part of its busiest stretches is silence.
const SILENT: f64 = 0.2;

impl WindowSent {
    pub(super) fn by(flow: DirectedFlow<'_>, window: TimeWindow) -> WindowSent {
        WindowSent::of(window.cells(&flow.way().cells))
    }

    pub(super) fn of(cells: &[TimeBin]) -> WindowSent {
        let mut sent = WindowSent::default();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return sent };
        sent.span = Some(TimeWindow { from: first.index, to: last.index + 1 });
        for cell in cells {
            sent.packets += u64::from(cell.packets);
            sent.bytes += cell.bytes;
            sent.again += u64::from(cell.again);
        }
        let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        let loud = sizes[(sizes.len() - 1) * 9 / 10] as f64 * SILENT;
        sent.periods(cells.iter().filter(|cell| cell.bytes as f64 > loud));
        sent
    }

    /// Finds when it sent: `cells` are those in which it did.
    fn periods<'a>(&mut self, cells: impl Iterator<Item = &'a TimeBin>) {
        let mut run: Vec<&TimeBin> = vec![];
        for cell in cells {
            if let Some(last) = run.last().filter(|last| last.index + 1 != cell.index) {
                self.off.push(cell.index - last.index - 1);
                self.period(&run);
                run.clear();
            }
            run.push(cell);
        }
        self.period(&run);
    }

    fn period(&mut self, run: &[&TimeBin]) {
        self.on.push(run.len() as u32);
        // The first and the last stretch of sending are not full.
        let midst = run.get(1..run.len().saturating_sub(1)).unwrap_or_default();
        self.steady.extend(midst.iter().map(|cell| cell.bytes as f64));
    }

    /// Part of the time from its first packet to its last in which it sends.
    pub(super) fn duty(&self) -> f64 {
        let sum = |spans: &[u32]| spans.iter().map(|&n| f64::from(n)).sum::<f64>();
        sum(&self.on) / (sum(&self.on) + sum(&self.off)).max(1.0)
    }

    /// Its rate while it sends, in bit/s.
    pub(super) fn rate(&self, grid: TimeGrid) -> f64 {
        let mean = self.steady.iter().sum::<f64>() / self.steady.len().max(1) as f64;
        let stretches: u32 = self.on.iter().sum();
        let whole = self.bytes as f64 / f64::from(stretches.max(1));
        (if self.steady.len() > 2 { mean } else { whole }) * 8.0 / grid.seconds()
    }

    /// How much its rate varies while it sends: deviation over mean. None if it sends too little to
    /// tell.
    pub(super) fn variation(&self) -> Option<f64> {
        (self.steady.len() >= 5).then(|| crate::stats::variation(&self.steady)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Span;

    fn cells(bytes: &[u64]) -> Vec<TimeBin> {
        let cell = |(index, &bytes): (usize, &u64)| TimeBin {
            index: index as u32 + 10,
            packets: 1,
            bytes,
            again: 0,
        };
        bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0).map(cell).collect()
    }

    #[test]
    fn a_sender_that_comes_and_goes() {
        let sent = WindowSent::of(&cells(&[
            50, 100, 100, 100, 60, 0, 0, 0, 50, 100, 100, 100, 100, 40, 0, 1, 50, 100, 20,
        ]));
        assert_eq!((sent.on.as_slice(), sent.off.as_slice()), (&[5, 6, 2][..], &[3, 2][..]));
        assert!((sent.duty() - 13.0 / 18.0).abs() < 1e-12);
        assert_eq!(sent.variation(), Some(0.0));
        let grid = TimeGrid { step: Span::from_millis(100) };
        assert_eq!(sent.rate(grid), 100.0 * 8.0 / 0.1);
        assert_eq!(sent.span, Some(TimeWindow { from: 10, to: 29 }));
    }

    #[test]
    fn nothing_and_little_say_nothing() {
        assert_eq!(WindowSent::of(&[]).variation(), None);
        let one = WindowSent::of(&cells(&[7]));
        assert_eq!((one.variation(), one.on.as_slice()), (None, &[1][..]));
    }
}
