//! Who runs on which processor: the gateway has one to itself, as one that protects a link has, and
//! everybody else the others. Where they share, a gateway that wakes up to send may wait some
//! milliseconds until a sender has used up its turn, and what is measured is the scheduler.
use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::machine::host::numbers;

/// The thread that calls, as [`Pid`].
const THIS: Pid = Pid::from_raw(0);

/// The processors of this thread, divided. It has them all again when this is dropped, which is to
/// be by the same thread.
#[derive(Debug)]
pub struct Processors {
    all: CpuSet,
    gateways: CpuSet,
    others: CpuSet,
}

impl Processors {
    /// The last of the processors that this thread may run on for the gateway. If there is but one,
    /// all share it.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn divide() -> io::Result<Processors> {
        let all = sched_getaffinity(THIS)?;
        let (gateways, others) = divided(&all)?;
        Ok(Processors { all, gateways, others })
    }

    /// What this thread starts from here on runs where the gateway is to.
    ///
    /// # Errors
    /// The system refuses.
    pub fn as_gateway(&self) -> io::Result<()> {
        Ok(sched_setaffinity(THIS, &self.gateways)?)
    }

    /// This thread, and what it starts from here on, keeps off the gateway's processor.
    ///
    /// # Errors
    /// The system refuses.
    pub fn as_others(&self) -> io::Result<()> {
        Ok(sched_setaffinity(THIS, &self.others)?)
    }
}

impl Drop for Processors {
    fn drop(&mut self) {
        // One may have been taken away meanwhile; then it is left with fewer.
        let _ = sched_setaffinity(THIS, &self.all);
    }
}

/// The last of `all`, and the others; of a single one both are that one.
fn divided(all: &CpuSet) -> io::Result<(CpuSet, CpuSet)> {
    let numbers: Vec<usize> = numbers(all).collect();
    let [others @ .., last] = &numbers[..] else { return Ok((*all, *all)) };
    let set = |numbers: &[usize]| -> io::Result<CpuSet> {
        let mut set = CpuSet::new();
        numbers.iter().try_for_each(|&number| set.set(number))?;
        Ok(set)
    };
    let last = set(&[*last])?;
    Ok((last, if others.is_empty() { last } else { set(others)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        numbers.iter().for_each(|&number| set.set(number).unwrap());
        set
    }

    #[test]
    fn the_gateway_has_the_last_to_itself() {
        assert_eq!(divided(&set(&[0, 1])).unwrap(), (set(&[1]), set(&[0])));
        assert_eq!(divided(&set(&[2, 3, 7])).unwrap(), (set(&[7]), set(&[2, 3])));
        assert_eq!(divided(&set(&[5])).unwrap(), (set(&[5]), set(&[5])));
    }

    #[test]
    fn a_thread_has_all_again_at_the_end() {
        let before = sched_getaffinity(THIS).unwrap();
        let processors = Processors::divide().unwrap();
        processors.as_gateway().unwrap();
        let started = || std::thread::spawn(|| sched_getaffinity(THIS).unwrap()).join().unwrap();
        assert_eq!(started(), processors.gateways);
        processors.as_others().unwrap();
        assert_eq!(started(), processors.others);
        drop(processors);
        assert_eq!(sched_getaffinity(THIS).unwrap(), before);
    }
}
