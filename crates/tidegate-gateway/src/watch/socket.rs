//! Documents for clients of a Unix socket: one a second, or one for every line that is sent.
//!
//! Each document is a line. A client that sends nothing gets one every second. One that sends a
//! line gets one at once; if it then ends its side, it gets no more. What a client does not read is
//! kept for it up to one document, and those that come meanwhile it misses. One thread does all of
//! that, and no gate waits for it.
mod client;

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tidegate::units::UnitError;

use crate::machine::named::named;
use client::{Client, Input, Stays};

/// Where a socket is looked for if nobody says where it is.
pub const USUAL: &str = "/run/tidegate/gate.sock";
/// So many clients at a time; who comes then is sent away.
pub const CLIENTS: usize = 16;
/// How often each gets a document.
const EVERY: Duration = Duration::from_secs(1);
/// Who may connect: the owner and the group.
const MODE: u32 = 0o660;

/// The longest path, in bytes: what the kernel has room for (`sun_path`, with a zero at its end),
/// less the ending of the name under which the socket is [made](put).
const LONGEST: usize = 107 - ".4194304".len();

/// A path at which a socket can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPath(PathBuf);

impl SocketPath {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl FromStr for SocketPath {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<SocketPath, UnitError> {
        let why = match text {
            _ if text.chars().any(char::is_control) => {
                "has a character that no path should have".into()
            }
            _ if !text.starts_with(['/', '.']) || !text.contains('/') || text.ends_with('/') => {
                format!("must be the path of a file, from / or ./ on, as in {USUAL}")
            }
            _ if text.len() > LONGEST => {
                format!("has {} bytes; may have {LONGEST} at most", text.len())
            }
            _ => return Ok(SocketPath(text.into())),
        };
        Err(UnitError { text: text.escape_default().to_string(), why })
    }
}

impl fmt::Display for SocketPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// A socket in the file system, which goes when this does.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// Its device and number there: what has come in its place is not ours to remove.
    identity: (u64, u64),
}

/// A socket that is served, until this is dropped.
#[derive(Debug)]
pub struct Serving {
    ends: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Socket {
    /// Puts a socket at `path`, in place of one that nobody listens at any more; in a folder that
    /// is made if it alone is missing.
    ///
    /// # Errors
    /// With the path: something else is there, somebody listens there, or the system refuses.
    pub fn bind(path: &Path) -> io::Result<Socket> {
        put(path).map_err(named(path.display()))
    }

    /// Tries whether a socket could be put at `path`, and leaves nothing behind.
    ///
    /// # Errors
    /// Those of [`bind`](Socket::bind).
    pub fn try_out(path: &Path) -> io::Result<()> {
        tried(path).map_err(named(path.display()))
    }

    /// Answers clients with what `document` says, a line each time, in a thread of its own.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn serve(self, document: impl FnMut() -> String + Send + 'static) -> io::Result<Serving> {
        let (ends, ended) = UnixStream::pair()?;
        let server = Server { socket: self, ended, clients: Vec::new(), document };
        let thread = thread::Builder::new().name("socket".into()).spawn(move || server.serve())?;
        Ok(Serving { ends: Some(ends), thread: Some(thread) })
    }
}

/// Whether nobody has `path` but perhaps a socket at which nobody listens.
fn vacant(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            Err(io::Error::new(ErrorKind::AlreadyExists, "is there already, and is no socket"))
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "somebody listens there already")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A name beside `path` that no other process takes.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    PathBuf::from(name)
}

fn tried(path: &Path) -> io::Result<()> {
    vacant(path)?;
    let (made, aside) = (make_folder(path)?, beside(path));
    let tried = UnixListener::bind(&aside).and_then(|_| fs::remove_file(&aside));
    let gone = made.map_or(Ok(()), fs::remove_dir);
    tried.and(gone)
}

