//! A real Prometheus beside a gate: its checker on the alerts that are shipped, and a server that
//! scrapes.
#![cfg(target_os = "linux")]
mod common;
#[path = "common/net.rs"]
mod net;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Home, repository};
use net::Net;
use serde_json::Value;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::namespaces::{run, skip};

const GATE: &str = "127.0.0.1:9465";
const SERVER: &str = "127.0.0.1:9090";

/// A program of Debian's package, installed or where `make test-deps` has unpacked it; `None`,
/// aloud, if it is nowhere.
fn program(name: &str) -> Option<PathBuf> {
    let unpacked = repository().join("target/prometheus/usr/bin").join(name);
    let found = [PathBuf::from(name), unpacked].into_iter().find(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success())
    });
    if found.is_none() {
        skip(&format!("{name} is neither installed nor unpacked; make test-deps does the latter"));
    }
    found
}

fn rules() -> PathBuf {
    repository().join("packaging/tidegate.rules.yml")
}

#[test]
fn the_shipped_alerts_pass_its_checker_and_say_what_they_should() {
    let Some(promtool) = program("promtool") else { return };
    let said = run(Command::new(&promtool).args(["check", "rules"]).arg(rules())).unwrap();
    assert!(said.contains("SUCCESS: 10 rules found"), "{said}");
    let tests = repository().join("packaging/tidegate.rules.test.yml");
    let said = run(Command::new(&promtool).args(["test", "rules"]).arg(&tests)).unwrap();
    assert!(said.contains("SUCCESS"), "{said}");
    // A test that cannot fail says nothing.
    let home = Home::new();
    let wrong = fs::read_to_string(rules())
        .unwrap()
        .replace("tidegate_file_refused == 1", "tidegate_file_refused == 2");
    home.write("tidegate.rules.yml", wrong);
    home.write("test.yml", fs::read(&tests).unwrap());
    let failed = Command::new(&promtool)
        .args(["test", "rules", "test.yml"])
        .current_dir(home.path(""))
        .output()
        .unwrap();
    assert!(!failed.status.success(), "{failed:?}");
}

/// Ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the server answers at `path`, as soon as it answers.
fn ask(net: &Net, path: &str) -> Option<Value> {
    let ask = || {
        let mut stream = TcpStream::connect(SERVER)?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {SERVER}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = net.rig.gateway.inside(ask).unwrap().ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

/// The first value that `query` has when it fits.
fn until(net: &Net, query: &str, fits: impl Fn(f64) -> bool) -> f64 {
    let end = now() + Span::from_secs(60.0);
    let mut last = None;
    while now() < end {
        net.must_cross_the_gate();
        last = ask(net, &format!("/api/v1/query?query={query}"));
        let value = last
            .as_ref()
            .and_then(|answer| answer["data"]["result"][0]["value"][1].as_str()?.parse().ok());
        if let Some(value) = value.filter(|&value| fits(value)) {
            return value;
        }
        sleep(Duration::from_millis(200));
    }
    panic!("{query}: {last:?}")
}

#[test]
fn it_scrapes_a_gate_and_evaluates_the_alerts_beside_a_thousand_idle_connections() {
    let Some(prometheus) = program("prometheus") else { return };
    let Some(net) = Net::new() else { return };
    let home = Home::new();
    let gate = net.start(&["--metrics", GATE]);
    let rules = rules();
    home.write(
        "prometheus.yml",
        format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\n\
             rule_files: [{rules:?}]\n\
             scrape_configs:\n\x20 - job_name: tidegate\n\
             \x20   static_configs: [{{ targets: [{GATE:?}] }}]\n"
        ),
    );
    let mut server = net.rig.gateway.command(&[prometheus.to_str().unwrap()]);
    server.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=warn"]);
    server.arg(format!("--web.listen-address={SERVER}")).current_dir(home.path(""));
    let server = Server(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    assert_eq!(until(&net, "up", |up| up == 1.0), 1.0);
    let name = "tidegate_sent_frames_total%7Bdirection%3D%22managed%22%7D";
    let first = until(&net, name, |_| true);
    until(&net, name, |later| later > first);
    let connect = || (0..1000).map(|_| TcpStream::connect(GATE).unwrap()).collect::<Vec<_>>();
    let idle = net.rig.gateway.inside(connect).unwrap();
    // Scrapes that take longer than a second count as failed.
    until(&net, "count_over_time(up%5B10s%5D)", |scrapes| scrapes >= 9.0);
    sleep(Duration::from_secs(5));
    assert_eq!(until(&net, "min_over_time(up%5B4s%5D)", |_| true), 1.0);
    assert!(until(&net, "max_over_time(scrape_duration_seconds%5B4s%5D)", |_| true) < 1.0);
    drop(idle);
    let told = ask(&net, "/api/v1/rules").unwrap();
    let rules = told["data"]["groups"][0]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 10);
    for rule in rules {
        assert_eq!((&rule["health"], &rule["state"]), (&"ok".into(), &"inactive".into()), "{rule}");
    }
    drop(server);
    let (code, _, told) = gate.stop();
    assert_eq!(code, 0, "{told}");
}
