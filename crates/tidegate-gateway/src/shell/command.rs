//! The command: its start, the signals that are for it, and its end.
use std::io;
use std::process::{Child, Command, ExitStatus};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use crate::machine::system::spawn_bound;

/// What would end or stop us and is for the command to judge. To write to a terminal that is
/// another's (`SIGTTOU`) is no reason to stop either.
const FOR_COMMAND: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Signals that are kept from us.
#[derive(Debug)]
pub struct Signals {
    heard: SignalFd,
    /// What was held before.
    before: SigSet,
}

impl Signals {
    /// From here on signals end nobody in this process. To be called before there is another
    /// thread.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hold() -> io::Result<Signals> {
        let mut heard = SigSet::from_iter(FOR_COMMAND);
        heard.add(Signal::SIGCHLD);
        let mut held = heard;
        held.add(Signal::SIGTTOU);
        let before = held.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Signals { heard: SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC)?, before })
    }

    /// Runs `command` in the network of this thread to its end. It begins with those signals held
    /// that were before. What a terminal sends reaches it by itself, what another process sends us
    /// is passed on. If we are killed it is killed, too.
    ///
    /// # Errors
    /// It cannot be started: [`io::ErrorKind::NotFound`] if there is no such program.
    pub fn run(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = spawn_bound(command, self.before)?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            self.pass_on(&child)?;
        }
    }

    /// Waits for a signal.
    fn pass_on(&self, child: &Child) -> io::Result<()> {
        let Some(heard) = self.heard.read_signal()? else { return Ok(()) };
        let by_process = heard.ssi_code <= 0; // sigaction(2): others are the kernel's
        let signal = Signal::try_from(heard.ssi_signo as i32).map_err(io::Error::from)?;
        if by_process && signal != Signal::SIGCHLD {
            // It fails if the command has ended, which is found next.
            let _ = kill(Pid::from_raw(child.id() as i32), signal);
        }
        Ok(())
    }
}
