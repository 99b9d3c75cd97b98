//! What all TCP sources have, and how much they send.
use tidegate::config::Value;
use tidegate::units::UnitError;
use tidegate::{Bytes, Size, Span, choices, params};
pub use tidegate_sim::sources::EcnUse;

use super::drawn::Drawn;

choices! {
    /// On or off.
    pub enum Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

choices! {
    /// Whether the packets of a source without connections are ECN-capable.
    pub enum Codepoint {
        /// They are ECT(0).
        On = "on",
        /// They are ECT(1), as those of senders for L4S (RFC 9331).
        Ect1 = "ect1",
        /// They are not.
        Off = "off",
    }
}

choices! {
    /// How TCP finds and repairs losses.
    pub enum LossRecovery {
        /// The receiver tells what it has (RFC 2018, 6675).
        Sack = "sack",
        /// By duplicate and partial acknowledgements (RFC 6582).
        NewReno = "newreno",
        /// Fast recovery ends with any new acknowledgement.
        Reno = "reno",
        /// As `sack`, with losses told by time, probes and a window that falls step by step (RFC
        /// 8985, 9937).
        Rack = "rack",
    }
}

choices! {
    /// Whether a connection begins with a handshake.
    pub enum Handshake {
        /// Data go out at once.
        Skip = "skip",
        /// A SYN, and data when it is answered.
        Syn = "syn",
    }
}

choices! {
    /// Whose rules TCP goes by where the RFCs, Linux and ns differ.
    pub enum Rules {
        /// The RFCs'.
        Rfc = "rfc",
        /// ns-2.35's, off-by-ones included.
        Ns2 = "ns2",
        /// Linux's: a longer timer, which every partial acknowledgement restarts.
        Linux = "linux",
        /// ns-1's, of `reno` and `newreno`: an echoed mark halves the window by whole segments and
        /// opens it too, each mark is echoed for itself.
        Ns1 = "ns1",
    }
}

choices! {
    /// Whether TCP's segments bear time stamps (RFC 7323).
    pub enum Timestamps {
        /// On, but off with `rules = "ns2"` and `"ns1"`.
        Auto = "auto",
        /// Every acknowledgement of new data gives a sample of the round trip, which ends the
        /// timer's back-off.
        On = "on",
        /// One segment is timed at a time, and none that is sent again.
        Off = "off",
    }
}

choices! {
    /// What a receiver acknowledges (savage1999).
    pub enum Acks {
        /// What it has.
        Honest = "honest",
        /// What it has, each packet in parts.
        Divide = "divide",
        /// What it has, with duplicates of each acknowledgement.
        Repeat = "repeat",
        /// What it has, what is lost, and packets that have yet to come.
        Anticipate = "anticipate",
        /// What it has, but no mark.
        HideMarks = "hide_marks",
    }
}

/// How much a connection sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// It always has something to send.
    Endless,
    /// So much, in wire bytes; rounded up to whole packets.
    Amount(Drawn<Bytes>),
}

