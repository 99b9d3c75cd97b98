//! Network namespaces without names: each lasts as long as somebody holds it, and leaves nothing
//! behind however its holder ends.
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;

use nix::sched::{CloneFlags, setns, unshare};

use super::named::named;

/// A network namespace.
#[derive(Debug)]
pub struct Net(File);

impl Net {
    /// An empty one.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new() -> io::Result<Net> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Net::here()
        })
    }

    /// That of the calling thread.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn here() -> io::Result<Net> {
        Net::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// The one that this file stands for.
    ///
    /// # Errors
    /// It cannot be opened: which, and why.
    pub fn open(path: &Path) -> io::Result<Net> {
        let what = format!("cannot open the network namespace {}", path.display());
        File::open(path).map(Net).map_err(named(what))
    }

    /// Another hold on the same.
    ///
    /// # Errors
    /// The process holds as many files as it may.
    pub fn again(&self) -> io::Result<Net> {
        self.0.try_clone().map(Net)
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Does `work` inside, on a thread of its own; sockets that it opens stay inside wherever they
    /// are used.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| self.enter().map(|()| work()))
    }

    /// Its number for messages to the kernel.
    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Net {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(work);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
