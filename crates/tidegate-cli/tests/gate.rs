//! `tidegate gate` between namespaces: what it refuses, what it leaves behind, and that the wire stays open without it.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::thread::sleep;
use std::time::Duration;

use net::{Net, PORT, QUICK};
use nix::sys::signal::Signal;
use tidegate::{Span, Time};
use tidegate_gateway::clock::now;

#[test]
fn after_kill_9_traffic_flows_again_within_a_second_and_nothing_comes_twice() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    let mut killed = Time::ZERO;
    let half = Span::from_millis(500);
    let begun = now();
    let ways = net.traffic(Duration::from_micros(200), || {
        sleep(Duration::from_millis(700));
        killed = now();
        gate.kill();
        sleep(Duration::from_millis(1500));
    });
    for came in &ways {
        let gap = came.once().longest_gap(begun);
        assert!(gap < Span::from_secs(1.0), "an interruption of {gap}");
        let (managed, quick) = came.between(begun, begun + half);
        assert!(managed > 100 && quick == 0, "before: {quick} of {managed} past the gate");
        let (unmanaged, quick) = came.between(killed + half + half, killed + half + half + half);
        // Nobody but the kernel is left to forward. How many are quick says how busy this machine is, too.
        assert!(unmanaged > 100 && quick > 0, "after: {quick} of {unmanaged} quickly");
    }
    let (code, out, err) = net.run(&["--remove"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "west: removed\neast: removed\n", ""));
    assert_eq!(net.crossing(), None);
}

#[test]
fn a_gate_that_is_stopped_and_goes_on_sends_nothing_that_the_kernel_has_sent() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    let begun = now();
    let mut resumed = Time::ZERO;
    let ways = net.traffic(Duration::from_micros(50), || {
        // Many short stops, since what matters is where in its work it is stopped; and a long one.
        for stopped in [420, 370, 450, 390, 410, 430, 2000] {
            gate.signal(Signal::SIGSTOP);
            sleep(Duration::from_millis(stopped));
            gate.signal(Signal::SIGCONT);
            resumed = now();
            sleep(Duration::from_millis(150));
        }
        sleep(Duration::from_millis(500));
    });
    for came in &ways {
        let gap = came.once().longest_gap(begun);
        assert!(gap < Span::from_secs(1.0), "an interruption of {gap}");
        let (stood_in, quick) = came.between(begun, resumed);
        assert!(quick > stood_in / 4, "the kernel has forwarded only {quick} of {stood_in}");
        let (managed, quick) = came.between(resumed + Span::from_millis(200), resumed + Span::from_millis(600));
        assert!(managed > 100 && quick == 0, "afterwards {quick} of {managed} past the gate");
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0 && out.contains("lost: "), "{out}{err}");
    assert!(err.matches("we were stopped, and the kernel forwarded").count() >= 7, "{err}");
}

#[test]
fn interfaces_may_go_down_and_come_up_under_a_running_gate() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    for interface in ["west", "east"] {
        let ways = net.traffic(Duration::from_micros(500), || {
            net.rig.gateway.run(&["ip", "link", "set", interface, "down"]).unwrap();
            sleep(Duration::from_millis(500));
            net.rig.gateway.run(&["ip", "link", "set", interface, "up"]).unwrap();
            sleep(Duration::from_millis(500));
        });
        for came in &ways {
            came.once();
        }
        net.must_cross_the_gate();
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0, "{out}{err}");
    assert!(err.contains("west: well again") && err.contains("east: well again"), "{err}");
}

#[test]
fn a_gate_ends_when_an_interface_is_taken_away() {
    for how in [
        "ip link set east down; sleep 0.3; ip link delete east",
        "ip link delete east; ip link add east type veth peer name other; ip link set east up; ip link set other up",
    ] {
        let Some(net) = Net::new() else { return };
        let gate = net.start(&[]);
        net.rig.gateway.run(&["sh", "-ec", how]).unwrap();
        let (code, _, err) = gate.ended();
        assert!(err.ends_with("error: east is gone, and with it the gate\n"), "{err}");
        assert_eq!(code, 1);
        let left = net.rig.gateway.run(&["tc", "qdisc", "show", "dev", "west"]).unwrap();
        assert!(!left.contains("clsact"), "{left}");
    }
}

#[test]
fn what_is_left_behind_is_what_was_asked_for() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let gate = net.start(&["--on-exit", "close"]);
    let (code, _, err) = gate.stop();
    assert_eq!((code, net.crossing(), net.traces()), (0, None, before.clone()), "{err}");

    let (code, _, err) = net.start(&[]).stop();
    assert!(code == 0 && err.contains("tidegate gate --remove --in west --out east"), "{err}");
    assert!(net.crossing().is_some_and(|span| span < QUICK), "the wire stays open");
    let (code, plan, err) = net.run(&["--rate", "1mbit", "--queue", "red", "--dry-run"]);
    assert!(code == 0 && plan.contains("what a gate that is gone has left at west, east"), "{plan}{err}");
    assert!(plan.contains("asleep until 60 us to 250 us before a departure, as this machine wakes"), "{plan}");
    let (code, plan, err) = net.run(&["--rate", "1mbit", "--queue", "red", "--busy", "--dry-run"]);
    let alone = code == 2 && err.contains("--busy takes a processor, and this machine has no other");
    assert!(alone || code == 0 && plan.contains("awake: never sleeps, and takes a processor"), "{plan}{err}");

    // The next finds what is left, and takes it away with what it brought.
    net.start(&[]).kill();
    let gate = net.start(&["--on-exit", "close"]);
    let (code, _, refused) = net.run(&["--remove"]);
    assert!(code == 1 && refused.matches("a gate that runs as process").count() == 2, "each is told: {refused}");
    assert_eq!((gate.stop().0, net.traces()), (0, before));
}

