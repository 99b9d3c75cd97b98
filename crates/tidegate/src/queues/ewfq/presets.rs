//! What parameters of `ewfq` go together, its presets, and its entry in the catalog.
use super::*;
use crate::config::{ByClass, ConfigError};
use crate::entry::{Entry, FOREVER, HashTable, Info, Preset, WAYS, auto_buckets};
use crate::parts::class_lines::ClassLines;
use crate::parts::every::Every;
use crate::parts::fair_control::FairControl;
use crate::parts::sample_hold::{HoldRules, SampleHold, chance_per_byte};
use crate::parts::spread::{Classifier, HashWays, Map};
use crate::qdisc::Link;
use crate::rng::Rng;
use crate::units::{Prob, Span};
use alloc::format;
use alloc::vec::Vec;

impl EwfqConfig {
    fn rules(&self) -> HoldRules {
        HoldRules {
            stages: self.stages,
            cache: self.cache,
            insertion: self.insertion.get(),
            insert: self.insert,
        }
    }

    /// t_i in updates of 1/f_s: the nearest whole number, one at least.
    fn updates(&self) -> u64 {
        let update = self.update.as_nanos();
        ((self.interval.as_nanos() + update / 2) / update).max(1)
    }

    /// t_i in seconds.
    fn seconds(&self) -> f64 {
        self.updates() as f64 * self.update.as_secs()
    }

    /// What a class with the fair share among the busy ones sends in an interval, in bytes.
    fn fair(&self, link: &Link) -> f64 {
        link.rate.as_bps() as f64 / 8.0 * self.seconds() / self.busy.min(self.classes) as f64
    }

    fn control(&self, link: &Link) -> FairControl {
        let least = self.packet.get() as f64;
        let gain = match self.unit {
            BacklogUnit::Bytes => 1.0,
            BacklogUnit::Bits => 8.0,
        };
        let most = (link.rate.as_bps() as f64 / 8.0 * self.seconds()).max(least);
        FairControl {
            m_fair: self.fair(link).clamp(least, most),
            q_old: 0.0,
            alpha: self.alpha * gain,
            beta: self.beta * gain,
            target: self.target.get() * link.limit.in_bytes(link.mean_packet) as f64,
            range: (least, most),
        }
    }

    fn kinds(&self, link: &Link) -> Vec<ClassState> {
        let len = self.packet.get() as f64;
        let share = 1.0 / self.busy.min(self.classes) as f64;
        let packets = (self.fair(link) / len) as u64;
        // Without a cache no packet has to match one.
        let (share_of_cache, stages) =
            if self.stages == 0 { (1.0, 1) } else { (share, self.stages) };
        let chance = chance_per_byte(self.miss.get(), packets, share_of_cache, stages, len);
        let weights = (0..self.classes as usize).map(|class| self.weights.of(class));
        let least = weights.clone().fold(f64::INFINITY, f64::min);
        let kind = |(class, weight): (usize, f64)| {
            let per_weight = least / weight;
            let flows = self.flows.of(class) * per_weight;
            ClassState {
                responsive: self.responsive.of(class),
                per_weight,
                factor: flows * flows,
                chance: chance * per_weight,
            }
        };
        weights.enumerate().map(kind).collect()
    }
}

/// Harmless where nobody sends too much, and exact about who does; each departure from the paper
/// stands in the manual page.
fn auto(link: &Link) -> EwfqConfig {
    EwfqConfig {
        classes: auto_buckets(link),
        ways: WAYS,
        unit: BacklogUnit::Bits,
        window: JudgedOver::Sliding,
        ceiling: Ceiling::Largest,
        floor: Floor::Fair,
        leeway: 1.25,
        overflow: EwfqVictim::Longest,
        miss: Prob::ZERO,
        stages: 0,
        ..EwfqConfig::default()
    }
}

impl Entry for Ewfq {
    type Config = EwfqConfig;
    const INFO: Info = Info {
        title: "weighted fair queueing over one shared buffer, with drops by what each class sends",
        paper: "lu2012",
        manual: include_str!("../ewfq.md"),
    };
    const PRESETS: &'static [Preset<EwfqConfig>] = &[
        Preset {
            name: "auto",
            doc: "flows with a class each, all held, none known to heed drops; the longest line \
                 makes room; see below",
            config: auto,
        },
        Preset {
            name: "paper",
            doc: "lu2012 §V: three classes as the driver gives them, the first two TCP; the \
                 backlog in bits, m_fair no higher than what classes send; the longest line makes \
                 room",
            config: |_| EwfqConfig {
                classes: 3,
                map: Map::Class,
                responsive: ByClass::each(&[Responsive::On, Responsive::On, Responsive::Off]),
                unit: BacklogUnit::Bits,
                ceiling: Ceiling::Largest,
                overflow: EwfqVictim::Longest,
                ..EwfqConfig::default()
            },
        },
    ];

    fn build(config: &EwfqConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        if config.updates() > MOST_UPDATES {
            let why = format!("must be at most {MOST_UPDATES} updates of {}", config.update);
            return Err(ConfigError::new("interval", config.interval, why));
        }
        let control = config.control(&link);
        let window = config.rtt.as_secs() / config.seconds() / config.packet.get() as f64;
        Ok(Ewfq {
            classes: Classifier::new(config.map, config.classes, config.ways, &mut dice),
            kinds: config.kinds(&link),
            held: ClassLines::new(config.classes, &config.weights, config.order, &link),
            senders: SampleHold::new(config.classes, config.rules()),
            control,
            every: Every::new(config.update),
            updates: config.updates(),
            updated: 0,
            sum: 0.0,
            eq1: 1.0 / (0.66 * window * window),
            threshold: config.threshold,
            ceiling: config.ceiling,
            floor: config.floor,
            bounds: control.range,
            r_fair: 0.0,
            leeway: config.leeway,
            overflow: config.overflow,
            longest: 0,
            judging: Judging {
                window: config.window,
                settle: config.settle,
                interval: config.seconds(),
            },
            link,
            dice,
        })
    }

    fn state_bytes(config: &EwfqConfig, link: &Link) -> u64 {
        let classes = config.classes as u64;
        let kinds = classes * core::mem::size_of::<ClassState>() as u64;
        let senders = SampleHold::<HeldClass>::bytes(config.classes, &config.rules());
        let ways =
            if config.map == Map::Flow { HashWays::bytes(config.classes, config.ways) } else { 0 };
        core::mem::size_of::<Ewfq>() as u64
            + ways
            + kinds
            + ClassLines::bytes(classes, link)
            + senders
    }

    // What is known of a class is known of another flow then, until the end of an interval; a flood
    // is found anew by its packets.
    fn bucket_lifetime(config: &EwfqConfig) -> Option<Span> {
        (config.map == Map::Flow).then_some(FOREVER)
    }

    fn hash_table(config: &EwfqConfig) -> Option<HashTable> {
        (config.map == Map::Flow)
            .then_some(HashTable { buckets: config.classes, ways: config.ways })
    }
}
