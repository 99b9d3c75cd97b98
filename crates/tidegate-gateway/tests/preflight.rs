//! What a start is refused for, and that the command named for it mends it, on real interfaces.
#![cfg(target_os = "linux")]
use std::sync::{Mutex, MutexGuard};

use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::failopen::{FailOpen, remove};
use tidegate_gateway::machine::namespaces::{Namespace, cable, possible, skip};
use tidegate_gateway::machine::preflight::{Force, Preflight, inspect};

/// A machine with three interfaces, whose cables lead to another.
struct Rig {
    gate: Namespace,
    far: Namespace,
    _turn: MutexGuard<'static, ()>,
}

impl Rig {
    /// None, and a line that says why, where namespaces cannot be made. There is one at a time:
    /// what another test starts has all that is open here until it is a program of its own. The
    /// names that hold interfaces are open, too.
    fn new(test: &str) -> Option<Rig> {
        static TURN: Mutex<()> = Mutex::new(());
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let namespace =
            |part| Namespace::new(&format!("tg-{test}-{part}-{}", std::process::id())).unwrap();
        let rig = Rig { gate: namespace("gate"), far: namespace("far"), _turn };
        for (near, far) in [("if1", "far1"), ("if2", "far2"), ("if3", "far3")] {
            cable((&rig.gate, near), (&rig.far, far), 1500).unwrap();
        }
        Some(rig)
    }

    fn inspect(&self, ends: [&str; 2]) -> Preflight {
        self.gate.inside(|| inspect(ends, now())).unwrap().unwrap()
    }

    /// What stands against joining the first two, as text.
    fn against(&self) -> Vec<String> {
        self.inspect(["if1", "if2"]).findings.iter().map(ToString::to_string).collect()
    }

    fn shell(&self, command: &str) {
        self.gate.run(&["sh", "-ec", command]).unwrap();
    }

    /// Does `harm`, and expects `told` as the one finding. It can be forced unless `told` says that
    /// nothing can work so; and the command that is named for it mends it.
    fn finds_and_mends(&self, harm: &str, told: &str) {
        self.shell(harm);
        let found = self.inspect(["if1", "if2"]);
        assert_eq!(self.against(), [told], "{harm}");
        let never =
            ["if1 is down", "the old ingress discipline"].iter().any(|what| told.contains(what));
        assert!(
            found.cleared(Force::No).is_err() && found.cleared(Force::Yes).is_ok() != never,
            "{harm}"
        );
        self.shell(&found.findings[0].mend().unwrap());
        assert_eq!(self.against(), [""; 0], "{harm}; {:?}", found.findings[0].mend());
    }
}

#[test]
fn each_obstacle_is_found_can_mostly_be_forced_and_is_mended_by_the_command_named() {
    let Some(rig) = Rig::new("mend") else { return };
    assert_eq!(rig.against(), [""; 0]);
    assert!(rig.inspect(["if1", "if2"]).cleared(Force::No).is_ok());
    for (harm, told) in [
        ("ip link set if1 down", "if1 is down"),
        ("ip address add 10.1.1.1/24 dev if1", "if1 is already used: it has the address 10.1.1.1"),
        (
            "sysctl -qw net.ipv6.conf.if2.disable_ipv6=0; ip address add fd00::1/64 dev if2 \
             nodad; ip -6 address flush scope link",
            "if2 is already used: it has the address fd00::1",
        ),
        (
            "ip route add default dev if2; ip route add 10.9.0.0/16 dev if1",
            "the default route leads through if2",
        ),
        (
            "ip link add br0 type bridge; ip link set if1 master br0",
            "if1 is already used: it is part of br0",
        ),
        (
            "ip link set if1 mtu 9000",
            "if1 carries packets of up to 9000 B, the other interface only of up to 1500 B",
        ),
        (
            "ip link set if1 mtu 1280",
            "if2 carries packets of up to 1500 B, the other interface only of up to 1280 B",
        ),
        (
            "tc qdisc add dev if2 clsact; tc filter add dev if2 egress bpf bytecode '1,6 0 0 0,'",
            "if2 is already used: filters of others are at it (bpf)",
        ),
        (
            "tc qdisc add dev if1 ingress; tc filter add dev if1 ingress bpf bytecode '1,6 0 0 0,'",
            "if1 is already used: the old ingress discipline is at it with filters (bpf), in the \
             place of ours",
        ),
        ("ethtool -K if1 gro on", "if1 makes one frame of several that arrive (gro)"),
    ] {
        rig.finds_and_mends(harm, told);
    }
}

#[test]
fn an_interface_without_carrier_is_found() {
    let Some(rig) = Rig::new("carry") else { return };
    rig.far.run(&["ip", "link", "set", "far2", "down"]).unwrap();
    assert_eq!(rig.against(), ["if2 has no carrier: nothing is up at the other end of its cable"]);
}

#[test]
fn what_cannot_be_joined_cannot_be_forced_either() {
    let Some(rig) = Rig::new("force") else { return };
    let told = |ends| {
        let preflight = rig.inspect(ends);
        let refused = preflight.cleared(Force::Yes).expect_err("must be refused");
        refused.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        told(["if1", "eth9"]),
        ["there is no interface eth9; there are if1, if2, if3"].map(str::to_string),
        "in the order of their numbers"
    );
    assert_eq!(told(["eth8", "eth9"]).len(), 2);
    assert_eq!(told(["if1", "if1"]), ["if1 cannot be both ends"]);
    assert_eq!(told(["if1", "lo"]), ["lo does not carry Ethernet frames"]);
}

#[test]
fn a_living_gate_is_in_the_way_and_what_a_dead_one_left_is_not() {
    let Some(rig) = Rig::new("alive") else { return };
    let interfaces = rig.inspect(["if1", "if2"]).ends.unwrap().map(|end| end.index);
    let mut gate = rig.gate.inside(|| FailOpen::install(interfaces, now())).unwrap().unwrap();
    let _ = gate.promise(now() + Span::from_secs(60.0));
    let found = rig.inspect(["if2", "if3"]);
    let told: Vec<_> =
        found.cleared(Force::Yes).unwrap_err().iter().map(ToString::to_string).collect();
    let process = std::process::id();
    assert_eq!(
        told,
        [format!("if2 is already used: a gate that runs as process {process} holds it")]
    );
    assert_eq!(found.findings[0].mend(), Some(format!("kill {process}")));
    drop(gate);
    let found = rig.inspect(["if2", "if3"]);
    assert_eq!((found.findings, found.leftovers), (vec![], vec!["if2".to_string()]));
    rig.gate.inside(|| interfaces.map(|i| remove(i).unwrap())).unwrap();
    assert_eq!(rig.inspect(["if1", "if2"]).leftovers, [""; 0]);
}
