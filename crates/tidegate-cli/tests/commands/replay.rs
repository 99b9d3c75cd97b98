//! `tidegate replay`, as users meet it.
use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Home, hold, timeless};
use serde_json::Value;

const REPLAY: [&str; 6] = ["replay", "capture.pcapng", "--rate", "10 Mbit/s", "--queue", "sfb"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&REPLAY[..], more].concat()
}

#[test]
fn one_queue_is_a_document_and_several_are_a_list() {
    let home = Home::new();
    let one = home.run(&with(&["--json"])).json();
    hold(&one);
    assert_eq!(
        (one["source"].as_str(), one["scenario"].as_str()),
        (Some("replayed"), Some("capture.pcapng"))
    );
    assert_eq!(one["packets"], 9200);
    assert_eq!(one["bottleneck"]["limit"], "125 kB", "what the link sends in 100 ms");
    let two = home.run(&with(&["--queue", "drop_tail as FIFO", "--json"])).json();
    hold(&two);
    assert_eq!(two[1]["label"], "FIFO");
    assert_eq!(timeless(two)[0], timeless(one));
}

#[test]
fn every_flow_is_told_of() {
    let document = Home::new().run(&with(&["--json", "--flow-key", "source"])).json();
    let flows = document["flows"].as_array().unwrap();
    let flood = flows.iter().find(|f| f["label"] == "10.0.1.66").unwrap();
    assert_eq!(flood["packets"]["offered"], 3751, "as the capture's README has it");
    assert_eq!(flood["bytes"]["offered"], 3_908_542);
    let client = flows.iter().find(|f| f["label"] == "10.0.1.9").unwrap();
    assert_eq!(client["packets"]["offered"], 2783, "twenty connections are one flow");
    for flow in flows {
        let count = |what: &str| flow["packets"][what].as_u64().unwrap();
        assert_eq!(count("offered"), count("delivered") + count("dropped"), "{flow}");
    }
    let groups: Vec<&str> = document["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["name"].as_str().unwrap())
        .collect();
    assert_eq!(groups, ["tcp", "udp", "other"]);
}

#[test]
fn the_list_of_flows_can_be_cut() {
    let document = Home::new().run(&with(&["--json", "--list", "2"])).json();
    let labels: Vec<&Value> =
        document["flows"].as_array().unwrap().iter().map(|f| &f["label"]).collect();
    assert_eq!((labels.len(), labels[2].as_str()), (3, Some("other flows")));
}

#[test]
fn seed_and_mean_packet_have_bounds() {
    let home = Home::new();
    home.refuses(2, &with(&["--seed", "-1"]), &["--seed", "must lie in 0 to 18446744073709551615"]);
    home.refuses(
        2,
        &with(&["--mean-packet", "20 B"]),
        &["--mean-packet", "must lie in 40 B to 65535 B"],
    );
    assert_eq!(home.run(&with(&["--mean-packet", "40 B"])).code, 0);
}

#[test]
fn the_answer_comes_first_for_people() {
    let ran = Home::new().run(&with(&["--queue", "drop_tail"]));
    assert_eq!(ran.code, 0);
    let first = ran.out.lines().next().unwrap();
    assert!(first.contains("of its fair share") && first.starts_with("sfb: tcp gets"), "{first}");
    assert!(ran.out.contains("10.0.1.66:9 -> 10.0.2.1:9 udp"), "{}", ran.out);
    assert!(!ran.out.contains('\x1b'), "no colours in a pipe");
    assert_eq!(
        ran.err,
        "22 packets were stamped earlier than the one before them; they were offered at that one's \
         time.\n"
    );
}

#[test]
fn same_seed_same_bytes() {
    let home = Home::new();
    let result = |seed: &str| {
        let out = format!("out-{seed}");
        let ran =
            home.run(&with(&["--seed", seed, "--queue", "blue/steep", "--json", "--out", &out]));
        let series = home.read(&format!("{out}/series.json"));
        (timeless(ran.json()), series)
    };
    assert_eq!(result("1"), result("1"));
    let (one, two) = (result("1"), result("2"));
    assert_ne!((&one.0[0]["groups"], &one.1), (&two.0[0]["groups"], &two.1));
}

#[test]
fn a_directory_holds_it_all() {
    let home = Home::new();
    let ran = home.run(&with(&["--out", "deep/result", "--json"]));
    assert_eq!(
        ran.json(),
        serde_json::from_str::<Value>(&home.read("deep/result/result.json")).unwrap()
    );
    assert!(ran.err.ends_with("Wrote deep/result/report.html.\n"), "{}", ran.err);
    let files: Vec<String> = home.files().into_iter().filter(|f| f.starts_with("deep")).collect();
    let tables = ["flows", "gauges", "series"].map(|name| format!("/{name}.parquet"));
    let texts = ["", "/replay.toml", "/report.html", "/result.json", "/run.json", "/series.json"]
        .map(String::from);
    let mut names: Vec<String> =
        texts.into_iter().chain(tables).map(|n| format!("deep/result{n}")).collect();
    names.sort();
    assert_eq!(files[1..], names);
    let job = home.read("deep/result/replay.toml");
    assert!(
        job.contains("limit = \"125 kB\"\n") && job.contains("flow_key = \"five-tuple\"\n"),
        "{job}"
    );
    assert!(
        job.contains("queues = [\"sfb\"]\n") && job.contains("rate = \"10 Mbit/s\"\n"),
        "{job}"
    );
    let page = home.read("deep/result/report.html");
    assert!(
        page.contains("tidegate replay capture.pcapng --rate &#39;10 Mbit/s&#39;")
            || page.contains("--rate '10 Mbit/s'")
    );
    assert!(page.contains("10.0.1.66:9"), "the flows are in it");
}

/// `bytes` packed by gzip's own program.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut into = gzip.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // Its output fills a pipe before it has read everything.
    let writer = std::thread::spawn(move || into.write_all(&bytes).unwrap());
    let out = gzip.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    out
}

