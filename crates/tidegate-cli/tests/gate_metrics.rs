//! `tidegate gate --metrics` and `tidegate top` beside a gate that moves frames between namespaces.
#![cfg(target_os = "linux")]
mod common;
#[path = "common/net.rs"]
mod net;
#[path = "../../tidegate-gateway/tests/support/openmetrics.rs"]
mod openmetrics;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use common::Home;
use net::Net;
use openmetrics::{Family, read};
use tidegate::Span;
use tidegate_gateway::machine::clock::now;

const ADDRESS: &str = "127.0.0.1:9465";

/// What is answered in the gate's namespace to a request for `path`.
fn get(net: &Net, path: &str) -> String {
    let ask = || {
        let mut stream = TcpStream::connect(ADDRESS).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    net.rig.gateway.inside(ask).unwrap().unwrap()
}

fn page(net: &Net) -> BTreeMap<String, Family> {
    let answer = get(net, "/metrics");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
    read(body)
}

fn managed(page: &BTreeMap<String, Family>, family: &str) -> f64 {
    let is = |labels: &BTreeMap<String, String>| {
        labels["link"] == "west" && labels["direction"] == "managed"
    };
    page[family].samples.iter().find(|sample| is(&sample.labels)).unwrap().value
}

#[test]
fn a_gate_that_moves_frames_can_be_watched() {
    let Some(net) = Net::new() else { return };
    let home = Home::new();
    let socket = home.path("gate.sock");
    let socket = socket.to_str().unwrap();
    let gate = net.start(&["--metrics", ADDRESS, "--socket", socket]);
    net.must_cross_the_gate();
    let first = page(&net);
    assert_eq!(managed(&first, "tidegate_link_rate_bytes_per_second"), 1.25e9);
    let end = now() + Span::from_secs(60.0);
    loop {
        net.must_cross_the_gate();
        let later = page(&net);
        for (name, family) in first.iter().filter(|(_, family)| family.kind == "counter") {
            for (before, after) in family.samples.iter().zip(&later[name].samples) {
                assert!(
                    before.labels == after.labels && after.value >= before.value,
                    "{before:?} {after:?}"
                );
            }
        }
        let sent = ["tidegate_received_frames", "tidegate_sent_frames"];
        if sent.iter().all(|name| managed(&later, name) > managed(&first, name)) {
            break;
        }
        assert!(now() < end, "frames get across, and {sent:?} do not grow");
    }
    assert!(get(&net, "/").starts_with("HTTP/1.1 404 "));
    let once = home.run(&["top", "--once", "--socket", socket]);
    assert_eq!((once.code, once.err.as_str()), (0, ""));
    for said in ["west → east: drop_tail, 10.0 Gbit/s", "east → west: not managed", "backlog"] {
        assert!(once.out.contains(said), "{said} is missing in:\n{}", once.out);
    }
    let document = home.run(&["top", "--once", "--json", "--socket", socket]).json();
    assert_eq!(document["links"][0]["name"], "west");
    let (code, _, told) = gate.stop();
    assert_eq!(code, 0, "{told}");
    home.run(&["top", "--once", "--socket", socket]).refused(1, &["no gate listens at"]);
}

#[test]
fn a_port_that_is_taken_is_refused_before_anything_is_changed() {
    let Some(net) = Net::new() else { return };
    net.refuses_a_taken_port("metrics", ADDRESS);
}

#[test]
fn an_address_that_others_can_reach_must_be_meant() {
    Home::new().refuses_a_public_address("metrics", "9465");
}

#[test]
fn a_socket_is_put_at_a_path_and_nowhere_else() {
    let home = Home::new();
    let long = format!("/run/{}", "x".repeat(100));
    for (text, why) in [
        ("/run/gate\\u0000.sock", "gate.toml:2:11: socket = /run/gate\\u{0}.sock: has a character"),
        (
            "127.0.0.1:9465",
            "must be the path of a file, from / or ./ on, as in /run/tidegate/gate.sock",
        ),
        ("yes", "gate.toml:2:11: socket = yes: must be the path"),
        ("", "must be the path"),
        ("/run/tidegate/", "must be the path"),
        (&long, "has 105 bytes; may have 99 at most"),
    ] {
        home.gate_by_file(&format!("# at a line of its own\nsocket = \"{text}\""))
            .refused(2, &["gate.toml:2:1", why]);
    }
    home.gate(&["--socket", "yes"]).refused(2, &["--socket", "must be the path of a file"]);
}
