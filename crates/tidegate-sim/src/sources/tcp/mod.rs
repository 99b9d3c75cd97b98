//! TCP. The parameters are here; `sender` and `receiver` are the two ends of a connection.
//!
//! | Place | What it has |
//! |---|---|
//! | `connection` | sequence numbers, window, timer, marks: all but the repair of losses |
//! | `recovery` | one file for each way to find and repair losses |
//! | `congestion` | one file for each congestion control |
//! | `rules` | what the RFCs, Linux and ns say of each case where they differ |
//! | `opening`, `marks`, `rto` | handshake, ECN, the retransmission timeout |
//! | `departures`, `transmit`, `delivery` | when segments leave, pacing, delivery rates |
//! | `receiver`, `delayed`, `report` | what is acknowledged, when, and how it travels |
//! | `acks` | receivers that cheat |
//!
//! Sequence numbers count segments; every data segment has the same length on the wire. The
//! receiver acknowledges every segment, or delays acknowledgements (`delayed`). Three sets of
//! defaults: [`Tcp::reno`] and [`Tcp::new_reno`] go by the RFCs, [`Tcp::ns2`] does what
//! ns-2.35 does, off-by-ones included, [`Tcp::ns1`] what its forerunner did.
//!
//! **ns-1** (ns-LBNL, 1995 to 1997, with which feng2001 was simulated) had ECN before there was a
//! standard. Read in the history of ns-2's sources, which begins with ns-1's (public repository
//! Raj64742/ns2: `tcp.cc` of 19 December 1996 and of late 1997, `tcp-reno.cc` 1.19, `tcp-sink.cc`
//! 1.2, `red.cc`):
//!
//! - A congestion bit is set in any packet of any sender. There is no ECN-capable transport, and a
//!   retransmission can be marked too.
//! - The receiver copies each packet's bits into its acknowledgement: each mark is echoed for
//!   itself, once.
//! - An echo halves the window, once a round trip: not before what had been sent at the last cut is
//!   acknowledged. The window counts whole segments, with what fast recovery has added, and half of
//!   it is rounded down: from one segment it falls to none.
//! - Then the same acknowledgement, if it is of new data, opens the window like any other. The
//!   least ssthresh is two, so that a window of none opens to one at once: marks never silence a
//!   connection. The file of 1996 did not have that bound yet, and divided by a window of none.
//! - A third duplicate cuts again though a mark has cut just before; after a timeout it does so
//!   only for what was sent since.
//! - No segment goes out for the first two duplicates, recovery ends with the window where it
//!   stands, and a timeout halves what is left.
//!
//! ns-1 read time stamps for its timer and ended the back-off by Karn's rule; here Karn's rule
//! holds for both. It had no handshake.
use tidegate::config::Value;
use tidegate::{Bytes, ConfigError, Rate, Span};

mod acks;
mod congestion;
mod connection;
mod delayed;
mod delivery;
mod departures;
mod marks;
mod opening;
mod receiver;
mod recovery;
mod report;
mod rto;
mod rules;
mod sender;
mod transmit;

pub use acks::Acks;
pub use congestion::*;
pub(crate) use connection::Output;
pub(crate) use delayed::{DelayedAck, Wait};
pub(crate) use receiver::{Received, Receiver};
pub(crate) use report::{Report, Reports};
pub use rules::Rules;
pub(crate) use sender::{AckArrival, TcpSender};

/// How a connection finds and repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavor {
    /// Fast retransmit and fast recovery; any new acknowledgement ends recovery (RFC 2581).
    Reno,
    /// A partial acknowledgement retransmits the next hole and stays in recovery; only the first
    /// restarts the timer (RFC 6582, "impatient").
    NewReno,
    /// The receiver reports what it holds beyond the first hole (RFC 2018), and the sender repairs
    /// what is missing, with no more under way than the window (RFC 6675).
    Sack,
    /// The same, with losses found by time, probes of a silent tail (RACK-TLP, RFC 8985) and a
    /// window that falls by proportional rate reduction (RFC 9937).
    Rack,
}

