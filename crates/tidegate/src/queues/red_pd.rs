#![doc = include_str!("red_pd.md")]
mod params;
mod presets;

use crate::config::ConfigError;
use crate::packet::Packet;
use crate::parts::drop_history::{DropHistory, FlowHistory, Keep, MOST_LISTS};
use crate::parts::pre_filter::{FilterLaw, FlowRecord, Monitored};
use crate::policy::{Fifo, Policy, QueueView, Verdict};
use crate::qdisc::{DropReason, Gauge, Link, MarkReason};
use crate::queues::red::{IdleDecay, Leniency, RedConfig, RedRule};
use crate::rng::Rng;
use crate::units::{Span, Time};
pub use params::*;

/// A RED queue before which flows that RED drops from often are dropped from at random
/// (mahajan2001).
pub type RedPd = Fifo<RedPdRule>;

impl RedPdConfig {
    fn red(&self, link: &Link) -> Result<RedRule, ConfigError> {
        let (idle_decay, leniency) = match self.rules {
            RedRules::Floyd1993 => (IdleDecay::M, Leniency::Roll),
            RedRules::Ns2 => (IdleDecay::MPlusOne, Leniency::Pass),
        };
        let config =
            RedConfig { idle_decay, on_crossing: leniency, short_queue: leniency, ..self.base() };
        RedRule::new(&config, link)
    }

    /// The bounds of a list's length.
    fn intervals(&self) -> (Span, Span) {
        let of = |times: f64| Span::from_secs(times * self.rtt.as_secs()).max(Span::from_nanos(1));
        (of(self.least_interval), of(self.most_interval))
    }
}

/// How long the last lists were, newest last.
#[derive(Clone, Debug)]
struct ListLengths([Span; MOST_LISTS as usize]);

impl ListLengths {
    fn push(&mut self, length: Span) {
        self.0.copy_within(1.., 0);
        self.0[MOST_LISTS as usize - 1] = length;
    }

    /// The last `lists` together.
    fn of(&self, lists: u32) -> Span {
        self.0.iter().rev().take(lists as usize).fold(Span::ZERO, |sum, &length| sum + length)
    }
}

/// After so many lists in a row in which nothing arrived everything is forgotten.
const SILENCE: u32 = 64;

/// The rule of RED-PD: a pre-filter for flows that RED drops from often, and RED for what passes
/// it.
#[derive(Clone, Debug)]
pub struct RedPdRule {
    red: RedRule,
    min_th: f64,
    history: DropHistory<Monitored>,
    law: FilterLaw,
    /// What came to RED and what RED dropped since the list was opened, in bytes.
    arrived: u64,
    dropped: u64,
    p_avg: f64,
    lengths: ListLengths,
    /// When the open list ends, and how long it is then.
    due: Time,
    length: Span,
    least: Span,
    most: Span,
    /// Something arrived since the list was opened; and in how many before it nothing did.
    offered: bool,
    silent: u32,
    /// The arriving packet does not pass the pre-filter.
    filtered: bool,
    config: RedPdConfig,
}

impl RedPdRule {
    fn new(config: &RedPdConfig, link: &Link) -> Result<RedPdRule, ConfigError> {
        let (least, most) = config.intervals();
        let red = config.red(link)?;
        Ok(RedPdRule {
            min_th: red.thresholds().0,
            red,
            history: DropHistory::new(config.lists, config.list_flows, config.flows),
            law: FilterLaw {
                decrease: config.decrease,
                release: config.release,
                release_unresponsive: config.release_unresponsive,
            },
            arrived: 0,
            dropped: 0,
            p_avg: 0.0,
            lengths: ListLengths([Span::ZERO; MOST_LISTS as usize]),
            due: Time::ZERO + most,
            length: most,
            least,
            most,
            offered: false,
            silent: 0,
            filtered: false,
            config: config.clone(),
        })
    }

    /// RED, as it stands behind the pre-filter.
    pub fn red(&self) -> &RedRule {
        &self.red
    }

