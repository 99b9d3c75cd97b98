//! Who sends: kernel TCP and floods of UDP, by iperf3.
//!
//! iperf3 speaks to its receiver over a TCP connection of its own, which goes past the gateway
//! (`rig`). A flood could starve it, and a queue would take it for one more flow. What was received
//! is counted on the wire, and nothing is asked of iperf3 at the end.
use std::ffi::c_int;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use libc::{IPPROTO_TCP, TCP_WINDOW_CLAMP};
use tidegate::{Bytes, Rate};

use super::process::Process;
use super::rig::{FLOW_PORTS, Rig, SERVER, client};
use crate::machine::system::{borrow, set_option};

/// Ethernet, IPv4 and UDP headers, in bytes: what a datagram is longer on the wire.
const UDP_HEADERS: u32 = 14 + 20 + 8;
/// iperf3 numbers its datagrams.
const LEAST_PAYLOAD: u32 = 16;
/// The kernel counts 2304 bytes, twice over, for a full frame. That makes some 900 frames, and its
/// queue takes a thousand.
const STOCK: u64 = 1_000_000;
/// How long a receiver may take to begin.
const PATIENCE: Duration = Duration::from_secs(5);
/// How a group sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendingPattern {
    /// The kernel's TCP with this congestion control, as much as it may.
    Tcp(String),
    /// UDP at this rate, its frames `length` bytes long.
    Udp {
        /// Of each flow, counted in whole frames.
        rate: Rate,
        /// Of a frame, its Ethernet header included.
        length: u32,
    },
}

/// Flows that send alike, each from an address of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoGroup {
    /// What results call it.
    pub name: String,
    /// Number of flows.
    pub count: u16,
    /// How they send.
    pub sending: SendingPattern,
}

/// One flow: its place among all is its client's number and its receiver's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoFlow {
    /// The index of its group.
    pub group: usize,
    /// Its place among all flows.
    pub index: u16,
}

impl DemoFlow {
    /// Its receiver's port, and its own.
    pub fn port(self) -> u16 {
        FLOW_PORTS[0] + self.index
    }

    /// The flow whose receiver has this port, by its place, if there are so many.
    pub fn at_port(port: u16, flows: usize) -> Option<usize> {
        port.checked_sub(FLOW_PORTS[0]).map(usize::from).filter(|index| *index < flows)
    }
}

/// The flows of `groups`, group by group.
pub fn flows(groups: &[DemoGroup]) -> Vec<DemoFlow> {
    let groups =
        groups.iter().enumerate().flat_map(|(i, group)| std::iter::repeat_n(i, group.count.into()));
    groups.zip(0..).map(|(group, index)| DemoFlow { group, index }).collect()
}

/// Senders and their receivers, each by the flow's place.
#[derive(Debug, Default)]
pub struct DemoTraffic {
    receivers: Vec<Process>,
    senders: Vec<Process>,
    /// Flows of TCP that were begun and whose receivers have no connection yet, as far as is
    /// known.
    awaited: Vec<DemoFlow>,
    /// The receivers' connections of the others.
    connections: Vec<TcpStream>,
}

impl DemoTraffic {
    /// Starts the receivers of all flows of `groups`, and waits until they listen.
    ///
    /// # Errors
    /// iperf3 cannot be started, or does not listen.
    pub fn listen(rig: &Rig, groups: &[DemoGroup]) -> io::Result<DemoTraffic> {
        let mut traffic = DemoTraffic::default();
        let flows = flows(groups);
        for flow in &flows {
            traffic.receivers.push(receiver(rig, *flow)?);
        }
        traffic.wait_for(rig, &flows, groups)?;
        Ok(traffic)
    }

