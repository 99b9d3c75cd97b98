//! Networks of our own to try things in: namespaces joined by virtual Ethernet, removed when they
//! are dropped.
//!
//! Everything is made and removed with iproute2, so that what happens here can be done by hand;
//! offloads are set as `ethtool -K` would.
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::machine::net::Net;
use crate::machine::offloads;
use crate::machine::system::spawn_apart;

/// A network namespace that is removed, with what is in it, when this is dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes an empty namespace called `name`, with IPv6 off so that nothing speaks unasked.
    ///
    /// # Errors
    /// The command that failed, and what it said. One that exists already is an error: it is
    /// somebody's.
    pub fn new(name: &str) -> io::Result<Namespace> {
        run(Command::new("ip").args(["netns", "add", name]))?;
        let namespace = Namespace { name: name.into() };
        namespace.run(&[
            "sysctl",
            "-qw",
            "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1",
        ])?;
        namespace.run(&["ip", "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `program` with its arguments, to be run inside.
    pub fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(program);
        command
    }

    /// Does `work` inside, on a thread of its own; sockets that it opens stay inside wherever they
    /// are used.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        Net::open(Path::new(&format!("/run/netns/{}", self.name)))?.inside(work)
    }

    /// The number of the interface called `name` inside.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        let told = self.run(&["cat", &format!("/sys/class/net/{name}/ifindex")])?;
        told.trim()
            .parse()
            .map_err(|_| io::Error::other(format!("{name}: no number of an interface: {told}")))
    }

    /// Runs `program` inside to its end; its standard output.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn run(&self, program: &[&str]) -> io::Result<String> {
        run(&mut self.command(program))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the next one to make it will say so.
        let _ = run(Command::new("ip").args(["netns", "delete", &self.name]));
    }
}

/// Joins an interface `a` in one namespace with `b` in another by a virtual cable of this `mtu`,
/// both up. Offloads that leave frames unfinished, or larger than the wire carries, are off.
///
/// # Errors
/// The command that failed, and what it said.
pub fn cable(left: (&Namespace, &str), right: (&Namespace, &str), mtu: u32) -> io::Result<()> {
    let ((left, a), (right, b)) = (left, right);
    let (at, to) = (left.name(), right.name());
    run(Command::new("ip")
        .args(["link", "add", a, "netns", at, "type", "veth", "peer", "name", b, "netns", to]))?;
    for (side, interface) in [(left, a), (right, b)] {
        side.inside(|| offloads::finish_frames(interface))??;
        side.run(&["ip", "link", "set", interface, "mtu", &mtu.to_string(), "up"])?;
    }
    Ok(())
}

/// Waits until nobody else holds this, whatever process it is: for what loads the machine and
/// measures time. Held until the file is dropped.
///
/// # Errors
/// The lock file cannot be made.
pub fn alone() -> io::Result<File> {
    let file = File::create(std::env::temp_dir().join("tidegate-alone.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Runs `command` to its end; its standard output. A Ctrl-C is for us to heed, not for it: what it
/// builds or removes it builds or removes whole.
///
/// # Errors
/// The command and what it said.
pub fn run(command: &mut Command) -> io::Result<String> {
    let told = format!("{command:?}");
    let whole = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Output { status, stdout, stderr } = spawn_apart(whole)
        .and_then(|child| child.wait_with_output())
        .map_err(|e| io::Error::other(format!("{told}: {e}")))?;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(io::Error::other(format!(
            "{told}: {status}: {}",
            String::from_utf8_lossy(&stderr).trim()
        )))
    }
}

/// Whether this process may make namespaces: it is root, what is needed for it is installed, and
/// one could be made.
///
/// # Errors
/// What is missing, as a sentence.
pub fn possible() -> Result<(), String> {
    let root = std::fs::metadata("/proc/self")
        .is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if !root {
        return Err("this needs root, as with sudo".into());
    }
    for program in ["ip", "sysctl"] {
        let found = Command::new(program)
            .arg("-V")
            .output()
            .or_else(|_| Command::new(program).arg("--version").output());
        found.map_err(|_| format!("{program} is not installed"))?;
    }
    // In a container even root may not.
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    let try_one = || {
        Namespace::new(&format!("tg-try-{}", std::process::id()))
            .map(drop)
            .map_err(|e| e.to_string())
    };
    TRIED.get_or_init(try_one).clone()
}

/// Says on standard error that a test is skipped, and why; past the test harness, which keeps to
/// itself what tests say that do not fail.
pub fn skip(why: &str) {
    // With nobody to hear it, it need not be said.
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cable_carries_packets_and_namespaces_go_when_dropped() {
        if let Err(why) = possible() {
            return skip(&why);
        }
        let (a, b) =
            (format!("tg-a-{}", std::process::id()), format!("tg-b-{}", std::process::id()));
        {
            let (left, right) = (Namespace::new(&a).unwrap(), Namespace::new(&b).unwrap());
            cable((&left, "east"), (&right, "west"), 1500).unwrap();
            left.run(&["ip", "address", "add", "10.77.0.1/24", "dev", "east"]).unwrap();
            right.run(&["ip", "address", "add", "10.77.0.2/24", "dev", "west"]).unwrap();
            let refused = Namespace::new(&a).unwrap_err().to_string();
            assert!(refused.contains("File exists"), "{refused}");
            let route = left.run(&["ip", "route", "get", "10.77.0.2"]).unwrap();
            assert!(route.contains("dev east"), "{route}");
            let answer =
                right.inside(|| std::net::TcpListener::bind("10.77.0.2:0")).unwrap().unwrap();
            let asked = answer.local_addr().unwrap();
            left.inside(|| std::net::TcpStream::connect(asked)).unwrap().unwrap();
        }
        let left = run(Command::new("ip").args(["netns", "list"])).unwrap();
        assert!(!left.contains(&a) && !left.contains(&b), "{left}");
    }
}
