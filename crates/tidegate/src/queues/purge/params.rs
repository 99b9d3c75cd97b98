//! The parameters of the queue `purge`.
use crate::choices;
use crate::parts::hit_cache::Replace;
use crate::parts::mincount::Estimator;
use crate::policy::{NonEct, Signal};
use crate::units::{Size, Span};

choices! {
    /// In what eq. (3) counts.
    pub enum LoadUnit {
        /// Bits and bits per second.
        Bits = "bits",
        /// Bytes and bytes per second.
        Bytes = "bytes",
        /// Mean packets and mean packets per second.
        Packets = "packets",
    }
}

choices! {
    /// Which packets count.
    pub enum CountedPackets {
        /// What was let in.
        Admitted = "admitted",
        /// Whatever was offered.
        Offered = "offered",
    }
}

choices! {
    /// With what a high-bandwidth flow is marked.
    pub enum Stronger {
        /// The larger of its own price and the link's.
        Larger = "larger",
        /// Its own, as printed, although it may be the smaller one.
        Literal = "literal",
    }
}

choices! {
    /// What becomes of the hit fractions while nothing is sampled.
    pub enum Memory {
        /// They last.
        Hold = "hold",
        /// They last, but flows are purged only while the queue is above b*.
        Gate = "gate",
        /// They halve in each period without a sampling.
        Fade = "fade",
    }
}

choices! {
    /// What a sampled packet counts for, and so in what a flow's share of the buffer is.
    pub enum SampleWeight {
        /// One, as printed: Ω is a share of the waiting packets.
        Packets = "packets",
        /// Its length: Ω is a share of the waiting bytes.
        Bytes = "bytes",
    }
}

choices! {
    /// When the count of flows begins anew.
    pub enum CountWindow {
        /// In each period.
        Period = "period",
        /// Never: a flow that was counted once counts for ever.
        Never = "never",
    }
}

choices! {
    /// What a flow's excess over the fair share multiplies in eq. (3).
    pub enum Own {
        /// γ (α (b − b*) + X − c), as printed: the mismatch of the moment.
        Mismatch = "mismatch",
        /// A price for offenders that grows while there is a mismatch and falls when it is gone.
        Price = "price",
    }
}

choices! {
    /// Whether flows up to their share are spared the common price where offenders have one of
    /// their own.
    pub enum Spare {
        /// Everybody pays it.
        Off = "off",
        /// They pay what it is above the price of an offender at twice its share (`own = price`).
        On = "on",
    }
}

choices! {
    /// Who is dropped when there is no room.
    pub enum PushOut {
        /// The arriving packet.
        Off = "off",
        /// The newest of the last 256 waiting packets that is of a high-bandwidth flow, if there is
        /// one.
        On = "on",
    }
}

crate::params! {
    /// Purge's parameters. Defaults are Table 1 of its paper, and our choices where it is silent.
    pub struct PurgeConfig {
        /// Step of the price.
        gamma: f64 = 0.001, "gamma", 1e-12 ..= 1e6;
        /// Weight of the backlog against the rate.
        alpha: f64 = 0.1, "alpha", 0.0 ..= 1e6;
        /// Base of the marking probability.
        phi: f64 = 1.001, "phi", 1.000000001 ..= 1000.0;
        /// The backlog aimed at; above it the queue is sampled.
        target: Size = Size::Bytes(250_000), "b*", 1 ..= 1_000_000_000_000_u64;
        /// Time between two price updates.
        price_interval: Span = Span::from_millis(10), "T_u", 1_000 ..= 60_000_000_000_u64;
        /// Length of a sampling period, in which flows are counted.
        interval: Span = Span::from_millis(1000), "t", 10_000_000 ..= 3_600_000_000_000_u64;
        /// Time between two updates of the hit fractions; 0: they are updated with the count, each
        /// `interval`.
        update: Span = Span::from_millis(0), "", 0 ..= 3_600_000_000_000_u64;
        /// What of the samplings before the last update is kept among those of the past: 0 as
        /// printed, 1 all.
        past: f64 = 0.0, "Psi(t-1)", 0.0 ..= 1.0;
        /// By what part of the samplings of the past a flow is judged that is new in the cache; 1
        /// is eq. (2).
        fresh: f64 = 1.0, "", 0.0 ..= 1.0;
        /// When the count of flows begins anew.
        window: CountWindow = CountWindow::Period, "", 0 ..= 0;
        /// How many high-bandwidth flows are remembered.
        cache: u32 = 50, "HBF", 1 ..= 4096;
        /// Who makes room in a full cache.
        replace: Replace = Replace::Oldest, "", 0 ..= 0;
        /// What a sampled packet counts for: one, as printed, or its length.
        weigh: SampleWeight = SampleWeight::Packets, "Hit", 0 ..= 0;
        /// Buckets of MINCOUNT.
        buckets: u32 = 1024, "m", 2 ..= 65536;
        /// Minima in each bucket.
        minima: u32 = 3, "k", 1 ..= 16;
        /// How the minima become a number of flows.
        estimator: Estimator = Estimator::Auto, "", 0 ..= 0;
        /// Overloaded periods in a row after which high-bandwidth flows are dropped rather than
        /// marked.
        persist: u32 = 2, "", 0 ..= 1000000;
        /// Which packets' flows are counted.
        count: CountedPackets = CountedPackets::Offered, "", 0 ..= 0;
        /// In what eq. (3) counts.
        unit: LoadUnit = LoadUnit::Bits, "", 0 ..= 0;
        /// Which packets the price counts as input.
        input: CountedPackets = CountedPackets::Admitted, "X", 0 ..= 0;
        /// What a flow's excess over the fair share multiplies.
        own: Own = Own::Mismatch, "", 0 ..= 0;
        /// With `own = price`: by what power of e a second the price for offenders grows at an
        /// input of twice the capacity.
        gain: f64 = 10.0, "", 0.0 ..= 1e6;
        /// With `own = price`: the highest price for offenders.
        ceiling: f64 = 30.0, "", 0.001 ..= 1e6;
        /// With what a high-bandwidth flow is marked.
        stronger: Stronger = Stronger::Larger, "", 0 ..= 0;
        /// What becomes of the hit fractions while nothing is sampled.
        memory: Memory = Memory::Hold, "", 0 ..= 0;
        /// Whether flows up to their share are spared the common price while offenders pay more.
        spare: Spare = Spare::Off, "", 0 ..= 0;
        /// Who is dropped when there is no room.
        push_out: PushOut = PushOut::Off, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
        /// What becomes of a packet that was to be marked but is Not-ECT.
        non_ect: NonEct = NonEct::Pass, "", 0 ..= 0;
    }
}
