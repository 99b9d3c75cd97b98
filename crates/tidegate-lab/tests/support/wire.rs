//! Captures whose truth is known: packets made by hand, written as pcap.
use std::path::Path;

const MS: u64 = 1_000_000;
/// An Ethernet frame of a full segment.
pub const FULL: u32 = 1514;
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Of a round trip, what is on the server's side: the same for all.
pub const THERE_MS: u64 = 15;

/// What was captured.
#[derive(Default)]
pub struct Wire(Vec<(u64, Vec<u8>, u32)>);

/// Which packets of a lost segment are in the capture.
#[derive(Clone, Copy, PartialEq)]
pub enum Taken {
    /// Both: it was taken before the queue.
    Before,
    /// The second one only.
    Behind,
}

/// A TCP connection from `host` to the server.
#[derive(Clone, Copy)]
pub struct Tcp {
    pub host: u8,
    pub port: u16,
    /// When it begins and stops sending, in ms.
    pub from_ms: u64,
    pub to_ms: u64,
    /// Its round trip, in ms, [`THERE_MS`] and what is on the sender's side.
    pub rtt_ms: u64,
    /// Packets in the first round trip, and the most.
    pub window: (u64, u64),
    pub ecn: bool,
    pub taken: Taken,
    /// Whether what the receiver sends is in the capture.
    pub both: bool,
    /// How many packets it has to send, if not endless.
    pub data: Option<u64>,
    /// Every which packet is lost while the window stays as it is; 0 for one that reacts.
    pub lost_each: u64,
    /// Whether its handshake and its time stamps are in the capture. Without, only the receiver's
    /// answers tell of its round trip.
    pub timed: bool,
}

impl Tcp {
    pub fn new(host: u8) -> Tcp {
        Tcp {
            host,
            port: 40_000,
            from_ms: 0,
            to_ms: 10_000,
            rtt_ms: 40,
            window: (10, 20),
            ecn: false,
            taken: Taken::Before,
            both: true,
            data: None,
            lost_each: 0,
            timed: true,
        }
    }
}

impl Wire {
    fn frame(
        &mut self,
        at: u64,
        (from, to): (u8, u8),
        protocol: u8,
        ecn: u8,
        rest: &[u8],
        wire: u32,
    ) {
        let side = |host: u8| u8::from(host == 200);
        let mac = |host| [2, 0, 0, 0, 0, side(host)];
        let mut bytes = [mac(to), mac(from)].concat();
        bytes.extend([8, 0, 0x45, ecn]);
        bytes.extend(((wire - 14) as u16).to_be_bytes());
        bytes.extend([
            0,
            0,
            0,
            0,
            64,
            protocol,
            0,
            0,
            10,
            0,
            side(from),
            from,
            10,
            0,
            side(to),
            to,
        ]);
        bytes.extend(rest);
        bytes.truncate(96);
        self.0.push((at, bytes, wire));
    }

    fn segment(&mut self, at: u64, tcp: &Tcp, back: bool, numbers: [u32; 2], flags: u8, data: u32) {
        let ports = if back { [80, tcp.port] } else { [tcp.port, 80] };
        let mut rest = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
        rest.extend([numbers[0].to_be_bytes(), numbers[1].to_be_bytes()].concat());
        // Twelve bytes that say nothing in place of the time stamps.
        let option = if tcp.timed { [1, 1, 8, 10] } else { [1; 4] };
        rest.extend([0x80, flags, 0xff, 0xff, 0, 0, 0, 0]);
        rest.extend(option);
        // Each end's clock counts tens of microseconds; the echo is of what last came in.
        let (near, far) = ((tcp.rtt_ms - THERE_MS) * 50, THERE_MS * 50);
        let (own, other) = if back { (far, near) } else { (near, far) };
        let clock = (at / 10_000) as u32 + 100_000;
        let (value, echo) = (clock - own as u32, clock - (2 * own + other) as u32);
        let stamps = [value.to_be_bytes(), echo.to_be_bytes()].concat();
        rest.extend(if tcp.timed { stamps } else { vec![1; 8] });
        let ends = if back { (200, tcp.host) } else { (tcp.host, 200) };
        let ecn = if tcp.ecn && data > 0 { 2 } else { 0 };
        self.frame(at, ends, 6, ecn, &rest, if data > 0 { data + 66 } else { 66 });
    }