fn put(path: &Path) -> io::Result<Socket> {
    vacant(path)?;
    make_folder(path)?;
    // Under another name first, so that nobody finds it before its mode is set, and so that it
    // takes the place of what is left there in one step.
    let aside = beside(path);
    let listener = UnixListener::bind(&aside)?;
    let placed = fs::set_permissions(&aside, Permissions::from_mode(MODE))
        .and_then(|()| listener.set_nonblocking(true))
        .and_then(|()| identity(&aside))
        .and_then(|identity| fs::rename(&aside, path).map(|()| identity));
    match placed {
        Ok(identity) => Ok(Socket { path: path.into(), listener, identity }),
        Err(error) => {
            let _ = fs::remove_file(&aside); // what failed first is told
            Err(error)
        }
    }
}

/// Makes the folder of `path` if there is none, as after a boot in /run; the folder that it made.
fn make_folder(path: &Path) -> io::Result<Option<&Path>> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.exists() => {
            match fs::create_dir(folder) {
                Ok(()) => Ok(Some(folder)),
                Err(error) => {
                    let folder = folder.display();
                    let why = format!(
                        "there is no folder {folder}, and it cannot be made ({error}); try mkdir \
                         -p {folder}"
                    );
                    Err(io::Error::new(error.kind(), why))
                }
            }
        }
        _ => Ok(None),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|there| (there.dev(), there.ino()))
}

impl Drop for Socket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|there| there == self.identity) {
            // a socket that is left is replaced by the next start
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.ends.take());
        // It ends at once, since it waits for nobody; if it panicked, that was told.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Serves clients.
struct Server<D> {
    socket: Socket,
    /// Can be read from when it is to end.
    ended: UnixStream,
    clients: Vec<Client>,
    document: D,
}

impl<D: FnMut() -> String> Server<D> {
    fn serve(mut self) {
        let mut due = Instant::now() + EVERY;
        while let Ok(ready) = self.wait(due) {
            if ready.ended {
                return;
            }
            let now = Instant::now();
            let all = ready.clients;
            let mut seen = all.iter();
            self.clients.retain_mut(|client| {
                client.read(*seen.next().unwrap_or(&PollFlags::empty())) == Stays::Yes
            });
            let every = now >= due;
            if every {
                due = now + EVERY;
            }
            self.answer(every, now);
            if ready.knocks {
                self.admit(now);
            }
        }
    }

    /// Waits until there is something to do, or `due`.
    fn wait(&self, due: Instant) -> io::Result<Ready> {
        let mut all = vec![
            PollFd::new(self.ended.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.socket.listener.as_fd(), PollFlags::POLLIN),
        ];
        all.extend(
            self.clients
                .iter()
                .map(|client| PollFd::new(client.stream.as_fd(), client.waits_for())),
        );
        // Rounded up, so that it is not asked again and again in the last millisecond.
        let left = due.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        match poll(&mut all, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let seen = |fd: &PollFd<'_>| fd.revents().unwrap_or(PollFlags::empty());
        let clients = all[2..].iter().map(seen).collect();
        Ok(Ready { ended: !seen(&all[0]).is_empty(), knocks: !seen(&all[1]).is_empty(), clients })
    }

    /// Gives a document to those who are to get one, and what is kept to those who take it.
    fn answer(&mut self, every: bool, now: Instant) {
        let Server { clients, document, .. } = self;
        let mut line = None;
        clients.retain_mut(|client| {
            if client.wants(every) {
                let line = line.get_or_insert_with(|| document().into_bytes());
                client.keep(line);
            }
            client.write(now) == Stays::Yes
        });
    }

    fn admit(&mut self, now: Instant) {
        match self.socket.listener.accept() {
            Ok((stream, _))
                if self.clients.len() < CLIENTS && stream.set_nonblocking(true).is_ok() =>
            {
                let kept = (Vec::new(), 0);
                self.clients.push(Client {
                    stream,
                    kept,
                    well: now,
                    asks: false,
                    input: Input::Open,
                });
            }
            // Who knocked has gone, or is sent away.
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {
            }
            // There is no room for another file: whoever knocks goes on knocking.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// What there is to do.
struct Ready {
    ended: bool,
    knocks: bool,
    /// What was seen of each client.
    clients: Vec<PollFlags>,
}
