//! A process that is confined, and what it is refused. Alone in its file: what is confined stays
//! so.
#![cfg(target_os = "linux")]
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

use caps::Capability;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate_gateway::machine::confine::{KEPT, ThreadWork, confine, give_up, keep_for};

/// A line of a thread's status.
fn status(of: &str, key: &str) -> String {
    let told = fs::read_to_string(format!("/proc/self/task/{of}/status")).unwrap();
    told.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap().trim().into()
}

#[test]
fn what_a_gate_does_not_call_is_refused_in_every_thread_and_what_it_calls_is_not() {
    let (to, waits) = channel::<()>();
    let (says, said) = channel();
    let before = thread::spawn(move || {
        let own = format!("{}", nix::unistd::gettid());
        says.send(own).unwrap();
        let _ = waits.recv();
        refused()
    });
    let before_tid = said.recv().unwrap();
    let had = u64::from_str_radix(&status(&before_tid, "CapPrm"), 16).unwrap();
    confine().unwrap();
    let us = nix::unistd::gettid().to_string();
    for thread in [&us, &before_tid] {
        assert_eq!(
            (status(thread, "NoNewPrivs"), status(thread, "Seccomp")),
            ("1".into(), "2".into())
        );
    }
    let kept = KEPT.iter().map(|one| one.bitmask()).sum::<u64>() & had;
    let [nice, lock] =
        [Capability::CAP_SYS_NICE, Capability::CAP_IPC_LOCK].map(|one| one.bitmask() & had);
    let holds = |what: u64, when: &str| {
        let us = nix::unistd::gettid().to_string();
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(u64::from_str_radix(&status(&us, set), 16).unwrap(), what, "{when}: {set}");
        }
    };
    holds(kept | nice | lock, "to begin threads");
    thread::scope(|scope| {
        scope.spawn(|| {
            keep_for(ThreadWork::Frames).unwrap();
            holds(kept, "to move frames");
        });
    });
    keep_for(ThreadWork::Reloads).unwrap();
    holds(lock, "to read a file again");
    give_up().unwrap();
    holds(0, "for nothing");
    refused();
    drop(to);
    before.join().unwrap();
    // Threads, files and sockets of its own are what it lives on.
    thread::spawn(|| ()).join().unwrap();
    UnixStream::pair().unwrap();
    assert!(fs::read_dir("/proc/self/task").unwrap().count() > 0);
}

fn refused() {
    let denied =
        |what: &str, kind: ErrorKind| assert_eq!(kind, ErrorKind::PermissionDenied, "{what}");
    denied("a process", Command::new("/bin/true").status().unwrap_err().kind());
    denied("a namespace", io::Error::from(unshare(CloneFlags::CLONE_NEWNS).unwrap_err()).kind());
    denied("a connection", UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap_err().kind());
    denied("a signal", io::Error::from(kill(Pid::this(), Signal::SIGCONT).unwrap_err()).kind());
    denied("a folder", fs::create_dir("/tmp/tidegate-confined").unwrap_err().kind());
}
