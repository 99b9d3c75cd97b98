//! `tidegate gate` between namespaces: what it refuses, what it leaves behind, and that the wire
//! stays open without it.
#![cfg(target_os = "linux")]
#[path = "common/net.rs"]
mod net;

use std::thread::sleep;
use std::time::Duration;

use net::{Net, PORT, QUICK};
use nix::sys::signal::Signal;
use tidegate::{Span, Time};
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::offloads;

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
        // Nobody but the kernel is left to forward. How many are quick says how busy this machine
        // is, too.
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
        let (managed, quick) =
            came.between(resumed + Span::from_millis(200), resumed + Span::from_millis(600));
        assert!(managed > 100 && quick == 0, "afterwards {quick} of {managed} past the gate");
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0 && out.contains("lost: "), "{out}{err}");
    assert!(err.matches("we were stopped, and the kernel forwarded").count() >= 7, "{err}");
}

#[test]
fn without_the_systems_dice_it_says_what_it_could_not_read() {
    let Some(net) = Net::new() else { return };
    let script = format!(
        "mount -t tmpfs none /dev && exec {} gate --in west --out east --rate 1mbit --queue sfb",
        env!("CARGO_BIN_EXE_tidegate")
    );
    let ran = net.rig.gateway.command(&["unshare", "-m", "sh", "-c", &script]).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    let told =
        "error: cannot read /dev/urandom, which the queues' secret keys are from: No such file";
    assert!(ran.status.code() == Some(1) && err.contains(told), "{}: {err}", ran.status);
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
        // To where nobody looks; the namespace goes with the process in it.
        "unshare -n sleep 20 & sleep 0.3; ip link set east netns $!",
        "ip link delete east; ip link add east type veth peer name other; ip link set east up; ip \
         link set other up",
    ] {
        let Some(net) = Net::new() else { return };
        let gate = net.start(&[]);
        net.rig.gateway.run(&["sh", "-ec", how]).unwrap();
        let (code, _, err) = gate.ended();
        let told = "Z error: west: east is gone, and with it the gate: it was deleted or moved to \
            another network namespace, so that nothing can pass between it and west\n";
        assert!(err.ends_with(told), "{err}");
        assert_eq!(code, 1);
        let left = net.rig.gateway.run(&["tc", "qdisc", "show", "dev", "west"]).unwrap();
        assert!(!left.contains("clsact"), "{left}");
    }
}

#[test]
fn a_renamed_interface_is_the_same_interface_whatever_becomes_of_it_then() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    net.must_cross_the_gate();
    let shell = |command: &str| net.rig.gateway.run(&["sh", "-ec", command]).unwrap();
    for (how, name, side) in [
        // As newer kernels let one, and as one has to with older ones; then what a name of the
        // start would not find.
        (
            "ip link set west name up0 2>/dev/null || { ip link set west down; ip link set west \
             name up0; ip link set up0 up; }",
            "up0",
            "west",
        ),
        ("ip link set up0 down; sleep 0.2; ip link set up0 up", "up0", "west"),
        (
            "ip link set east down; ip link set east name up1; sleep 0.2; ip link set up1 up",
            "up1",
            "east",
        ),
        // Another of the old name is nobody's.
        (
            "ip link add west type veth peer name another; ip link set west up; ip link set up0 \
             down; sleep 0.2; ip link set up0 up",
            "up0",
            "west",
        ),
    ] {
        shell(how);
        net.must_cross_the_gate();
        assert!(net.is_held_by(gate.0.id()), "{how}: {name}, once {side}");
    }
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{out}{err}");
    for told in [
        "west: it is called up0 now; the gate goes on",
        "east: it is called up1 now; the gate goes on",
        "west: well again",
        "tidegate gate --remove --in up0 --out up1",
    ] {
        assert!(err.contains(told), "{told} is missing: {err}");
    }
    assert!(net.crossing().is_some_and(|span| span < QUICK), "the wire stays open");
}

