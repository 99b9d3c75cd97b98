//! Snapshots from a gate's socket, one a second; of one gate after the other, since gates end and
//! start anew.
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use tidegate_gateway::watch::snapshot::{SCHEMA, Snapshot};
use tidegate_report::human;

use crate::failure::Failure;

/// How long a line may be, in bytes. What is longer is no snapshot.
const LINE: u64 = 16 << 20;
/// A gate that says nothing for so long is stopped, or no gate.
const SILENCE: Duration = Duration::from_secs(5);
/// How long to wait before it is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Where it may be instead, if no gate is found.
const WHERE: &str = "a gate tells at its --socket (`socket` in its file); give the same path here";
/// Who may look.
const WHO: &str =
    "only the user and the group that the gate runs as may look; try it as root, as with sudo";
/// How much may wait for the one who looks.
const WAITING: usize = 16;

/// What is heard of a gate.
#[derive(Clone, Debug)]
pub enum Update {
    /// How it is.
    Snapshot(Box<Snapshot>),
    /// There is none, or none any more: why.
    Gone(String),
}

/// A gate that tells how it is.
pub struct GateFeed {
    lines: BufReader<UnixStream>,
    line: String,
    /// Whether it has told anything.
    told: bool,
}

impl GateFeed {
    /// The gate that listens at `socket`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(socket: &Path) -> Result<GateFeed, String> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                format!("no gate listens at {}\n  {WHERE}", socket.display())
            }
            ErrorKind::PermissionDenied => format!("{}: {error}\n  {WHO}", socket.display()),
            _ => format!("{}: {error}", socket.display()),
        };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(Some(SILENCE)).map_err(failed)?;
        Ok(GateFeed { lines: BufReader::new(stream), line: String::new(), told: false })
    }

    /// Asks for a line at once, rather than when the next is due.
    ///
    /// # Errors
    /// The gate has ended.
    pub fn ask(&mut self) -> Result<(), String> {
        self.lines.get_mut().write_all(b"\n").map_err(|error| format!("the gate's socket: {error}"))
    }

    /// The next line, as the gate wrote it.
    ///
    /// # Errors
    /// The gate has ended, says nothing, or too much.
    pub fn line(&mut self) -> Result<&str, String> {
        self.line.clear();
        let read = self.lines.by_ref().take(LINE).read_line(&mut self.line);
        match read {
            Ok(_) if self.line.ends_with('\n') => {
                self.told = true;
                Ok(&self.line)
            }
            Ok(len) if len as u64 == LINE => Err("a line without end came from the socket".into()),
            Ok(_) if self.told => Err("the gate has ended".into()),
            Ok(_) => Err("the gate sends us away: it ends, or too many watch it".into()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(format!("the gate has said nothing for {} s", SILENCE.as_secs()))
            }
            Err(error) => Err(format!("the gate's socket: {error}")),
        }
    }

    /// The next snapshot.
    ///
    /// # Errors
    /// As above, or it is none that we understand.
    pub fn snapshot(&mut self) -> Result<Snapshot, String> {
        read(self.line()?)
    }
}

/// The snapshot in `line`.
///
/// # Errors
/// It is none, or one of another version's.
pub fn read(line: &str) -> Result<Snapshot, String> {
    let snapshot: Snapshot = serde_json::from_str(line)
        .map_err(|error| format!("what came from the socket is no snapshot we know: {error}"))?;
    if snapshot.schema == SCHEMA {
        Ok(snapshot)
    } else {
        Err(format!("the gate tells {}, and we know {SCHEMA}", human::plain(&snapshot.schema)))
    }
}

/// Follows whichever gate listens at `socket`, by a thread of its own, until nobody hears it any
/// more.
///
/// # Errors
/// The system refuses a thread.
pub fn follow(socket: &Path) -> Result<Receiver<Update>, Failure> {
    let (to, updates) = sync_channel(WAITING);
    let socket = PathBuf::from(socket);
    let work = move || {
        loop {
            let Err(why) = GateFeed::open(&socket).and_then(|mut feed| -> Result<(), String> {
                loop {
                    if to.send(Update::Snapshot(Box::new(feed.snapshot()?))).is_err() {
                        return Ok(());
                    }
                }
            }) else {
                return;
            };
            if to.send(Update::Gone(why)).is_err() {
                return;
            }
            thread::sleep(AGAIN);
        }
    };
    thread::Builder::new().name("feed".into()).spawn(work).map_err(Failure::runtime)?;
    Ok(updates)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::super::sample;
    use super::*;

    /// A socket at which `speak` is done for one connection after the other.
    fn gate(speak: impl Fn(UnixStream) + Send + 'static) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gate.sock");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || listener.incoming().for_each(|stream| speak(stream.unwrap())));
        (home, path)
    }

    fn line() -> String {
        sample::TEXT.replace('\n', "") + "\n"
    }

    #[test]
    fn snapshots_come_line_by_line_until_the_gate_ends() {
        let (_home, path) =
            gate(|mut stream| stream.write_all((line() + &line()).as_bytes()).unwrap_or_default());
        let mut feed = GateFeed::open(&path).unwrap();
        assert_eq!([feed.snapshot(), feed.snapshot()], [Ok(sample::gate()), Ok(sample::gate())]);
        assert_eq!(feed.snapshot(), Err("the gate has ended".into()));
    }

    #[test]
    fn what_is_no_snapshot_is_told() {
        for (said, told) in [
            ("", "too many watch it"),
            ("{}\n", "is no snapshot we know: missing field"),
            ("HTTP/1.1 400 Bad Request\n", "is no snapshot we know: expected value"),
            ("{\"schema\":", "too many watch it"),
        ] {
            let (_home, path) =
                gate(move |mut stream| stream.write_all(said.as_bytes()).unwrap_or_default());
            let error = GateFeed::open(&path).unwrap().snapshot().unwrap_err();
            assert!(error.contains(told), "{said}: {error}");
        }
        let other = line().replace("tidegate.snapshot/1", "tidegate.snapshot/2");
        assert!(read(&other).unwrap_err().contains("tidegate.snapshot/2"));
        let nobody = GateFeed::open(Path::new("/nonexistent/gate.sock")).err().unwrap();
        assert_eq!(nobody, format!("no gate listens at /nonexistent/gate.sock\n  {WHERE}"));
    }

    #[test]
    fn one_gate_is_followed_after_the_other() {
        let (_home, path) =
            gate(|mut stream| stream.write_all(line().as_bytes()).unwrap_or_default());
        let updates = follow(&path).unwrap();
        for _ in 0..2 {
            assert!(matches!(updates.recv(), Ok(Update::Snapshot(_))));
            assert!(matches!(updates.recv(), Ok(Update::Gone(why)) if why == "the gate has ended"));
        }
    }
}