    /// p_avg: the share that RED drops, averaged over lists.
    pub fn drop_rate(&self) -> f64 {
        self.p_avg
    }

    /// When the open list ends.
    pub fn due(&self) -> Time {
        self.due
    }

    /// How many flows are known: in a list, or monitored.
    pub fn known(&self) -> u32 {
        self.history.len()
    }

    /// What `flow` is monitored with, if it is.
    pub fn monitored(&self, flow: u64) -> Option<Monitored> {
        self.history.get(flow).and_then(|account| account.own)
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.due {
            self.end_lists(now);
        }
    }

    #[cold]
    fn end_lists(&mut self, now: Time) {
        while self.due <= now && self.silent < SILENCE {
            self.end_list();
        }
        if self.due <= now {
            // Nothing is known any more and nothing arrives: lists only go by.
            let lists = 1 + now.since(self.due).as_nanos() / self.most.as_nanos();
            (0..lists.min(MOST_LISTS as u64)).for_each(|_| self.lengths.push(self.most));
            self.due += Span::from_nanos(self.most.as_nanos().saturating_mul(lists));
        }
    }

    fn end_list(&mut self) {
        let now = self.due;
        let p_cur = if self.arrived > 0 { self.dropped as f64 / self.arrived as f64 } else { 0.0 };
        self.p_avg = self.config.drop_weight * p_cur + (1.0 - self.config.drop_weight) * self.p_avg;
        self.history.close();
        self.lengths.push(self.length);
        let p_use = p_cur.min(self.p_avg);
        let identifies =
            p_cur > self.config.least_loss.get() && now >= Time::ZERO + self.config.start;
        self.settle(now, if identifies { p_use } else { 0.0 });
        self.silent = if self.offered { 0 } else { self.silent + 1 };
        if self.silent == SILENCE {
            self.history.clear();
            self.p_avg = 0.0;
        }
        (self.arrived, self.dropped, self.offered) = (0, 0, false);
        self.length = self.next_length();
        self.due = now + self.length;
    }

    /// tau: the lists together are as long as it takes the target TCP to lose K packets, R / √(1.5
    /// p) for each.
    fn next_length(&self) -> Span {
        if self.p_avg == 0.0 {
            return self.most;
        }
        let share = self.config.appearances as f64 / self.config.lists as f64;
        let epoch = self.config.rtt.as_secs() / libm::sqrt(1.5 * self.p_avg);
        Span::from_secs(share * epoch).max(self.least).min(self.most)
    }

    /// How long the last `lists` lists were, or `hold` if that is longer.
    fn wait(&self, lists: u32) -> Span {
        self.lengths.of(lists).max(self.config.hold)
    }

    /// A list has ended: who is dropped from more, and who from less. `p_use` is the drop rate, 0
    /// if nobody is identified.
    fn settle(&mut self, now: Time, p_use: f64) {
        let config = &self.config;
        let law = &self.law;
        let changed = |monitored: &Monitored| now.since(monitored.last_change());
        let tighten_after = self.wait(config.lists - 1);
        let [loosen_after, loosen_unresponsive_after] =
            [config.appearances, config.lists].map(|lists| self.wait(lists));
        let (flows, lost) = self
            .history
            .accounts()
            .filter(|account| account.lists() >= config.appearances)
            .fold((0_u64, 0_u64), |(flows, lost), account| (flows + 1, lost + account.lost()));
        let (mean, length) = (lost as f64 / flows as f64, self.length);
        self.history.each(|_, account| {
            let lost_now = match config.tightens {
                Tightens::RedDrop => account.is_in_newest(),
                Tightens::AnyDrop => account.gone > 0,
            };
            let may_change =
                account.own.as_ref().is_none_or(|monitored| changed(monitored) >= tighten_after);
            if p_use > 0.0 && account.lists() >= config.appearances && lost_now && may_change {
                tighten(account, now, length, p_use, mean, config.test);
            }
            if account.lists() == 0
                && let Some(monitored) = &mut account.own
                && changed(monitored)
                    >= if monitored.is_unresponsive() {
                        loosen_unresponsive_after
                    } else {
                        loosen_after
                    }
                && !monitored.loosen(now, law)
            {
                account.own = None;
            }
            if account.own.is_some() { Keep::Always } else { Keep::IfListed }
        });
    }

