//! Signals as messages: a thread of its own waits for them, so that nothing else is interrupted.
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use tidegate_gateway::machine::confine;

use crate::failure::Failure;

/// Tells `tell` of every SIGHUP, SIGINT and SIGTERM from here on, until it says that nobody listens
/// any more. To be called before other threads begin: they must not be interrupted either.
///
/// # Errors
/// The system refuses.
pub fn listen(mut tell: impl FnMut(Signal) -> bool + Send + 'static) -> Result<(), Failure> {
    let mut signals = SigSet::empty();
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM]
        .into_iter()
        .for_each(|signal| signals.add(signal));
    signals.thread_block().map_err(Failure::runtime)?;
    let wait = move || {
        // To hear signals takes no right.
        let _ = confine::give_up();
        while signals.wait().is_ok_and(&mut tell) {}
    };
    thread::Builder::new().name("signals".into()).spawn(wait).map(drop).map_err(Failure::runtime)
}