#[test]
fn a_packed_capture_gives_the_same_result() {
    let home = Home::new();
    let plain = home.run(&with(&["--json"])).json();
    let whole = std::fs::read(home.path("capture.pcapng")).unwrap();
    let file = packed(&whole);
    assert!(file.len() < whole.len());
    home.write("capture.pcapng", &file);
    assert_eq!(timeless(home.run(&with(&["--json"])).json()), timeless(plain));
    home.write("capture.pcapng", &file[..file.len() / 2]);
    let ran = home.run(&with(&["--json"]));
    assert_eq!(ran.code, 2);
    let why = "the file, packed by gzip, ends before what is packed in it (at byte ";
    assert!(
        ran.err.contains(why) && ran.err.contains("of what gzip unpacks, after "),
        "{}",
        ran.err
    );
    assert!(serde_json::from_str::<Value>(&ran.out).unwrap()["packets"].as_u64().unwrap() > 1000);
}

#[test]
fn packets_of_link_types_that_cannot_be_read_are_said_and_no_error() {
    let home = Home::new();
    let whole = std::fs::read(home.path("capture.pcapng")).unwrap();
    let block = |kind: u32, body: &[u8]| {
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &len, body, &len].concat()
    };
    // Another section, whose interface is IEEE 802.15.4's, with two packets of four bytes.
    let section = block(
        0x0a0d_0d0a,
        &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    );
    let interface =
        block(1, &[195, 0, 0, 0, 0, 0, 0, 0, 2, 0, 4, 0, b'l', b'o', b'w', b'0', 0, 0, 0, 0]);
    let packet = block(6, &[[0; 12], [4, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]].concat());
    let other = [section, interface, packet.clone(), packet].concat();
    home.write("capture.pcapng", [&other[..], &whole].concat());
    let ran = home.run(&with(&["--json", "--out", "result"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let why = "2 packets were skipped, of link types that cannot be read: 2 of interface 0 \
               (`low0`), link type 195 \
               (IEEE 802.15.4)";
    assert!(ran.err.contains(&format!("{why}.\n")), "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    hold(&document);
    assert_eq!(
        (document["packets"].as_u64(), document["incomplete"].as_str()),
        (Some(9200), Some(why))
    );
    assert!(home.read("result/report.html").contains("2 packets were skipped"));
    home.write("capture.pcapng", other);
    home.refuses(
        2,
        &REPLAY,
        &["error: capture.pcapng: 2 packets were skipped", "Ethernet (1)", "radiotap 127"],
    );
}

#[test]
fn a_damaged_capture_gives_what_was_readable_and_an_error() {
    let home = Home::new();
    let whole = std::fs::read(home.path("capture.pcapng")).unwrap();
    home.write("capture.pcapng", &whole[..whole.len() / 2]);
    let ran = home.run(&with(&["--json", "--out", "result"]));
    assert_eq!(ran.code, 2, "{ran:?}");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    hold(&document);
    let packets = document["packets"].as_u64().unwrap();
    assert!(packets > 4000 && packets < 5000, "{packets}");
    assert!(ran.err.contains("error: capture.pcapng: the file ends"), "{}", ran.err);
    assert!(
        ran.err.contains(&format!("after {packets} packets); the result is of the packets before")),
        "{}",
        ran.err
    );
    assert_eq!(serde_json::from_str::<Value>(&home.read("result/result.json")).unwrap(), document);
    assert!(document["incomplete"].as_str().unwrap().contains("the file ends"));
    assert!(home.run(&REPLAY).out.contains("\nINCOMPLETE: the file ends"));
}
