//! The parameters of the queue `ewfq`.
use crate::choices;
use crate::config::{ByClass, Element};
use crate::parts::fair_clock::Order;
use crate::parts::sample_hold::Insert;
use crate::parts::spread::Map;
use crate::units::{Bytes, Prob, Span};

choices! {
    /// Whether a class heeds drops.
    pub enum Responsive {
        /// TCP: its drops are so rare that it sends the fair amount by itself (eq. 2).
        On = "on",
        /// What is too much is dropped (§III-A).
        Off = "off",
    }
}

choices! {
    /// In which unit the controller of m_fair sees the backlog.
    pub enum BacklogUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Bits: gains eight times as high.
        Bits = "bits",
    }
}

choices! {
    /// Over which time a class is judged.
    pub enum JudgedOver {
        /// The interval before this one.
        Whole = "whole",
        /// The t_i that end with the last update: of the interval before, the part that has not
        /// gone by.
        Sliding = "sliding",
    }
}

choices! {
    /// How far m_fair may rise.
    pub enum Ceiling {
        /// To what the link sends in t_i.
        Link = "link",
        /// To the most that a held class sent, by weight: no r_fair of §III-A lies above the
        /// largest r_i / w_i.
        Largest = "largest",
    }
}

choices! {
    /// How far m_fair may fall.
    pub enum Floor {
        /// To a packet in t_i.
        Packet = "packet",
        /// To the r_fair that solves C = sum of min(r_i, r_fair w_i) of §III-A for what the held
        /// classes sent.
        Fair = "fair",
    }
}

choices! {
    /// Who goes when the shared buffer is full.
    pub enum EwfqVictim {
        /// The packet that arrives.
        Arrival = "arrival",
        /// The last packet of the longest line, by weight. Which one that is is seen when packets
        /// come.
        Longest = "longest",
    }
}

impl Element for Responsive {
    const KIND_BY_CLASS: &'static str = "on | off by class";
}

crate::params! {
    /// EWFQ's parameters. Defaults are lu2012's, with many classes.
    pub struct EwfqConfig {
        /// How many classes there are.
        classes: u32 = 1024, "n", 1 ..= 65_536;
        /// What decides the class of a packet: a hash of its flow, or the class that the driver
        /// gave it.
        map: Map = Map::Flow, "", 0 ..= 0;
        /// A flow goes to any of so many classes that its hash deals it, where nobody is if there
        /// is one; with `map` flow.
        ways: u32 = 1, "", 1 ..= 16;
        /// Each class's part of the link, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.01 ..= 10_000.0;
        /// Whether each class heeds drops.
        responsive: ByClass<Responsive> = ByClass::all(Responsive::Off), "", 0 ..= 0;
        /// How many responsive flows each class has; 1 if unknown.
        flows: ByClass<f64> = ByClass::all(1.0), "n_i", 1.0 ..= 1_000_000.0;
        /// In which order classes are served.
        order: Order = Order::Wf2qPlus, "", 0 ..= 0;
        /// Time between two steps of m_fair.
        update: Span = Span::from_millis(10), "1 / f_s", 1_000 ..= 3_600_000_000_000_u64;
        /// The backlog aimed at, as a share of the limit.
        target: Prob = Prob::clip(0.5), "q_target", 0.0 ..= 1.0;
        /// In which unit the controller sees the backlog; m_fair is in bytes.
        unit: BacklogUnit = BacklogUnit::Bytes, "", 0 ..= 0;
        /// What the backlog at the step before weighs.
        alpha: f64 = 0.85, "alpha", 0.0 ..= 1_000_000.0;
        /// What the backlog of the moment weighs.
        beta: f64 = 0.9, "beta", 0.0 ..= 1_000_000.0;
        /// Over what time bytes are counted, in whole updates.
        interval: Span = Span::from_millis(1000), "t_i", 1_000 ..= 3_600_000_000_000_u64;
        /// Whether a class is judged by whole intervals or by one that slides.
        window: JudgedOver = JudgedOver::Whole, "", 0 ..= 0;
        /// How far m_fair may rise.
        ceiling: Ceiling = Ceiling::Link, "", 0 ..= 0;
        /// How far m_fair may fall.
        floor: Floor = Floor::Packet, "", 0 ..= 0;
        /// A class loses nothing unless it sends so many times m_fair, by weight.
        leeway: f64 = 1.0, "", 1.0 ..= 1000.0;
        /// Who goes when the shared buffer is full.
        overflow: EwfqVictim = EwfqVictim::Arrival, "", 0 ..= 0;
        /// The greatest round-trip time that flows may have.
        rtt: Span = Span::from_millis(500), "RTT_o", 1_000 ..= 3_600_000_000_000_u64;
        /// Length of a TCP flow's packets.
        packet: Bytes = Bytes::new(1000), "size_p", 1 ..= 65_535;
        /// How many classes are taken to be busy (no more than there are), for the first m_fair and
        /// for the sampling.
        busy: u32 = 16, "", 1 ..= 65_536;
        /// How likely a class with a fair share among these is not found in an interval; the
        /// sampling follows from it.
        miss: Prob = Prob::clip(0.1), "", 0.0 ..= 1.0;
        /// How many matches it takes to be held; with 0 to be sampled is enough.
        stages: u32 = 1, "k", 0 ..= 16;
        /// How many packets the cache remembers.
        cache: u32 = 100, "N_c", 1 ..= 1_048_576;
        /// With which chance a packet gets into the cache.
        insertion: Prob = Prob::clip(0.1), "p_c", 0.0 ..= 1.0;
        /// Which packets can: those that were sampled, or all of classes that are not held.
        insert: Insert = Insert::Sampled, "", 0 ..= 0;
        /// A class is held on if it sent so much of the mean m_fair in an interval, by weight.
        threshold: f64 = 0.5, "T", 0.001 ..= 1000.0;
        /// How long a class is held before it is judged by what it has sent since.
        settle: Span = Span::from_millis(10), "", 1_000 ..= 3_600_000_000_000_u64;
    }
}
