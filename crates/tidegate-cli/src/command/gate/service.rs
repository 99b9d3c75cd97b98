//! What a service manager learns, such as systemd by `Type=notify`: that the wire is taken, that
//! the file is read again, that the end has begun. It also learns that we live, for as long as
//! every thread that moves frames does so.
//!
//! Where no manager listens (no `NOTIFY_SOCKET` in the environment) all this does nothing. The
//! thread that watches the gates reports, so that a manager learns from silence that it hangs, too.
//! A thread of its own sends, since a manager that hangs itself must not keep anybody waiting.
use std::env;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use sd_notify::NotifyState::{self, Custom, Ready, Reloading, Status, Stopping, Watchdog};

use crate::failure::Failure;

/// How many messages may wait to be sent; what comes then is not told.
const WAITING: usize = 16;
/// How often in the manager's patience we look whether all threads have moved. We report it as
/// often at most: three times before the manager gives us up.
const LOOKS: u32 = 4;

/// Counts the rounds of a thread, which has it as long as it lives.
#[derive(Debug, Default)]
pub struct Pulse(Arc<AtomicU64>);

impl Pulse {
    /// One more round.
    pub fn beat(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// For others to feel.
    pub fn felt(&self) -> Felt {
        Felt(Arc::downgrade(&self.0))
    }
}

/// A thread's pulse as others feel it.
#[derive(Clone, Debug)]
pub struct Felt(Weak<AtomicU64>);

impl Felt {
    /// Whether the thread has ended.
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// How many rounds it has gone; `None` when it has ended.
    fn rounds(&self) -> Option<u64> {
        Some(self.0.upgrade()?.load(Relaxed))
    }
}

/// Who started us, if it listens.
#[derive(Debug)]
pub struct Manager(Option<SyncSender<String>>);

impl Manager {
    /// To be called after [`listen`](super::signals::listen), as for every thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn new() -> Result<Manager, Failure> {
        if env::var_os("NOTIFY_SOCKET").is_none() {
            return Ok(Manager(None));
        }
        let (to, messages) = sync_channel::<String>(WAITING);
        let work = move || {
            // Whoever does not hear it does not want to, or has gone.
            messages
                .iter()
                .for_each(|message| _ = sd_notify::notify(&[Custom(message.trim_end())]));
        };
        thread::Builder::new().name("manager".into()).spawn(work).map_err(Failure::runtime)?;
        Ok(Manager(Some(to)))
    }

    /// The wire is taken, or the file was read again; `status` is what to show of us, in a line.
    pub fn ready(&self, status: &str) {
        self.tell(&[Ready, Status(&status.trim_end().replace('\n', "; "))]);
    }

    /// The file is about to be read again; [`ready`](Manager::ready) follows.
    pub fn reloading(&self) {
        // From version 253 on systemd wants to know since when.
        self.tell(&[Reloading, NotifyState::monotonic_usec_now().unwrap_or(Status(""))]);
    }

    /// The end has begun.
    pub fn stopping(&self) {
        self.tell(&[Stopping]);
    }

    fn tell(&self, state: &[NotifyState<'_>]) {
        if let Some(to) = &self.0 {
            let _ = to.try_send(state.iter().map(|word| format!("{word}\n")).collect());
        }
    }
}

/// The manager's watchdog, as far as it concerns us.
#[derive(Debug)]
pub struct Heart {
    /// How often to look; `None` where nobody waits for a sign of life.
    every: Option<Duration>,
    due: Instant,
    /// The threads' pulses, and what they were at the last report.
    told: Vec<(Felt, u64)>,
}

impl Heart {
    /// Beats for as long as all of `pulses` do, if the manager waits for that.
    pub fn new(pulses: impl IntoIterator<Item = Felt>) -> Heart {
        let every = sd_notify::watchdog_enabled().map(|patience| patience / LOOKS);
        Heart {
            every,
            due: Instant::now(),
            told: pulses.into_iter().map(|pulse| (pulse, 0)).collect(),
        }
    }

    /// How long until [`look`](Heart::look) has something to do; `None` if it never has.
    pub fn rest(&self) -> Option<Duration> {
        self.every.map(|_| self.due.saturating_duration_since(Instant::now()))
    }

    /// Tells `manager` that we live, if that is due and every thread has moved since the last
    /// report, or has ended.
    pub fn look(&mut self, manager: &Manager) {
        let (Some(every), now) = (self.every, Instant::now()) else { return };
        if now < self.due {
            return;
        }
        self.due = now + every;
        if self.all_moved() {
            manager.tell(&[Watchdog]);
        }
    }

    /// Whether every thread that has not ended has moved since this was so last.
    fn all_moved(&mut self) -> bool {
        let rounds: Vec<_> = self.told.iter().map(|(pulse, _)| pulse.rounds()).collect();
        let moved = self.told.iter().zip(&rounds).all(|((_, told), rounds)| *rounds != Some(*told));
        if moved {
            self.told
                .iter_mut()
                .zip(rounds)
                .for_each(|((_, told), rounds)| *told = rounds.unwrap_or(*told));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_that_hangs_is_enough_and_one_that_has_ended_is_none() {
        let threads = [Pulse::default(), Pulse::default(), Pulse::default()];
        let mut heart = Heart {
            every: None,
            due: Instant::now(),
            told: threads.iter().map(|p| (p.felt(), 0)).collect(),
        };
        let [one, other, third] = threads;
        assert!(!heart.all_moved(), "none has begun");
        one.beat();
        other.beat();
        assert!(!heart.all_moved(), "the third has not");
        third.beat();
        assert!(heart.all_moved() && !heart.all_moved());
        one.beat();
        third.beat();
        assert!(!heart.all_moved(), "the second hangs");
        drop(other);
        assert!(heart.all_moved(), "it has ended");
        one.beat();
        assert!(!heart.all_moved());
        drop((one, third));
        assert!(heart.all_moved(), "there is nobody left to wait for");
    }
}