    /// Waits until the receivers of `flows` listen.
    fn wait_for(&mut self, rig: &Rig, flows: &[DemoFlow], groups: &[DemoGroup]) -> io::Result<()> {
        let begun = Instant::now();
        while !flows
            .iter()
            .all(|flow| listening(rig).is_ok_and(|ports| ports.contains(&flow.port())))
        {
            if let Some(trouble) = self.broken(groups)? {
                return Err(io::Error::other(trouble));
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("iperf3 does not listen"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Lets `flow` of `groups`, the next that has not begun, send for `time` at most.
    ///
    /// # Errors
    /// iperf3 cannot be started.
    pub fn send(
        &mut self,
        rig: &Rig,
        groups: &[DemoGroup],
        flow: DemoFlow,
        time: Duration,
    ) -> io::Result<()> {
        if let SendingPattern::Udp { rate, length } = groups[flow.group].sending {
            rig.pace(flow.port(), rate, length)?;
        } else {
            self.awaited.push(flow);
        }
        self.senders.push(sender(rig, groups, flow, time)?);
        Ok(())
    }

    /// Ends both ends of `flow` and begins anew, if it is a flood. Its first datagram asks the
    /// receiver whether it is there, and if that is dropped nobody asks again.
    ///
    /// # Errors
    /// iperf3 cannot be started, or does not listen.
    pub fn send_anew(
        &mut self,
        rig: &Rig,
        groups: &[DemoGroup],
        flow: DemoFlow,
        time: Duration,
    ) -> io::Result<()> {
        if matches!(groups[flow.group].sending, SendingPattern::Tcp(_)) {
            return Ok(()); // the kernel asks again
        }
        let place = usize::from(flow.index);
        drop((self.senders.remove(place), self.receivers.remove(place)));
        self.receivers.insert(place, receiver(rig, flow)?);
        self.wait_for(rig, &[flow], groups)?;
        self.senders.insert(place, sender(rig, groups, flow, time)?);
        Ok(())
    }

    /// Limits the windows of the receivers whose connections stand by now to `window`, which must
    /// be well below their buffers.
    ///
    /// Linux acknowledges at once only if what its program has not read makes the window no
    /// smaller; else it waits until the program has read. As long as the window grows it
    /// acknowledges every segment, not every other. Programs wait for a processor, beside a flood
    /// up to a millisecond. Then acknowledgements come in trains, and so does what is sent: the
    /// measurement of the queue measures the machine's scheduler too. A window that has come to its
    /// limit, with room to spare, depends on no program. To be called again and again, for the
    /// kernel forgets the limit when it learns how long segments are.
    ///
    /// # Errors
    /// The kernel does not let us.
    pub fn limit_windows(&mut self, window: Bytes) -> io::Result<()> {
        let window = c_int::try_from(window.get()).map_err(io::Error::other)?;
        for flow in std::mem::take(&mut self.awaited) {
            match connection(self.receivers[usize::from(flow.index)].id(), flow.port()) {
                Some(connection) => self.connections.push(connection),
                None => self.awaited.push(flow),
            }
        }
        for connection in &self.connections {
            set_option(connection.as_fd(), IPPROTO_TCP, TCP_WINDOW_CLAMP, window)?;
        }
        Ok(())
    }

    /// The first process that has ended before its time, and what it said; `groups` are those that
    /// send.
    ///
    /// # Errors
    /// The state of a process could not be read.
    pub fn broken(&mut self, groups: &[DemoGroup]) -> io::Result<Option<String>> {
        let flows = flows(groups);
        for (what, processes) in [("receiver", &mut self.receivers), ("sender", &mut self.senders)]
        {
            for (process, flow) in processes.iter_mut().zip(&flows) {
                if let Some(said) = process.ended()? {
                    let DemoFlow { group, index } = *flow;
                    let name = &groups[group].name;
                    return Ok(Some(format!(
                        "the {what} of flow {index} ({name}) has ended: {said}"
                    )));
                }
            }
        }
        Ok(None)
    }
}

/// The connection of `process` to somebody's `port`, once it has one.
fn connection(process: u32, port: u16) -> Option<TcpStream> {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    // What is closed, or no socket, is not it.
    let mut sockets = open
        .filter_map(|entry| borrow(process, entry.ok()?.file_name().to_str()?.parse().ok()?).ok());
    sockets.find_map(|socket| {
        let stream = TcpStream::from(socket);
        stream.peer_addr().is_ok_and(|peer| peer.port() == port).then_some(stream)
    })
}

/// Starts the receiver of `flow`.
fn receiver(rig: &Rig, flow: DemoFlow) -> io::Result<Process> {
    Process::start(&rig.server, &["iperf3", "-4", "-s", "-1", "-p", &flow.port().to_string()])
}

/// Starts the sender of `flow` of `groups`, for `time` at most.
fn sender(rig: &Rig, groups: &[DemoGroup], flow: DemoFlow, time: Duration) -> io::Result<Process> {
    let (here, there) = (client(flow.index).to_string(), SERVER.to_string());
    let (port, seconds) = (flow.port().to_string(), time.as_secs().max(1).to_string());
    let mut call =
        vec!["iperf3", "-c", &there, "-B", &here, "-p", &port, "--cport", &port, "-t", &seconds];
    let way = match &groups[flow.group].sending {
        SendingPattern::Tcp(congestion) => vec!["-C".into(), congestion.clone()],
        SendingPattern::Udp { length, .. } => {
            let payload = length.saturating_sub(UDP_HEADERS).max(LEAST_PAYLOAD);
            // As fast as the kernel lets it: a process cannot keep time where others want to run
            // too.
            let words = ["-u", "-b", "0", "-l", &payload.to_string(), "-w", &stock()?.to_string()];
            words.map(String::from).to_vec()
        }
    };
    call.extend(way.iter().map(String::as_str));
    Process::start(&rig.clients, &call)
}

/// Bytes that a flood may leave with the kernel, so that it does not run dry while its process
/// waits for a processor.
fn stock() -> io::Result<u64> {
    let most = |what: &str| std::fs::read_to_string(format!("/proc/sys/net/core/{what}_max"));
    let most = |what| Ok::<_, io::Error>(most(what)?.trim().parse().unwrap_or(STOCK));
    Ok(STOCK.min(most("wmem")?).min(most("rmem")?))
}

/// The TCP ports at which somebody listens for IPv4 in the server's namespace.
fn listening(rig: &Rig) -> io::Result<Vec<u16>> {
    const LISTEN: &str = "0A";
    let table = rig.server.inside(|| std::fs::read_to_string("/proc/thread-self/net/tcp"))??;
    let port = |line: &str| {
        let mut words = line.split_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
        (state == LISTEN).then_some(port)
    };
    Ok(table.lines().filter_map(port).collect())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::machine::system::option;

    #[test]
    fn the_window_of_another_process_s_connection_is_limited() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let port = sender.local_addr().unwrap().port();
        let (receiver, _) = listener.accept().unwrap();
        let window =
            |of: &TcpStream| option::<c_int>(of.as_fd(), IPPROTO_TCP, TCP_WINDOW_CLAMP).unwrap();
        let before = window(&sender);

        // The process is our own, which goes the same way.
        let found = connection(std::process::id(), port).expect("it has been accepted");
        assert_eq!(found.local_addr().unwrap(), receiver.local_addr().unwrap());
        let mut traffic = DemoTraffic { connections: vec![found], ..DemoTraffic::default() };
        traffic.limit_windows(Bytes::new(50_000)).unwrap();
        assert_eq!((window(&receiver), window(&sender)), (50_000, before));

        drop((sender, traffic, receiver));
        assert!(
            connection(std::process::id(), port).is_none(),
            "nobody has one to that port any more"
        );
    }
}
