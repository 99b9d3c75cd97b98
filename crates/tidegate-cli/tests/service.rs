//! The gate as a service: what it tells the manager that started it, and what it must be allowed to
//! do.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use net::{Net, Running};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::namespaces::skip;

/// How long the manager waits for a sign of life. Four times in it the gate looks whether it can
/// give one.
const PATIENCE: Duration = Duration::from_millis(400);

/// What stands for a service manager, and a folder with the gate's file.
struct Manager {
    folder: tempfile::TempDir,
    socket: UnixDatagram,
}

impl Manager {
    fn new() -> Manager {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let manager = Manager { folder, socket };
        manager.says("drop_tail");
        manager
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("gate.toml")
    }

    fn says(&self, queue: &str) {
        let way = format!("rate = \"10 Gbit/s\"\nlimit = \"20000 packets\"\nqueue = \"{queue}\"\n");
        let link = "[[link]]\nname = \"uplink\"\nin = \"west\"\nout = \"east\"\ndelay = \"20 \
            ms\"\non_exit = \"close\"\n";
        fs::write(self.file(), link.to_string() + &way).unwrap();
    }

    /// Starts a gate as a service that is watched, and waits until it holds the wire.
    fn start(&self, net: &Net) -> Running {
        let mut command = net.gate(&["--config", self.file().to_str().unwrap()]);
        let notify = self.folder.path().join("notify");
        command.env("NOTIFY_SOCKET", notify).env("WATCHDOG_USEC", PATIENCE.as_micros().to_string());
        net.started(command, Stdio::piped())
    }