    /// A connection that adds a packet to its window every round trip up to the most, loses one and
    /// halves it.
    pub fn tcp(&mut self, tcp: Tcp) -> &mut Wire {
        let there = THERE_MS * MS;
        let begin = tcp.from_ms * MS;
        let mut now = begin + tcp.rtt_ms * MS;
        if tcp.timed {
            self.segment(begin, &tcp, false, [0, 0], SYN, 0);
            if tcp.both {
                self.segment(begin + there, &tcp, true, [0, 1], SYN | ACK, 0);
            }
            self.segment(now, &tcp, false, [1, 1], ACK, 0);
        }
        let (mut window, mut sent) = (tcp.window.0, 0u64);
        while now < tcp.to_ms * MS && tcp.data.is_none_or(|all| sent < all) {
            let packets = tcp.data.map_or(window, |all| window.min(all - sent));
            let full = window >= tcp.window.1;
            self.round(now, &tcp, sent, packets, full);
            sent += packets;
            if tcp.lost_each == 0 {
                window = if full { window / 2 } else { window + 1 };
            }
            now += tcp.rtt_ms * MS;
        }
        if tcp.data.is_some() {
            self.segment(now, &tcp, false, [1 + sent as u32 * 1448, 1], FIN | ACK, 0);
        }
        self
    }

    /// The packets of a round trip, evenly spaced, and their acknowledgements.
    fn round(&mut self, now: u64, tcp: &Tcp, sent: u64, packets: u64, loses: bool) {
        let gap = tcp.rtt_ms * MS / packets.max(1);
        for packet in 0..packets {
            let number = sent + packet;
            let at = now + packet * gap;
            let seq = 1 + number as u32 * 1448;
            let steady = tcp.lost_each > 0 && number % tcp.lost_each == 1;
            let lost = steady || loses && packet == packets / 2 && tcp.lost_each == 0;
            if !lost || tcp.taken == Taken::Before {
                self.segment(at, tcp, false, [seq, 1], ACK, 1448);
            }
            let again = at + tcp.rtt_ms * MS * 3 / 2;
            if lost {
                self.segment(again, tcp, false, [seq, 1], ACK, 1448);
            }
            if tcp.both {
                let there = THERE_MS * MS;
                let passed = if lost { again } else { at };
                self.segment(passed + there, tcp, true, [1, seq + 1448], ACK, 0);
            }
        }
    }

    /// Datagrams of `length` bytes on the wire at `bps` from `host`, between these times in ms.
    pub fn udp(&mut self, host: u8, bps: u64, length: u32, (from, to): (u64, u64)) -> &mut Wire {
        self.datagrams(host, bps, length, (from, to), &[])
    }

    /// The same, which begin with `payload`.
    pub fn datagrams(
        &mut self,
        host: u8,
        bps: u64,
        length: u32,
        (from, to): (u64, u64),
        payload: &[u8],
    ) -> &mut Wire {
        let gap = u64::from(length) * 8 * 1_000_000_000 / bps;
        let mut rest = [5000u16.to_be_bytes(), 443u16.to_be_bytes(), [0; 2], [0; 2]].concat();
        rest.extend(payload);
        let mut at = from * MS + u64::from(host);
        while at < to * MS {
            self.frame(at, (host, 200), 17, 0, &rest, length);
            at += gap;
        }
        self
    }

    /// A datagram of a flow of its own, and nothing more of it.
    pub fn lone(&mut self, number: u32, at_ns: u64) {
        let [_, high, low, last] = number.to_be_bytes();
        let port = u16::from_be_bytes([low, last]);
        let rest = [port.to_be_bytes(), u16::from(high).to_be_bytes(), [0; 2], [0; 2]].concat();
        self.frame(at_ns, (7, 200), 17, 0, &rest, 100);
    }

    /// Writes it to `path`, packets in the order of their times.
    pub fn write(&mut self, path: &Path) {
        self.0.sort_by_key(|packet| packet.0);
        let word = |n: u32| n.to_le_bytes();
        let mut file = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 96, 1].map(word).concat();
        for (at, bytes, wire) in &self.0 {
            let (whole, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
            file.extend([whole as u32, nanos as u32, bytes.len() as u32, *wire].map(word).concat());
            file.extend(bytes);
        }
        std::fs::write(path, file).unwrap();
    }
}
