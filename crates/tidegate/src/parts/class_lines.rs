//! Packets in a line for each class, served by weight: lines over one pool and the clock that says
//! whose turn it is.
//!
//! ```
//! use tidegate::config::ByClass;
//! use tidegate::{Link, Packet, parts::class_lines::ClassLines, parts::fair_clock::Order};
//! let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1000 B".parse()?)?;
//! let mut held = ClassLines::new(2, &ByClass::all(1.0), Order::Wf2qPlus, &link);
//! for flow in [7, 7, 8] {
//!     held.push((flow - 7) as usize, Packet::new(flow, 1000));
//! }
//! let flows = [(); 3].map(|()| held.pop().unwrap().flow);
//! assert_eq!(flows, [7, 8, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use crate::config::ByClass;
use crate::packet::Packet;
use crate::parts::fair_clock::{FairClock, Order};
use crate::parts::host_shares::HostShares;
use crate::parts::lines::Lines;
use crate::qdisc::{Backlog, Link};

/// The most packets that find room from the start; a queue that drops early may never fill a larger
/// limit.
const MOST_ROOM: u64 = 4096;

/// Packets in a line for each class, served by weight.
#[derive(Clone, Debug)]
pub struct ClassLines {
    lines: Lines,
    clock: FairClock,
    hosts: HostShares,
    backlog: Backlog,
}

impl ClassLines {
    /// `classes` empty classes, numbered from 0, for `link`.
    pub fn new(classes: u32, weights: &ByClass<f64>, order: Order, link: &Link) -> ClassLines {
        let classes = classes as usize;
        let room = link.most_packets().min(MOST_ROOM) as usize;
        ClassLines {
            lines: Lines::with_room(classes, room),
            clock: FairClock::new((0..classes).map(|class| weights.of(class)), order),
            hosts: HostShares::none(),
            backlog: Backlog::default(),
        }
    }

    /// The same with classes whose `hosts` divide shares: a byte costs as many as its host has
    /// classes with packets.
    pub fn with_hosts(self, hosts: HostShares) -> ClassLines {
        ClassLines { hosts, ..self }
    }

    /// What `classes` classes and as many packets as `link` can hold take besides the packets, in
    /// bytes.
    pub fn bytes(classes: u64, link: &Link) -> u64 {
        Lines::bytes(classes, link.most_packets()) + FairClock::bytes(classes)
    }

    /// What waits, all together.
    #[inline]
    pub fn all(&self) -> Backlog {
        self.backlog
    }

    /// What waits in `class`.
    ///
    /// # Panics
    /// When there is no such class.
    #[inline]
    pub fn of(&self, class: usize) -> Backlog {
        self.lines.backlog(class)
    }

    /// How many classes have packets waiting.
    pub fn busy(&self) -> usize {
        self.clock.backlogged_classes()
    }

    /// `pkt` joins `class`.
    ///
    /// # Panics
    /// When there is no such class.
    #[inline]
    pub fn push(&mut self, class: usize, pkt: Packet) {
        if self.lines.backlog(class).packets == 0 {
            self.hosts.begin(class, &pkt);
            self.hosts.count(class);
            self.clock.backlogged(class, self.hosts.load(class) * u64::from(pkt.len));
        }
        self.backlog.add(pkt.len);
        self.lines.push(class, pkt);
    }

    /// The last packet of `class` leaves, if another one is before it: whose turn it is does not
    /// change.
    pub fn pop_tail(&mut self, class: usize) -> Option<Packet> {
        if self.lines.backlog(class).packets < 2 {
            return None;
        }
        let pkt = self.lines.pop_tail(class)?;
        self.backlog.remove(pkt.len);
        Some(pkt)
    }

    /// The packet whose turn it is.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let class = self.clock.next()?;
        let pkt = self.lines.pop(class)?;
        self.backlog.remove(pkt.len);
        let load = self.hosts.load(class);
        let behind = self.lines.head(class).map(|next| load * u64::from(next.len));
        self.clock.sent(class, pkt.len, behind);
        if behind.is_none() {
            self.hosts.end(class);
        }
        Some(pkt)
    }
}
