//! What can be seen of gates that run: who offends, as notes, and how they stand, as documents at a
//! socket, as figures to be scraped and as a page.
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use tidegate_gateway::machine::clock;
use tidegate_gateway::watch::http::{Limits, Listener};
use tidegate_gateway::watch::metrics::{self, Pages};
use tidegate_gateway::watch::monitor::{Moment, Monitor};
use tidegate_gateway::watch::socket::{Serving, Socket};
use tidegate_gateway::watch::web::{WatcherLimits, WebPage};

use super::notes::NoteWriter;
use super::served::Http;
use crate::failure::Failure;

/// How often what the gates have sampled is taken in.
const EVERY: Duration = Duration::from_millis(100);

/// Takes in what gates have sampled, and shows it, until it is dropped.
pub struct View {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _serving: Option<Serving>,
    _web: Option<WebPage>,
}

/// The socket at `path`.
///
/// # Errors
/// It cannot be there.
pub fn socket(path: &Path) -> Result<Socket, Failure> {
    Socket::bind(path).map_err(Failure::runtime)
}

impl View {
    /// Shows what comes to `monitor`: at `socket`, by `http`, and by `pen` with the link's name of
    /// `names`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn open(
        monitor: &Arc<Monitor>,
        socket: Option<Socket>,
        http: Http<Listener>,
        names: Vec<String>,
        pen: NoteWriter,
    ) -> Result<View, Failure> {
        let shown = Arc::clone(monitor);
        let snapshot =
            move || shown.snapshot(Moment { now: clock::now(), wall: SystemTime::now() });
        if let Some(listener) = http.metrics {
            let (pages, snapshot) = (Pages::default(), snapshot.clone());
            let site = metrics::site(move || pages.page(snapshot()));
            listener.serve("metrics", site, Limits::default()).map_err(Failure::runtime)?;
        }
        let web = |listener| WebPage::serve(listener, snapshot.clone(), WatcherLimits::default());
        let _web = http.web.map(web).transpose().map_err(Failure::runtime)?;
        let document = move || snapshot().line();
        let _serving =
            socket.map(|socket| socket.serve(document)).transpose().map_err(Failure::runtime)?;
        let (ends, ended) = channel();
        let monitor = Arc::clone(monitor);
        let pens: Vec<NoteWriter> = names.iter().map(|name| pen.of(name)).collect();
        drop(pen);
        let take_in = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                for (number, alarm) in monitor.take_in() {
                    pens[number].note(alarm.to_string());
                }
            }
        };
        let thread =
            thread::Builder::new().name("view".into()).spawn(take_in).map_err(Failure::runtime)?;
        Ok(View { ends: Some(ends), thread: Some(thread), _serving, _web })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        drop(self.ends.take());
        // It ends within a moment; if it panicked, that was told.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