/// The parameters of a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// How it finds and repairs losses.
    pub flavor: Flavor,
    /// How its window grows and shrinks.
    pub congestion: Congestion,
    /// The length of a data segment on the wire, 1 B to 65535 B.
    pub segment: Bytes,
    /// The length of an acknowledgement (and of a SYN) on the wire.
    pub ack: Bytes,
    /// Segments to send, at least 1; `None` for data without end.
    pub data: Option<u32>,
    /// The window to begin with, in segments.
    pub initial_window: f64,
    /// The receiver's window, in segments: the most that may be in flight.
    pub receiver_window: u32,
    /// Whether the first round trip is spent on a SYN and its answer.
    pub handshake: Handshake,
    /// Whether data segments are ECN-capable (RFC 3168).
    pub ecn: EcnUse,
    /// What the receiver acknowledges.
    pub acks: Acks,
    /// Whether the first two duplicate acknowledgements each let a new segment out (RFC 3042).
    pub limited_transmit: LimitedTransmit,
    /// Whose rules hold where the RFCs, Linux and ns differ.
    pub rules: Rules,
    /// Whether segments bear time stamps. By ns-1's and ns-2's rules they cannot.
    pub timestamps: Timestamps,
    /// The least retransmission timeout.
    pub min_rto: Span,
    /// The retransmission timeout before the first measurement.
    pub initial_rto: Span,
    /// The greatest retransmission timeout, back-off included.
    pub max_rto: Span,
    /// How long the acknowledgement of every other segment may wait for the next (RFC 5681 §4.2),
    /// at most 500 ms; zero to acknowledge every segment at once.
    pub delayed_ack: Span,
    /// The tick in which round-trip times are measured.
    pub tick: Span,
    /// A burst that an acknowledgement allows waits a time uniform on [0, this) (ns-2's
    /// `overhead_`); it breaks the lock of senders onto the bottleneck's phase. Zero for none.
    pub overhead: Span,
}

tidegate::choices! {
    /// Whether a connection begins with a handshake.
    pub enum Handshake {
        /// Data go out at once.
        Skip = "skip",
        /// A SYN of the acknowledgement's length, and data when it is answered.
        Syn = "syn",
    }
}

tidegate::choices! {
    /// Whether a connection speaks ECN.
    pub enum EcnUse {
        /// Its packets are Not-ECT.
        Off = "off",
        /// Data segments are ECT(0), those of a control for L4S ECT(1); retransmissions and
        /// acknowledgements are not.
        On = "on",
        /// The same, and all are ECT(1), as only a control for L4S should (RFC 9331).
        Ect1 = "ect1",
        /// The same, and echoed marks are not heeded: a sender that cheats.
        Ignore = "ignore",
    }
}

tidegate::choices! {
    /// Whether limited transmit (RFC 3042) is in use.
    pub enum LimitedTransmit {
        /// The first two duplicate acknowledgements let nothing out.
        Off = "off",
        /// Each lets a new segment out.
        On = "on",
    }
}

tidegate::choices! {
    /// Whether segments bear time stamps (RFC 7323). The lengths on the wire are as set, with or
    /// without.
    pub enum Timestamps {
        /// One segment is timed at a time, and none that is sent again (Karn's rule).
        Off = "off",
        /// Every acknowledgement of new data gives a sample of the round trip, and a sample ends
        /// the timer's back-off.
        On = "on",
    }
}

impl Tcp {
    /// The default of [`Tcp::receiver_window`] in bytes. It is the most that Linux lets a receive
    /// buffer grow to by itself (`tcp_rmem`, 32 MiB since Linux 6.16): more than 1 Gbit/s over
    /// 260 ms.
    pub const RECEIVE_BUFFER: Bytes = Bytes::new(32 << 20);

