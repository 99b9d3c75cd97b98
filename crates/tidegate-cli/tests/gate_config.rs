//! `tidegate gate --config` between namespaces: a file read again while traffic flows, and an end
//! that lets what waits leave.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use net::{Net, PORT, Running};
use nix::sys::signal::Signal;
use serde_json::Value;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::namespaces::skip;

/// A folder with a gate's file and what the gate tells.
struct Config(tempfile::TempDir);

impl Config {
    fn new() -> Config {
        Config(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("gate.toml")
    }

    /// One link, managed both ways; and `more` behind it.
    fn says(&self, queue: &str, rate: &str, more: &str) {
        let way = format!("rate = \"{rate}\"\nlimit = \"20000 packets\"\nqueue = \"{queue}\"\n");
        let rest = "delay = \"20 ms\"\ndrain = \"30 s\"\non_exit = \"close\"\n";
        let link =
            format!("[[link]]\nin = \"west\"\nout = \"east\"\n{way}{rest}[link.back]\n{way}");
        fs::write(self.file(), link + more).unwrap();
    }

    fn start(&self, net: &Net) -> Running {
        self.start_telling(net, File::create(self.0.path().join("told")).unwrap())
    }

    fn start_telling(&self, net: &Net, errors: impl Into<Stdio>) -> Running {
        let command =
            net.gate(&["--json", "--status", "20 ms", "--config", self.file().to_str().unwrap()]);
        net.started(command, errors.into())
    }

    /// Whether it was kept from its processor for so long that the kernel stood in for it.
    fn lapsed(&self) -> bool {
        self.told().contains("we were stopped, and the kernel forwarded")
    }

    fn told(&self) -> String {
        fs::read_to_string(self.0.path().join("told")).unwrap()
    }

    /// Writes `to` for `from` in the file.
    fn replaces(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.file()).unwrap();
        fs::write(self.file(), text.replace(from, to)).unwrap();
    }

