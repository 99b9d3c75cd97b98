//! A line every second that says how a shell's link stands.
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tidegate::Time;
use tidegate_gateway::shell::link::LinkView;
use tidegate_gateway::watch::counters::DirectionCounters;
use tidegate_gateway::watch::sample::{GateSample, LaneSample};
use tidegate_gateway::watch::sojourn::Sojourns;

use crate::output::note;

/// How often a line is written.
const EVERY: Duration = Duration::from_secs(1);
/// What a frame has beyond its IP packet, in bytes.
const HEADER: u64 = 14;

/// Writes lines on a thread of its own until it is dropped.
#[derive(Debug)]
pub struct MeterThread {
    /// Dropped first, which ends the thread.
    _stop: Sender<()>,
    _thread: JoinHandle<()>,
}

/// How one direction stood.
#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    bytes: u64,
    lost: u64,
    sojourns: Sojourns,
}

impl MeterThread {
    /// Begins to write.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(view: LinkView) -> io::Result<MeterThread> {
        let (stop, stopped) = channel();
        let work = move || lines(&view, &stopped);
        let thread = thread::Builder::new().name("meter".into()).spawn(work)?;
        Ok(MeterThread { _stop: stop, _thread: thread })
    }
}

fn lines(view: &LinkView, stopped: &Receiver<()>) {
    let (mut before, mut was) = ([Stand::default(); 2], Time::ZERO);
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
        let mut newest = None;
        while let Some(sample) = view.samples.next() {
            newest.replace(sample).into_iter().for_each(|old| view.samples.give_back(old));
        }
        let Some(sample) = newest else { continue };
        let [up, down] = view.lost.each_ref().map(|lost| lost.get());
        let now = stands(&sample, [up, down]);
        if was > Time::ZERO {
            let seconds = sample.at.since(was).as_secs();
            let [up, down] = [0, 1].map(|side| line(&before[side], &now[side], seconds));
            note(&format!("up {up}; down {down}"));
        }
        (before, was) = (now, sample.at);
        view.samples.give_back(sample);
    }
}

/// Both directions, up first.
fn stands(sample: &GateSample, lost: [u64; 2]) -> [Stand; 2] {
    let stand = |counters: &DirectionCounters, lane: Option<&LaneSample>, at_random: u64| Stand {
        bytes: counters.sent.bytes.saturating_sub(HEADER * counters.sent.frames),
        lost: counters.lost_in_all().frames + at_random,
        sojourns: lane.map(|lane| lane.sojourns).unwrap_or_default(),
    };
    [
        stand(&sample.account.managed, Some(&sample.there), lost[0]),
        stand(&sample.account.reverse, sample.back.as_ref(), lost[1]),
    ]
}

fn line(before: &Stand, now: &Stand, seconds: f64) -> String {
    let rate = (now.bytes - before.bytes) as f64 * 8.0 / seconds;
    let rate = match rate {
        ..1e6 => format!("{:.0} kbit/s", rate / 1e3),
        _ => format!("{:.1} Mbit/s", rate / 1e6),
    };
    let waited = now.sojourns.since(&before.sojourns).mean().unwrap_or_default();
    let lost = now.lost - before.lost;
    format!("{rate}, {:.1} ms in the queue, {lost} lost", waited.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Span;

    #[test]
    fn a_line_tells_of_the_time_since_the_one_before() {
        let mut sojourns = Sojourns::default();
        sojourns.add(Span::from_millis(40));
        let before = Stand { bytes: 1_000_000, lost: 5, sojourns };
        sojourns.add(Span::from_millis(10));
        let now = Stand { bytes: 3_500_000, lost: 8, sojourns };
        assert_eq!(line(&before, &now, 2.0), "10.0 Mbit/s, 10.0 ms in the queue, 3 lost");
        assert_eq!(line(&now, &now, 1.0), "0 kbit/s, 0.0 ms in the queue, 0 lost");
    }
}
