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

use net::{Net, PORT, Running};
use nix::sys::signal::Signal;
use serde_json::Value;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::watch::snapshot::{FlowState, Snapshot};

/// A folder with a gate's file, its socket, and what it tells.
struct Folder(tempfile::TempDir);

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A link of 400 kbit/s whose offenders are reported as soon as the rules allow.
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

    /// The first document where this holds.
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

    /// Starts a gate by the file.
    fn start(&self, net: &Net) -> Running {
        let (file, told) = (self.path("gate.toml"), File::create(self.path("told")).unwrap());
        net.started(net.gate(&["--json", "--config", file.to_str().unwrap()]), told.into())
    }

    /// The gate reads a file with a mistake, and says so.
    fn refuses_a_mistake(&self, gate: &Running) {
        self.says("no_such_queue");
        gate.signal(Signal::SIGHUP);
        let refused = self.until("refused", |snapshot| snapshot.reloads.refused == 1);
        assert!(refused.reloads.last_error.unwrap().contains("no_such_queue: no such queue"));
    }

    /// The gate goes on with SFB, as the file says now, while `flood` goes on.
    fn goes_on_with_sfb(&self, gate: &Running, flood: impl Fn()) -> Snapshot {
        self.says("sfb");
        gate.signal(Signal::SIGHUP);
        let changed = self.until("changed", |snapshot| {
            flood();
            snapshot.links[0].managed.queue.as_ref().is_some_and(|queue| queue.label == "sfb")
        });
        assert_eq!((changed.reloads.done, &changed.reloads.last_error), (1, &None));
        changed
    }
}

fn offenders(snapshot: &Snapshot) -> &[FlowState] {
    &snapshot.links[0].managed.queue.as_ref().unwrap().flows.offenders
}

fn received(snapshot: &Snapshot) -> u64 {
    snapshot.links[0].managed.received.frames
}

#[test]
fn who_floods_is_seen_at_the_socket_and_told_of_once_across_reloads() {
    let Some(net) = Net::new() else { return };
    let folder = Folder(tempfile::tempdir().unwrap());
    folder.says("drop_tail");
    let gate = folder.start(&net);
    let calm = folder.until("running", |snapshot| snapshot.links[0].managed.queue.is_some());
    assert_eq!((calm.links[0].name.as_str(), calm.reloads.done), ("west", 0));

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

    folder.refuses_a_mistake(&gate);
    let changed = folder.goes_on_with_sfb(&gate, flood);
    assert!(received(&changed) >= received(&seen), "counters go on");

    folder.until("calm again", |snapshot| offenders(snapshot).is_empty());
    let (code, out, _) = gate.stop();
    let told = folder.told();
    assert_eq!(code, 0, "{told}");
    let times = told.matches(&format!("{flow} has become an offender: it sends ")).count();
    let ends = told.matches(&format!("{flow} is an offender no more, after ")).count();
    assert!(times >= 1 && ends == times, "{told}");
    assert!(!folder.path("gate.sock").exists(), "it is gone");
    let account: Value = serde_json::from_str(&out).unwrap();
    let counted = account["managed"]["received"]["frames"].as_u64().unwrap();
    assert!(counted >= received(&changed), "{out}");
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