#[test]
fn however_often_it_is_told_to_end_it_ends_in_order() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let gate = net.start(&["--on-exit", "close", "--json"]);
    net.must_cross();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGTERM, Signal::SIGTERM] {
        gate.signal(signal);
        sleep(Duration::from_millis(2));
    }
    let (code, out, err) = gate.stop();
    assert_eq!((code, net.traces()), (0, before), "{err}");
    let account: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(account["managed"]["received"]["frames"].as_u64().unwrap() > 0, "{out}");
}

#[test]
fn unfinished_checksums_are_told_of_when_they_come() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    net.must_cross();
    net.rig.clients.run(&["ethtool", "-K", "users", "tx", "on"]).unwrap();
    for _ in 0..3 {
        net.client.send_to(&[7; 64], ("10.77.0.2", PORT)).unwrap();
    }
    sleep(Duration::from_millis(300));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("west: frames come with checksums that their sender left to hardware").count(), 1, "{err}");
    assert!(!err.contains("east: ") && out.contains("checksum not filled in"), "{out}{err}");
}

#[test]
fn a_start_is_refused_before_anything_is_touched() {
    let Some(net) = Net::new() else { return };
    let settings = ["--rate", "1mbit", "--queue", "drop_tail"];
    let shell = |command: &str| net.rig.gateway.run(&["sh", "-ec", command]).unwrap();
    for (harm, told, mend) in [
        ("ip link set west down", "west is down", "ip link set west up"),
        (
            "ip address add 10.99.0.1/24 dev east",
            "east is already used: it has the address 10.99.0.1",
            "ip -4 address flush dev east",
        ),
        ("ip route add default dev west", "the default route leads through west", "ip route delete default dev west"),
        (
            "ip link set east mtu 9000",
            "east carries packets of up to 9000 B, the other interface only of up to 1500 B",
            "ip link set east mtu 1500",
        ),
    ] {
        shell(harm);
        let before = net.traces();
        let (code, out, err) = net.run(&settings);
        let mut refusal = format!("error: this cannot start\n  {told}\n      {mend}\n");
        let forced = net.run(&[&settings[..], &["--force", "--dry-run"]].concat());
        // Nothing can be received from an interface that is down.
        match told.ends_with("is down") {
            true => assert_eq!(forced, (1, String::new(), refusal.clone())),
            false => {
                refusal += "With --force it starts all the same.\n";
                assert!(forced.0 == 0 && forced.1.contains(&format!("in_spite_of     {told}")), "{forced:?}");
            }
        }
        assert_eq!((code, out.as_str(), err, net.traces()), (1, "", refusal, before));
        shell(mend);
    }
    let gate = net.start(&[]);
    let (code, _, err) = net.run(&[&settings[..], &["--force"]].concat());
    let told = format!("west is already used: a gate that runs as process {} holds it", gate.0.id());
    assert!(code == 1 && err.contains(&told) && err.contains(&format!("kill {}", gate.0.id())), "{err}");
    drop(gate);

    let missing = ["--in", "west", "--out", "nowhere"];
    let tidegate = [env!("CARGO_BIN_EXE_tidegate"), "gate"];
    let ran = net.rig.gateway.command(&[&tidegate[..], &missing, &settings].concat()).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("there is no interface nowhere; there are"), "{err}");
}

#[test]
fn what_it_records_is_a_capture_of_every_frame() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let nowhere = ["--rate", "1mbit", "--queue", "drop_tail", "--record", "/nowhere/at/all"];
    let (code, _, err) = net.run(&nowhere);
    assert!(code == 2 && err.contains("/nowhere/at/all: No such file"), "{code}: {err}");
    assert_eq!(net.traces(), before);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.pcapng");
    let gate = net.start(&["--json", "--record", file.to_str().unwrap()]);
    net.traffic(Duration::from_millis(1), || sleep(Duration::from_millis(300)));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let recorded = &document["recorded"];
    let written = recorded["written"].as_u64().unwrap();
    let managed = &document["managed"];
    let count = |tally: &serde_json::Value| tally["frames"].as_u64().unwrap();
    let lost: u64 = managed["lost"].as_object().unwrap().values().map(count).sum();
    assert_eq!(written, count(&managed["sent"]) + lost, "{out}");
    assert!(written > 50 && recorded["trouble"].is_null(), "{out}");
    assert_eq!(
        (recorded["unwritten"].as_u64(), recorded["bytes"].as_u64()),
        (Some(0), Some(file.metadata().unwrap().len()))
    );
    let mut capture = tidegate_packet::Capture::open(&file).unwrap();
    let mut found = 0;
    while capture.next_packet().unwrap().is_some() {
        found += 1;
    }
    assert_eq!(found, written);
}
