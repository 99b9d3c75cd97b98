//! What flows send: the sources' parameters, and what follows from them.
use std::sync::Arc;

use tidegate::config::Value;
use tidegate::units::UnitError;
use tidegate::{Bytes, Rate, Span, params};
use tidegate_sim::sources::{Begin, Damping, Law, TfrcRules, Web as SimWeb};

use super::arrivals::Arrivals;
use super::connection::Connection;
use super::drawn::Drawn;
use super::following::Following;
use super::forge::Forge;
use super::periods::Periods;
use super::tcp::{Codepoint, Data, Tcp};

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// TCP that always has something to send, or a given amount.
    Tcp(Connection),
    /// TCP that sends a given amount and is done.
    Finite(Connection),
    /// Users of the web: one object after the other, each over a connection of its own.
    Web(Web, Connection),
    /// TCP that keeps its rate whatever is lost, for drawn times with pauses between them.
    Unresponsive(Unresponsive, Connection),
    /// Packets at a rate by TCP's throughput equation.
    Tfrc(Tfrc),
    /// Packets at a fixed rate that heed nothing.
    Cbr(Cbr),
    /// Packets at a fixed rate while the congestion window of another flow is wide enough.
    Following(Following),
    /// Packets at a fixed rate for drawn times, silence between them.
    OnOff(OnOff),
    /// Telephone calls.
    Voip(Voip),
    /// Packets at a rate that changes between two.
    Oscillating(Oscillating),
    /// A capture's packets at their times.
    Replay(Replay, Arc<Arrivals>),
}

/// The sources: name, one line.
pub const SOURCES: &[(&str, &str)] = &[
    ("reno", "TCP Reno: any new acknowledgement ends fast recovery (RFC 2581)"),
    ("newreno", "TCP NewReno: a partial acknowledgement repairs the next hole (RFC 6582)"),
    ("sack", "TCP with Reno's window and selective acknowledgements (RFC 2018, RFC 6675)"),
    ("rack", "TCP with Reno's window, which tells losses by time (RACK-TLP, RFC 8985)"),
    ("cubic", "TCP CUBIC (RFC 9438), the default of today's systems"),
    (
        "aimd",
        "TCP whose window grows by a packets a round trip and keeps a fraction b after a loss",
    ),
    (
        "binomial",
        "TCP whose window grows by alpha / w^k a round trip and loses beta w^l with a loss (SQRT, \
         IIAD)",
    ),
    ("vegas", "TCP Vegas: a window by how many of its own packets wait in queues"),
    ("vegas_rem", "TCP Vegas with REM's price, which it reads from marks, in place of the delay"),
    (
        "reno_num",
        "Reno as a law of rates: a packet more a round trip, half the window less for every mark",
    ),
    ("dctcp", "TCP DCTCP: a window that is cut by the fraction of packets marked (RFC 8257)"),
    ("prague", "TCP Prague: DCTCP for the Internet, paced, its packets ECT(1) (L4S)"),
    ("ledbat", "TCP with LEDBAT's window, which yields to other traffic (RFC 6817)"),
    (
        "bbr",
        "TCP BBR, version 1: segments paced by a model of the path (Cardwell and others, 2017)",
    ),
    (
        "bbr3",
        "TCP BBR, version 3: the same with bounds by what losses told (draft-ietf-ccwg-bbr-04)",
    ),
    (
        "unresponsive",
        "TCP that keeps its rate whatever is lost or marked, for drawn times with pauses between \
         them",
    ),
    ("finite", "TCP that sends a given or distributed amount; how long that takes is reported"),
    ("web", "users who think, fetch an object over a TCP connection of its own, and think again"),
    ("tfrc", "packets at a smooth rate by TCP's throughput equation (RFC 5348)"),
    (
        "cbr",
        "packets at a fixed rate, with or without jitter, that heed neither loss nor mark (a UDP \
         flood)",
    ),
    (
        "following",
        "packets at a fixed rate while the congestion window of a TCP is at least a bound, silence \
         below",
    ),
    (
        "on_off",
        "packets at a fixed rate for exponential, Pareto or other times, with silence between them",
    ),
    ("voip", "telephone calls: talk and silence by ITU P.59, calls that come and go by Erlangs"),
    ("oscillating", "packets at a rate that changes between two on a timetable"),
    ("replay", "the packets of a capture, at their times and of their lengths"),
];

params! {
    /// A group with `source = "cbr"`.
    pub struct Cbr {
        /// Rate of each flow, in wire bytes; required.
        rate: Rate = Rate::from_bps(1_000_000), "r", 1 ..= 1_000_000_000_000u64;
        /// Length of a packet on the wire.
        packet: Bytes = Bytes::new(1000), "L", 1 ..= 65_535;
        /// Each interval is multiplied by a number drawn from 1 − jitter to 1 + jitter.
        jitter: f64 = 0.5, "", 0.0 ..= 1.0;
        /// Whether its packets are ECN-capable; it heeds no mark all the same.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
        /// The flow that its packets claim to belong to: its own (`off`), another one each time
        /// (`random`), or one of so many made-up ones (a number). It may also be a new connection
        /// of its own each time (`ports`), a user's flow (`victims`), or one that the watched queue
        /// hashes to users' places (`colliding`).
        forge: Forge = Forge::Off, "", 1 ..= 1_000_000;
        /// How long a forged flow is kept; with 0, each packet has another.
        new_key: Span = Span::ZERO, "", 0 ..= 1_000_000_000_000_000u64;
    }
}