    /// Reno by the RFCs: 1000-byte segments, initial window 2, RTO 200 ms to 60 s, tick 10 ms.
    pub const fn reno() -> Tcp {
        Tcp {
            flavor: Flavor::Reno,
            congestion: Congestion::Reno,
            segment: Bytes::new(1000),
            ack: Bytes::new(40),
            data: None,
            initial_window: 2.0,
            receiver_window: (Tcp::RECEIVE_BUFFER.get() / 1000) as u32,
            handshake: Handshake::Skip,
            ecn: EcnUse::Off,
            acks: Acks::Honest,
            limited_transmit: LimitedTransmit::On,
            rules: Rules::Rfc,
            timestamps: Timestamps::On,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_millis(3000),
            max_rto: Span::from_millis(60_000),
            delayed_ack: Span::ZERO,
            tick: Span::from_millis(10),
            overhead: Span::ZERO,
        }
    }

    /// NewReno by the RFCs, otherwise as [`Tcp::reno`].
    pub const fn new_reno() -> Tcp {
        Tcp { flavor: Flavor::NewReno, ..Tcp::reno() }
    }

    /// Reno's window with selective acknowledgements (RFC 6675), otherwise as [`Tcp::reno`].
    pub const fn sack() -> Tcp {
        Tcp { flavor: Flavor::Sack, ..Tcp::reno() }
    }

