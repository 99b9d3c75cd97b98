//! A flood of small datagrams, each from a source address of its own, and users who are not to
//! blame.
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
use tidegate_packet::ipv4_checksum;

use super::rig::{Rig, SERVER, USERS, client};
use crate::device::port::{Port, Unsent};
use crate::device::ring::PacketRing;

/// Whom the flood is meant for: somebody behind the same line as the users' server.
const VICTIM: [u8; 4] = [10, 77, 0, 9];
/// A hardware address that nobody has, so that the server drops the flood as soon as it sees it.
const NOBODY: [u8; 6] = [2, 0, 0, 0, 9, 9];
/// The users' own network, from which no forged source is taken.
const OURS: [u8; 2] = [10, 77];
/// The shortest frame of Ethernet, without the frame check sequence, in bytes.
const SHORTEST: usize = 60;
/// Frames between two looks whether to stop.
const BATCH: u64 = 64;

/// A flood under way; it ends when this is dropped.
pub struct Spoofed {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Spoofed {
    /// Sends `flows` datagrams from as many sources, as fast as they go.
    ///
    /// # Errors
    /// The clients' interface cannot be opened.
    pub fn start(rig: &Rig, flows: u64) -> io::Result<Spoofed> {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let ring = rig.clients.inside(|| PacketRing::open(USERS))??;
        let (told, count) = (stop.clone(), sent.clone());
        let thread = std::thread::Builder::new()
            .name("flood".into())
            .spawn(move || flood(ring, flows, &told, &count))?;
        Ok(Spoofed { stop, sent, thread: Some(thread) })
    }

    /// Datagrams sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Whether all are sent.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Spoofed {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // What went wrong shows in how many were sent.
            let _ = thread.join();
        }
    }
}

fn flood(mut ring: PacketRing, flows: u64, stop: &AtomicBool, sent: &AtomicU64) -> io::Result<()> {
    for batch in 0..flows.div_ceil(BATCH) {
        if stop.load(Relaxed) {
            break;
        }
        for number in batch * BATCH..((batch + 1) * BATCH).min(flows) {
            let frame = datagram(number as u32);
            while ring.send(&frame) == Err(Unsent::Full) {
                ring.flush()?;
            }
        }
        ring.flush()?;
        sent.store(((batch + 1) * BATCH).min(flows), Relaxed);
    }
    Ok(())
}

/// The `number`th datagram: no two of them have the same source.
fn datagram(number: u32) -> [u8; SHORTEST] {
    let mut source = scrambled(number).to_be_bytes();
    if source.starts_with(&OURS) {
        source[0] = 0;
    }
    let mut frame = [0; SHORTEST];
    frame[..6].copy_from_slice(&NOBODY);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 8, 8]);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let len = (SHORTEST - 14) as u16;
    frame[14..18].copy_from_slice(&[0x45, 0, len.to_be_bytes()[0], len.to_be_bytes()[1]]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&VICTIM);
    let sum = ipv4_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&(number as u16).to_be_bytes());
    frame[36..38].copy_from_slice(&53_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(len - 20).to_be_bytes());
    frame
}

/// Another number for each: odd factors and shifted sums can be undone, so that no two come to the
/// same.
fn scrambled(number: u32) -> u32 {
    let mixed = number.wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b);
    mixed ^ mixed >> 13
}

/// Users who send by TCP, each from an address of its own, until this is dropped.
pub struct Users {
    stop: Arc<AtomicBool>,
    received: Vec<Arc<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Users {
    /// Connects `count` users with the server, and lets them send as much as they may.
    ///
    /// # Errors
    /// One of them does not get through.
    pub fn start(rig: &Rig, count: u16) -> io::Result<Users> {
        let listener = rig.server.inside(|| TcpListener::bind((SERVER, 0)))??;
        let port = listener.local_addr()?.port();
        let stop = Arc::new(AtomicBool::new(false));
        let mut users = Users { stop: stop.clone(), received: vec![], threads: vec![] };
        for user in 0..count {
            let sender = rig
                .clients
                .inside(|| connected(client(user), SocketAddrV4::new(SERVER, port)))??;
            let (receiver, _) = listener.accept()?;
            let told = stop.clone();
            users.threads.push(std::thread::spawn(move || send(sender, &told)));
            let (told, received) = (stop.clone(), Arc::new(AtomicU64::new(0)));
            users.received.push(received.clone());
            users.threads.push(std::thread::spawn(move || receive(receiver, &told, &received)));
        }
        Ok(users)
    }

    /// Bytes that the server has read so far of each user, headers not counted.
    pub fn received(&self) -> Vec<u64> {
        self.received.iter().map(|bytes| bytes.load(Relaxed)).collect()
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// How long a connection may be silent before it is looked whether to stop.
const SILENCE: Duration = Duration::from_millis(100);

fn connected(from: Ipv4Addr, to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0)))?;
    connect(socket.as_raw_fd(), &SockaddrIn::from(to))?;
    let stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(stream)
}

fn send(mut stream: TcpStream, stop: &AtomicBool) {
    let data = [0; 1 << 16];
    while !stop.load(Relaxed) && goes_on(stream.write(&data)) {}
}

fn receive(mut stream: TcpStream, stop: &AtomicBool, received: &AtomicU64) {
    let mut data = [0; 1 << 16];
    if stream.set_read_timeout(Some(SILENCE)).is_err() {
        return;
    }
    while !stop.load(Relaxed) {
        let read = stream.read(&mut data);
        received.fetch_add(*read.as_ref().unwrap_or(&0) as u64, Relaxed);
        if !goes_on(read) {
            return;
        }
    }
}

/// Whether a connection that gave this lives.
fn goes_on(moved: io::Result<usize>) -> bool {
    match moved {
        Ok(bytes) => bytes > 0,
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_datagrams_have_a_million_sources() {
        let mut sources: Vec<[u8; 4]> =
            (0..1_000_000).map(|n| datagram(n)[26..30].try_into().unwrap()).collect();
        sources.sort_unstable();
        sources.dedup();
        // Those few that were taken out of our own network may fall on others.
        assert!(sources.len() > 999_900, "{}", sources.len());
        assert!(!sources.iter().any(|source| source.starts_with(&OURS)));
    }
}
