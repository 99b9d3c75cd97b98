//! The parameters of the queue `red_pd`.
use crate::choices;
use crate::policy::Signal;
use crate::queues::red::{Gentle, Mode, RedConfig, SignalSpacing};
use crate::units::{Prob, Size, Span};

choices! {
    /// What a flow must have lost in the list that ends, to be dropped from more.
    pub enum Tightens {
        /// Something to RED.
        RedDrop = "red_drop",
        /// Something, to the pre-filter or to RED (the authors' scripts for ns-2).
        AnyDrop = "any_drop",
    }
}

choices! {
    /// Whether monitored flows are tested for whether they slow down.
    pub enum ResponseTest {
        /// They are.
        On = "on",
        /// All are taken for responsive.
        Off = "off",
    }
}

choices! {
    /// Whose rules RED follows where they differ.
    pub enum RedRules {
        /// floyd1993's.
        Floyd1993 = "floyd1993",
        /// ns-2's: RED's `idle_decay` m+1, `on_crossing` and `short_queue` pass.
        Ns2 = "ns2",
    }
}

crate::params! {
    /// RED-PD's parameters, RED's among them.
    pub struct RedPdConfig: RedConfig {
        /// The round-trip time of the TCP whose rate at the present loss is the target.
        rtt: Span = Span::from_millis(40), "R", 1_000_000 ..= 3_600_000_000_000_u64;
        /// How many lists of drops are kept.
        lists: u32 = 5, "M", 1 ..= 8;
        /// A flow that stands in so many of them is identified.
        appearances: u32 = 3, "K", 1 ..= 8;
        /// The most flows in a list, those that lost most.
        list_flows: u32 = 50, "", 1 ..= 65_536;
        /// The most flows that are known at a time: in lists, in the one that is open, and
        /// monitored.
        flows: u32 = 1024, "", 1 ..= 65_536;
        /// A list is no shorter than so many R.
        least_interval: f64 = 2.0, "", 0.01 ..= 1000.0;
        /// It is no longer than so many R, and that long while nothing is lost.
        most_interval: f64 = 10.0, "", 0.01 ..= 1000.0;
        /// Weight of the newest list in the drop rate.
        drop_weight: f64 = 0.5, "", 1e-9 ..= 1.0;
        /// While RED drops no more than this share no flow is identified.
        least_loss: Prob = Prob::clip(0.001), "", 0.0 ..= 1.0;
        /// Before this time no flow is identified.
        start: Span = Span::ZERO, "", 0 ..= 3_600_000_000_000_u64;
        /// The least time between two changes of a flow's drop probability.
        hold: Span = Span::from_millis(400), "", 0 ..= 3_600_000_000_000_u64;
        /// The most that a flow's drop probability falls at once; a small one is halved.
        decrease: Prob = Prob::clip(0.05), "", 0.001 ..= 1.0;
        /// A flow that loses nothing any more is released at this drop probability.
        release: Prob = Prob::clip(0.005), "min_thresh", 0.0 ..= 1.0;
        /// The same for one that was found unresponsive.
        release_unresponsive: Prob = Prob::clip(0.0025), "", 0.0 ..= 1.0;
        /// Whether monitored flows are tested for whether they slow down.
        test: ResponseTest = ResponseTest::On, "", 0 ..= 0;
        /// What a flow must have lost in the list that ends, to be dropped from more.
        tightens: Tightens = Tightens::RedDrop, "", 0 ..= 0;
        /// Below this average RED does nothing, and responsive flows are not dropped from
        /// beforehand.
        min: Size = Size::Packets(25);
        max: Size = Size::Packets(75);
        probability: Prob = Prob::clip(0.1);
        weight: f64 = 0.002;
        mode: Mode = Mode::Bytes;
        gentle: Gentle = Gentle::On;
        wait: SignalSpacing = SignalSpacing::Off;
        /// RED: whose rules it follows where they differ.
        rules: RedRules = RedRules::Floyd1993, "", 0 ..= 0;
        /// Whether RED marks ECN-capable packets instead of dropping them; the pre-filter always
        /// drops.
        ecn: Signal = Signal::Mark;
    }
}
