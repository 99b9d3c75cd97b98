//! `tidegate top` on a terminal of its own, beside a gate that is none: what it shows, how it ends,
//! and what it leaves behind.
#![cfg(unix)]
mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use common::Home;
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use serde_json::Value;

/// The terminal's size.
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(100).unwrap();
/// So long may a busy machine take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A document for each time that one is asked for: a second has passed since the last, and a
/// thousand frames.
struct Document(Value);

impl Document {
    fn new(name: &str) -> Document {
        let mut value: Value =
            serde_json::from_str(include_str!("../../tidegate-gateway/tests/data/snapshot.json"))
                .unwrap();
        value["links"][0]["name"] = name.into();
        Document(value)
    }

    fn next(&mut self) -> String {
        let line = self.0.to_string() + "\n";
        let more = |value: &mut Value| *value = (value.as_f64().unwrap() + 1.0).into();
        more(&mut self.0["time_s"]);
        more(&mut self.0["uptime_s"]);
        let link = &mut self.0["links"][0];
        more(&mut link["taken_s"]);
        for what in ["received", "sent"] {
            for (key, count) in [("frames", 1000), ("bytes", 1_000_000)] {
                let value = &mut link["managed"][what][key];
                *value = (value.as_u64().unwrap() + count).into();
            }
        }
        line
    }
}

/// Something that tells documents at a socket, until it is dropped.
struct Gate {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    fn start(socket: &Path, link: &str) -> Gate {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (ends, mut document) = (over.clone(), Document::new(link));
        let thread = thread::spawn(move || {
            let mut streams: Vec<UnixStream> = vec![];
            while !ends.load(Relaxed) {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(false).unwrap();
                    streams.push(stream);
                }
                let line = document.next();
                streams.retain_mut(|stream| stream.write_all(line.as_bytes()).is_ok());
                sleep(Duration::from_millis(50));
            }
        });
        Gate { over, thread: Some(thread) }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The command on a terminal of its own.
struct Seen {
    child: Child,
    keys: File,
    /// The terminal's other side, which keeps it open.
    slave: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Seen {
    fn start(home: &Home) -> Seen {
        let size =
            Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let before = tcgetattr(&terminal.slave).unwrap();
        let end = || Stdio::from(terminal.slave.try_clone().unwrap());
        // Whoever runs the tests may have a terminal, too, which is none of its business.
        let mut command = Command::new("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_tidegate"), "top", "--socket", "gate.sock"]);
        command.current_dir(home.path("")).stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        let keys = File::from(terminal.master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let (mut from, to) = (keys.try_clone().unwrap(), screen.clone());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().process(&bytes[..count]);
            }
        });
        Seen { child, keys, slave: terminal.slave, before, screen }
    }

    fn shown(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until `what` is on the screen.
    fn until(&self, what: &str) {
        self.until_it(|screen| screen.contents().contains(what), what);
    }

    fn until_it(&self, is: impl Fn(&vt100::Screen) -> bool, what: &str) {
        let end = Instant::now() + PATIENCE;
        while !is(self.screen.lock().unwrap().screen()) {
            assert!(Instant::now() < end, "{what:?} is not to be seen:\n{}", self.shown());
            sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
    }

    /// Waits until it has ended with `code` and has left the terminal as it was.
    fn ends(mut self, code: i32) {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it goes on:\n{}", self.shown());
            sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(code), "{}", self.shown());
        self.until_it(
            |screen| !screen.alternate_screen() && !screen.hide_cursor(),
            "the usual screen",
        );
        let after = tcgetattr(&self.slave).unwrap();
        assert_eq!(format!("{after:?}"), format!("{:?}", self.before));
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_go_round_the_links_and_end_it() {
    let home = Home::new();
    let _gate = Gate::start(&home.path("gate.sock"), "west");
    let mut seen = Seen::start(&home);
    seen.until("eth1 → eth2: WFQ of three, 100 Mbit/s");
    seen.until("8.00 Mbit/s 1 000/s");
    assert!(
        seen.screen.lock().unwrap().screen().alternate_screen(),
        "what was there before is kept"
    );
    seen.press(b"\t");
    seen.until("eth3 → eth4: red/auto, 1.00 Gbit/s (ended)");
    seen.press(b"\x1b[D");
    seen.until("eth1 → eth2");
    seen.press(b"q");
    seen.ends(0);
}

#[test]
fn however_it_is_ended_the_terminal_is_as_before() {
    let home = Home::new();
    let _gate = Gate::start(&home.path("gate.sock"), "west");
    let mut seen = Seen::start(&home);
    seen.until("eth1 → eth2");
    seen.press(b"\x03");
    seen.ends(0);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let seen = Seen::start(&home);
        seen.until("eth1 → eth2");
        kill(Pid::from_raw(seen.child.id() as i32), signal).unwrap();
        seen.ends(130);
    }
}

#[test]
fn it_waits_for_a_gate_and_for_the_next_one() {
    let home = Home::new();
    let socket = home.path("gate.sock");
    let mut seen = Seen::start(&home);
    seen.until("no gate listens at gate.sock");
    let gate = Gate::start(&socket, "first-gate");
    seen.until("first-gate");
    drop(gate);
    seen.until("below is what was heard last");
    let _gate = Gate::start(&socket, "second-gate");
    seen.until("second-gate");
    assert!(!seen.shown().contains("below is what"), "{}", seen.shown());
    seen.press(b"q");
    seen.ends(0);
}

#[test]
fn once_prints_tables_and_the_document() {
    let home = Home::new();
    let _gate = Gate::start(&home.path("gate.sock"), "west");
    let ran = home.run(&["top", "--once", "--socket", "gate.sock"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for said in
        ["8.00 Mbit/s 1 000/s", "eth1 → eth2: WFQ of three", "192.0.2.66:40001", "lab (ended)"]
    {
        assert!(ran.out.contains(said), "{said} is missing in:\n{}", ran.out);
    }
    let document = home.run(&["top", "--once", "--json", "--socket", "gate.sock"]).json();
    assert_eq!(
        (&document["schema"], &document["links"][0]["name"]),
        (&"tidegate.snapshot/1".into(), &"west".into())
    );
}

#[test]
fn what_cannot_be_is_said() {
    let home = Home::new();
    home.run(&["top", "--socket", "gate.sock"]).refused(2, &["this wants a terminal", "--once"]);
    home.run(&["top", "--once", "--socket", "gate.sock"])
        .refused(1, &["no gate listens at gate.sock", "a gate tells at its --socket"]);
    home.run(&["top", "--json"]).refused(2, &["--once"]);
    let listener = UnixListener::bind(home.path("other.sock")).unwrap();
    let other = thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello\n"));
    home.run(&["top", "--once", "--socket", "other.sock"]).refused(1, &["is no snapshot we know"]);
    other.join().unwrap().unwrap();
}
