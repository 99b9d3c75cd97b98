//! Work without Python's lock, which Ctrl-C ends.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use tidegate_lab::Watch;

/// How often Python is asked whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);

/// Whether work is to be given up.
#[derive(Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Asks the work to give up.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Watch for Stop {
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Python knows the thread all the while. It would else get to know it anew with each call of
    /// a queue that is written in Python, which takes longer than the call.
    fn thread(&self, work: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(work));
    }
}

/// Does `work` on a thread of its own, without Python's lock. This thread looks for signals, as
/// only Python's main thread may.
///
/// # Errors
/// What a signal's handler raised, as `KeyboardInterrupt`; the work has been asked to stop.
pub fn attended<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    attended_by(py, stop, |_| Ok(()), work)
}

/// As [`attended`]; calls `look` again and again meanwhile.
///
/// # Errors
/// As [`attended`], and what `look` raised.
pub fn attended_by<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    mut look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        thread::scope(|scope| {
            let (done, result) = channel();
            let worker = scope.spawn(move || {
                // Nobody is left to hear it only if this thread has panicked.
                let _ = done.send(work());
            });
            loop {
                match result.recv_timeout(LOOK) {
                    Ok(result) => return Ok(result),
                    Err(RecvTimeoutError::Timeout) => {
                        let looked =
                            Python::attach(|py| py.check_signals().and_then(|()| look(py)));
                        if let Err(error) = looked {
                            stop.ask();
                            return Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        let panic = worker.join().expect_err("it has sent nothing");
                        std::panic::resume_unwind(panic);
                    }
                }
            }
        })
    })
}
