//! Whatever is given to the command: a clear message, a status that is not 0, nothing left behind,
//! nothing lost.
#![allow(clippy::disallowed_macros, reason = "what is skipped is skipped aloud")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Home, Ran, SMALL};

const REPLAY: [&str; 2] = ["replay", "capture.pcapng"];
const LINK: [&str; 4] = ["--rate", "10 Mbit/s", "--queue", "drop_tail"];

#[test]
fn files_that_are_no_scenario() {
    let home = Home::new();
    home.write("broken.toml", SMALL.replace("[queue]", "[queue"));
    for command in ["run", "compare", "check"] {
        home.refuses(2, &[command, "none.toml"], &["error: none.toml", "no such file"]);
        home.refuses(2, &[command, "broken.toml"], &["error: broken.toml:15:"]);
        home.refuses(2, &[command], &["required", "<SCENARIO>"]);
    }
}

/// The lab's tests have every rule of a scenario; here a mistake ends the command with its place.
#[test]
fn values_that_cannot_be() {
    let home = Home::new();
    for (from, to, words) in [
        ("\"2 Mbit/s\"", "\"10 mbps\"", ["wrong.toml:12:", "network.rate = 10 mbps: "]),
        ("warmup", "warm_up", ["run.warm_up", "did you mean `warmup`?"]),
    ] {
        assert!(SMALL.contains(from), "{from}");
        home.write("wrong.toml", SMALL.replacen(from, to, 1));
        for command in ["run", "check"] {
            let words = [&["error: wrong.toml:"][..], &words].concat();
            home.refuses(2, &[command, "wrong.toml"], &words);
        }
    }
}

#[test]
fn options_of_a_run_that_cannot_be() {
    let home = Home::new();
    let run = |more: &[&str], words: &[&str]| {
        home.refuses(2, &[&["run", "small.toml"], more].concat(), words)
    };
    run(&["--seeds", "0"], &["--seeds", "must lie in 1 to 10000"]);
    run(&["--seeds", "many"], &["--seeds", "many", "must be a whole number from 1 to 10000"]);
    run(&["--seed", "-1"], &["--seed", "must lie in 0 to 4000000000000000"]);
    run(&["--threads", "0"], &["--threads", "must lie in 1 to 1024"]);
    run(&["--set", "network.rate"], &["path=value"]);
    run(&["--set", "network.rat=10 Mbit/s"], &["network.rat", "did you mean", "rate"]);
    run(&["--set", "group.nobody="], &["--set group.nobody=", "there is no `nobody`", "flood"]);
    run(&["--queue", "redd"], &["no such queue", "did you mean `red`?"]);
    run(&["--queue", "sfb/literral"], &["no such preset of sfb", "did you mean `literal`?"]);
    run(&["--queue", "sfb,bin=3"], &["bin", "did you mean `bins`?"]);
    run(&["--queue", "sfb,bins=0"], &["bins = 0", "1 to 65536"]);
    run(&["--sedes", "3"], &["--sedes", "--seeds"]);
}

#[test]
fn labels_that_are_there_twice() {
    let home = Home::new();
    for command in [
        &["compare", "small.toml"][..],
        &["check", "small.toml"],
        &["replay", "capture.pcapng", "--rate", "1Mbit/s"],
    ] {
        let twice = [command, &["--queue", "sfb", "--queue", "sfb"]].concat();
        home.refuses(2, &twice, &["label = sfb: another queue is called that too"]);
    }
}

#[test]
fn names_that_are_none() {
    let home = Home::new();
    home.refuses(2, &["comapre"], &["comapre", "compare"]);
    home.refuses(2, &["list", "queue"], &["queue", "queues"]);
    home.refuses(2, &["show", "sbf"], &["nothing called `sbf`; did you mean `sfb`?"]);
    assert!(
        !home.run(&["show", "sbf"]).err.contains("drop_tail"),
        "who mistyped a name is not told all of them"
    );
    let known = ["nothing called `quite-another`", "queues drop_tail"];
    home.refuses(2, &["show", "quite-another"], &known);
    let small = ["limit = 0 packets", "at least one packet"];
    home.refuses(2, &["show", "sfb", "--limit", "0 packets"], &small);
    home.write(
        "alone.toml",
        SMALL.replace("[compare]\nqueues = [\"drop_tail\", \"blue as BLUE\"]\n", ""),
    );
    home.refuses(2, &["compare", "alone.toml"], &["lists no queues to compare", "--queue"]);
}

/// The tests of `tidegate-packet` have all that is no capture.
#[test]
fn captures_that_are_none() {
    let home = Home::new();
    home.write("text.pcap", "not a capture at all");
    let header =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    home.write("header.pcap", header);
    for (name, word) in [
        ("none.pcap", "error: cannot open `none.pcap`: No such file"),
        ("text.pcap", "error: text.pcap: neither pcap nor pcapng"),
        ("header.pcap", "`header.pcap` is a capture without a packet"),
    ] {
        let args = [&["replay", name][..], &LINK, &["--out", "result"]].concat();
        home.refuses(2, &args, &[word]);
    }
}