    /// CUBIC (RFC 9438) with selective acknowledgements and an initial window of 10 (RFC 6928),
    /// otherwise as [`Tcp::reno`].
    pub fn cubic() -> Tcp {
        Tcp {
            congestion: Congestion::Cubic(CubicParams::default()),
            initial_window: 10.0,
            ..Tcp::sack()
        }
    }

    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00) with selective
    /// acknowledgements and an initial window of 10, otherwise as [`Tcp::reno`].
    pub fn bbr() -> Tcp {
        Tcp {
            congestion: Congestion::Bbr(BbrParams::default()),
            initial_window: 10.0,
            ..Tcp::sack()
        }
    }

    /// BBR, version 3 (draft-ietf-ccwg-bbr-04) with selective acknowledgements and an initial
    /// window of 10, otherwise as [`Tcp::reno`].
    pub fn bbr3() -> Tcp {
        Tcp { congestion: Congestion::Bbr3(Bbr3Params::default()), ..Tcp::bbr() }
    }

    /// Prague (draft-briscoe-iccrg-prague-congestion-control-04) with selective acknowledgements
    /// and an initial window of 10, otherwise as [`Tcp::reno`].
    pub fn prague() -> Tcp {
        Tcp {
            congestion: Congestion::Prague(PragueParams::default()),
            initial_window: 10.0,
            ecn: EcnUse::On,
            ..Tcp::sack()
        }
    }

    /// A sender of `rate` that heeds neither loss nor mark, and finds losses by time; otherwise as
    /// [`Tcp::reno`].
    pub fn unresponsive(rate: Rate) -> Tcp {
        let congestion = Congestion::Unresponsive(UnresponsiveParams { rate });
        Tcp {
            flavor: Flavor::Rack,
            congestion,
            receiver_window: 1_000_000,
            initial_window: 1e6,
            ..Tcp::reno()
        }
    }

    /// `flavor` as ns-2.35 has it with its defaults, except a receiver's window of 10000.
    pub const fn ns2(flavor: Flavor) -> Tcp {
        Tcp {
            flavor,
            receiver_window: 10_000,
            handshake: Handshake::Syn,
            rules: Rules::Ns2,
            timestamps: Timestamps::Off,
            ..Tcp::reno()
        }
    }

    /// `flavor`, Reno or NewReno, as ns-1 has it, except for the receiver's window and the timer's
    /// tick.
    pub const fn ns1(flavor: Flavor) -> Tcp {
        Tcp { flavor, rules: Rules::Ns1, timestamps: Timestamps::Off, ..Tcp::reno() }
    }

    /// Whether it is ns-2's Vegas, whose sender is like no other.
    pub(crate) const fn is_ns2_vegas(&self) -> bool {
        matches!(
            (self.rules, self.flavor, &self.congestion),
            (Rules::Ns2, Flavor::Reno, Congestion::Vegas(_))
        )
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, bytes) in [("segment", self.segment), ("ack", self.ack)] {
            if !(1..=65_535).contains(&bytes.get()) {
                return Err(ConfigError::new(name, bytes, "must lie in 1 B to 65535 B"));
            }
        }
        if !(self.initial_window >= 1.0 && self.initial_window <= 1e6) {
            return Err(ConfigError::new(
                "initial_window",
                self.initial_window,
                "must lie in 1 to 1000000 segments",
            ));
        }
        if !(1..=1_000_000).contains(&self.receiver_window) {
            return Err(ConfigError::new(
                "receiver_window",
                self.receiver_window,
                "must lie in 1 to 1000000 segments",
            ));
        }
        if self.data == Some(0) {
            return Err(ConfigError::new("data", 0, "must be at least 1 segment"));
        }
        if self.rules.is_ns() && self.timestamps == Timestamps::On {
            return Err(ConfigError::new(
                "timestamps",
                "on",
                "must be off by ns's rules, whose timer goes by Karn's rule",
            ));
        }
        let reno = matches!(self.flavor, Flavor::Reno | Flavor::NewReno)
            && matches!(self.congestion, Congestion::Reno);
        if self.rules == Rules::Ns1 && !reno {
            return Err(ConfigError::new("rules", "ns1", "are of Reno and NewReno only"));
        }
        self.congestion.check()?;
        if self.congestion.counts_marks() && !matches!(self.ecn, EcnUse::On | EcnUse::Ect1) {
            let why = format!("must be on: {} counts marks", self.congestion.name());
            return Err(ConfigError::new("ecn", self.ecn.write(), why));
        }
        self.acks.check(self)?;
        self.check_pace()?;
        self.check_times()
    }

    /// What is paced chooses each segment by what it knows to have arrived, and leaves at its own
    /// times.
    fn check_pace(&self) -> Result<(), ConfigError> {
        let Some(name) = self.congestion.needs().paces_as else { return Ok(()) };
        if !matches!(self.flavor, Flavor::Sack | Flavor::Rack) {
            let why = format!("must be Sack or Rack with {name}");
            return Err(ConfigError::new("flavor", format!("{:?}", self.flavor), why));
        }
        if self.rules == Rules::Ns2 {
            return Err(ConfigError::new(
                "rules",
                format!("{:?}", self.rules),
                format!("cannot be with {name}, which ns-2 has not"),
            ));
        }
        if self.overhead > Span::ZERO {
            let why = format!("must be 0 s with {name}, which paces");
            return Err(ConfigError::new("overhead", self.overhead, why));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let hour = Span::from_secs(3600.0);
        let milli = Span::from_millis(1);
        if self.tick < Span::from_micros(1) || self.tick > Span::from_secs(1.0) {
            return Err(ConfigError::new("tick", self.tick, "must lie in 1 us to 1 s"));
        }
        if self.min_rto < milli || self.min_rto > self.max_rto {
            return Err(ConfigError::new("min_rto", self.min_rto, "must lie in 1 ms to max_rto"));
        }
        if self.initial_rto < milli || self.initial_rto > self.max_rto {
            return Err(ConfigError::new(
                "initial_rto",
                self.initial_rto,
                "must lie in 1 ms to max_rto",
            ));
        }
        if self.max_rto > hour {
            return Err(ConfigError::new("max_rto", self.max_rto, "must be at most an hour"));
        }
        if self.delayed_ack > Span::from_millis(500) {
            let bound = "must be at most 500 ms (RFC 1122 §4.2.3.2); \
                         0 s acknowledges every segment at once";
            return Err(ConfigError::new("delayed_ack", self.delayed_ack, bound));
        }
        if self.overhead > Span::from_secs(1.0) {
            return Err(ConfigError::new("overhead", self.overhead, "must be at most 1 s"));
        }
        Ok(())
    }
}