#[test]
fn longer_frames_pass_when_both_interfaces_carry_them() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&["--json"]);
    net.must_cross_the_gate();
    let ends = [(&net.rig.clients, "users"), (&net.rig.server, "server")];
    let wider = |mtu: &str| {
        for interface in ["west", "east"] {
            net.rig.gateway.run(&["ip", "link", "set", interface, "mtu", mtu]).unwrap();
        }
    };
    wider("5000");
    for (namespace, _) in ends {
        let links = namespace.run(&["sh", "-c", "ls /sys/class/net"]).unwrap();
        for interface in links.split_whitespace().filter(|name| *name != "lo") {
            let _ = namespace.run(&["ip", "link", "set", interface, "mtu", "5000"]);
        }
    }
    let long = |len: usize| {
        let end = now() + Span::from_secs(10.0);
        let sent = vec![9; len];
        let mut came = vec![0; 10_000];
        while now() < end {
            net.client.send_to(&sent, ("10.77.0.2", PORT)).unwrap();
            if net.server.recv(&mut came).is_ok_and(|got| got == len) {
                return true;
            }
        }
        false
    };
    assert!(long(4900), "what the interfaces carry now does not pass");
    net.must_cross_the_gate();
    wider("1500");
    sleep(Duration::from_millis(200));
    wider("2000");
    assert!(long(1900));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{out}{err}");
    for told in [
        "its MTU is 5000 B now; the gate goes on",
        "its MTU is 1500 B now; longer packets to it are lost (too_long)",
        "its MTU is 2000 B now",
    ] {
        assert!(
            err.contains(&format!("west: {told}")) && err.contains(&format!("east: {told}")),
            "{told}: {err}"
        );
    }
    let account: serde_json::Value = serde_json::from_str(&out).unwrap();
    // The one by which they come is widened before the other: until the other is, they have nowhere
    // to go.
    assert!(account["managed"]["sent"]["bytes"].as_u64().unwrap() > 4900, "{out}");
}

#[test]
fn once_it_runs_no_thread_may_do_more_than_it_has_to() {
    let Some(net) = Net::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (socket, capture) = (at("gate.sock"), at("x.pcapng"));
    let places = [
        "--socket",
        &socket,
        "--record",
        &capture,
        "--web",
        "127.0.0.1:0",
        "--metrics",
        "127.0.0.1:0",
        "--status",
        "100ms",
    ];
    let gate = net.start(&places);
    net.must_cross_the_gate();
    let kept: u64 = tidegate_gateway::machine::confine::KEPT.iter().map(|one| one.bitmask()).sum();
    let mut names = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{}/task", gate.0.id())).unwrap() {
        let told = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let of = |key: &str| {
            told.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(":\t")).unwrap()
        };
        let name = of("Name").to_string();
        let may = if name.starts_with("gate ") { kept } else { 0 };
        for set in ["CapEff", "CapPrm"] {
            assert_eq!(u64::from_str_radix(of(set), 16).unwrap(), may, "{name}: {set}\n{told}");
        }
        for set in ["CapInh", "CapAmb"] {
            assert_eq!(of(set).trim_matches('0'), "", "{name}: {set}\n{told}");
        }
        assert_eq!((of("NoNewPrivs"), of("Seccomp")), ("1", "2"), "{name}");
        names.push(name);
    }
    for name in
        ["gate west", "metrics", "web", "events", "socket", "recorder", "notes", "signals", "view"]
    {
        assert!(names.iter().any(|one| one == name), "{name} is not among {names:?}");
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0 && !err.contains("may do more than it has to"), "{out}{err}");
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
    assert!(
        code == 0 && plan.contains("what a gate that is gone has left at west, east"),
        "{plan}{err}"
    );
    assert!(
        plan.contains("asleep until 60 us to 250 us before a departure, as this machine wakes"),
        "{plan}"
    );
    let (code, plan, err) = net.run(&["--rate", "1mbit", "--queue", "red", "--busy", "--dry-run"]);
    let alone =
        code == 2 && err.contains("--busy takes a processor, and this machine has no other");
    assert!(
        alone || code == 0 && plan.contains("awake: never sleeps, and takes a processor"),
        "{plan}{err}"
    );

    // The next finds what is left, and takes it away with what it brought.
    net.start(&[]).kill();
    let gate = net.start(&["--on-exit", "close"]);
    let (code, _, refused) = net.run(&["--remove"]);
    assert!(
        code == 1 && refused.matches("a gate that runs as process").count() == 2,
        "each is told: {refused}"
    );
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
    net.rig
        .clients
        .inside(|| offloads::set("users", &[("tx-checksum-ip-generic", true)]))
        .unwrap()
        .unwrap();
    for _ in 0..3 {
        net.client.send_to(&[7; 64], ("10.77.0.2", PORT)).unwrap();
    }
    sleep(Duration::from_millis(300));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        err.matches("Z west: west: frames come with checksums that their sender left to hardware")
            .count(),
        1,
        "{err}"
    );
    assert!(!err.contains("east: ") && out.contains("checksum not filled in"), "{out}{err}");
}

