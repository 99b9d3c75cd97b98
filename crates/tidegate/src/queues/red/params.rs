//! The parameters of the queue `red`.
use crate::choices;
use crate::policy::Signal;
use crate::units::{Prob, Size};

choices! {
    /// In what the queue is measured.
    pub enum Mode {
        /// Packets, whatever their length; each is signalled with the same probability.
        Packets = "packets",
        /// Bytes; a long packet is signalled with a higher probability than a short one.
        Bytes = "bytes",
    }
}

choices! {
    /// In byte mode: where the packet's length enters.
    pub enum ByteOrder {
        /// Into p_b, before the correction by the count of packets (floyd1993 §IV).
        Before = "before",
        /// Into p_a, after the correction by the count of bytes (ns-2).
        After = "after",
    }
}

choices! {
    /// What happens above `max`.
    pub enum Gentle {
        /// p_b rises from max_p at `max` to 1 at twice `max`.
        On = "on",
        /// Every packet is signalled.
        Off = "off",
    }
}

choices! {
    /// How signals are spread over the packets.
    pub enum SignalSpacing {
        /// None for 1/p_b packets, then one within the next 1/p_b (ns-2).
        On = "on",
        /// One within 1/p_b packets (floyd1993).
        Off = "off",
    }
}

choices! {
    /// How far `avg` falls over an idle time of m packet times, until the first arrival.
    pub enum IdleDecay {
        /// By (1 − w_q)^m (floyd1993).
        M = "m",
        /// By (1 − w_q)^(m + 1): the arrival itself finds an empty queue (ns-2).
        MPlusOne = "m+1",
    }
}

choices! {
    /// Whether the dice are rolled where ns-2 does not.
    pub enum Leniency {
        /// Rolled (floyd1993).
        Roll = "roll",
        /// The packet passes (ns-2).
        Pass = "pass",
    }
}

choices! {
    /// Whether ECN-capable packets are marked where RED is certain.
    pub enum Certain {
        /// Marked.
        Mark = "on",
        /// Dropped: a sender that drives the average that high may not be listening (RFC 3168 §7).
        Drop = "off",
    }
}

crate::params! {
    /// RED's parameters. Defaults are those of floyd1993.
    pub struct RedConfig {
        /// Below this average nothing happens.
        min: Size = Size::Packets(5), "min_th", 0 ..= 1_000_000_000_000_u64;
        /// At this average p_b has risen to `probability`.
        max: Size = Size::Packets(15), "max_th", 1 ..= 1_000_000_000_000_u64;
        /// p_b at `max`.
        probability: Prob = Prob::clip(0.02), "max_p", 0.0 ..= 1.0;
        /// Weight of the queue of the moment in its average.
        weight: f64 = 0.002, "w_q", 1e-9 ..= 1.0;
        /// In what the queue is measured.
        mode: Mode = Mode::Packets, "", 0 ..= 0;
        /// In byte mode: where the packet's length enters, in p_b or, after the correction, in p_a.
        byte_order: ByteOrder = ByteOrder::After, "", 0 ..= 0;
        /// Whether p_b rises on from `max` to twice `max` instead of jumping to 1.
        gentle: Gentle = Gentle::Off, "", 0 ..= 0;
        /// Whether at least 1/p_b packets pass between two signals.
        wait: SignalSpacing = SignalSpacing::Off, "", 0 ..= 0;
        /// The power of 1 − w_q that the average falls by over an idle time of m packet times.
        idle_decay: IdleDecay = IdleDecay::M, "m", 0 ..= 0;
        /// What happens to the packet with which the average comes to `min`.
        on_crossing: Leniency = Leniency::Roll, "", 0 ..= 0;
        /// What happens to a packet that finds at most one waiting.
        short_queue: Leniency = Leniency::Roll, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
        /// Up to this p_b they are marked, above it dropped all the same.
        mark_up_to: Prob = Prob::ONE, "mark_p", 0.0 ..= 1.0;
        /// Whether they are marked also where RED is certain.
        mark_above_max: Certain = Certain::Drop, "", 0 ..= 0;
    }
}