    /// The next message, if one comes within `patience`.
    fn hears(&self, patience: Duration) -> Option<String> {
        let mut message = [0; 4096];
        self.socket.set_read_timeout(Some(patience)).unwrap();
        match self.socket.recv(&mut message) {
            Ok(len) => Some(String::from_utf8(message[..len].to_vec()).unwrap()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The next message that is no sign of life.
    fn hears_news(&self) -> String {
        loop {
            let message = self.hears(Duration::from_secs(20)).expect("it says nothing any more");
            if message != "WATCHDOG=1\n" {
                return message;
            }
        }
    }

    /// Signs of life within `span`, and nothing else.
    fn counts(&self, span: Span) -> usize {
        let end = now() + span;
        let mut count = 0;
        loop {
            let left = Duration::from_nanos(end.since(now()).as_nanos());
            match self.hears(left.max(Duration::from_millis(1))) {
                Some(message) => assert_eq!(message, "WATCHDOG=1\n"),
                None => return count,
            }
            count += 1;
        }
    }
}

#[test]
fn a_manager_is_told_when_the_wire_is_taken_of_reloads_of_life_and_of_the_end() {
    let Some(net) = Net::new() else { return };
    let manager = Manager::new();
    let gate = manager.start(&net);
    assert_eq!(manager.hears_news(), "READY=1\nSTATUS=frames are moved: uplink\n");
    assert!(net.is_held_by(gate.0.id()), "it says so too early");
    assert_eq!(manager.hears(Duration::from_secs(20)).as_deref(), Some("WATCHDOG=1\n"));

    manager.says("sfb");
    let before = now().as_nanos() / 1000;
    gate.signal(Signal::SIGHUP);
    let told = manager.hears_news();
    let since: u64 =
        told.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim().parse().unwrap();
    assert!((before..=now().as_nanos() / 1000).contains(&since), "{told}");
    assert_eq!(manager.hears_news(), "READY=1\nSTATUS=frames are moved: uplink\n");

    manager.says("no_such_queue");
    gate.signal(Signal::SIGHUP);
    assert!(manager.hears_news().starts_with("RELOADING=1\n"));
    let refused = manager.hears_news();
    assert!(refused.starts_with("READY=1\nSTATUS=the file was not heeded: "), "{refused}");
    assert!(
        refused.contains("link.uplink.queue = no_such_queue") && refused.lines().count() == 2,
        "{refused}"
    );

    gate.signal(Signal::SIGTERM);
    assert_eq!(manager.hears_news(), "STOPPING=1\n");
    let (code, out, err) = gate.ended();
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn of_a_thread_that_hangs_the_manager_hears_by_silence() {
    let Some(net) = Net::new() else { return };
    let manager = Manager::new();
    let gate = manager.start(&net);
    assert!(manager.hears_news().starts_with("READY=1\n"));
    assert_eq!(manager.hears(Duration::from_secs(20)).as_deref(), Some("WATCHDOG=1\n"));
    // Stopped by a debugger, so that the process's other threads go on.
    let thread = thread_called(gate.0.id(), "gate uplink");
    match ptrace::attach(thread) {
        Err(Errno::EPERM) => return skip("this container lets nobody stop a thread"),
        attached => attached.unwrap(),
    }
    waitpid(thread, Some(nix::sys::wait::WaitPidFlag::__WALL)).unwrap();
    // It may have moved since the last sign of life: one more.
    let signs = manager.counts(Span::from_secs(2.0));
    assert!(signs <= 1, "{signs} signs of life from a process whose thread hangs");
    ptrace::detach(thread, None).unwrap();
    assert_eq!(
        manager.hears(Duration::from_secs(20)).as_deref(),
        Some("WATCHDOG=1\n"),
        "it goes on"
    );
    assert_eq!(gate.stop().0, 0);
}

/// The thread of a process that has this name, as the kernel cuts it off.
fn thread_called(process: u32, name: &str) -> Pid {
    let name = &name[..name.len().min(15)];
    let threads =
        fs::read_dir(format!("/proc/{process}/task")).unwrap().map(|thread| thread.unwrap().path());
    let ours =
        |thread: &PathBuf| fs::read_to_string(thread.join("comm")).unwrap().trim_end() == name;
    let thread =
        threads.into_iter().find(ours).unwrap_or_else(|| panic!("{process} has no thread {name}"));
    Pid::from_raw(thread.file_name().unwrap().to_str().unwrap().parse().unwrap())
}

/// The capabilities that the unit grants, in setpriv's words.
fn granted() -> Vec<String> {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/tidegate.service");
    let unit = fs::read_to_string(unit).unwrap();
    let of = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_string();
    let bound = of("CapabilityBoundingSet=");
    assert_eq!(bound, of("AmbientCapabilities="));
    bound.split(' ').map(|name| name.strip_prefix("CAP_").unwrap().to_lowercase()).collect()
}

/// `tidegate` at the gate with no more than these capabilities, as nobody if nobody may run it:
/// then as root without root's own.
fn with(net: &Net, capabilities: &[String], arguments: &[&str]) -> Command {
    let set: String = capabilities.iter().map(|name| format!(",+{name}")).collect();
    let set = format!("-all{set}");
    let tidegate = env!("CARGO_BIN_EXE_tidegate");
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let reaches = Command::new("setpriv").args(nobody).args([tidegate, "--version"]).output();
    let who = if reaches.is_ok_and(|ran| ran.status.success()) { &nobody[..] } else { &[] };
    let mut words = vec!["nice", "-n", "-20", "setpriv", "--no-new-privs"];
    words.extend(who);
    words.extend(["--bounding-set", &set, "--inh-caps", &set]);
    if !who.is_empty() {
        words.extend(["--ambient-caps", &set]);
    }
    words.push(tidegate);
    net.rig.gateway.command(&[&words, arguments].concat())
}

/// Standard output and whether it went well.
fn doctor(net: &Net, capabilities: &[String]) -> (String, bool) {
    let ran =
        with(net, capabilities, &["doctor", "--in", "west", "--out", "east"]).output().unwrap();
    (String::from_utf8(ran.stdout).unwrap(), ran.status.success())
}

/// Asserts that a gate without this capability has said what it needs, as of an argument that is
/// wrong.
fn refuses(ran: Output, lacking: &str) {
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "without {lacking}: {err}");
    let said = err.contains("this is for root") && err.contains("setcap");
    assert!(said && ran.stdout.is_empty(), "without {lacking}: {err}");
}

#[test]
fn it_works_with_the_capabilities_of_the_unit_and_with_none_fewer() {
    let Some(net) = Net::new() else { return };
    let granted = granted();
    let settings = [
        "gate",
        "--in",
        "west",
        "--out",
        "east",
        "--rate",
        "10 Gbit/s",
        "--queue",
        "sfb",
        "--delay",
        "20ms",
    ];
    let start = |capabilities: &[String]| with(&net, capabilities, &settings);
    let (told, well) = doctor(&net, &granted);
    assert!(well && told.contains("ok      capabilities "), "{told}");
    // A first one, which is killed; and one that has to find what it has left.
    net.started(start(&granted), Stdio::piped()).kill();
    let gate = net.started(start(&granted), Stdio::piped());
    net.must_cross_the_gate();
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{out}{err}");

    for (at, lacking) in granted.iter().enumerate() {
        let fewer = [&granted[..at], &granted[at + 1..]].concat();
        let (told, well) = doctor(&net, &fewer);
        assert!(
            !well && told.contains(&format!("cap_{lacking} not held")),
            "without {lacking}: {told}"
        );
        assert!(!told.contains("modprobe"), "a missing right is no missing module: {told}");
        let ran = start(&fewer).args(["--duration", "1s"]).output().unwrap();
        refuses(ran, lacking);
    }
    let ran = start(&[]).args(["--duration", "1s"]).output().unwrap();
    refuses(ran, "any");
    let remove = ["gate", "--in", "west", "--out", "east", "--remove"];
    refuses(with(&net, &[], &remove).output().unwrap(), "any, to remove");
    let (code, _, err) = net.run(&["--remove"]);
    assert_eq!((code, err.as_str()), (0, ""));
}
