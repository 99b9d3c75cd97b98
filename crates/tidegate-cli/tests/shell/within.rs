//! Networks outside of shells, shells in them, and datagrams between both.
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate_gateway::machine::namespaces::{Namespace, possible, skip};
use tidegate_gateway::machine::net::Net;

pub const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");
/// Where somebody listens outside and nobody reads.
pub const DISCARD: u16 = 7009;

/// A network that stands for the machine's.
pub struct Outside {
    namespace: Namespace,
    pub net: Net,
    _discards: UdpSocket,
}

impl Outside {
    /// None, and a line that says why, where it cannot be made.
    pub fn new() -> Option<Outside> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        let name = format!("tg-sh-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let namespace = Namespace::new(&name).unwrap();
        let net = Net::open(Path::new(&format!("/run/netns/{name}"))).unwrap();
        let discards = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, DISCARD)).unwrap();
        let _discards = net.inside(discards).unwrap();
        Some(Outside { namespace, net, _discards })
    }

    /// A program in it.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.namespace.command(words);
        command.env_remove("TIDEGATE_BASE");
        command
    }

    /// A shell in it.
    pub fn shell(&self, arguments: &[&str]) -> Command {
        self.command(&[&[TIDEGATE, "shell"], arguments].concat())
    }

    /// How many packets all its interfaces have received.
    #[allow(dead_code, reason = "the bench counts them")]
    pub fn received(&self) -> u64 {
        let script = "cat /sys/class/net/*/statistics/rx_packets";
        let told = self.namespace.run(&["sh", "-c", script]).unwrap();
        told.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum()
    }

    /// The names of its interfaces.
    pub fn interfaces(&self) -> Vec<String> {
        let told = self.namespace.run(&["ip", "-brief", "link"]).unwrap();
        let name = |line: &str| line.split([' ', '@']).next().unwrap_or_default().to_string();
        told.lines().map(name).collect()
    }
}

/// A shell that runs, with a command that waits.
pub struct Shell {
    child: Child,
    out: BufReader<ChildStdout>,
    /// The command's process.
    pub command: u32,
    /// The network that it is in.
    pub net: Net,
    /// What it finds in `TIDEGATE_BASE`; nowhere if there is none.
    pub base: Ipv4Addr,
}

impl Shell {
    /// A command that says who and where it is, and waits.
    pub const WAITS: [&str; 3] = ["sh", "-c", "echo $$ $TIDEGATE_BASE; exec sleep 60"];

    /// Starts it, and waits until its command has said who and where it is.
    pub fn start(mut command: impl AsMutCommand) -> Shell {
        Shell::try_start(command.command()).unwrap()
    }

    /// The same, or what it said instead.
    pub fn try_start(command: &mut Command) -> Result<Shell, String> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [command, base] = words[..] else {
            return Err(format!("{line:?}: {:?}", child.wait()));
        };
        let command = command.parse().unwrap();
        let (net, base) = (net_of(command), base.parse().unwrap_or(Ipv4Addr::UNSPECIFIED));
        Ok(Shell { child, out, command, net, base })
    }

    /// The process of the command `tidegate`.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that the command says.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().into()
    }

    /// Its status, once it has ended; none if a signal has ended it.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends it; what it has said on standard error.
    pub fn end(&mut self) -> String {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut said).unwrap();
        }
        self.wait();
        said
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command, or one that was just changed.
pub trait AsMutCommand {
    fn command(&mut self) -> &mut Command;
}

impl AsMutCommand for Command {
    fn command(&mut self) -> &mut Command {
        self
    }
}

impl AsMutCommand for &mut Command {
    fn command(&mut self) -> &mut Command {
        self
    }
}

/// The network that a process is in.
pub fn net_of(process: u32) -> Net {
    Net::open(Path::new(&format!("/proc/{process}/ns/net"))).unwrap()
}

/// A socket in `net`, at any port, that waits so long for a datagram.
pub fn socket(net: &Net, patience: Duration) -> UdpSocket {
    // A port of one's own choice is not free at once after a test that used it: a process that
    // another test starts holds all our sockets until it has become its program.
    let bind = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let socket = net.inside(bind).unwrap().unwrap();
    socket.set_read_timeout(Some(patience)).unwrap();
    socket
}

/// How long a datagram takes from `inner` to `base`, which is in `outer`, and back.
pub fn round_trip(outer: &Net, inner: &Net, base: Ipv4Addr) -> Duration {
    let [server, client] = [outer, inner].map(|net| socket(net, Duration::from_secs(10)));
    let begun = Instant::now();
    client.send_to(b"there", (base, server.local_addr().unwrap().port())).unwrap();
    let mut bytes = [0; 100];
    let (len, who) = server.recv_from(&mut bytes).unwrap();
    server.send_to(&bytes[..len], who).unwrap();
    assert_eq!(client.recv(&mut bytes).unwrap(), 5);
    begun.elapsed()
}
