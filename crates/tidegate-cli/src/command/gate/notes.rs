//! Notes to standard error, written by a thread of its own: nobody waits for their reader.
//!
//! Each note begins with the time, and with the link that it is about.
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use time::UtcDateTime;

use crate::failure::Failure;
use crate::output;

/// How many notes may wait to be written; what comes then is not told.
const WAITING: usize = 64;
/// How long the end may take that is given to what still waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many links were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCount {
    /// One: its document is an object.
    One,
    /// Several: their documents are a list, even if of some there is none.
    Several,
}

impl LinkCount {
    /// Of so many.
    pub fn of(count: usize) -> LinkCount {
        if count > 1 { LinkCount::Several } else { LinkCount::One }
    }
}

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

    /// Where notes come from.
    pub fn pen(&self) -> NoteWriter {
        NoteWriter { to: self.to.clone(), whose: String::new() }
    }

    /// Has `last` written too, and waits a second at most until all is. Nobody else is to have a
    /// pen any more.
    pub fn end(self, last: impl IntoIterator<Item = String>) {
        let begun = Instant::now();
        for note in last {
            let mut note = dated("", &note);
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
pub struct NoteWriter {
    to: SyncSender<String>,
    /// What notes begin with after the time.
    whose: String,
}

impl NoteWriter {
    /// One whose notes are about the link `name`, and say so.
    pub fn of(&self, name: &str) -> NoteWriter {
        NoteWriter { whose: whose(name), ..self.clone() }
    }

    /// Has `text` written. It is lost if too much waits: never does the caller wait.
    pub fn note(&self, text: impl Into<String>) {
        let _ = self.to.try_send(dated(&self.whose, &text.into()));
    }
}

/// What messages about the link `name` begin with.
pub fn whose(name: &str) -> String {
    format!("{name}: ")
}

/// A note with the time before it, to the second.
fn dated(whose: &str, text: &str) -> String {
    format!("{} {whose}{text}", stamp(UtcDateTime::now()))
}

/// A time as RFC 3339 has it.
fn stamp(at: UtcDateTime) -> String {
    let (day, (hour, minute, second)) = (at.date(), at.time().as_hms());
    let (year, month, day) = (day.year(), u8::from(day.month()), day.day());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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
        let said = SAID.lock().unwrap();
        let words: Vec<&str> = said.iter().map(|note| note.split_once(' ').unwrap().1).collect();
        let expected: Vec<String> = (0..3 * WAITING).map(|n| n.to_string()).collect();
        assert_eq!(words, expected);
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

    #[test]
    fn notes_begin_with_the_time_and_the_link() {
        static SAID: Mutex<Vec<String>> = Mutex::new(vec![]);
        let notes = Notes::by(|note| SAID.lock().unwrap().push(note.into())).unwrap();
        notes.pen().of("west").note("well again");
        notes.pen().note("the gate is ending");
        notes.end(["error: it is over".into()]);
        let said = SAID.lock().unwrap();
        let words: Vec<&str> = said.iter().map(|note| note.split_once(' ').unwrap().1).collect();
        assert_eq!(words, ["west: well again", "the gate is ending", "error: it is over"]);
        let at = UtcDateTime::from_unix_timestamp(1_700_000_009).unwrap();
        assert_eq!(stamp(at), "2023-11-14T22:13:29Z");
        assert!(
            said.iter().all(|note| note.len() > 21
                && note.starts_with("20")
                && note[19..].starts_with("Z "))
        );
    }
}
