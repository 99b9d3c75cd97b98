//! What a queue is, what it tells, and the link it is built for.
use crate::ack::Ack;
use crate::config::ConfigError;
use crate::packet::Packet;
use crate::units::{Bytes, Rate, Size, Time};

/// A queue discipline: a state machine between those who offer packets and the link that polls for
/// them.
///
/// Time never runs back: `now` is at least as late as in every earlier call. After warm-up no call
/// allocates.
pub trait Qdisc {
    /// Offers `pkt`. Every packet that leaves other than by [`dequeue`](Qdisc::dequeue) (`pkt`
    /// itself, or a victim evicted for it) is reported to `out` exactly once.
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S);

    /// Offers `pkt`, which acknowledges `ack`. Only a queue that asks for acknowledgements
    /// ([`Asks::acks`](crate::Asks)) treats it otherwise than any packet.
    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        let _ = ack;
        self.enqueue(now, pkt, out);
    }

    /// Offers `pkt`, with what it acknowledges if the driver knows that.
    #[inline]
    fn offer<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: Option<&Ack>, out: &mut S) {
        match ack {
            None => self.enqueue(now, pkt, out),
            Some(ack) => self.enqueue_ack(now, pkt, ack, out),
        }
    }

    /// The packet to send at `now`, or `None` when there is none to send yet; head drops go to
    /// `out`.
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet>;

    /// Does the periodic work that has fallen due by `now` on a link that neither offers nor asks.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// When to ask again, for queues that hold packets back although the link is free.
    fn wake_at(&self) -> Option<Time> {
        None
    }

    /// What is waiting, in O(1).
    fn backlog(&self) -> Backlog;

    /// Takes over what waits in `old`, a queue of the same kind with other parameters, in its order
    /// and without judging it again; whether it did. The state begins anew, and what waits may
    /// be above the hard limit until it has left. A queue whose lines hang on its parameters
    /// does not: `old` is then as it was, and is to be asked until it is empty. This queue has
    /// been offered nothing yet.
    fn inherit(&mut self, old: &mut Self) -> bool {
        let _ = old;
        false
    }

    /// Shows the inner state, gauge by gauge. Pulled at sample times only.
    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let _ = see;
    }
}

/// Who receives drops and marks.
pub trait Sink {
    /// `pkt` was dropped at `now`.
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason);
    /// `pkt` was marked at `now` (its codepoint is already [`Ecn::Ce`](crate::Ecn::Ce)).
    fn marked(&mut self, now: Time, pkt: &Packet, why: MarkReason);
}

/// A sink that listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    #[inline]
    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {}
    #[inline]
    fn marked(&mut self, _: Time, _: &Packet, _: MarkReason) {}
}

macro_rules! reasons {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            /// Every reason, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The reason as a word, for tables and JSON.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }
    };
}

reasons! {
    /// Why a packet was dropped.
    DropReason {
        /// The hard limit: there was no room.
        Overlimit = "overlimit",
        /// A rule rolled the dice (RED's pa, BLUE's p_m …) and the packet could not be, or was not
        /// to be, marked.
        Early = "early",
        /// A rule was certain (RED above its upper threshold).
        Forced = "forced",
        /// Every bin of the flow was full (SFB).
        BinFull = "bin_full",
        /// The flow is judged unresponsive and had no token left (SFB's penalty box).
        Penalty = "penalty",
        /// The flow holds more than its share (BLACK, Purge).
        Unfair = "unfair",
        /// Evicted to make room for another packet.
        Evicted = "evicted",
    }
}

reasons! {
    /// Why a packet was marked.
    MarkReason {
        /// A rule rolled the dice.
        Early = "early",
        /// A rule was certain.
        Forced = "forced",
    }
}

impl MarkReason {
    /// The reason for the drop that takes the mark's place when the packet cannot be marked.
    pub const fn as_drop(self) -> DropReason {
        match self {
            MarkReason::Early => DropReason::Early,
            MarkReason::Forced => DropReason::Forced,
        }
    }
}

/// What waits in a queue. The packet in transmission has left the queue and does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u32,
    /// Their lengths added up, in bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Counts `len` bytes in.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }

    /// Counts `len` bytes out.
    #[inline]
    pub fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= len as u64;
    }
}

/// One reading of a queue's inner state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Name, in the paper's terms: `avg`, `p_m`, `bins_full` …
    pub name: &'static str,
    /// Unit, empty for pure numbers.
    pub unit: &'static str,
    /// Reading.
    pub value: f64,
}

/// The link a queue is built for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// How much may wait in the queue: the hard limit.
    pub limit: Size,
    /// The usual length of a packet on it, which turns bytes into packets and back.
    pub mean_packet: Bytes,
}

impl Link {
    /// Checks the three against each other: nothing is zero, and one mean packet fits the limit.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub fn new(rate: Rate, limit: Size, mean_packet: Bytes) -> Result<Link, ConfigError> {
        if rate.as_bps() == 0 {
            return Err(ConfigError::new("rate", rate, "must be above 0 bit/s"));
        }
        if rate.as_bps() > 1_000_000_000_000_000 {
            return Err(ConfigError::new("rate", rate, "must be at most 1 Pbit/s"));
        }
        if mean_packet.get() == 0 || mean_packet.get() > 65_535 {
            return Err(ConfigError::new("mean_packet", mean_packet, "must lie in 1 B to 65535 B"));
        }
        if limit.in_packets(mean_packet) < 1.0 {
            return Err(ConfigError::new(
                "limit",
                limit,
                "must hold at least one packet of the mean length",
            ));
        }
        if limit.in_packets(mean_packet) > 16_777_216.0 {
            return Err(ConfigError::new(
                "limit",
                limit,
                "must be at most 16777216 packets of the mean length",
            ));
        }
        Ok(Link { rate, limit, mean_packet })
    }

    /// The limit in packets (a byte limit in mean packets).
    pub fn limit_packets(&self) -> f64 {
        self.limit.in_packets(self.mean_packet)
    }

    /// The most packets that can wait.
    pub fn most_packets(&self) -> u64 {
        match self.limit {
            Size::Packets(most) => most,
            // A packet has at least its own header of 20 bytes.
            Size::Bytes(most) => most / 20,
        }
    }

    /// How many mean packets the link sends in a second.
    pub fn packets_per_second(&self) -> f64 {
        self.rate.as_bps() as f64 / self.mean_packet.bits() as f64
    }

    /// Whether `backlog` is more than may wait.
    #[inline]
    pub fn is_exceeded_by(&self, backlog: Backlog) -> bool {
        match self.limit {
            Size::Packets(most) => backlog.packets as u64 > most,
            Size::Bytes(most) => backlog.bytes > most,
        }
    }

    /// Whether one more packet of `len` bytes fits above `backlog`.
    #[inline]
    pub fn has_room(&self, backlog: Backlog, len: u32) -> bool {
        match self.limit {
            Size::Packets(n) => (backlog.packets as u64) < n,
            Size::Bytes(b) => backlog.bytes + len as u64 <= b,
        }
    }
}
