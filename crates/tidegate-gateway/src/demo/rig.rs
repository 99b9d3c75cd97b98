//! Three namespaces in a row: clients, the gateway, a server. If it is wanted, a cable leads past
//! the gateway for what senders and receivers say to each other about a flow. No flood starves
//! that, and no queue sees it.
//!
//! ```text
//! clients 10.77.1.1, .2, … "users" --- "west" gateway "east" --- "server" 10.77.0.2
//!                        "control" ------------------------- "control"
//! ```
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use tidegate::{Bytes, Rate};

use crate::machine::clock;
use crate::machine::failopen;
use crate::machine::namespaces::{Namespace, cable, run};

/// Where the server is.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Everybody: the clients and the server.
const EVERYBODY: &str = "10.77.0.0/16";
/// The gateway's interface towards the clients.
pub const WEST: &str = "west";
/// The gateway's interface towards the server.
pub const EAST: &str = "east";
/// The clients' interface.
pub const USERS: &str = "users";
/// The server's interface.
pub const ARRIVALS: &str = "server";
/// The interface, at both ends, past the gateway.
const CONTROL: &str = "control";
/// The table of routes past the gateway.
const PAST: &str = "77";
/// The ports of the flows, first and last: at the server one each, and the same at its client.
pub const FLOW_PORTS: [u16; 2] = [5201, 32767];
/// The ports that the kernel gives to who asks for none, as iperf3 does for what it has to say.
const ANY_PORTS: [u16; 2] = [32768, 60999];
/// The beginning of the namespaces' names; the process's id and what it is follow.
const PREFIX: &str = "gdemo";
/// What there is in a rig.
const PARTS: [&str; 3] = ["clients", "gateway", "server"];
/// Nobody listens there, so a connection is refused: then the way there and back is open.
const CLOSED_PORT: u16 = 9;

/// The three namespaces. What runs inside must have ended before they are dropped.
#[derive(Debug)]
pub struct Rig {
    /// Where the senders are.
    pub clients: Namespace,
    /// Where the gateway is, between [`WEST`] and [`EAST`].
    pub gateway: Namespace,
    /// Where the receivers are.
    pub server: Namespace,
}

