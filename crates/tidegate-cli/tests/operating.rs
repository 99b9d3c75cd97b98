//! The operators' pages: their commands in their order, as somebody would who knows nothing else.
//! What systemd would do is done as the unit says; what the package manager does is tried
//! elsewhere.
#![cfg(target_os = "linux")]
mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::repository;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate::Span;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::failopen;
use tidegate_gateway::machine::namespaces::{Namespace, alone, cable, possible, skip};

const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");
/// Folders that the page names.
const FOLDERS: [&str; 3] = ["/etc/tidegate", "/run/tidegate", "/etc/sysctl.d"];

/// The pages, in the order in which they are followed.
const PAGES: [&str; 2] = ["docs/operate/install.md", "docs/operate/change.md"];

/// What a fence of the pages that begins with this word holds, line by line.
fn fenced(word: &str) -> Vec<String> {
    let pages = PAGES.map(|page| fs::read_to_string(repository().join(page)).unwrap());
    let page = pages.join("\n");
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => inside = !inside && kind == word,
            None if inside => lines.push(line.to_string()),
            None => {}
        }
    }
    assert!(lines.len() > 3, "there is no {word} on the page");
    lines
}

/// A machine between two others, as the page has it, and its service.
struct Machine {
    gate: Namespace,
    folder: tempfile::TempDir,
    running: Option<Child>,
    _others: [Namespace; 2],
    _alone: File,
}

impl Machine {
    fn new() -> Machine {
        let _alone = alone().unwrap();
        let namespace =
            |part| Namespace::new(&format!("tg-page-{part}-{}", std::process::id())).unwrap();
        let (gate, _others) = (namespace("gate"), [namespace("users"), namespace("server")]);
        for (other, interface) in _others.iter().zip(["eth1", "eth2"]) {
            cable((&gate, interface), (other, "far"), 1500).unwrap();
            // The page says to set them up; IPv6 is as Linux has it, which then takes an address by
            // itself.
            gate.run(&["ip", "link", "set", interface, "down"]).unwrap();
            gate.run(&["sysctl", "-qw", &format!("net/ipv6/conf/{interface}/disable_ipv6=0")])
                .unwrap();
        }
        let machine =
            Machine { gate, folder: tempfile::tempdir().unwrap(), running: None, _others, _alone };
        for folder in FOLDERS {
            fs::create_dir_all(machine.at(folder)).unwrap();
        }
        let shipped = fs::read_to_string(repository().join("packaging/gate.toml")).unwrap();
        fs::write(machine.at("/etc/tidegate/gate.toml"), machine.here(&shipped)).unwrap();
        machine
    }

    /// Where that path of the page is here.
    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    /// A line of the page with its paths as they are here.
    fn here(&self, line: &str) -> String {
        FOLDERS.iter().fold(line.to_string(), |line, folder| {
            line.replace(folder, self.at(folder).to_str().unwrap())
        })
    }

    /// Does a line by a shell, which finds `tidegate` first where it was built.
    fn shell(&self, line: &str) -> Command {
        let found = format!(
            "{}:{}",
            Path::new(TIDEGATE).parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = self.gate.command(&["sh", "-ec", &self.here(line)]);
        command.env("PATH", found);
        command
    }

    fn told(&self) -> String {
        fs::read_to_string(self.at("told")).unwrap_or_default()
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let end = now() + Span::from_secs(30.0);
        while !holds() {
            assert!(now() < end, "in vain waited until {what}: {}", self.told());
            sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.running.as_ref().expect("it runs").id() as i32), signal).unwrap();
    }

    /// What systemd does of its unit.
    fn systemctl(&mut self, words: &[&str]) {
        match words {
            ["enable", "--now", "tidegate"] => self.start(),
            ["reload", "tidegate"] => {
                let times = self.told().matches("goes on as the file says now").count();
                self.signal(Signal::SIGHUP);
                self.until("it is reloaded", || {
                    self.told().matches("goes on as the file says now").count() > times
                });
            }
            ["stop", "tidegate"] | ["disable", "--now", "tidegate"] => {
                if let Some(mut running) = self.running.take() {
                    kill(Pid::from_raw(running.id() as i32), Signal::SIGTERM).unwrap();
                    assert!(running.wait().unwrap().success(), "{}", self.told());
                }
            }
            ["status", "tidegate"] => {}
            other => panic!("the page says systemctl {other:?}, which this test does not know"),
        }
    }

    fn start(&mut self) {
        let unit = fs::read_to_string(repository().join("packaging/tidegate.service")).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/")).unwrap();
        let mut command = self.shell(&format!("exec {line}"));
        let child = command
            .stdout(Stdio::null())
            .stderr(File::create(self.at("told")).unwrap())
            .spawn()
            .unwrap();
        let (process, eth1) = (child.id(), self.gate.index("eth1").unwrap());
        self.running = Some(child);
        self.until("the gate takes the wire", || {
            self.gate.inside(|| failopen::holds(process, eth1, now())).unwrap().unwrap()
        });
    }

    /// Does a line of the page.
    fn does(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "systemctl" => self.systemctl(&words[1..]),
            "apt" => {} // package.rs
            _ => {
                let ran = self.shell(line).output().unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                assert!(ran.status.success(), "{line}: {}{}", text(&ran.stdout), text(&ran.stderr));
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.kill();
            let _ = running.wait();
        }
    }
}

#[test]
fn the_commands_of_the_page_do_what_it_says_in_their_order() {
    if let Err(why) = possible() {
        return skip(&why);
    }
    let mut machine = Machine::new();
    let lines = fenced("sh");
    for line in &lines {
        machine.does(line);
    }
    assert!(
        lines.iter().any(|line| line.starts_with("tidegate gate --remove")),
        "it ends without removing anything"
    );
    let left = machine.gate.run(&["tc", "qdisc", "show"]).unwrap();
    assert!(machine.running.is_none() && !left.contains("clsact"), "{left}");
}

#[test]
fn every_command_line_of_the_page_is_one_and_its_file_is_the_one_of_the_package() {
    // Without root, too: what --help is asked beside is read first.
    for line in fenced("sh").iter().filter(|line| line.starts_with("tidegate ")) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let help: &[&str] = if words == ["--version"] { &[] } else { &["--help"] };
        let ran = Command::new(TIDEGATE).args(&words).args(help).output().unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let shipped = fs::read_to_string(repository().join("packaging/gate.toml")).unwrap();
    let bare = |line: &str| line.split('#').next().unwrap().trim_end().to_string();
    let shipped: Vec<String> = shipped.lines().map(bare).filter(|line| !line.is_empty()).collect();
    assert_eq!(shipped, fenced("toml"));
}
