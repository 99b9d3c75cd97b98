//! What is to be seen of `tidegate gate` between namespaces: documents at its socket, and who
//! offends, across reloads.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use net::{Net, PORT};
use nix::sys::signal::Signal;
use serde_json::Value;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::watch::snapshot::Snapshot;

/// A folder with a gate's file, its socket, and what it tells.
struct Folder(tempfile::TempDir);

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A link of 400 kbit/s whose offenders are told of as soon as may be.
    fn says(&self, queue: &str) {
        let socket = self.path("gate.sock");
        let rules = "{ interval = \"100 ms\", after = 2, clear_after = 2 }";
        let link = format!(
            "rate = \"400 kbit/s\"\nqueue = \"{queue}\"\noffenders = {rules}\non_exit = \"close\"\n"
        );
        let text = format!("socket = {socket:?}\n[[link]]\nin = \"west\"\nout = \"east\"\n{link}");
        fs::write(self.path("gate.toml"), text).unwrap();
    }

    /// How the gate stands, asked at its socket as the documentation has it.
    fn snapshot(&self) -> Snapshot {
        let mut stream = UnixStream::connect(self.path("gate.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(b"\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        let snapshot: Snapshot =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for link in &snapshot.links {
            assert!(link.managed.balanced() && link.reverse.balanced(), "{line}");
        }
        snapshot
    }

    /// The first document for which this holds.
    fn until(&self, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let end = now() + Span::from_secs(60.0);
        loop {
            let snapshot = self.snapshot();
            if holds(&snapshot) {
                return snapshot;
            }
            assert!(now() < end, "never {what}: {snapshot:?}");
            sleep(Duration::from_millis(20));
        }
    }

    fn told(&self) -> String {
        fs::read_to_string(self.path("told")).unwrap()
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "told in order, in one piece")]
fn who_floods_is_seen_at_the_socket_and_told_of_once_across_reloads() {
    let Some(net) = Net::new() else { return };
    let folder = Folder(tempfile::tempdir().unwrap());
    folder.says("drop_tail");
    let (file, told) = (folder.path("gate.toml"), File::create(folder.path("told")).unwrap());
    let gate = net.started(net.gate(&["--json", "--config", file.to_str().unwrap()]), told.into());
    let calm = folder.until("running", |snapshot| snapshot.links[0].managed.queue.is_some());
    assert_eq!((calm.links[0].name.as_str(), calm.reloads.done), ("west", 0));
    let offenders = |snapshot: &Snapshot| {
        snapshot.links[0].managed.queue.as_ref().unwrap().flows.offenders.clone()
    };
    let flow = format!("10.77.1.1:{PORT} -> 10.77.0.2:{PORT} udp");
    let flood = || {
        for _ in 0..20 {
            let _ = net.client.send_to(&[7; 1000], ("10.77.0.2", PORT)); // the cable may be full
        }
    };
    let seen = folder.until("an offender", |snapshot| {
        flood();
        !offenders(snapshot).is_empty()
    });
    let offender = &offenders(&seen)[0];
    assert_eq!(offender.flow, flow);
    assert!(offender.offender_since_s.unwrap() <= seen.time_s, "{offender:?}");
    let queue = seen.links[0].managed.queue.as_ref().unwrap();
    assert_eq!((queue.name.as_str(), queue.rate_bps), ("drop_tail", 400_000));

    folder.says("no_such_queue");
    gate.signal(Signal::SIGHUP);
    let refused = folder.until("refused", |snapshot| snapshot.reloads.refused == 1);
    assert!(refused.reloads.last_error.unwrap().contains("no_such_queue: no such queue"));
    folder.says("sfb");
    gate.signal(Signal::SIGHUP);
    let changed = folder.until("changed", |snapshot| {
        flood();
        snapshot.links[0].managed.queue.as_ref().is_some_and(|queue| queue.label == "sfb")
    });
    assert_eq!((changed.reloads.done, &changed.reloads.last_error), (1, &None));
    let sent = |snapshot: &Snapshot| snapshot.links[0].managed.received.frames;
    assert!(sent(&changed) >= sent(&seen), "counters go on");

    folder.until("calm again", |snapshot| offenders(snapshot).is_empty());
    let (code, out, _) = gate.stop();
    assert_eq!(code, 0, "{}", folder.told());
    let told = folder.told();
    let times = told.matches(&format!("{flow} has become an offender: it sends ")).count();
    assert!(
        times >= 1
            && told.matches(&format!("{flow} is an offender no more, after ")).count() == times,
        "{told}"
    );
    assert!(!folder.path("gate.sock").exists(), "it is gone");
    let account: Value = serde_json::from_str(&out).unwrap();
    assert!(account["managed"]["received"]["frames"].as_u64().unwrap() >= sent(&changed), "{out}");
}

#[test]
fn a_socket_that_cannot_be_is_refused_before_anything_is_touched() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let folder = Folder(tempfile::tempdir().unwrap());
    fs::write(folder.path("file"), "mine").unwrap();
    let socket = folder.path("file");
    let (code, out, err) = net.run(&[
        "--rate",
        "1 Mbit/s",
        "--queue",
        "red",
        "--duration",
        "1 s",
        "--socket",
        socket.to_str().unwrap(),
    ]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("is there already, and is no socket"), "{err}");
    assert_eq!(net.traces(), before);
}