params! {
    /// A group with `source = "on_off"`. What its distributions draw once for each flow is drawn
    /// when the flow is made.
    pub struct OnOff {
        /// Rate while it is on, in wire bytes; required.
        rate: Rate = Rate::from_bps(1_000_000), "r", 1 ..= 1_000_000_000_000u64;
        /// Length of a packet on the wire.
        packet: Bytes = Bytes::new(1000), "L", 1 ..= 65_535;
        /// How long it is on each time; a distribution.
        on: Drawn<Span> = exponential(500), "", 0 ..= 1_000_000_000_000_000u64;
        /// How long it is off each time; a distribution.
        off: Drawn<Span> = exponential(500), "", 0 ..= 1_000_000_000_000_000u64;
        /// Whether it starts on, or as likely on as it is later (`either`).
        begin: Begin = Begin::On, "", 0 ..= 0;
        /// Whether its packets are ECN-capable; it heeds no mark all the same.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
        /// The flow that its packets claim to belong to: its own (`off`), another one each time
        /// (`random`), or one of so many made-up ones (a number). It may also be a new connection
        /// of its own each time (`ports`), a user's flow (`victims`), or one that the watched queue
        /// hashes to users' places (`colliding`).
        forge: Forge = Forge::Off, "", 1 ..= 1_000_000;
        /// How long a forged flow is kept; with 0, each packet has another.
        new_key: Span = Span::ZERO, "", 0 ..= 1_000_000_000_000_000u64;
    }
}

params! {
    /// A group with `source = "voip"`: `count` lines. Talk and silence by ITU P.59, rate and
    /// packets of the Purge paper.
    pub struct Voip {
        /// Calls at a time that are offered to the group's lines, on average: they come as a
        /// Poisson process and are lost if
        /// every line is busy. 0 for one call on each line, as long as the flow.
        erlangs: f64 = 0.0, "", 0.0 ..= 1_000_000.0;
        /// How long a call is; a distribution.
        call: Drawn<Span> = exponential(180_000), "", 0 ..= 1_000_000_000_000_000u64;
        /// How long a caller talks each time; a distribution.
        talk: Drawn<Span> = exponential(1004), "", 0 ..= 1_000_000_000_000_000u64;
        /// How long a caller is silent each time; a distribution.
        silence: Drawn<Span> = exponential(1587), "", 0 ..= 1_000_000_000_000_000u64;
        /// Rate while talking, in wire bytes.
        rate: Rate = Rate::from_bps(25_000), "r", 1 ..= 1_000_000_000_000u64;
        /// Length of a packet on the wire.
        packet: Bytes = Bytes::new(200), "L", 1 ..= 65_535;
        /// Whether its packets are ECN-capable; it heeds no mark all the same.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
    }
}

params! {
    /// A group with `source = "oscillating"`.
    pub struct Oscillating {
        /// Rate of each flow during `high_during`, in wire bytes; required.
        high: Rate = Rate::from_bps(5_000_000), "", 1 ..= 1_000_000_000_000u64;
        /// Rate of each flow otherwise; required.
        low: Rate = Rate::from_bps(100_000), "", 0 ..= 1_000_000_000_000u64;
        /// When the rate is high: a list of periods, as in ["10 s..30 s", "50 s..70 s"]; required.
        high_during: Periods = Periods::default(), "", 0 ..= 1_000_000_000_000_000u64;
        /// Length of a packet on the wire.
        packet: Bytes = Bytes::new(1000), "L", 1 ..= 65_535;
        /// Each interval is multiplied by a number drawn from 1 − jitter to 1 + jitter.
        jitter: f64 = 0.5, "", 0.0 ..= 1.0;
        /// Whether its packets are ECN-capable; it heeds no mark all the same.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
    }
}

params! {
    /// A group with `source = "web"`: each flow is a user. The defaults are Neidhardt's laws, as
    /// the SRED paper has them.
    pub struct Web {
        /// Size of an object, in wire bytes, rounded up to whole packets; a distribution.
        size: Drawn<Bytes> = Drawn::by(SimWeb::size()), "F", 0 ..= 1_000_000_000_000u64;
        /// Time from the end of one object to the request of the next; a distribution.
        think: Drawn<Span> = Drawn::by(SimWeb::think()), "", 0 ..= 1_000_000_000_000_000u64;
    }
}

params! {
    /// A group with `source = "unresponsive"`: each flow is one connection after the other.
    pub struct Unresponsive {
        /// How long each connection lasts, at least 1 ms; a distribution.
        on: Drawn<Span> = exponential(10_000), "", 0 ..= 1_000_000_000_000_000u64;
        /// How long it is from the end of one connection to the next; a distribution.
        off: Drawn<Span> = exponential(10_000), "", 0 ..= 1_000_000_000_000_000u64;
    }
}

