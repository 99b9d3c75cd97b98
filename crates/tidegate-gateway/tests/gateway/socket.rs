//! Documents at a Unix socket: for several clients, slow ones and such as go away, in place of what
//! others have left.
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tidegate_gateway::watch::socket::{CLIENTS, Serving, Socket};

/// A folder with a socket in it that answers with numbered lines.
struct Place {
    folder: tempfile::TempDir,
    told: Arc<AtomicUsize>,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), told: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("gate.sock")
    }

    /// Serves lines as long as this.
    fn serve(&self, len: usize) -> Serving {
        let told = Arc::clone(&self.told);
        let line = move || format!("{} {}\n", told.fetch_add(1, Relaxed), "x".repeat(len));
        Socket::bind(&self.path()).unwrap().serve(line).unwrap()
    }

    fn connect(&self) -> Connected {
        Connected::to(&self.path())
    }

    /// All that is in the folder.
    fn files(&self) -> Vec<String> {
        fs::read_dir(self.folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

struct Connected(BufReader<UnixStream>);

impl Connected {
    fn to(path: &Path) -> Connected {
        let stream = UnixStream::connect(path).unwrap();
        // Only a test that fails waits so long.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Connected(BufReader::new(stream))
    }

    /// Sends `text`, after which nothing more comes.
    fn ask_and_end(&mut self, text: &str) {
        self.ask(text);
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    fn ask(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// The number of the next line; `None` when nothing more comes.
    fn line(&mut self) -> Option<usize> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(
                line.strip_suffix('\n')
                    .expect("whole lines")
                    .split(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap(),
            ),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn who_asks_gets_a_line_at_once_and_who_then_ends_no_more() {
    let place = Place::new();
    let _serving = place.serve(10);
    let mut asks = place.connect();
    asks.ask_and_end("\n");
    // One that was due anyway may come before or between.
    let lines = (0..).map_while(|_| asks.line()).take(5).count();
    assert!((1..5).contains(&lines), "{lines}");
    // A request in pieces is one, and one with words in it, too.
    let mut words = place.connect();
    words.ask("how do ");
    words.ask("things stand?\n");
    let first = words.line().unwrap();
    words.ask("\n");
    assert!(words.line().unwrap() > first);
}

#[test]
fn who_listens_gets_a_line_every_second_even_if_its_own_side_has_ended() {
    let place = Place::new();
    let _serving = place.serve(10);
    let mut listeners: Vec<Connected> = (0..3).map(|_| place.connect()).collect();
    listeners[1].ask_and_end("");
    let mut heard: Vec<Vec<usize>> = vec![vec![]; 3];
    for _ in 0..2 {
        for (listener, heard) in listeners.iter_mut().zip(&mut heard) {
            heard.push(listener.line().unwrap());
        }
    }
    assert!(heard.iter().all(|lines| lines[0] < lines[1]), "{heard:?}");
}

/// A client that reads nothing of documents that no buffer of the system holds.
#[test]
fn who_does_not_read_keeps_nobody_waiting_and_misses_documents_and_never_parts_of_one() {
    let place = Place::new();
    let _serving = place.serve(3_000_000);
    let mut slow = place.connect();
    slow.ask("\n");
    let mut quick = place.connect();
    for _ in 0..5 {
        quick.ask("\n");
        assert!(quick.line().is_some());
    }
    let first = slow.line().unwrap();
    slow.ask("\n");
    assert!(slow.line().unwrap() > first + 1, "it has missed what others got meanwhile");
}

#[test]
fn there_is_room_for_so_many_and_for_others_when_they_have_gone() {
    let place = Place::new();
    let _serving = place.serve(10);
    let mut clients: Vec<Connected> = (0..CLIENTS).map(|_| place.connect()).collect();
    for client in &mut clients {
        client.ask("\n");
        assert!(client.line().is_some());
    }
    let mut late = place.connect();
    assert_eq!(late.line(), None, "it is sent away");
    clients.truncate(CLIENTS - 1);
    // That one has gone is noticed when it is; until then others are sent away.
    loop {
        let mut next = place.connect();
        let _ = next.0.get_mut().write_all(b"\n");
        if next.line().is_some() {
            break;
        }
    }
}

#[test]
fn the_socket_is_for_owner_and_group_and_goes_at_the_end() {
    let place = Place::new();
    let serving = place.serve(10);
    assert_eq!(place.files(), ["gate.sock"]);
    let mode = fs::metadata(place.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let mut client = place.connect();
    client.ask("\n");
    assert!(client.line().is_some());
    drop(serving);
    assert!(place.files().is_empty());
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() || rest.ends_with(b"\n"), "it was told the end");
}

#[test]
fn its_folder_is_made_if_that_alone_is_missing() {
    let place = Place::new();
    let path = place.folder.path().join("tidegate/gate.sock");
    let serving = Socket::bind(&path).unwrap().serve(|| "7 well\n".into()).unwrap();
    let mut client = Connected::to(&path);
    client.ask_and_end("\n");
    assert_eq!(client.line(), Some(7));
    drop(serving);
    assert_eq!((place.files(), path.exists()), (vec!["tidegate".to_string()], false));
}

#[test]
fn a_socket_that_nobody_listens_at_is_replaced_and_everything_else_is_left_alone() {
    let place = Place::new();
    let path = place.path();
    // What a process leaves that was killed.
    drop(UnixListener::bind(&path).unwrap());
    assert_eq!(place.files(), ["gate.sock"]);
    let serving = place.serve(10);
    let refused = |path: &Path| Socket::bind(path).map(drop).unwrap_err().to_string();
    assert_eq!(refused(&path), format!("{}: somebody listens there already", path.display()));
    let mut client = place.connect();
    client.ask_and_end("\n");
    assert!(client.line().is_some(), "the one that was there is there still");

    let file = place.folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_eq!(refused(&file), format!("{}: is there already, and is no socket", file.display()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let nowhere = place.folder.path().join("no/such/where");
    let folder = nowhere.parent().unwrap().display();
    let told = refused(&nowhere);
    assert!(
        told.starts_with(&format!("{}: there is no folder {folder}, ", nowhere.display())),
        "{told}"
    );
    assert!(told.ends_with(&format!("try mkdir -p {folder}")), "{told}");
    let long = place.folder.path().join("x".repeat(200));
    assert!(refused(&long).contains("path must be shorter than"), "{}", refused(&long));

    // Somebody else's in our place is theirs to remove.
    fs::remove_file(&path).unwrap();
    let theirs = UnixListener::bind(&path).unwrap();
    drop(serving);
    assert!(path.exists());
    drop(theirs);
}
