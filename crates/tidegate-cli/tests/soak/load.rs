//! Who sends: the kernel's TCP, long and short, cubic and reno, both ways, each at its own rate;
//! and a flood of datagrams.
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use tidegate::Rng;
use tidegate_gateway::demo::Rig;
use tidegate_gateway::machine::namespaces::Namespace;

/// Where the server is, and the clients.
const ENDS: [&str; 2] = ["10.77.0.2", "10.77.1.1"];
/// Long connections from the clients to the server, and what of the line they are to take together.
const LONG: (usize, f64) = (6, 0.5);
/// The same, back: they share the way with the others' acknowledgements.
const BACK: (usize, f64) = (2, 0.2);
/// Those that send one short transfer after the other.
const BRIEF: (usize, f64) = (4, 0.3);
/// A short transfer's length, at least and at most, in bytes.
const TRANSFER: (u64, u64) = (10_000, 200_000);
/// How many times the line a flood sends.
const FLOOD: f64 = 1.5;
/// How long a sender waits for TCP before it tries anew, as when an interface is down.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a sender sends.
const TICK: Duration = Duration::from_millis(10);

/// What all senders and receivers look at.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    flood: AtomicBool,
    delivered: AtomicU64,
}

/// Everybody who sends and receives.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts everybody, to take four fifths of a line of `rate` bit/s.
    pub fn start(rig: &Rig, rate: f64) -> Load {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        let listen =
            |at: &Namespace, host| at.inside(|| TcpListener::bind((host, 0)).unwrap()).unwrap();
        let (server, clients) = (listen(&rig.server, ENDS[0]), listen(&rig.clients, ENDS[1]));
        let (there, back) = (server.local_addr().unwrap(), clients.local_addr().unwrap());
        for listener in [server, clients] {
            let shared = shared.clone();
            threads.push(spawn(move || receive(&listener, &shared)));
        }
        for (from, to, (count, part), brief) in [
            (&rig.clients, there, LONG, false),
            (&rig.server, back, BACK, false),
            (&rig.clients, there, BRIEF, true),
        ] {
            for number in 0..count {
                let speed = part * rate / 8.0 / count as f64;
                let control = ["cubic", "reno"][number % 2];
                let sender = Sender {
                    shared: shared.clone(),
                    to,
                    speed,
                    control,
                    dice: Rng::from_seed(number as u64),
                };
                threads.push(within(from, move || {
                    if brief { sender.briefly() } else { sender.steadily() }
                }));
            }
        }
        let flood = shared.clone();
        threads.push(within(&rig.clients, move || datagrams(&flood, FLOOD * rate / 8.0)));
        Load { shared, threads }
    }

    /// Lets the flood come, or go.
    pub fn flood(&self, on: bool) {
        self.shared.flood.store(on, Relaxed);
    }

    /// Whether it is there.
    pub fn floods(&self) -> bool {
        self.shared.flood.load(Relaxed)
    }

    /// Payload that TCP has delivered so far, in bytes.
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Relaxed)
    }

    /// Nobody sends any more; what TCP has delivered.
    pub fn end(self) -> u64 {
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.shared.delivered.load(Relaxed)
    }
}

/// Does `work` on a thread of its own in that namespace. The thread is made here and goes there: it
/// outlives this call.
fn within(namespace: &Namespace, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    namespace.inside(|| spawn(work)).unwrap()
}

/// Takes connections, and everything that comes on each.
fn receive(listener: &TcpListener, shared: &Arc<Shared>) {
    listener.set_nonblocking(true).unwrap();
    let mut readers = Vec::new();
    while !shared.stop.load(Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let shared = shared.clone();
                readers.push(spawn(move || read(stream, &shared)));
            }
            Err(_) => sleep(TICK),
        }
        readers.retain(|reader| !reader.is_finished());
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

fn read(mut stream: TcpStream, shared: &Shared) {
    let mut piece = vec![0; 1 << 16];
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut idle = Instant::now();
    // Of one that nothing is heard of any more nobody waits for the end.
    while idle.elapsed() < 4 * PATIENCE && !shared.stop.load(Relaxed) {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(len) => {
                shared.delivered.fetch_add(len as u64, Relaxed);
                idle = Instant::now();
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// One who sends by TCP.
struct Sender {
    shared: Arc<Shared>,
    to: SocketAddr,
    /// Bytes of payload a second.
    speed: f64,
    control: &'static str,
    dice: Rng,
}

impl Sender {
    fn connected(&self) -> Option<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.to, PATIENCE).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        // A kernel without it uses what it has.
        let _ = setsockopt(&stream, TcpCongestion, &self.control.into());
        Some(stream)
    }

    /// One connection for as long as it holds, then another.
    fn steadily(self) {
        while !self.shared.stop.load(Relaxed) {
            let Some(mut stream) = self.connected() else { continue };
            let _ = self.send(&mut stream, u64::MAX, self.speed);
        }
    }

    /// One short transfer after the other: as fast as TCP can, and then nothing for as long as it
    /// takes on the average.
    fn briefly(mut self) {
        while !self.shared.stop.load(Relaxed) {
            let len = TRANSFER.0 + self.dice.below(TRANSFER.1 - TRANSFER.0);
            let end = Instant::now() + Duration::from_secs_f64(len as f64 / self.speed);
            let Some(mut stream) = self.connected() else { continue };
            if self.send(&mut stream, len, 100.0 * self.speed).is_ok() {
                let _ = stream.shutdown(Shutdown::Write);
            }
            while Instant::now() < end && !self.shared.stop.load(Relaxed) {
                sleep(TICK);
            }
        }
    }

    /// Sends `len` bytes, `speed` of them a second; what it could not send in time it does not make
    /// up for.
    fn send(&self, stream: &mut TcpStream, len: u64, speed: f64) -> std::io::Result<()> {
        let piece = vec![0; ((speed * TICK.as_secs_f64()) as usize).clamp(1, 1 << 20)];
        let mut left = len;
        while left > 0 && !self.shared.stop.load(Relaxed) {
            let next = Instant::now() + TICK;
            let now = left.min(piece.len() as u64) as usize;
            stream.write_all(&piece[..now])?;
            left -= now as u64;
            sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }
}

/// Sends datagrams of two lengths by turns while there is to be a flood. It sends so many bytes a
/// second, or as many as this machine can: what is late is not made up for.
fn datagrams(shared: &Shared, speed: f64) {
    let socket = UdpSocket::bind((ENDS[1], 0)).unwrap();
    let payload = [0; 1400];
    let (mut before, mut number) = (Instant::now(), 0);
    while !shared.stop.load(Relaxed) {
        sleep(Duration::from_millis(1));
        let now = Instant::now();
        let mut due = speed * now.duration_since(before).min(TICK).as_secs_f64();
        before = now;
        while due > 0.0 && shared.flood.load(Relaxed) {
            let len = [60, 1400][number % 2];
            number += 1;
            due -= (len + 42) as f64;
            // An interface that is down, or a full buffer, is no reason to stop.
            let _ = socket.send_to(&payload[..len], (ENDS[0], 9));
        }
    }
}