params! {
    /// A group with `source = "tfrc"` that always has something to send.
    pub struct Tfrc {
        /// Length of a data packet on the wire.
        packet: Bytes = Bytes::new(1000), "s", 1 ..= 65_535;
        /// Length of the receiver's reports on the wire.
        report: Bytes = Bytes::new(40), "", 1 ..= 65_535;
        /// Whose rules hold where RFC 5348 and ns-2 differ: how the rate grows, what a loss is,
        /// when is reported, the equation.
        rules: TfrcRules = TfrcRules::Rfc, "", 0 ..= 0;
        /// Whether the rate falls while the round trip grows (RFC 5348 §4.5).
        damping: Damping = Damping::On, "", 0 ..= 0;
        /// Whether its packets are ECN-capable; a mark counts as a loss.
        ecn: Codepoint = Codepoint::Off, "", 0 ..= 0;
    }
}

params! {
    /// A group with `source = "replay"`. Captured flows are dealt out to the group's flows in the
    /// order in which they begin.
    pub struct Replay {
        /// The capture file, pcap or pcapng, packed by gzip or not, from the scenario's directory;
        /// required.
        capture: FileName = FileName::default(), "", 0 ..= 0;
    }
}

/// A file, as it is written in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName(pub String);

impl Value for FileName {
    const KIND: &'static str = "file name";
    fn read(text: &str) -> Result<Self, UnitError> {
        if text.is_empty() || text.contains('\0') {
            return Err(UnitError {
                text: String::new(),
                why: "must be the name of a file".into(),
            });
        }
        Ok(FileName(text.into()))
    }
    fn write(&self) -> String {
        self.0.clone()
    }
    fn magnitude(&self) -> f64 {
        0.0
    }
    fn write_bound(_: f64) -> String {
        "a file".into()
    }
}

const fn exponential(mean_ms: u64) -> Drawn<Span> {
    Drawn::by(Law::Exponential { mean: Span::from_millis(mean_ms).as_nanos() })
}

impl Source {
    /// Its name among [`SOURCES`].
    pub fn name(&self) -> &'static str {
        match self {
            Source::Tcp(connection) | Source::Unresponsive(_, connection) => connection.name(),
            Source::Finite(_) => "finite",
            Source::Web(..) => "web",
            Source::Tfrc(_) => "tfrc",
            Source::Cbr(_) => "cbr",
            Source::Following(_) => "following",
            Source::OnOff(_) => "on_off",
            Source::Voip(_) => "voip",
            Source::Oscillating(_) => "oscillating",
            Source::Replay(..) => "replay",
        }
    }

    /// The length of its packets.
    pub fn packet(&self) -> Bytes {
        match self {
            Source::Tcp(c) | Source::Finite(c) | Source::Web(_, c) | Source::Unresponsive(_, c) => {
                c.tcp.packet
            }
            Source::Tfrc(tfrc) => tfrc.packet,
            Source::Cbr(cbr) => cbr.packet,
            Source::Following(source) => source.packet,
            Source::OnOff(source) => source.packet,
            Source::Voip(voip) => voip.packet,
            Source::Oscillating(source) => source.packet,
            Source::Replay(_, arrivals) => Bytes::new(arrivals.longest.max(1) as u64),
        }
    }

    /// The length of what answers its packets; `None` if nothing does.
    pub fn answer(&self) -> Option<Bytes> {
        match self {
            Source::Tfrc(tfrc) => Some(tfrc.report),
            _ => self.tcp().map(|tcp| tcp.ack),
        }
    }

    /// Whether it sends less when packets are lost.
    pub fn heeds_loss(&self) -> bool {
        match self {
            Source::Tcp(c) | Source::Finite(c) | Source::Web(_, c) => c.rate().is_none(),
            Source::Tfrc(_) => true,
            _ => false,
        }
    }

    /// Whether it always has something to send while it is active.
    pub fn always_sends(&self) -> bool {
        match self {
            Source::Tcp(c) => c.tcp.data == Data::Endless,
            Source::Tfrc(_) | Source::Cbr(_) => true,
            _ => false,
        }
    }

    /// Whose packets its own seem to be, and for how long, if it can say so.
    pub(crate) fn forges(&self) -> Option<(Forge, Span)> {
        match self {
            Source::Cbr(source) => Some((source.forge, source.new_key)),
            Source::Following(source) => Some((source.forge, source.new_key)),
            Source::OnOff(source) => Some((source.forge, source.new_key)),
            _ => None,
        }
    }

    /// How its connections are, if it has any.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Source::Tcp(c) | Source::Finite(c) | Source::Web(_, c) | Source::Unresponsive(_, c) => {
                Some(&c.tcp)
            }
            Source::Tfrc(_)
            | Source::Cbr(_)
            | Source::Following(_)
            | Source::OnOff(_)
            | Source::Voip(_)
            | Source::Oscillating(_)
            | Source::Replay(..) => None,
        }
    }
}
