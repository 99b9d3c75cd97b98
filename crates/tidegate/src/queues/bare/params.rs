//! The parameters of the queue `bare`.
use crate::choices;
use crate::units::{Prob, Size, Span};

choices! {
    /// By what beta grows.
    pub enum BetaGrowth {
        /// By `increase`, as in the pseudo-code.
        Constant = "constant",
        /// By as much as the flow's rate is above or below the fair one.
        Ratio = "ratio",
    }
}

choices! {
    /// What an adjustment of beta does to the bytes that have gone by.
    pub enum ByteCount {
        /// They count from zero again.
        Reset = "reset",
        /// Nothing, as printed: once it is due, every packet of the flow adjusts beta.
        Keep = "keep",
    }
}

choices! {
    /// By what a flow's share is estimated.
    pub enum ShareBy {
        /// Its rate (eq. 4).
        Rate = "rate",
        /// What it has waiting, in the mean (eq. 5); fair is an equal part of the average backlog.
        Backlog = "backlog",
    }
}

choices! {
    /// With which probability a packet is dropped below max_th.
    pub enum DropCurve {
        /// A power of the flow's part of max_th (eq. 6).
        Power = "power",
        /// The same for all: the law that §III-B argues against.
        Constant = "constant",
    }
}

choices! {
    /// How flows are counted: the parameter `active`.
    pub enum Active {
        /// Each flow that is known is one.
        Known = "known",
        /// A flow is one if its rate is half of the fair one or more, else by its rate a part of
        /// one.
        ByRate = "by_rate",
    }
}

crate::params! {
    /// BARE's parameters. Defaults are the preset `paper`.
    pub struct BareConfig {
        /// What a flow may have waiting while there are few flows.
        most: Size = Size::Bytes(8000), "", 1 ..= 1_000_000_000;
        /// What a flow may have waiting while there are many.
        least: Size = Size::Bytes(4000), "", 1 ..= 1_000_000_000;
        /// Up to so many flows there are few; from here the threshold goes to `crowded` in a
        /// straight line.
        roomy: u32 = 9, "N_1", 1 ..= 16_777_216;
        /// From so many flows on there are many.
        crowded: u32 = 40, "N_2", 1 ..= 16_777_216;
        /// How flows are counted.
        active: Active = Active::Known, "N_act", 0 ..= 0;
        /// How often they are counted by rate.
        recount: Span = Span::from_millis(50), "", 1_000 ..= 3_600_000_000_000_u64;
        /// The backlog aimed at, as a share of the virtual threshold.
        target: Prob = Prob::clip(0.5), "target_q / vmax_q", 0.0 ..= 1.0;
        /// Weight of the backlog of the moment in its average.
        weight: f64 = 0.006, "w_q", 1e-9 ..= 1.0;
        /// By what a flow's share is estimated.
        share: ShareBy = ShareBy::Rate, "", 0 ..= 0;
        /// Weight of what a flow has waiting in its average, if its share is estimated by that.
        share_weight: f64 = 0.02, "w", 1e-9 ..= 1.0;
        /// With which probability a packet is dropped below max_th.
        law: DropCurve = DropCurve::Power, "", 0 ..= 0;
        /// That probability, if it is constant.
        chance: Prob = Prob::clip(0.02), "a", 0.0 ..= 1.0;
        /// Time constant of the rates.
        memory: Span = Span::from_millis(384), "K", 1_000 ..= 3_600_000_000_000_u64;
        /// Exponent of the drop law for a flow that is new.
        beta: f64 = 7.5, "beta_init", 0.0 ..= 1000.0;
        /// Its least value: that of flows far above the fair rate.
        beta_min: f64 = 0.5, "beta_min", 0.0 ..= 1000.0;
        /// Its greatest value.
        beta_max: f64 = 10.0, "beta_max", 0.0 ..= 1000.0;
        /// By what it grows.
        growth: BetaGrowth = BetaGrowth::Constant, "", 0 ..= 0;
        /// The factor, if that is constant.
        increase: f64 = 1.2, "c", 1.0 ..= 1000.0;
        /// It is adjusted whenever so many times the flow's threshold have gone by.
        update_after: f64 = 6.0, "", 0.0 ..= 1_000_000.0;
        /// What becomes of the bytes that have gone by when it is adjusted.
        count: ByteCount = ByteCount::Reset, "count_i", 0 ..= 0;
        /// After so long without a packet a flow is forgotten.
        timeout: Span = Span::from_millis(1500), "", 1_000 ..= 86_400_000_000_000_u64;
        /// The most flows that are known at a time; a new one takes the place of the one that is
        /// idle longest.
        flows: u32 = 65_536, "", 1 ..= 16_777_216;
    }
}