    /// RED dropped or marked it, or found no room.
    #[inline]
    fn red_dropped(&mut self, pkt: &Packet) {
        self.dropped += pkt.len as u64;
        self.history.dropped(pkt.flow, pkt.len);
    }

    /// Whether the pre-filter drops a packet, of a flow that is monitored if that is known.
    #[inline]
    fn filter(&mut self, pkt: &Packet, waiting: u32, dice: &mut Rng) -> bool {
        let busy = waiting > 1 && self.red.avg() >= self.min_th;
        let Some(account) = self.history.find(pkt.flow) else { return false };
        account.arrived += pkt.len as u64;
        let Some(monitored) = &mut account.own else { return false };
        let hit = monitored.hits(dice.uniform(), busy);
        account.gone += if hit { pkt.len as u64 } else { 0 };
        hit
    }
}

/// An identified flow: it is monitored from now on, or dropped from more.
fn tighten(
    account: &mut FlowHistory<Monitored>,
    now: Time,
    length: Span,
    p_use: f64,
    mean: f64,
    test: ResponseTest,
) {
    let pre = p_use * account.lost() as f64 / mean;
    let monitored = match &mut account.own {
        None => account.own.insert(Monitored::new(pre.min(2.0 * p_use).min(0.5), now)),
        Some(monitored) => {
            if test == ResponseTest::On {
                monitored.test();
            }
            monitored.tighten(now, pre);
            monitored
        }
    };
    let (arrived, gone) = (account.arrived as f64, account.gone as f64);
    monitored.record(FlowRecord { rate: arrived / length.as_secs(), loss: gone / arrived });
}

impl Policy for RedPdRule {
    /// The pre-filter comes before the buffer: what it drops RED does not see.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        self.catch_up(now);
        (self.offered, self.silent) = (true, 0);
        self.filtered = self.filter(pkt, queue.backlog().packets, dice);
        self.arrived += if self.filtered { 0 } else { pkt.len as u64 };
    }

    #[inline]
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict {
        if self.filtered {
            return Verdict::Drop(DropReason::Unfair);
        }
        let verdict = self.red.arrive(now, pkt, queue, dice);
        if verdict != Verdict::Admit {
            self.red_dropped(pkt);
        }
        verdict
    }

    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        self.red.admitted(now, pkt, queue);
    }

    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, queue: &impl QueueView) {
        if why == DropReason::Overlimit && !self.filtered {
            self.red.refused(now, pkt, why, queue);
            self.red_dropped(pkt);
        }
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        _: &Packet,
        _: &impl QueueView,
        _: &mut Rng,
    ) -> Option<MarkReason> {
        self.catch_up(now);
        None
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.catch_up(now);
        self.red.idle(now);
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let monitored = self.history.accounts().filter_map(|account| account.own.as_ref());
        let (flows, unresponsive, most) =
            monitored.fold((0, 0, 0.0), |(flows, unresponsive, most): (u32, u32, f64), m| {
                (
                    flows + 1,
                    unresponsive + u32::from(m.is_unresponsive()),
                    most.max(m.probability()),
                )
            });
        see(Gauge { name: "monitored", unit: "", value: flows as f64 });
        see(Gauge { name: "unresponsive", unit: "", value: unresponsive as f64 });
        see(Gauge { name: "largest_p", unit: "", value: most });
        see(Gauge { name: "p_avg", unit: "", value: self.p_avg });
        see(Gauge { name: "list_length", unit: "s", value: self.length.as_secs() });
        self.red.gauges(see);
    }
}
