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
    std::fs::create_dir(home.path("dir")).unwrap();
    home.write("empty.toml", "");
    home.write("binary.toml", [0xff, 0xfe, 0x00]);
    home.write("broken.toml", SMALL.replace("[queue]", "[queue"));
    for command in ["run", "compare", "check"] {
        home.refuses(2, &[command, "none.toml"], &["error: none.toml", "no such file"]);
        home.refuses(2, &[command, "dir"], &["error: dir", "is a directory"]);
        home.refuses(2, &[command, "empty.toml"], &["error: empty.toml", "empty"]);
        home.refuses(2, &[command, "binary.toml"], &["error: binary.toml", "UTF-8"]);
        home.refuses(2, &[command, "broken.toml"], &["error: broken.toml:15:"]);
        home.refuses(2, &[command], &["required", "<SCENARIO>"]);
    }
}

#[test]
fn values_that_cannot_be() {
    let home = Home::new();
    let refuses = |from: &str, to: &str, words: &[&str]| {
        assert!(SMALL.contains(from), "{from}");
        home.write("wrong.toml", SMALL.replacen(from, to, 1));
        for command in ["run", "check"] {
            home.refuses(2, &[command, "wrong.toml"], &[&["error: wrong.toml:"], words].concat());
        }
    };
    refuses(
        "\"2 Mbit/s\"",
        "\"10 mbps\"",
        &["wrong.toml:12:", "network.rate", "\"10 Mbit/s\" or \"10 MB/s\""],
    );
    refuses("\"2 Mbit/s\"", "\"2 MB\"", &["network.rate", "`MB` is not a unit of a rate"]);
    refuses("\"2 Mbit/s\"", "2", &["network.rate", "unit"]);
    refuses("\"2 Mbit/s\"", "\"-1 Mbit/s\"", &["network.rate", "cannot be negative"]);
    refuses("\"3 s\"", "\"3 packets\"", &["run.duration", "`packets` is not a unit of a time"]);
    refuses("count = 3", "count = 1_000_000_000", &["wrong.toml:", "count", "1000000000", "1 to"]);
    refuses("\"30 packets\"", "\"0 packets\"", &["network.limit", "0 packets"]);
    refuses("\"30 packets\"", "\"100 B\"", &["limit", "100 B", "at least one packet"]);
    refuses("seeds = 2", "seeds = 0", &["run.seeds", "1 to 10000"]);
    refuses("warmup", "warm_up", &["warm_up", "did you mean `warmup`?"]);
    refuses("\"drop_tail\"", "\"droptail\"", &["droptail", "did you mean `drop_tail`?"]);
    refuses(
        "source = \"newreno\"",
        "source = \"newrneo\"",
        &["newrneo", "did you mean `newreno`?"],
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list of refusals")]
fn arguments_that_cannot_be() {
    let home = Home::new();
    let run = |more: &[&str], words: &[&str]| {
        home.refuses(2, &[&["run", "small.toml"], more].concat(), words)
    };
    run(&["--seeds", "0"], &["--seeds", "must lie in 1 to 10000"]);
    run(&["--seeds", "-1"], &["--seeds", "-1", "must lie in 1 to 10000"]);
    run(&["--seeds", "many"], &["--seeds", "many", "must be a whole number from 1 to 10000"]);
    run(&["--seeds", "99999999999999999999999999999999999999999"], &["--seeds", "from 1 to 10000"]);
    run(&["--seed", "-1"], &["--seed", "must lie in 0 to 4000000000000000"]);
    run(&["--threads", "0"], &["--threads", "must lie in 1 to 1024"]);
    run(&["--set", "network.rate"], &["path=value"]);
    run(&["--set", "network.rat="], &["--set network.rat=", "there is no `rat` here to take away"]);
    run(&["--set", "group.nobody="], &["--set group.nobody=", "there is no `nobody`", "flood"]);
    run(&["--set", "group.tcp=", "--set", "group.flood="], &["group", "must have 1 to 1000"]);
    run(
        &["--set", "network.rate=10 mbps"],
        &["--set network.rate=10 mbps", "\"10 Mbit/s\" or \"10 MB/s\""],
    );
    run(&["--set", "network.rat=10 Mbit/s"], &["network.rat", "did you mean", "rate"]);
    run(&["--set", "group.tcp.count=1000000000"], &["group.tcp.count", "1000000000"]);
    run(&["--set", "group.nobody.count=1"], &["nobody"]);
    run(&["--queue", "redd"], &["no such queue", "did you mean `red`?"]);
    run(&["--queue", "sfb/literral"], &["no such preset of sfb", "did you mean `literal`?"]);
    run(&["--queue", "sfb,bin=3"], &["bin", "did you mean `bins`?"]);
    run(&["--queue", "sfb,bins=0"], &["bins = 0", "1 to 65536"]);
    run(&["--queue", "sfb,bins"], &["param=value"]);
    run(&["--sedes", "3"], &["--sedes", "--seeds"]);
    for command in [
        &["compare", "small.toml"][..],
        &["check", "small.toml"],
        &["replay", "capture.pcapng", "--rate", "1Mbit/s"],
    ] {
        let twice = [command, &["--queue", "sfb", "--queue", "sfb"]].concat();
        home.refuses(2, &twice, &["label = sfb: another queue is called that too"]);
    }
    home.refuses(2, &["comapre"], &["comapre", "compare"]);
    home.refuses(2, &["show", "sbf"], &["nothing called `sbf`; did you mean `sfb`?"]);
    assert!(
        !home.run(&["show", "sbf"]).err.contains("drop_tail"),
        "who mistyped a name is not told all of them"
    );
    home.refuses(
        2,
        &["show", "quite-another"],
        &["nothing called `quite-another`", "queues drop_tail"],
    );
    home.refuses(
        2,
        &["show", "sfb", "--limit", "0 packets"],
        &["limit = 0 packets", "at least one packet"],
    );
    home.refuses(2, &["list", "queue"], &["queue", "queues"]);
    let same = ["--queue", "red as a", "--queue", "blue as a"];
    let words = ["queue blue as a", "label = a", "another queue is called that too"];
    home.refuses(2, &[&["compare", "small.toml"][..], &same].concat(), &words);
    home.write(
        "alone.toml",
        SMALL.replace("[compare]\nqueues = [\"drop_tail\", \"blue as BLUE\"]\n", ""),
    );
    home.refuses(2, &["compare", "alone.toml"], &["lists no queues to compare", "--queue"]);
}

#[test]
fn captures_that_are_none() {
    let home = Home::new();
    std::fs::create_dir(home.path("dir")).unwrap();
    home.write("empty.pcap", "");
    home.write("text.pcap", "not a capture at all");
    home.write("gzip.pcap", [0x1f, 0x8b, 8, 0, 0]);
    let header =
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    home.write("header.pcap", header);
    home.write("stub.pcap", [&header[..], &[1, 2, 3]].concat());
    let refuses = |name: &str, words: &[&str]| {
        let args = [&["replay", name][..], &LINK, &["--out", "result"]].concat();
        home.refuses(2, &args, &[&["error: "], words].concat());
    };
    refuses("none.pcap", &["error: cannot open `none.pcap`: No such file"]);
    refuses("dir", &["dir", "is a directory"]);
    refuses("empty.pcap", &["empty.pcap: the file is empty"]);
    refuses("text.pcap", &["text.pcap: neither pcap nor pcapng"]);
    refuses(
        "gzip.pcap",
        &["gzip.pcap: the file, packed by gzip, ends before what is packed in it"],
    );
    refuses("header.pcap", &["header.pcap", "a capture without a packet"]);
    refuses("stub.pcap", &["stub.pcap: the file ends 3 bytes into a record header"]);
}

#[test]
fn links_that_cannot_be() {
    let home = Home::new();
    let refuses = |more: &[&str], words: &[&str]| home.refuses(2, &[&REPLAY, more].concat(), words);
    refuses(&["--queue", "sfb"], &["required", "--rate"]);
    refuses(&["--rate", "10 Mbit/s"], &["required", "--queue"]);
    refuses(&["--queue", "sfb", "--rate", "10 mbps"], &["--rate", "\"10 Mbit/s\" or \"10 MB/s\""]);
    refuses(&["--queue", "sfb", "--rate", "-10 Mbit/s"], &["--rate", "cannot be negative"]);
    refuses(&["--queue", "sfb", "--rate", "10"], &["--rate", "needs a unit"]);
    refuses(&["--queue", "sfb", "--rate", "0 bit/s"], &["rate = 0 bit/s", "above 0"]);
    refuses(
        &[&LINK[..], &["--limit", "999 B"]].concat(),
        &["limit = 999 B", "at least one packet"],
    );
    refuses(&[&LINK[..], &["--limit", "-5 packets"]].concat(), &["--limit", "cannot be negative"]);
    refuses(
        &[&LINK[..], &["--flow-key", "src"]].concat(),
        &["--flow-key", "did you mean `source`?"],
    );
    refuses(&["--rate", "10Mbit/s", "--queue", "blu"], &["no such queue", "did you mean `blue`?"]);
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