/// The arguments of a gate that is to be refused.
const SETTINGS: [&str; 4] = ["--rate", "1mbit", "--queue", "drop_tail"];

impl Net {
    fn at_the_gate(&self, command: &str) {
        self.rig.gateway.run(&["sh", "-ec", command]).unwrap();
    }

    /// After `harm` no gate starts; it tells what stands against it and the command that mends it,
    /// and changes nothing.
    fn refuses_a_start_after(&self, harm: &str, told: &str, mend: &str) {
        self.at_the_gate(harm);
        let before = self.traces();
        let (code, out, err) = self.run(&SETTINGS);
        let mut refusal = format!("error: this cannot start\n  {told}\n      {mend}\n");
        let forced = self.run(&[&SETTINGS[..], &["--force", "--dry-run"]].concat());
        // Nothing can be received from an interface that is down.
        if told.ends_with("is down") {
            assert_eq!(forced, (1, String::new(), refusal.clone()))
        } else {
            refusal += "With --force it starts all the same.\n";
            let spite = format!("in_spite_of     {told}");
            assert!(forced.0 == 0 && forced.1.contains(&spite), "{forced:?}");
        }
        assert_eq!((code, out.as_str(), err, self.traces()), (1, "", refusal, before));
        self.at_the_gate(mend);
    }
}

#[test]
fn a_start_is_refused_before_anything_is_touched() {
    let Some(net) = Net::new() else { return };
    for (harm, told, mend) in [
        ("ip link set west down", "west is down", "ip link set west up"),
        (
            "ip address add 10.99.0.1/24 dev east",
            "east is already used: it has the address 10.99.0.1",
            "ip -4 address flush dev east",
        ),
        (
            "ip route add default dev west",
            "the default route leads through west",
            "ip route delete default dev west",
        ),
        (
            "ip link set east mtu 9000",
            "east carries packets of up to 9000 B, the other interface only of up to 1500 B",
            "ip link set east mtu 1500",
        ),
    ] {
        net.refuses_a_start_after(harm, told, mend);
    }

    let gate = net.start(&[]);
    let (code, _, err) = net.run(&[&SETTINGS[..], &["--force"]].concat());
    let gates = gate.0.id();
    let told = format!("west is already used: a gate that runs as process {gates} holds it");
    assert!(code == 1 && err.contains(&told) && err.contains(&format!("kill {gates}")), "{err}");
    drop(gate);

    let missing = ["--in", "west", "--out", "nowhere"];
    let tidegate = [env!("CARGO_BIN_EXE_tidegate"), "gate"];
    let ran =
        net.rig.gateway.command(&[&tidegate[..], &missing, &SETTINGS].concat()).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("there is no interface nowhere; there are"), "{err}");
}

#[test]
fn what_cannot_be_recorded_to_is_refused_before_anything_is_touched() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let record =
        |path: &str, more: &[&str]| net.run(&[&SETTINGS[..], &["--record", path], more].concat());
    let (code, _, err) = record("/nowhere/at/all", &[]);
    assert!(code == 2 && err.contains("/nowhere/at/all: No such file"), "{code}: {err}");
    assert_eq!(net.traces(), before);

    let folder = tempfile::tempdir().unwrap();
    let [there, link, nowhere] =
        ["there", "link", "leads-nowhere"].map(|name| folder.path().join(name));
    std::fs::write(&there, "precious").unwrap();
    std::os::unix::fs::symlink(&there, &link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("no"), &nowhere).unwrap();
    for (path, why) in [
        (there.as_path(), "is there already, and is not overwritten; move it away or name another"),
        (&link, "is a symbolic link; name the file itself, which must be new"),
        (&nowhere, "is a symbolic link; name the file itself, which must be new"),
        (folder.path(), "is a directory; name a file in it"),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let (code, out, err) = record(path.to_str().unwrap(), more);
            let told = format!("error: {}: {why}\n", path.display());
            assert_eq!((code, out.as_str(), err), (2, "", told));
        }
    }
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "precious");
    assert!(!folder.path().join("no").exists());
    assert_eq!(net.traces(), before);
}

#[test]
fn what_it_records_is_a_capture_of_every_frame() {
    let Some(net) = Net::new() else { return };
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
