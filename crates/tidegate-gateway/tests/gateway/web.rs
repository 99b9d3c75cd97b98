//! The page of a running gate as it is served: who gets it, what goes with it, and that those who
//! watch are bounded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use crate::standing::{flooded, gate};
use serde_json::Value;
use tidegate_gateway::watch::http::{Limits, Listener};
use tidegate_gateway::watch::web::{EVENTS, WatcherLimits, WebPage};

fn serve(bounds: WatcherLimits) -> (SocketAddr, WebPage) {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.address().unwrap();
    let now = Mutex::new(gate());
    let next = move || {
        let mut now = now.lock().unwrap();
        *now = flooded(&now);
        now.clone()
    };
    (address, WebPage::serve(listener, next, bounds).unwrap())
}

/// Bounds of a gate that tells often, and where a busy machine may take its time.
fn often() -> WatcherLimits {
    let long = Duration::from_secs(60);
    let limits = Limits { head: long, patience: long, ..Limits::default() };
    WatcherLimits { every: Duration::from_millis(20), limits, ..WatcherLimits::default() }
}

fn request(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

fn ask(address: SocketAddr, line: &str, host: &str) -> String {
    let mut answer = String::new();
    let mut stream = request(address, &format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A stream of events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(address: SocketAddr) -> Stream {
        let text = format!("GET {EVENTS} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        Stream(BufReader::new(request(address, &text)))
    }

    /// The next event, with its name.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().into();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The names of all events that are still to come, each once where it is repeated.
    fn rest(&mut self) -> Vec<String> {
        let mut names: Vec<String> =
            std::iter::from_fn(|| self.next()).map(|(name, _)| name).collect();
        names.dedup();
        names
    }
}

#[test]
fn every_file_goes_with_rules_for_the_browser_and_can_only_be_read() {
    let (address, _web) = serve(often());
    let host = address.to_string();
    for path in ["/", "/play.css", "/gate.css", "/charts.js", "/view.js", "/gate.js"] {
        let answer = ask(address, &format!("GET {path}"), &host);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 ") && body.len() > 500, "{head}");
        for rule in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(rule), "{path}: {rule}: {head}");
        }
        assert!(!body.contains("http://") || path == "/charts.js", "{path} loads nothing else");
    }
    for path in ["/metrics", "/index.html", "/../etc/passwd", "//", "/events/"] {
        assert!(ask(address, &format!("GET {path}"), &host).starts_with("HTTP/1.1 404 "), "{path}");
    }
    for path in ["/", EVENTS] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"] {
            let answer = ask(address, &format!("{method} {path}"), &host);
            assert!(answer.starts_with("HTTP/1.1 405 "), "{method} {path}: {answer}");
        }
    }
}

#[test]
fn whoever_asks_by_another_name_gets_nothing() {
    let (address, _web) = serve(often());
    for host in ["evil.example", "evil.example:9466", "127.0.0.1.evil.example", ""] {
        for path in ["/", EVENTS, "/nothing"] {
            let answer = ask(address, &format!("GET {path}"), host);
            assert!(answer.starts_with("HTTP/1.1 421 "), "{host} {path}: {answer}");
            assert!(!answer.contains("snapshot"), "{answer}");
        }
    }
    assert!(ask(address, "GET /", "localhost:9466").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_stream_begins_with_the_past_and_goes_on_with_what_happens() {
    let (address, _web) = serve(WatcherLimits { points: 5, ..often() });
    let mut stream = Stream::open(address);
    let (name, past) = stream.next().unwrap();
    assert_eq!(name, "past");
    let (name, first) = stream.next().unwrap();
    assert_eq!((name.as_str(), &first["point"]), ("now", past.as_array().unwrap().last().unwrap()));
    let (_, second) = stream.next().unwrap();
    assert_eq!(second["snapshot"]["schema"], "tidegate.snapshot/1");
    let rates = &second["rates"][0][0];
    assert_eq!(rates["received"]["bps"], 398_400_000.0);
    assert_eq!(rates["lost_by"][0], serde_json::json!(["penalty", 24_000.0]));
    let way = &second["point"]["links"][0][0];
    assert_eq!((&way["sent_bps"], &way["mean_s"]), (&99_720_000.0.into(), &0.0123.into()));
    assert_eq!((&way["gauges"]["p_max"], &way["gauges"]["odd"]), (&0.84.into(), &Value::Null));
    let seconds = |event: &Value| event["point"]["time_s"].as_f64().unwrap();
    assert_eq!(seconds(&second) - seconds(&first), 1.0);
    for _ in 0..8 {
        stream.next().unwrap();
    }
    let (_, past) = Stream::open(address).next().unwrap();
    assert_eq!(past.as_array().unwrap().len(), 5, "no more is kept");
}

#[test]
fn of_more_pages_than_there_are_places_the_oldest_is_sent_away() {
    let (address, web) = serve(WatcherLimits { pages: 2, ..often() });
    let mut streams: Vec<Stream> = (0..2).map(|_| Stream::open(address)).collect();
    streams.iter_mut().for_each(|stream| assert_eq!(stream.next().unwrap().0, "past"));
    let mut third = Stream::open(address);
    assert_eq!(third.next().unwrap().0, "past");
    assert_eq!(streams[0].rest(), ["now", "away"]);
    drop(web);
    assert_eq!(streams[1].rest(), ["now", "end"]);
    assert_eq!(third.rest(), ["now", "end"]);
}

/// Nobody keeps a connection by opening a stream and reading nothing of it: what is under way to
/// him fills up, and then he is ended.
#[test]
fn who_reads_nothing_of_his_stream_loses_it() {
    let patience = Duration::from_millis(300);
    let limits = Limits { patience, ..often().limits };
    // The past alone is more than the kernel keeps for one who does not read.
    let every = Duration::from_millis(1);
    let bounds = WatcherLimits {
        every,
        limits,
        bytes: 64 << 20,
        points: 20_000,
        ..WatcherLimits::default()
    };
    let (address, _web) = serve(bounds);
    let mut reads = Stream::open(address);
    let mut silent = Stream::open(address);
    let mut now = 0;
    let mut ended = false;
    while !ended {
        assert_eq!(reads.next().map(|(name, _)| name != "end"), Some(true), "the other goes on");
        now += 1;
        // The kernel says that the other side has ended it as soon as it has.
        let error = now % 64 == 0 && silent.0.get_mut().write_all(b"x").is_err();
        ended = error || now > 100_000;
    }
    assert!(now <= 100_000, "the silent one is still there");
}
