//! The parameters of the queue `sfb`.
use crate::choices;
use crate::parts::penalty_box::PenaltyBoxKind;
use crate::policy::Signal;
use crate::units::{Prob, Rate, Size, Span};

choices! {
    /// How many of a flow's bins must be full for its packet to be dropped.
    pub enum DropRule {
        /// One (feng2001 Fig. 1 to the letter).
        Any = "any",
        /// All of them.
        Min = "min",
    }
}

choices! {
    /// When p_m of a bin falls.
    pub enum Fall {
        /// At an arrival that finds the bin empty (feng2001 Fig. 1).
        Arrival = "arrival",
        /// At a departure that empties it (feng2001 §III-A: "drops to zero").
        Departure = "departure",
    }
}

choices! {
    /// Whether the penalty box is asked before or after the full bins.
    pub enum Penalty {
        /// What finds its bins full never comes to it (feng2001 Fig. 1).
        After = "after",
        /// What is condemned passes as the box says, however full its bins are.
        Before = "before",
    }
}

choices! {
    /// Whether a packet that the penalty box refuses raises p_m.
    pub enum Refused {
        /// No: p_m falls as the bins run empty, flood or no flood (feng2001 Fig. 1).
        Ignore = "ignore",
        /// It does, in all its bins: as a lost packet does in BLUE.
        Raise = "raise",
    }
}

choices! {
    /// Which packets p_min is asked of.
    pub enum Early {
        /// All (feng2001 Fig. 1).
        On = "on",
        /// Those whose bins are full: marked with probability p_min, if they can be, else dropped.
        Full = "full",
    }
}

choices! {
    /// Whether the hash functions change from time to time (feng2001 §III-D).
    pub enum RehashRule {
        /// Never: a flow that shares all its bins with unresponsive flows suffers for ever.
        Off = "off",
        /// New hash functions and empty bins: the unresponsive are on parole until caught again.
        Moving = "moving",
        /// As `moving`, with a second set of bins that has learned the unresponsive flows
        /// beforehand.
        Double = "double",
    }
}

choices! {
    /// Whether a packet that finds no room is an arrival to its bins.
    pub enum OverlimitArrival {
        /// It raises and lowers p_m as every arrival does.
        Count = "count",
        /// The bins do not hear of it.
        Ignore = "ignore",
    }
}

crate::params! {
    /// SFB's parameters. Defaults are the preset `paper`.
    pub struct SfbConfig {
        /// Levels of bins, each with its own hash function.
        levels: u32 = 2, "L", 1 ..= 8;
        /// Bins on each level.
        bins: u32 = 23, "N", 1 ..= 65_536;
        /// A bin that holds more packets than this is full.
        bin_size: u32 = 13, "bin_size", 1 ..= 16_777_216;
        /// In place of `bin_size`, if above 0: with n bins of its level in use, a bin is full
        /// beyond b / (b + n − 1) of the limit.
        overbook: f64 = 0.0, "b", 0.0 ..= 8.0;
        /// A packet whose bins hold more than this is dropped; never less than `bin_size`, which 0
        /// stands for.
        max: u32 = 0, "", 0 ..= 16_777_216;
        /// Added to a bin's p_m by an arrival that finds it full, in steps of 1e-9.
        d_up: Prob = Prob::clip(0.008), "delta", 0.000000001 ..= 1.0;
        /// Taken from a bin's p_m when it is empty, in steps of 1e-9.
        d_down: Prob = Prob::clip(0.00003), "delta", 0.0 ..= 1.0;
        /// Whether p_m falls at arrivals that find the bin empty or at departures that empty it.
        fall: Fall = Fall::Arrival, "", 0 ..= 0;
        /// The least time between two changes of a bin's p_m.
        hold: Span = Span::ZERO, "", 0 ..= 1_000_000_000_000_u64;
        /// How many of a flow's bins must be full for its packet to be dropped.
        drop_rule: DropRule = DropRule::Min, "", 0 ..= 0;
        /// Whether p_min is asked of every packet, or of those only whose bins are full, in place
        /// of the drop.
        early: Early = Early::On, "", 0 ..= 0;
        /// The p_min from which on a flow counts as unresponsive.
        condemn: Prob = Prob::ONE, "", 0.000000001 ..= 1.0;
        /// What all unresponsive flows share.
        penalty_rate: Rate = Rate::from_bps(160_000), "", 0 ..= 1_000_000_000_000_000_u64;
        /// How much of it they can save up; no longer packet of theirs passes a bucket.
        penalty_depth: Size = Size::Packets(2), "", 1 ..= 1_000_000_000;
        /// How the penalty box keeps its rate.
        penalty_box: PenaltyBoxKind = PenaltyBoxKind::Bucket, "", 0 ..= 0;
        /// Whether the penalty box is asked before or after the full bins.
        penalty: Penalty = Penalty::After, "", 0 ..= 0;
        /// Whether a packet that the penalty box refuses raises p_m.
        refused: Refused = Refused::Ignore, "", 0 ..= 0;
        /// Whether the hash functions change from time to time.
        rehash: RehashRule = RehashRule::Off, "", 0 ..= 0;
        /// How often they change.
        rehash_interval: Span = Span::from_millis(2_000), "T_h",
            1_000_000 ..= 86_400_000_000_000_u64;
        /// With rehash `double`: the last part of each interval in which the second set of bins
        /// learns, as a share.
        warm_up: Prob = Prob::ONE, "T_w / T_h", 0.0 ..= 1.0;
        /// The greatest p_m that the second set learns.
        warm_cap: Prob = Prob::ONE, "", 0.0 ..= 1.0;
        /// Whether a packet that finds no room is an arrival to its bins.
        overflow: OverlimitArrival = OverlimitArrival::Count, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
        /// Above this p_min more and more of the packets to be marked are dropped instead, and all
        /// of them at 1.
        mark_up_to: Prob = Prob::ONE, "", 0.0 ..= 1.0;
    }
}