params! {
    /// What all TCP sources have. The defaults go by the RFCs.
    pub struct Tcp {
        /// How it finds and repairs losses; `reno`, `newreno`, `sack` and `rack` say so by their
        /// names and have no such key.
        loss_recovery: LossRecovery = LossRecovery::Sack, "", 0 ..= 0;
        /// Length of a data packet on the wire.
        packet: Bytes = Bytes::new(1000), "L", 41 ..= 65_535;
        /// Length of an acknowledgement on the wire.
        ack: Bytes = Bytes::new(40), "", 1 ..= 65_535;
        /// Whether it speaks ECN (RFC 3168). With `ect1` its packets are ECT(1), as those of
        /// `prague` always are. With `ignore` they are ECN-capable and it heeds no mark.
        ecn: EcnUse = EcnUse::Off, "", 0 ..= 0;
        /// How much each connection sends: `endless`, or a size, a list of sizes or a distribution,
        /// as in "5 MB".
        data: Data = Data::Endless, "", 0 ..= 1_000_000_000_000u64;
        /// The receiver's window: the most that may be in flight. The default is the most that
        /// Linux lets a receive buffer grow to by
        /// itself (32 MiB since 6.16).
        window: Size = Size::Bytes(tidegate_sim::Tcp::RECEIVE_BUFFER.get()), "",
            1 ..= 1_000_000_000_000u64;
        /// The congestion window to begin with.
        initial_window: Size = Size::Packets(2), "IW", 1 ..= 1_000_000_000_000u64;
        /// Whether the first round trip is spent on a SYN and its answer.
        handshake: Handshake = Handshake::Skip, "", 0 ..= 0;
        /// Whether the first two duplicate acknowledgements each let a new packet out (RFC 3042).
        limited_transmit: Switch = Switch::On, "", 0 ..= 0;
        /// Whose rules hold where the RFCs, ns-2, Linux and ns-1 differ; `ns1` is of `reno` and
        /// `newreno` only.
        rules: Rules = Rules::Rfc, "", 0 ..= 0;
        /// Whether segments bear time stamps (RFC 7323), so that every acknowledgement of new data
        /// gives a sample of the round trip and
        /// ends the timer's back-off. Without them Karn's rule holds. The lengths on the wire are
        /// as set.
        timestamps: Timestamps = Timestamps::Auto, "", 0 ..= 0;
        /// How long the acknowledgement of every other packet may wait for the next (RFC 5681 §4.2;
        /// Linux: 40 ms). With 0, as in
        /// ns-2, every packet is acknowledged at once; a connection's first 25, marks that begin or
        /// end, gaps and repairs always are.
        delayed_ack: Span = Span::ZERO, "", 0 ..= 500_000_000u64;
        /// Least retransmission timeout.
        min_rto: Span = Span::from_millis(200), "", 1_000_000 ..= 3_600_000_000_000u64;
        /// Retransmission timeout before the first measurement.
        initial_rto: Span = Span::from_millis(3000), "", 1_000_000 ..= 3_600_000_000_000u64;
        /// Greatest retransmission timeout, back-off included.
        max_rto: Span = Span::from_millis(60_000), "", 1_000_000 ..= 3_600_000_000_000u64;
        /// What the receiver acknowledges: what it has (`honest`), each packet in parts (`divide`),
        /// or all with duplicates (`repeat`). It may also acknowledge what is lost or yet to come
        /// (`anticipate`), or all except marks (`hide_marks`).
        receiver: Acks = Acks::Honest, "", 0 ..= 0;
        /// How many parts (2 to 1000), duplicates (1 to 1000) or packets ahead (to 100000) that
        /// are, with a receiver that cheats.
        receiver_acks: u32 = 4, "", 0 ..= 100_000;
        /// The tick in which round-trip times are measured.
        tick: Span = Span::from_millis(10), "", 1_000 ..= 1_000_000_000u64;
        /// A burst waits a time uniform on 0 to this (ns-2's `overhead_`), which breaks phase
        /// locking.
        overhead: Span = Span::ZERO, "", 0 ..= 1_000_000_000u64;
    }
}

impl Value for Data {
    const KIND: &'static str = "size, list of sizes, distribution or `endless`";
    fn read(text: &str) -> Result<Self, UnitError> {
        if text == "endless" { Ok(Data::Endless) } else { Drawn::read(text).map(Data::Amount) }
    }
    fn write(&self) -> String {
        match self {
            Data::Endless => "endless".into(),
            Data::Amount(drawn) => drawn.write(),
        }
    }
    fn magnitude(&self) -> f64 {
        self.extent().1
    }
    fn extent(&self) -> (f64, f64) {
        match self {
            Data::Endless => (1.0, 1.0),
            Data::Amount(drawn) => drawn.extent(),
        }
    }
    fn write_bound(magnitude: f64) -> String {
        Bytes::new(magnitude as u64).to_string()
    }
}
