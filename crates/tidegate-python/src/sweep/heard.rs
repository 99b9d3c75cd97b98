//! How far a sweep has come, for a function of Python's.
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use tidegate_lab::{Progress, Watch};

use crate::attend::Stop;

/// Looks on at work: keeps the last news until Python's thread takes them, and passes on a stop.
#[derive(Default)]
pub struct Heard {
    /// Whether to give up.
    pub stop: Arc<Stop>,
    news: Mutex<Option<Progress>>,
}

impl Watch for Heard {
    fn progress(&self, progress: Progress) {
        if let Ok(mut news) = self.news.lock() {
            *news = Some(progress);
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.cancelled()
    }

    fn thread(&self, work: &mut (dyn FnMut() + Send)) {
        self.stop.thread(work);
    }
}

impl Heard {
    /// Nothing is heard yet; gives up when `stop` says so.
    pub fn of(stop: Arc<Stop>) -> Heard {
        Heard { stop, ..Heard::default() }
    }

    /// Calls `listener` with what was heard since the last time: fraction, replications done, and
    /// how many there are.
    ///
    /// # Errors
    /// What `listener` raises.
    pub fn tell(&self, py: Python<'_>, listener: Option<&Py<PyAny>>) -> PyResult<()> {
        let news = self.news.lock().ok().and_then(|mut news| news.take());
        if let (Some(Progress { fraction, done, of }), Some(listener)) = (news, listener) {
            listener.call1(py, (fraction, done, of))?;
        }
        Ok(())
    }
}
