//! Notes to standard error, written by a thread of its own: nobody waits for whoever reads them.
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::output;

/// How many notes may wait to be written; what comes then is not told.
const WAITING: usize = 64;
/// How long the end may take that is given to what still waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whither notes go.
#[derive(Debug)]
pub struct Notes {
    to: SyncSender<String>,
    written: Receiver<()>,
}

impl Notes {
    /// To be called after [`listen`](super::signals::listen), as for every thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn new() -> Result<Notes, Failure> {
        Notes::by(output::note)
    }

    fn by(write: impl Fn(&str) + Send + 'static) -> Result<Notes, Failure> {
        let (to, notes) = sync_channel::<String>(WAITING);
        let (done, written) = sync_channel(1);
        let work = move || {
            notes.iter().for_each(|note| write(&note));
            let _ = done.send(());
        };
        thread::Builder::new().name("notes".into()).spawn(work).map_err(Failure::runtime)?;
        Ok(Notes { to, written })
    }

    /// Whence notes are taken, by whoever has some.
    pub fn pen(&self) -> Pen {
        Pen(self.to.clone())
    }

    /// Has `last` written too, and waits a second at most until all is. Nobody else is to have a pen any more.
    pub fn end(self, last: impl IntoIterator<Item = String>) {
        let begun = Instant::now();
        for mut note in last {
            while let Err(TrySendError::Full(back)) = self.to.try_send(note)
                && begun.elapsed() < PATIENCE
            {
                note = back;
                thread::sleep(Duration::from_millis(1));
            }
        }
        drop(self.to);
        let _ = self.written.recv_timeout(PATIENCE.saturating_sub(begun.elapsed()));
    }
}

/// Writes notes.
#[derive(Clone, Debug)]
pub struct Pen(SyncSender<String>);

impl Pen {
    /// Has `text` written. It is lost if too much waits: never does the caller wait.
    pub fn note(&self, text: impl Into<String>) {
        let _ = self.0.try_send(text.into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_found_room_and_the_last_words_are_written_before_the_end() {
        static SAID: Mutex<Vec<String>> = Mutex::new(vec![]);
        let notes = Notes::by(|note| SAID.lock().unwrap().push(note.into())).unwrap();
        (0..WAITING).for_each(|n| notes.pen().note(n.to_string()));
        notes.end((WAITING..3 * WAITING).map(|n| n.to_string()));
        let expected: Vec<String> = (0..3 * WAITING).map(|n| n.to_string()).collect();
        assert_eq!(*SAID.lock().unwrap(), expected);
    }

    #[test]
    fn nobody_waits_for_a_reader_who_does_not_read() {
        let (never, reads) = channel::<()>();
        let notes = Notes::by(move |_| {
            let _ = reads.recv();
        })
        .unwrap();
        // More than there is room for.
        (0..2 * WAITING).for_each(|n| notes.pen().note(n.to_string()));
        notes.end(["the last".into()]);
        drop(never);
    }
}
