//! What the gateway asks of its machine so that frames leave in time. All of it is best effort: where the system refuses,
//! frames leave later now and then, and nothing else changes.
use std::{fs, io};

use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::unistd::{Pid, getpid, getsid};

use crate::system;

/// The nice value of a thread that comes before all others of the usual class.
const FIRST: i32 = -20;

/// Lets this thread come before all others that are not real-time.
///
/// Not SCHED_FIFO: a thread that never sleeps, as ours above some 200 Mbit/s, is stopped for 50 ms of each second there.
/// Where the kernel gives processor time by session (`kernel.sched_autogroup_enabled`), nice values count only among the
/// threads of one; a process that leads its own session, such as a service, raises that too.
///
/// # Errors
/// The system refuses.
pub fn come_first() -> io::Result<()> {
    system::nice(FIRST)?;
    match getsid(None) == Ok(getpid()) && getpid() != Pid::from_raw(1) {
        true => fs::write("/proc/self/autogroup", FIRST.to_string()),
        false => Ok(()),
    }
}

/// Keeps in memory what the process has in memory now and what it touches later of what it has laid out: no page is
/// written to disk meanwhile, which would hold up whoever wants it back.
///
/// # Errors
/// The system refuses.
pub fn keep_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT))?)
}
