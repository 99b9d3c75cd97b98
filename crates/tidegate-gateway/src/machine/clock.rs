//! The machine's own clock and dice, and waiting for frames.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_getres, clock_gettime};
use tidegate::{Span, Time};

use super::named::named;

/// The time by CLOCK_MONOTONIC, which the kernel's programs read too.
#[inline]
pub fn now() -> Time {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    Time::from_nanos(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// How long it is from one tick of the kernel to the next: the grain of its coarse clock. Ticks are
/// at whole multiples of it by [`now`], on all processors unless the kernel was started with
/// `skew_tick`. Zero where the system does not tell.
pub fn tick() -> Span {
    let grain = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE);
    grain.map_or(Span::ZERO, |grain| {
        Span::from_nanos(grain.tv_sec() as u64 * 1_000_000_000 + grain.tv_nsec() as u64)
    })
}

/// Lets this thread's waits end when they are to: by default the kernel may add 50 us to save
/// power.
///
/// # Errors
/// The system refuses.
pub fn punctual() -> io::Result<()> {
    Ok(set_timerslack(1)?)
}

/// Waits until one of two devices has a frame, or something to complain of, for at most `span`;
/// whether it was `span`.
///
/// # Errors
/// The system refuses. A signal is no error.
pub fn wait(devices: (&impl AsFd, &impl AsFd), span: Span) -> io::Result<bool> {
    let timeout = TimeSpec::from_duration(Duration::from_nanos(span.as_nanos()));
    let mut both = [
        PollFd::new(devices.0.as_fd(), PollFlags::POLLIN),
        PollFd::new(devices.1.as_fd(), PollFlags::POLLIN),
    ];
    match ppoll(&mut both, Some(timeout), None) {
        Ok(ready) => Ok(ready == 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Where the system's dice are.
const DICE: &str = "/dev/urandom";

/// Random words from the system, which nobody outside can guess.
///
/// # Errors
/// The system has none: what could not be opened or read, and what for.
pub fn random<const N: usize>() -> io::Result<[u64; N]> {
    drawn()
        .map_err(named(format_args!("cannot read {DICE}, which the queues' secret keys are from")))
}

fn drawn<const N: usize>() -> io::Result<[u64; N]> {
    let mut source = File::open(DICE)?;
    let mut words = [0; N];
    for word in &mut words {
        let mut bytes = [0; 8];
        source.read_exact(&mut bytes)?;
        *word = u64::from_ne_bytes(bytes);
    }
    Ok(words)
}
