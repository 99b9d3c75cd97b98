//! Ports of this machine that a shell reaches whose outside is a network of its own.
//!
//! What listens at the base's port outside of the link passes on what it hears to the same port of
//! this machine's loopback. A connection of TCP ends there and another begins, so that the link is
//! between the command and the kernel of this machine, as it would be with root.
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

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
/// runs. To be called on a thread in this machine's network. A port that is served there already is
/// left as it is.
///
/// # Errors
/// The port cannot be listened at, or there is no thread.
pub fn lead(outer: &Net, base: Ipv4Addr, port: u16) -> io::Result<()> {
    if let Some(listener) = free(outer.inside(|| TcpListener::bind((base, port)))?)? {
        thread::Builder::new().name(format!("tcp {port}")).spawn(move || serve(&listener, port))?;
    }
    if let Some(socket) = free(outer.inside(|| UdpSocket::bind((base, port)))?)? {
        let (socket, name) = (Arc::new(socket), format!("udp {port}"));
        thread::Builder::new().name(name).spawn(move || relay(&socket, port))?;
    }
    Ok(())
}

/// What was bound, unless the port is somebody's.
fn free<T>(bound: io::Result<T>) -> io::Result<Option<T>> {
    match bound {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        other => other.map(Some),
    }
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
type Senders = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

fn locked(senders: &Senders) -> MutexGuard<'_, HashMap<SocketAddr, Arc<UdpSocket>>> {
    senders.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Passes on datagrams, and the answers to whom they are for.
fn relay(socket: &Arc<UdpSocket>, port: u16) {
    let (senders, mut bytes) = (Senders::default(), vec![0; DATAGRAM]);
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
    senders: &Senders,
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
