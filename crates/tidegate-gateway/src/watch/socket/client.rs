//! A client of the socket: what it asks for, and what is kept for it.
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

/// A client that has taken nothing for so long of what is kept for it is sent away.
const PATIENCE: Duration = Duration::from_secs(30);
/// Somebody who has connected.
pub(super) struct Client {
    pub(super) stream: UnixStream,
    /// What is kept for it, and how much of that it has taken.
    pub(super) kept: (Vec<u8>, usize),
    /// When it last took something, or had taken all.
    pub(super) well: Instant,
    /// Whether it has asked for a document that it has not got.
    pub(super) asks: bool,
    pub(super) input: Input,
}

/// What may still come from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Lines.
    Open,
    /// Lines; some have come.
    Used,
    /// Nothing: it has ended its side without asking for anything, and listens.
    Silent,
    /// Nothing: it has ended its side after asking, and goes when it has got what it asked for.
    Over,
}

/// Whether a client is to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    Yes,
    No,
}

impl Client {
    pub(super) fn waits_for(&self) -> PollFlags {
        let reads = matches!(self.input, Input::Open | Input::Used);
        let writes = self.kept.1 < self.kept.0.len();
        let when = |is, flag| if is { flag } else { PollFlags::empty() };
        when(reads, PollFlags::POLLIN) | when(writes, PollFlags::POLLOUT)
    }

    /// Takes what it has sent, if there was something `seen` of it.
    pub(super) fn read(&mut self, seen: PollFlags) -> Stays {
        if seen.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
            return Stays::No;
        }
        if !seen.contains(PollFlags::POLLIN) {
            return Stays::Yes;
        }
        let mut bytes = [0; 256];
        match self.stream.read(&mut bytes) {
            Ok(0) => {
                self.input = if self.input == Input::Used { Input::Over } else { Input::Silent }
            }
            Ok(count) if bytes[..count].contains(&b'\n') => {
                (self.asks, self.input) = (true, Input::Used)
            }
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Stays::No,
        }
        Stays::Yes
    }

    /// Whether it is to get a document: if it has taken the one before.
    pub(super) fn wants(&self, every: bool) -> bool {
        self.kept.1 == self.kept.0.len() && (self.asks || every && self.input != Input::Over)
    }

    pub(super) fn keep(&mut self, line: &[u8]) {
        self.kept.0.clear();
        self.kept.0.extend_from_slice(line);
        (self.kept.1, self.asks) = (0, false);
    }

    /// Gives it what it takes of what is kept.
    pub(super) fn write(&mut self, now: Instant) -> Stays {
        while self.kept.1 < self.kept.0.len() {
            match self.stream.write(&self.kept.0[self.kept.1..]) {
                Ok(count) if count > 0 => (self.kept.1, self.well) = (self.kept.1 + count, now),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock
                        && now.duration_since(self.well) < PATIENCE =>
                {
                    return Stays::Yes;
                }
                _ => return Stays::No,
            }
        }
        self.well = now;
        if self.input == Input::Over && !self.asks { Stays::No } else { Stays::Yes }
    }
}