#[test]
fn links_that_cannot_be() {
    let home = Home::new();
    let refuses = |more: &[&str], words: &[&str]| home.refuses(2, &[&REPLAY, more].concat(), words);
    refuses(&["--queue", "sfb"], &["required", "--rate"]);
    refuses(&["--rate", "10 Mbit/s"], &["required", "--queue"]);
    refuses(&["--queue", "sfb", "--rate", "10 mbps"], &["--rate", "\"10 Mbit/s\" or \"10 MB/s\""]);
    refuses(&["--queue", "sfb", "--rate", "0 bit/s"], &["rate = 0 bit/s", "above 0"]);
    let limit = |limit| [&LINK[..], &["--limit", limit]].concat();
    refuses(&limit("999 B"), &["limit = 999 B", "at least one packet"]);
    refuses(&limit("-5 packets"), &["--limit", "cannot be negative"]);
    let key = [&LINK[..], &["--flow-key", "src"]].concat();
    refuses(&key, &["--flow-key", "did you mean `source`?"]);
}

#[test]
fn directories_that_cannot_be_written() {
    let home = Home::new();
    std::fs::create_dir(home.path("mine")).unwrap();
    home.write("mine/thesis.tex", "years of work");
    home.write("file", "a file");
    let run = ["run", "small.toml", "--out"];
    let replay = [&REPLAY[..], &LINK, &["--out"]].concat();
    for command in [&run[..], &replay] {
        let refuses =
            |out: &str, words: &[&str]| home.refuses(2, &[command, &[out]].concat(), words);
        refuses("mine", &["mine: is a directory with other things in it"]);
        refuses("file", &["file: is a file, not a directory"]);
        refuses("file/below", &["file"]);
        refuses("/proc/tidegate", &["error: /proc/tidegate: cannot be written"]);
        refuses("/proc/tidegate/deep/er", &["error: /proc/tidegate/deep/er: cannot be"]);
        let told = home.run(&[command, &["/proc/tidegate"]].concat()).err;
        assert!(!told.contains(".tidegate-"), "{told}");
    }
    assert_eq!(home.read("mine/thesis.tex"), "years of work");
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_leaves_nothing_behind() {
    let home = Home::new();
    let before = home.files();
    let run = format!(
        "ulimit -f 1; exec {} run small.toml --out results",
        env!("CARGO_BIN_EXE_tidegate")
    );
    let ran = Command::new("sh").args(["-c", &run]).current_dir(home.path("")).output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(
        ran.status.code().is_some_and(|code| code != 0) && told.contains("file too large"),
        "{told}"
    );
    assert_eq!(home.files(), before);
}

/// A file system of so many bytes at `mine`; `None`, aloud, where we may not make one.
fn small_disk(home: &Home, options: &str) -> Option<Mounted> {
    let at = home.path("mine");
    std::fs::create_dir(&at).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(&at)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        eprintln!(
            "SKIPPED: no file system may be mounted here, so none is tried that is {options}"
        );
        return None;
    }
    Some(Mounted(at))
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing_and_loses_nothing() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home, "size=64k") else { return };
    let before = home.files();
    home.run(&["run", "small.toml", "--out", "mine/result"])
        .refused(1, &["mine/result", "the disk is full"]);
    home.run(&[&REPLAY[..], &LINK, &["--out", "mine/result"]].concat())
        .refused(1, &["the disk is full"]);
    assert_eq!(home.files(), before);
}

#[test]
fn a_disk_that_cannot_be_written_is_found_before_the_work() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home, "size=64k,ro") else { return };
    let begun = Instant::now();
    let long =
        ["run", "small.toml", "--set", "run.duration=1000000 s", "--set", "run.series=1000 s"];
    home.refuses(
        2,
        &[&long[..], &["--out", "mine/result"]].concat(),
        &["error: mine/result: ", "read-only file system"],
    );
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// Starts `args`, sends SIGINT after a moment, and returns what came of it.
fn interrupted(home: &Home, args: &[&str]) -> Ran {
    let child = home.command(args).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "it has ended already");
    let begun = Instant::now();
    let ran = child.wait_with_output().unwrap().into();
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?} to stop", begun.elapsed());
    ran
}

#[test]
fn ctrl_c_ends_a_long_run_without_a_result() {
    let home = Home::new();
    let before = home.files();
    let long = [
        "compare",
        "small.toml",
        "--set",
        "run.duration=100000 s",
        "--set",
        "run.series=100 s",
        "--seeds",
        "50",
    ];
    interrupted(&home, &[&long[..], &["--json", "--out", "result"]].concat())
        .refused(130, &["interrupted"]);
    assert_eq!(home.files(), before);
}

#[test]
fn ctrl_c_ends_a_long_replay_without_a_result() {
    let home = Home::new();
    // A capture of a few million packets: the records of the small one, over and over, as pcap.
    let header =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    let mut bytes = header.to_vec();
    for i in 0..4_000_000u32 {
        bytes.extend([i / 100_000, i % 100_000 * 10, 0, 1000].map(u32::to_le_bytes).concat());
    }
    home.write("long.pcap", bytes);
    let before = home.files();
    let queues = ["sfb", "blue", "red", "care", "drop_tail", "sfb/double", "sfb/moving"];
    let queues: Vec<String> = queues
        .iter()
        .chain(&queues)
        .enumerate()
        .map(|(i, queue)| format!("--queue={queue} as {i}"))
        .collect();
    let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
    let args =
        [&["replay", "long.pcap", "--rate", "10 Mbit/s", "--json", "--out", "result"], &queues[..]]
            .concat();
    interrupted(&home, &args).refused(130, &["interrupted"]);
    assert_eq!(home.files(), before);
}
