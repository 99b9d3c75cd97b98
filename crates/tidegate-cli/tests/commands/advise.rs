//! `tidegate advise`, as users meet it.
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::common::{Home, Ran, hold_against};
use serde_json::Value;
use tidegate_gateway::machine::namespaces::skip;

const ADVISE: [&str; 13] = [
    "advise",
    "capture.pcapng",
    "--rate",
    "10mbit",
    "--queue",
    "drop_tail",
    "--queue",
    "fq_codel",
    "--queue",
    "drr",
    "--seeds",
    "2",
    "--one-direction",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ADVISE[..], more].concat()
}

/// Lines of a screen: of a terminal that fills a usual display.
const SCREEN: usize = 50;

/// With the queues that are tried if nobody names others: they fill the page as users see it.
#[test]
fn the_answer_fits_a_screen() {
    let usual = ["advise", "capture.pcapng", "--rate", "10mbit", "--seeds", "2", "--one-direction"];
    let ran = Home::new().run(&usual);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = ran.out.lines().next().unwrap();
    assert!(first.starts_with("Choose ") && first.contains("the worst user would get"), "{first}");
    let lines = ran.out.lines().count();
    assert!(lines <= SCREEN, "{lines} lines: {}", ran.out);
    for said in ["heeds nothing", "now, captured", "drop_tail", " ± ", "queue = \"", "Not known"] {
        assert!(ran.out.contains(said), "`{said}` is missing in: {}", ran.out);
    }
    assert!(!ran.out.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn the_document_and_the_directory_say_the_same() {
    let home = Home::new();
    let ran = home.run(&with(&["--json", "--out", "out/advice"]));
    let advice = ran.json();
    let kept: Value = serde_json::from_str(&home.read("out/advice/advice.json")).unwrap();
    assert_eq!((advice["schema"].as_str(), &kept), (Some("tidegate.advice/1"), &advice));
    assert_eq!(advice["verdict"], "change");
    hold_against(tidegate_lab::advise::SCHEMA, &advice);
    let gate = home.read("out/advice/gate.toml");
    assert_eq!(Some(gate.as_str()), advice["choice"]["gate_toml"].as_str());
    for name in ["scenario.toml", "result.json", "report.html", "run.json"] {
        assert!(home.path("out/advice").join(name).exists(), "{name}");
    }
    let again = home.run(&["check", "out/advice/scenario.toml"]);
    assert_eq!(again.code, 0, "the scenario can be taken along: {}", again.err);
}

#[test]
fn the_gate_takes_the_file() {
    let home = Home::new();
    assert_eq!(home.run(&with(&["--out", "out"])).code, 0);
    // No such interfaces are here, and that is all that is wrong.
    let ran = home.run(&["gate", "--config", "out/gate.toml", "--dry-run"]);
    assert!(ran.code != 0 && ran.err.contains("eth1"), "{}", ran.err);
    assert!(!ran.err.contains("gate.toml:"), "{}", ran.err);
}

#[test]
fn a_link_without_congestion_needs_nothing() {
    let fast = ["advise", "capture.pcapng", "--rate", "1 Gbit/s", "--one-direction"];
    let ran = Home::new().run(&fast);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("capture.pcapng: there is no congestion in it"), "{}", ran.err);
    assert!(ran.out.starts_with("Nothing to mend: 1.00 Gbit/s were never used up."), "{}", ran.out);
}

#[test]
fn same_seed_same_bytes() {
    let home = Home::new();
    let answer = |seed| home.run(&with(&["--json", "--seed", seed])).json();
    assert_eq!(answer("1"), answer("1"));
    assert_ne!(answer("1"), answer("7"));
}

#[test]
fn what_is_wrong_is_said() {
    let home = Home::new();
    let bytes = std::fs::read(home.path("capture.pcapng")).unwrap();
    home.write("empty.pcap", "");
    home.write("letter.txt", "Dear reader, this is not a capture.");
    home.write("head.pcapng", &bytes[..200]);
    home.write("cut.pcapng", &bytes[..bytes.len() - 10]);
    home.write("arp.pcap", arp());
    let cases: [(&[&str], &[&str]); 14] = [
        (
            &["cut.pcapng", "--rate", "10mbit"],
            &["cut.pcapng: one direction only", "Only a part was read", "the file ends"],
        ),
        (&["arp.pcap", "--rate", "10mbit"], &["arp.pcap: no IP packets in it"]),
        (&["capture.pcapng"], &["--rate"]),
        (&["capture.pcapng", "--rate", "0mbit"], &["rate", "0"]),
        (&["capture.pcapng", "--rate", "100"], &["a rate needs a unit, as in \"10 Mbit/s\""]),
        (&["capture.pcapng", "--rate", "100mbps"], &["ambiguous"]),
        (&["capture.pcapng", "--rate", "-1mbit"], &["cannot be negative"]),
        (
            &["capture.pcapng", "--rate", "10mbit"],
            &["capture.pcapng: one direction only", "--one-direction"],
        ),
        (&["no.pcap", "--rate", "1mbit"], &["cannot open `no.pcap`"]),
        (&["empty.pcap", "--rate", "1mbit"], &["empty.pcap: the file is empty"]),
        (&["letter.txt", "--rate", "1mbit"], &["letter.txt: neither pcap nor pcapng"]),
        (&["head.pcapng", "--rate", "1mbit"], &["head.pcapng"]),
        (&["capture.pcapng", "--rate", "1mbit", "--queue", "dr"], &["did you mean `drr`"]),
        (&["capture.pcapng", "--rate", "1mbit", "--seeds", "1"], &["must lie in 2 to 100"]),
    ];
    for (args, words) in cases {
        home.refuses(2, &[&["advise"], args].concat(), words);
    }
}

/// A capture of one frame of Ethernet: a question of ARP, padded to 60 bytes.
fn arp() -> Vec<u8> {
    let frame = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 1], &[8, 6], &[0; 46]].concat();
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1, 1, 0, 60, 60u32];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(frame);
    bytes
}

#[test]
fn a_capture_that_may_not_be_read_is_refused() {
    let home = Home::new();
    std::fs::set_permissions(home.path("capture.pcapng"), Permissions::from_mode(0o000)).unwrap();
    std::fs::set_permissions(home.path(""), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    // Of a user that is no root setpriv cannot make another, and need not.
    if nix::unistd::geteuid().is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.arg("--").arg(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["advise", "capture.pcapng", "--rate", "1mbit"]);
    let ran = command.current_dir(home.path("")).stdin(Stdio::null()).output().unwrap();
    match Ran::from(ran) {
        Ran { code: 126 | 127, err, .. } => skip(&format!("nobody may run the program: {err}")),
        ran => ran.refused(2, &["capture.pcapng", "Permission denied"]),
    }
}

#[test]
fn of_a_capture_that_ends_early_the_rest_is_judged() {
    let home = Home::new();
    let bytes = std::fs::read(home.path("capture.pcapng")).unwrap();
    home.write("cut.pcapng", &bytes[..bytes.len() * 3 / 4]);
    let mut args = ADVISE;
    args[1] = "cut.pcapng";
    let ran = home.run(&args);
    assert_eq!(ran.code, 2);
    assert!(ran.out.starts_with("Choose "), "{}", ran.out);
    assert!(ran.err.contains("the answer is of the packets before"), "{}", ran.err);
}
