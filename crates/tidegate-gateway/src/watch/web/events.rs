//! Server-sent events (WHATWG HTML, "Server-sent events"), and those who receive them.
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::WatcherLimits;
use super::past::{Past, Point, json, point};
use crate::watch::rates::{self, Both};
use crate::watch::snapshot::Snapshot;

/// So many events wait for one who is slow to take them. Those that come meanwhile it misses.
const WAITING: usize = 4;
/// How often it is looked whether all have heard the last event.
const LOOK: Duration = Duration::from_millis(5);
/// How soon a page is to ask again after a break, in milliseconds.
const AGAIN_MS: u32 = 1000;

/// Tells events to those who have opened a stream.
#[derive(Debug)]
pub struct Events(WatcherLimits, Mutex<EventStreams>);

/// What was sent, and to whom.
#[derive(Debug, Default)]
struct EventStreams {
    last: Option<Snapshot>,
    past: Past,
    /// The event `now` that was sent last.
    now: Bytes,
    /// In the order in which they came.
    streams: Vec<Sender<Bytes>>,
}

/// How the gate is, and what happened on each link in the second before.
#[derive(Serialize)]
struct Now<'a> {
    snapshot: &'a Snapshot,
    rates: &'a [Option<Both>],
    point: &'a Point,
}

impl Events {
    /// Events that nobody receives yet.
    pub fn new(bounds: WatcherLimits) -> Events {
        Events(bounds, Mutex::default())
    }

    /// Tells everybody how the gate is by now.
    pub fn tell(&self, snapshot: Snapshot) {
        let mut told = self.told();
        let rates = match &told.last {
            Some(last) => rates::between(last, &snapshot),
            None => snapshot.links.iter().map(|_| None).collect(),
        };
        let point = point(&snapshot, &rates);
        told.past.keep(&point, self.0.points, self.0.bytes);
        told.now = event("now", &json(&Now { snapshot: &snapshot, rates: &rates, point: &point }));
        told.last = Some(snapshot);
        let now = told.now.clone();
        told.streams.retain(|stream| !stream.is_closed());
        for stream in &told.streams {
            // Who has not taken the ones before misses it.
            let _ = stream.try_send(now.clone());
        }
    }

    /// A stream for one more, whose first events are the past and now. The oldest must go if all
    /// places are taken.
    pub fn open(&self) -> Receiver<Bytes> {
        let mut told = self.told();
        told.streams.retain(|stream| !stream.is_closed());
        while told.streams.len() >= self.0.pages.max(1) {
            let _ = told.streams.remove(0).try_send(event("away", "null"));
        }
        let (to, from) = channel(WAITING);
        let first = [
            format!("retry: {AGAIN_MS}\n").into(),
            event("past", &told.past.list()),
            told.now.clone(),
        ];
        let _ = to.try_send(first.concat().into());
        told.streams.push(to);
        from
    }

    /// Tells everybody that the gate ends, and waits until they have heard it, at most for
    /// `patience`.
    pub fn end(&self, patience: Duration) {
        let streams = std::mem::take(&mut self.told().streams);
        let last = event("end", "null");
        let waiting = |stream: &Sender<Bytes>| stream.capacity() < stream.max_capacity();
        streams.iter().for_each(|stream| _ = stream.try_send(last.clone()));
        let begun = Instant::now();
        while begun.elapsed() < patience && streams.iter().any(waiting) {
            thread::sleep(LOOK);
        }
        drop(streams);
        // What was taken from here may not have left yet.
        thread::sleep(2 * LOOK);
    }

    fn told(&self) -> MutexGuard<'_, EventStreams> {
        // Whoever panicked with it has left nothing half done that matters to others.
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event with one line of data.
fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