    /// The gate reads a file that names no queue, then one that names `queue`: it heeds the second.
    /// It has done so in `before` turns already.
    fn is_read_after_a_mistake(&self, gate: &Running, before: usize, queue: &str, rate: &str) {
        self.says("no_such_queue", "10 Gbit/s", "");
        gate.signal(Signal::SIGHUP);
        let unknown = "gate.toml:6:10: link.west.queue = no_such_queue: no such queue; known are";
        self.until_told(unknown, before + 1);
        self.says(queue, rate, "");
        gate.signal(Signal::SIGHUP);
        self.until_told("goes on as the file says now", before + 1);
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

/// Asserts that all that was received is accounted for, and that nothing was lost but what the
/// kernel had forwarded; how much that was.
fn lapsed(direction: &Value) -> u64 {
    let lost = direction["lost"].as_object().unwrap().values().map(frames).sum();
    assert_eq!(
        frames(&direction["received"]),
        frames(&direction["sent"]) + lost + frames(&direction["held"]),
        "{direction}"
    );
    assert_eq!(lost, frames(&direction["lost"]["lapsed"]), "{direction}");
    lost
}

#[test]
fn a_file_is_read_again_while_traffic_flows_and_one_with_a_mistake_is_not_heeded() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let config = Config::new();
    config.says("drop_tail", "10 Gbit/s", "");
    let gate = config.start(&net);
    net.must_cross();
    let turns = [
        ("drop_tail", "1 Gbit/s"),
        ("fq_codel", "10 Gbit/s"),
        ("sfb", "10 Gbit/s"),
        ("sfb", "5 Gbit/s"),
    ];
    let ways = net.traffic(Duration::from_micros(500), || {
        for (turn, (queue, rate)) in turns.into_iter().enumerate() {
            config.is_read_after_a_mistake(&gate, turn, queue, rate);
        }
        config.replaces("\"close\"", "\"open\"");
        gate.signal(Signal::SIGHUP);
        config.until_told("link.west.on_exit = open: cannot be otherwise while the gate runs", 1);
    });
    for came in &ways {
        assert!(came.once().0.len() > 50, "hardly anything came");
        // What the kernel forwards overtakes what is under way in the gate.
        if !config.lapsed() {
            came.in_order();
        }
    }
    net.must_cross_the_gate();
    let (code, out, _) = gate.stop();
    assert_eq!((code, net.traces()), (0, before), "{}", config.told());
    let account: Value = serde_json::from_str(&out).unwrap();
    let plan = &account["plan"];
    let said = [&plan["queue"], &plan["back.queue"], &plan["rate"]];
    assert_eq!(said, ["sfb", "sfb", "5 Gbit/s"], "{out}");
    for direction in ["managed", "reverse"] {
        let lapsed = lapsed(&account[direction]);
        assert!(lapsed == 0 || config.lapsed(), "{out}");
        assert_eq!(frames(&account[direction]["held"]), 0, "{out}");
    }
    let told = config.told();
    assert_eq!(told.matches("everything goes on as before").count(), 5, "{told}");
}

#[test]
fn what_a_reload_lays_out_stays_in_memory_like_that_of_the_start() {
    let Some(net) = Net::new() else { return };
    let config = Config::new();
    config.says("drop_tail", "10 Gbit/s", "");
    let gate = config.start(&net);
    let locked = || {
        let status = fs::read_to_string(format!("/proc/{}/status", gate.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    };
    let before = locked();
    if before == 0 {
        return skip("this container locks no memory");
    }
    config.replaces("20000 packets", "40000 packets");
    gate.signal(Signal::SIGHUP);
    config.until_told("goes on as the file says now", 1);
    // Two directions, each with as much again; what was there before may be free by now.
    let cells = 2 * 20_000 * 6 * 256;
    assert!(locked() > before + cells / 2, "{before} bytes before, {} after", locked());
    assert_eq!(gate.stop().0, 0, "{}", config.told());
}

#[test]
fn what_waits_leaves_when_the_gate_is_told_to_end() {
    const DATAGRAMS: usize = 60;
    let Some(net) = Net::new() else { return };
    let config = Config::new();
    // Sixty datagrams of a thousand bytes take two and a half seconds.
    config.says("drop_tail", "200 kbit/s", "");
    let gate = config.start(&net);
    net.must_cross();
    for _ in 0..DATAGRAMS {
        net.client.send_to(&[7; 1000], ("10.77.0.2", PORT)).unwrap();
    }
    gate.must_take(Signal::SIGTERM);
    // By this what waits would leave at once.
    config.says("drop_tail", "10 Gbit/s", "");
    gate.signal(Signal::SIGHUP);
    let (code, out, _) = gate.ended();
    assert_eq!(code, 0, "{}", config.told());
    let account: Value = serde_json::from_str(&out).unwrap();
    let managed = &account["managed"];
    let lapsed = lapsed(managed) as usize;
    assert_eq!(
        (frames(&managed["held"]), &account["plan"]["rate"]),
        (0, &"200 kbit/s".into()),
        "{out}"
    );
    assert!(frames(&managed["received"]) > 0, "{out}");
    // Those of `must_cross` may come late; they are shorter.
    let mut came = 0;
    while let Ok(len) = net.server.recv(&mut [0; 1500]) {
        came += usize::from(len == 1000);
    }
    // Of what was thrown away the kernel has forwarded some or all.
    assert!(came <= DATAGRAMS && came + lapsed >= DATAGRAMS, "{came} came: {out}");
    // If nothing waited it was over before the second signal came.
    assert!(
        config.told().contains("the gate is ending; the file was not heeded") || lapsed > 0,
        "{}",
        config.told()
    );
}

#[test]
fn it_ends_in_order_even_if_nobody_reads_what_it_tells() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let config = Config::new();
    config.says("drop_tail", "10 Gbit/s", "");
    let (_never_read, mut full) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    for len in [4096, 1] {
        while full.write(&vec![b'.'; len]).is_ok() {}
    }
    full.set_nonblocking(false).unwrap();
    let gate = config.start_telling(&net, OwnedFd::from(full));
    net.must_cross();
    for _ in 0..3 {
        gate.must_take(Signal::SIGHUP);
        sleep(Duration::from_millis(100));
    }
    net.must_cross();
    let (code, out, _) = gate.stop();
    assert_eq!((code, net.traces()), (0, before));
    let account: Value = serde_json::from_str(&out).unwrap();
    assert!(frames(&account["managed"]["received"]) > 0, "{out}");
}

#[test]
fn a_link_that_ends_alone_is_told_of_at_once_and_at_the_end() {
    let Some(net) = Net::new() else { return };
    for interface in ["north", "south"] {
        let far = format!("far_{interface}");
        net.rig
            .gateway
            .run(&["ip", "link", "add", interface, "type", "veth", "peer", "name", &far])
            .unwrap();
        for end in [interface, &far] {
            net.rig.gateway.run(&["ip", "link", "set", end, "up"]).unwrap();
        }
    }
    let config = Config::new();
    let other = "[[link]]\nname = \"other\"\nin = \"north\"\nout = \"south\"\nrate = \"1 \
        Mbit/s\"\nqueue = \"red\"\n";
    config.says("drop_tail", "10 Gbit/s", other);
    let gate = config.start(&net);
    net.must_cross_the_gate();
    net.rig.gateway.run(&["ip", "link", "delete", "south"]).unwrap();
    const TOLD: &str = "error: other: south is gone, and with it the gate: it was deleted or \
        moved to another network namespace, so that nothing can pass between it and north\n";
    config.until_told(&format!("{TOLD}the other links go on\n"), 1);
    net.must_cross_the_gate();
    let (code, out, _) = gate.stop();
    let told = config.told();
    assert!(code == 1 && told.ends_with(TOLD) && told.matches(TOLD).count() == 2, "{told}");
    // With the time before the link, as in 2026-11-24T21:56:04Z.
    for line in told.lines().filter(|line| *line != "the other links go on") {
        assert!(line.starts_with("20") && &line[10..11] == "T" && &line[19..21] == "Z ", "{told}");
        assert!(
            ["west: ", "other: ", "error: other: "]
                .iter()
                .any(|whose| line[21..].starts_with(whose)),
            "{told}"
        );
    }
    assert!(told.contains("Z other: south: No such device"), "{told}");
    // Two links were asked for: it is a list, though only one ended well.
    let accounts: Value = serde_json::from_str(&out).unwrap();
    let names: Vec<&Value> =
        accounts.as_array().unwrap().iter().map(|account| &account["link"]).collect();
    assert_eq!(names, ["west"], "{out}");
}
