//! A gate for tests: two links. One is flooded, the other has ended.
#![allow(dead_code, reason = "each test takes what it needs")]
use tidegate_gateway::watch::counters::Tally;
use tidegate_gateway::watch::snapshot::Snapshot;

/// The document as it comes from the socket, except for its line breaks.
pub const TEXT: &str = include_str!("../data/snapshot.json");

/// The gate.
pub fn gate() -> Snapshot {
    serde_json::from_str(TEXT).unwrap()
}

/// The same gate some seconds later, when nothing else has happened.
pub fn grow(gate: &Snapshot, seconds: f64) -> Snapshot {
    let mut later = gate.clone();
    later.time_s += seconds;
    later.uptime_s += seconds;
    later.links.iter_mut().for_each(|link| link.taken_s += seconds);
    later
}

/// The same a second later, with a flood of 33,000 frames; 8,310 of them were sent.
pub fn flooded(gate: &Snapshot) -> Snapshot {
    let mut later = grow(gate, 1.0);
    let managed = &mut later.links[0].managed;
    let count = |tally: &mut Tally, frames: u64| more(tally, frames, frames * 1500);
    count(&mut managed.received, 33_200);
    count(&mut managed.sent, 8310);
    count(managed.lost.get_mut("penalty").unwrap(), 24_000);
    count(managed.lost.get_mut("early").unwrap(), 890);
    *managed.marked.get_mut("early").unwrap() += 12;
    managed.missed += 5;
    let class = &mut managed.queue.as_mut().unwrap().classes[1];
    count(&mut class.left, 8310);
    count(&mut class.lost, 24_890);
    later
}

/// Counts so many frames, of so many bytes together, in.
pub fn more(tally: &mut Tally, frames: u64, bytes: u64) {
    *tally = *tally + Tally { frames, bytes };
}