impl Rig {
    /// Builds it, for clients of `hosts` addresses. Removes what a rig left that could not clean up
    /// after itself.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn new(hosts: u16, mtu: u32) -> io::Result<Rig> {
        sweep()?;
        let [clients, gateway, server] =
            PARTS.map(|part| Namespace::new(&name_of(std::process::id(), part)));
        let rig = Rig { clients: clients?, gateway: gateway?, server: server? };
        cable((&rig.clients, USERS), (&rig.gateway, WEST), mtu)?;
        cable((&rig.gateway, EAST), (&rig.server, ARRIVALS), mtu)?;
        for host in 0..hosts {
            let address = format!("{}/16", client(host));
            rig.clients.run(&["ip", "address", "add", &address, "dev", USERS])?;
        }
        rig.server.run(&["ip", "address", "add", &format!("{SERVER}/16"), "dev", ARRIVALS])?;
        rig.introduce(hosts)?;
        for ends in [&rig.clients, &rig.server] {
            // ECN is asked for; what one run learned of the path is no help to the next. Whoever
            // asks for another congestion control gets it: iperf3 asks when its
            // connection stands, and one that began with bbr, as where that is the
            // machine's default, would be paced by the kernel for good.
            let settings = ["tcp_ecn=1", "tcp_no_metrics_save=1", "tcp_congestion_control=reno"];
            let settings = settings.map(|setting| format!("net.ipv4.{setting}"));
            ends.run(&["sysctl", "-qw", &settings[0], &settings[1], &settings[2]])?;
        }
        Ok(rig)
    }

    /// Tells both sides each other's hardware addresses: a flood must not starve the question.
    fn introduce(&self, hosts: u16) -> io::Result<()> {
        let theirs = hardware_address(&self.server, ARRIVALS)?;
        let ours = hardware_address(&self.clients, USERS)?;
        let neighbour = |at: &Namespace, who: Ipv4Addr, address: &str, device: &str| {
            let who = who.to_string();
            at.run(&[
                "ip",
                "neighbour",
                "add",
                &who,
                "lladdr",
                address,
                "dev",
                device,
                "nud",
                "permanent",
            ])
        };
        neighbour(&self.clients, SERVER, &theirs, USERS)?;
        for host in 0..hosts {
            neighbour(&self.server, client(host), &ours, ARRIVALS)?;
        }
        Ok(())
    }

    /// Lays the cable past the gateway. It takes what is said over TCP between the port of a flow
    /// at the server and any port of a client that is not a flow's.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn lay_past(&self, mtu: u32) -> io::Result<()> {
        cable((&self.clients, CONTROL), (&self.server, CONTROL), mtu)?;
        let server = SERVER.to_string();
        let [flows, any] = [FLOW_PORTS, ANY_PORTS].map(|[first, last]| format!("{first}-{last}"));
        let to_server = ["to", &server, "ipproto", "tcp", "sport", &any, "dport", &flows];
        let from_server = ["from", &server, "ipproto", "tcp", "sport", &flows, "dport", &any];
        for (end, rule, there) in
            [(&self.clients, to_server, server.as_str()), (&self.server, from_server, EVERYBODY)]
        {
            let [first, last] = ANY_PORTS;
            let range = format!("net.ipv4.ip_local_port_range={first} {last}");
            let lenient =
                ["all", CONTROL].map(|device| format!("net.ipv4.conf.{device}.rp_filter=0"));
            end.run(&["sysctl", "-qw", &range, &lenient[0], &lenient[1]])?;
            end.run(&["ip", "route", "add", there, "dev", CONTROL, "table", PAST])?;
            end.run(&[&["ip", "rule", "add"], &rule[..], &["lookup", PAST]].concat())?;
        }
        Ok(())
    }

    /// Turns off at both ends what the kernel's TCP has beyond NewReno, and delayed
    /// acknowledgements at the server.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn repair_as_newreno(&self) -> io::Result<()> {
        let off = ["sack", "recovery", "early_retrans", "timestamps"]
            .map(|what| format!("net.ipv4.tcp_{what}=0"));
        for ends in [&self.clients, &self.server] {
            ends.run(&["sysctl", "-qw", &off[0], &off[1], &off[2], &off[3]])?;
        }
        let told = self.server.run(&["ip", "route", "show", "dev", ARRIVALS])?;
        let route: Vec<&str> = told.lines().next().unwrap_or_default().split_whitespace().collect();
        self.server.run(
            &[&["ip", "route", "change"], &route[..], &["dev", ARRIVALS, "quickack", "1"]].concat(),
        )?;
        Ok(())
    }

    /// Gives the server's connections buffers of `size` for what their programs have not read.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn buffer(&self, size: Bytes) -> io::Result<()> {
        let size = size.get();
        self.server.run(&["sysctl", "-qw", &format!("net.ipv4.tcp_rmem=4096 {size} {size}")])?;
        Ok(())
    }

    /// Lets what the clients send to `port` by UDP out at `rate` and no faster, in frames of
    /// `length` bytes, each at its own time. The kernel's timers keep it evenly spaced however busy
    /// the processor is.
    ///
    /// # Errors
    /// The command that failed, and what it said.
    pub fn pace(&self, port: u16, rate: Rate, length: u32) -> io::Result<()> {
        let tc = |words: &str| {
            self.clients.run(&["tc"].into_iter().chain(words.split(' ')).collect::<Vec<_>>())
        };
        // What is in no class, all of TCP, goes out at once. Made anew it would lose the classes it
        // has.
        if !tc(&format!("qdisc show dev {USERS}"))?.contains("htb") {
            tc(&format!("qdisc add dev {USERS} root handle 1: htb"))?;
        }
        let (rate, burst, class) = (rate.as_bps(), 2 * length, format!("1:{port:x}"));
        tc(&format!(
            "class add dev {USERS} parent 1: classid {class} htb rate {rate} burst {burst} cburst \
             {burst}"
        ))?;
        let udp_to_port = format!("match ip protocol 17 0xff match ip dport {port} 0xffff");
        tc(&format!(
            "filter add dev {USERS} parent 1: protocol ip u32 {udp_to_port} flowid {class}"
        ))?;
        Ok(())
    }

    /// Whether a packet finds its way through the process `gate` to the server and an answer back,
    /// within `patience`. Before it has taken over, the kernel forwards past it.
    ///
    /// # Errors
    /// The clients' namespace cannot be entered.
    pub fn connected(&self, gate: u32, patience: Duration) -> io::Result<bool> {
        let west = self.gateway.index(WEST)?;
        if !self.gateway.inside(|| failopen::holds(gate, west, clock::now()))?? {
            return Ok(false);
        }
        let there = SocketAddr::from((SERVER, CLOSED_PORT));
        let answer = self.clients.inside(|| TcpStream::connect_timeout(&there, patience))?;
        Ok(answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused))
    }
}

/// The address of a client, by its number.
pub fn client(host: u16) -> Ipv4Addr {
    let [upper, lower] = (host + 1).to_be_bytes();
    Ipv4Addr::new(10, 77, upper + 1, lower)
}

fn hardware_address(at: &Namespace, interface: &str) -> io::Result<String> {
    Ok(at.run(&["cat", &format!("/sys/class/net/{interface}/address")])?.trim().into())
}

/// Removes the rigs of processes that are gone. Those of processes that live are theirs.
fn sweep() -> io::Result<()> {
    for line in run(Command::new("ip").args(["netns", "list"]))?.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        // One that has ended but was not yet waited for has no program any more.
        if owner(name).is_some_and(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_err()) {
            run(Command::new("ip").args(["netns", "delete", name]))?;
        }
    }
    Ok(())
}

/// The name of a namespace of the rig that process `pid` makes.
fn name_of(pid: u32, part: &str) -> String {
    format!("{PREFIX}-{pid}-{part}")
}

/// Whose rig a namespace called `name` is part of, if it is one of ours.
fn owner(name: &str) -> Option<u32> {
    let pid = name.strip_prefix(PREFIX)?.split('-').nth(1)?.parse().ok()?;
    PARTS.iter().any(|part| name == name_of(pid, part)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_give_are_ours() {
        assert_eq!(owner("gdemo-77-clients"), Some(77));
        assert_eq!(owner(&name_of(4_000_000, "server")), Some(4_000_000));
        let others = [
            "gdemo",
            "gdemo-77",
            "gdemo-77-client",
            "gdemo-77-clients-2",
            "gdemo2-77-clients",
            "gdemo-077-clients",
        ];
        for name in others.into_iter().chain([
            "gdemo-+77-server",
            "gdemo--77-server",
            "my-gdemo-77-server",
            "",
        ]) {
            assert_eq!(owner(name), None, "{name}");
        }
    }
}
