//! `tidegate gate --config` between namespaces: a file read again while traffic flows, and an end that lets what waits leave.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::fs::{self, File};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use net::{Net, PORT, QUICK, Running};
use nix::sys::signal::Signal;
use serde_json::Value;
use tidegate::Span;
use tidegate_gateway::clock::now;

/// A folder with a gate's file and what the gate tells.
struct Config(tempfile::TempDir);

impl Config {
    fn new() -> Config {
        Config(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("gate.toml")
    }

    /// One link, managed both ways.
    fn says(&self, queue: &str, rate: &str) {
        let way = format!("rate = \"{rate}\"\nlimit = \"20000 packets\"\nqueue = \"{queue}\"\n");
        let rest = "delay = \"20 ms\"\ndrain = \"30 s\"\non_exit = \"close\"\n";
        fs::write(self.file(), format!("[[link]]\nin = \"west\"\nout = \"east\"\n{way}{rest}[link.back]\n{way}"))
            .unwrap();
    }

    fn start(&self, net: &Net) -> Running {
        let command = net.gate(&["--json", "--config", self.file().to_str().unwrap()]);
        net.started(command, File::create(self.0.path().join("told")).unwrap().into())
    }

    fn told(&self) -> String {
        fs::read_to_string(self.0.path().join("told")).unwrap()
    }

    /// Waits until the gate has told this so many times.
    fn until_told(&self, what: &str, times: usize) {
        let end = now() + Span::from_secs(20.0);
        while self.told().matches(what).count() < times {
            assert!(now() < end, "it did not tell {times} times {what:?}:\n{}", self.told());
            sleep(Duration::from_millis(10));
        }
    }
}

fn frames(of: &Value) -> u64 {
    of["frames"].as_u64().unwrap()
}

/// Asserts that all that was received is accounted for; how many of them were lost.
fn lost(direction: &Value) -> u64 {
    let lost = direction["lost"].as_object().unwrap().values().map(frames).sum();
    assert_eq!(
        frames(&direction["received"]),
        frames(&direction["sent"]) + lost + frames(&direction["held"]),
        "{direction}"
    );
    lost
}

#[test]
fn a_file_is_read_again_while_traffic_flows_and_one_with_a_mistake_is_not_heeded() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let config = Config::new();
    config.says("drop_tail", "10 Gbit/s");
    let gate = config.start(&net);
    net.must_cross();
    let ways = net.traffic(Duration::from_micros(500), || {
        for (turn, (queue, rate)) in
            [("drop_tail", "1 Gbit/s"), ("fq_codel", "10 Gbit/s"), ("sfb", "10 Gbit/s"), ("sfb", "5 Gbit/s")]
                .into_iter()
                .enumerate()
        {
            config.says("no_such_queue", "10 Gbit/s");
            gate.signal(Signal::SIGHUP);
            config.until_told("gate.toml:6:10: link.west.queue = no_such_queue: no such queue; known are", turn + 1);
            config.says(queue, rate);
            gate.signal(Signal::SIGHUP);
            config.until_told("goes on as the file says now", turn + 1);
        }
        fs::write(config.file(), fs::read_to_string(config.file()).unwrap().replace("\"close\"", "\"open\"")).unwrap();
        gate.signal(Signal::SIGHUP);
        config.until_told("link.west.on_exit = open: cannot be otherwise while the gate runs", 1);
    });
    for came in &ways {
        assert!(came.once().0.len() > 50, "hardly anything came");
    }
    // It is the gate that they came through, by its delay line.
    assert!(net.crossing().is_some_and(|span| span >= QUICK));
    let (code, out, _) = gate.stop();
    assert_eq!((code, net.traces()), (0, before), "{}", config.told());
    let account: Value = serde_json::from_str(&out).unwrap();
    let plan = &account["plan"];
    assert_eq!([&plan["queue"], &plan["back.queue"], &plan["rate"]], ["sfb", "sfb", "5 Gbit/s"], "{out}");
    for direction in ["managed", "reverse"] {
        lost(&account[direction]);
        assert_eq!(frames(&account[direction]["held"]), 0, "{out}");
    }
    assert_eq!(config.told().matches("everything goes on as before").count(), 5, "{}", config.told());
}

#[test]
fn what_waits_leaves_when_the_gate_is_told_to_end() {
    const DATAGRAMS: usize = 60;
    let Some(net) = Net::new() else { return };
    let config = Config::new();
    // Sixty datagrams of a thousand bytes take half a second.
    config.says("drop_tail", "1 Mbit/s");
    let gate = config.start(&net);
    net.must_cross();
    for _ in 0..DATAGRAMS {
        net.client.send_to(&[7; 1000], ("10.77.0.2", PORT)).unwrap();
    }
    gate.signal(Signal::SIGTERM);
    let (code, out, _) = gate.ended();
    assert_eq!(code, 0, "{}", config.told());
    let account: Value = serde_json::from_str(&out).unwrap();
    let managed = &account["managed"];
    let lost = lost(managed);
    assert_eq!(frames(&managed["held"]), 0, "{out}");
    assert!(frames(&managed["received"]) > 0, "{out}");
    let mut came = 0;
    while net.server.recv(&mut [0; 1500]).is_ok_and(|len| len == 1000) {
        came += 1;
    }
    // A gate that waits too long for a processor takes itself for stopped, and the kernel forwards meanwhile.
    assert!(lost > 0 || came == DATAGRAMS, "{came} came: {out}");
}
