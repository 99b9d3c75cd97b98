//! Ctrl-C: work stops at the next chance, what is being written is written to its end.
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::failure::{Failure, INTERRUPTED};

static ASKED: AtomicBool = AtomicBool::new(false);
static WRITING: AtomicBool = AtomicBool::new(false);
static TIDYING: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C (and a termination signal) asks to stop; asked twice, the command ends at
/// once.
pub fn listen() {
    // Without a handler Ctrl-C simply kills; results are still whole or not there.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, SeqCst) && !WRITING.load(SeqCst) && !TIDYING.load(SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// As [`listen`], except that it is for work that leaves something to be removed: asked twice, it
/// still ends in order.
pub fn listen_and_tidy() {
    TIDYING.store(true, SeqCst);
    listen();
}

/// Whether somebody asked to stop.
pub fn asked() -> bool {
    ASKED.load(SeqCst)
}

/// Does `write`, which must not be cut off, unless somebody asked to stop before.
///
/// # Errors
/// Somebody did, or `write` failed.
pub fn uninterrupted(write: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    WRITING.store(true, SeqCst);
    if asked() {
        return Err(Failure::Interrupted);
    }
    let result = write();
    WRITING.store(false, SeqCst);
    result
}
