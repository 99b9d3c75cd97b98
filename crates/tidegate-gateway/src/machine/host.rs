//! What the gateway asks of its machine so that frames leave in time. All of it is best effort:
//! where the system refuses, frames leave later now and then, and nothing else changes.
use std::{fs, io, thread};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::unistd::{Pid, getpid, getsid};

use crate::machine::system;

/// The nice value of a thread that comes before all others of the usual class.
const FIRST: i32 = -20;

/// Lets this thread come before all others that are not real-time.
///
/// Not SCHED_FIFO: a thread that never sleeps, as ours above some 200 Mbit/s, is stopped for 50 ms
/// of each second there. Where the kernel gives processor time by session
/// (`kernel.sched_autogroup_enabled`), nice values count only among the threads of one session. A
/// process that leads its own session, such as a service, raises the session's value too.
///
/// # Errors
/// The system refuses.
pub fn come_first() -> io::Result<()> {
    system::nice(FIRST)?;
    if getsid(None) == Ok(getpid()) && getpid() != Pid::from_raw(1) {
        fs::write("/proc/self/autogroup", FIRST.to_string())
    } else {
        Ok(())
    }
}

/// Keeps in memory what the process has there now, and what it touches later of what it has laid
/// out. No page is written to disk meanwhile, which would delay the thread that needs it back.
///
/// # Errors
/// The system refuses.
pub fn keep_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT))?)
}

/// The memory of this process that is not swapped out, in bytes.
///
/// # Errors
/// The system does not tell.
pub fn resident() -> io::Result<u64> {
    let told = fs::read_to_string("/proc/self/status")?;
    let kibibytes =
        |line: &str| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    told.lines()
        .find_map(kibibytes)
        .map(|many| many << 10)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// What there is of processors for threads that never sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Each may have one, and others are left one.
    Enough,
    /// The machine has no more than so many: with so many that never sleep it would do hardly
    /// anything else.
    Full(usize),
    /// The process may use the time of no more than so many, fewer than it may run on (`cpu.max` of
    /// its control group). When that is used up it is stopped, which loses more than never sleeping
    /// gains.
    Rationed(usize),
}

/// What there is for `awake` threads of this process that never sleep.
pub fn room_for(awake: usize) -> Room {
    let given = thread::available_parallelism().map_or(1, usize::from);
    let may_run_on = sched_getaffinity(Pid::from_raw(0)).map_or(given, |all| numbers(&all).count());
    judge(awake, running().unwrap_or(may_run_on), may_run_on, given)
}

/// The processors in a set, by their numbers, which rise.
pub(crate) fn numbers(set: &CpuSet) -> impl Iterator<Item = usize> {
    (0..CpuSet::count()).filter(|&number| set.is_set(number).unwrap_or(false))
}

/// How many processors the machine has running, as the kernel lists them.
fn running() -> Option<usize> {
    listed(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

/// How many numbers are in a list such as `0-3,6`.
fn listed(list: &str) -> Option<usize> {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        (last.parse::<usize>().ok()? + 1).checked_sub(first.parse().ok()?)
    };
    list.trim().split(',').map(count).sum()
}

fn judge(awake: usize, there_are: usize, may_run_on: usize, given: usize) -> Room {
    if awake == 0 {
        Room::Enough
    } else if awake >= there_are {
        Room::Full(there_are)
    } else if awake >= given && given < may_run_on {
        Room::Rationed(given)
    } else {
        Room::Enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_sleeps_must_leave_others_a_processor() {
        assert_eq!(judge(0, 1, 1, 1), Room::Enough, "nobody is awake");
        assert_eq!(judge(1, 1, 1, 1), Room::Full(1));
        assert_eq!(judge(1, 2, 2, 2), Room::Enough);
        assert_eq!(judge(2, 2, 2, 2), Room::Full(2));
        assert_eq!(
            judge(1, 8, 1, 1),
            Room::Enough,
            "kept to one processor, as by taskset: that is what one should do"
        );
        assert_eq!(
            judge(1, 8, 8, 1),
            Room::Rationed(1),
            "a share of the machine, as a container has"
        );
        assert_eq!(room_for(0), Room::Enough);
        assert_eq!(
            [listed("0\n"), listed("0-3,6,8-9\n"), listed(""), listed("3-1")],
            [Some(1), Some(7), None, None]
        );
        assert!(running().is_some_and(|count| count > 0));
    }

    #[test]
    fn memory_that_is_touched_is_resident() {
        let touched = vec![1_u8; 50 << 20];
        assert!(resident().unwrap() > touched.iter().map(|&one| u64::from(one)).sum());
    }
}
