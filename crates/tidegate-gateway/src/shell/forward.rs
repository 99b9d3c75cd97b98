//! Ports of this machine that a shell reaches whose outside is a network of its own.
//!
//! What listens at the base's port outside of the link passes on what it hears to the same port of
//! this machine's loopback. A connection of TCP ends there and another begins, so that the link is
//! between the command and the kernel of this machine, as it would be with root.
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::machine::named::named;
use crate::machine::net::Net;

/// Connections of a port at one time, and senders of datagrams; more are refused or passed over.
const MOST: usize = 256;
/// A sender of datagrams is forgotten when it has heard nothing for so long.
const IDLE: Duration = Duration::from_secs(60);
/// The longest datagram.
const DATAGRAM: usize = 65_536;
/// After a connection that could not be taken, such as for want of descriptors, before the next.
const PAUSE: Duration = Duration::from_millis(100);

/// Leads `port` of `base`, an address in `outer`, to this machine's loopback as long as the process
/// runs. To be called on a thread in this machine's network. Gives the protocols at whose port a
/// server at all addresses of `outer` is: it is at `base` already, and is left as it is.
///
/// # Errors
/// The port cannot be listened at, such as one that somebody has who does not serve all addresses;
/// or there is no thread.
pub fn lead(outer: &Net, base: Ipv4Addr, port: u16) -> io::Result<Vec<PortProtocol>> {
    let mut served = vec![];
    match outer
        .inside(|| unless_served(PortProtocol::Tcp, port, TcpListener::bind((base, port))))??
    {
        Some(listener) => {
            let name = format!("tcp {port}");
            thread::Builder::new().name(name).spawn(move || serve(&listener, port))?;
        }
        None => served.push(PortProtocol::Tcp),
    }
    match outer
        .inside(|| unless_served(PortProtocol::Udp, port, UdpSocket::bind((base, port))))??
    {
        Some(socket) => {
            let (socket, name) = (Arc::new(socket), format!("udp {port}"));
            thread::Builder::new().name(name).spawn(move || relay(&socket, port))?;
        }
        None => served.push(PortProtocol::Udp),
    }
    Ok(served)
}

/// What a port is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl fmt::Display for PortProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PortProtocol::Tcp => "TCP",
            PortProtocol::Udp => "UDP",
        })
    }
}

impl PortProtocol {
    /// The kernel's tables of its sockets in the calling thread's network, and the state in them of
    /// those that wait for a client.
    fn tables(self) -> ([&'static str; 2], &'static str) {
        match self {
            PortProtocol::Tcp => {
                (["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"], "0A")
            }
            PortProtocol::Udp => {
                (["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"], "07")
            }
        }
    }
}

/// What was bound in the calling thread's network; none if a server at all of its addresses has the
/// port.
fn unless_served<T>(
    protocol: PortProtocol,
    port: u16,
    bound: io::Result<T>,
) -> io::Result<Option<T>> {
    match bound {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if is_everywhere(protocol, port) {
                return Ok(None);
            }
            Err(named(format_args!("its {protocol} port is taken"))(error))
        }
        other => other.map(Some),
    }
}

/// Whether somebody in the calling thread's network waits at this port of all addresses.
fn is_everywhere(protocol: PortProtocol, port: u16) -> bool {
    let (tables, waits) = protocol.tables();
    // Where there is no IPv6 there is no such table.
    let told: Vec<String> =
        tables.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    told.iter().flat_map(|table| table.lines()).any(|line| {
        let mut words = line.split_whitespace();
        let (Some(local), Some(state)) = (words.nth(1), words.nth(1)) else { return false };
        let at = local.split_once(':').filter(|(address, _)| address.bytes().all(|b| b == b'0'));
        let number = at.and_then(|(_, number)| u16::from_str_radix(number, 16).ok());
        state == waits && number == Some(port)
    })
}

fn home(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Takes connections and gives each two threads. One that there is no room or no server for ends.
fn serve(listener: &TcpListener, port: u16) {
    let open = Arc::new(());
    loop {
        let Ok((from, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        // Each thread holds it once more.
        if Arc::strong_count(&open) > 2 * MOST {
            continue;
        }
        let Ok(to) = TcpStream::connect(home(port)) else { continue };
        let (Ok(from_again), Ok(to_again)) = (from.try_clone(), to.try_clone()) else { continue };
        for (from, to) in [(from, to), (to_again, from_again)] {
            let open = open.clone();
            // Without a thread the connection ends with what it would have held.
            let _ = thread::Builder::new().spawn(move || {
                pass(from, to);
                drop(open);
            });
        }
    }
}

/// Passes on what comes, and its end.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    for stream in [&from, &to] {
        let _ = stream.set_nodelay(true);
    }
    // However it ends, the other side is to hear that nothing follows.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// By sender, the socket that its datagrams go out from.
type SenderSockets = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

fn locked(senders: &SenderSockets) -> MutexGuard<'_, HashMap<SocketAddr, Arc<UdpSocket>>> {
    senders.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Passes on datagrams, and the answers to whom they are for.
fn relay(socket: &Arc<UdpSocket>, port: u16) {
    let (senders, mut bytes) = (SenderSockets::default(), vec![0; DATAGRAM]);
    loop {
        // What was refused before is told here, and is no reason to end.
        let Ok((len, from)) = socket.recv_from(&mut bytes) else { continue };
        let known = locked(&senders).get(&from).cloned();
        let known = known.or_else(|| meet(socket, port, from, &senders).ok());
        if let Some(out) = known {
            let _ = out.send(&bytes[..len]);
        }
    }
}

/// A socket for a new sender, whose answers a thread passes back.
fn meet(
    socket: &Arc<UdpSocket>,
    port: u16,
    from: SocketAddr,
    senders: &SenderSockets,
) -> io::Result<Arc<UdpSocket>> {
    if locked(senders).len() >= MOST {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    let out = Arc::new(UdpSocket::bind(home(0))?);
    out.connect(home(port))?;
    out.set_read_timeout(Some(IDLE))?;
    let (back, heard, others) = (socket.clone(), out.clone(), senders.clone());
    thread::Builder::new().spawn(move || {
        let mut bytes = vec![0; DATAGRAM];
        while let Ok(len) = heard.recv(&mut bytes) {
            let _ = back.send_to(&bytes[..len], from);
        }
        locked(&others).remove(&from);
    })?;
    locked(senders).insert(from, out.clone());
    Ok(out)
}
