//! Where samples of all gates come together. It keeps what is needed to say how they stand and who
//! offends, and makes [documents](Snapshot) of it on request. Never does a gate wait for it.
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tidegate::{Span, Time};

use crate::machine::host;
use crate::run::plan::GatePlan;
use crate::run::way::Way;
use crate::watch::counters::{ClassTally, DirectionCounters, Tally};
use crate::watch::interval::FlowSent;
use crate::watch::offenders::{Alarm, Offenders};
use crate::watch::sample::{GateSample, LaneSample, Samples};
use crate::watch::snapshot::{
    self, Bucket, ClassAccount, DelayHistogram, Direction, FlowState, Flows, GaugeReading,
    LinkSnapshot, QueueDelay, QueueSnapshot, RecentRates, Reloads, SCHEMA, Snapshot,
};
use crate::watch::sojourn::Sojourns;

/// Over how long rates and delays of late are taken.
const OF_LATE: Span = Span::from_millis(1000);
/// How many of the flows that send most are listed.
const TOP: usize = 10;

/// An instant by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// By the clock that samples go by.
    pub now: Time,
    /// The time of day.
    pub wall: SystemTime,
}

/// Keeps how the gates stand.
#[derive(Debug)]
pub struct Monitor(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    began: Time,
    reloads: Reloads,
    links: Vec<Gated>,
}

/// A link, and what is known of its gate.
#[derive(Debug)]
struct Gated {
    name: String,
    plan: GatePlan,
    /// The plans that it has received, and does not yet go by in the last sample.
    next: VecDeque<GatePlan>,
    running: bool,
    samples: Samples,
    last: Box<GateSample>,
    /// What there was before, back to a second ago; the last one is of `last`.
    past: VecDeque<PastSamples>,
    /// For each direction that is managed.
    offenders: [Option<Offenders>; 2],
}

/// What is kept of samples that are no more.
#[derive(Clone, Debug)]
struct PastSamples {
    at: Time,
    /// Received, sent and lost, for both directions.
    tallies: [[Tally; 3]; 2],
    sojourns: [Option<Sojourns>; 2],
    longest: [Span; 2],
}

impl Monitor {
    /// A monitor for these links, each with its name, its plan and whence its samples come, which
    /// begin `now`.
    pub fn new(now: Time, links: impl IntoIterator<Item = (String, GatePlan, Samples)>) -> Monitor {
        let links = links
            .into_iter()
            .map(|(name, plan, samples)| Gated::new(now, name, plan, samples))
            .collect();
        Monitor(Mutex::new(Kept { began: now, reloads: Reloads::default(), links }))
    }

    /// Takes in what samples there are; who has become an offender by them and who has ceased to be
    /// one, with the number of its link. To be called several times a second.
    pub fn take_in(&self) -> Vec<(usize, Alarm)> {
        let mut kept = self.kept();
        let told = kept.links.iter_mut().enumerate();
        told.flat_map(|(number, link)| link.take_in().into_iter().map(move |alarm| (number, alarm)))
            .collect()
    }

    /// How things stand by the samples that were taken in.
    pub fn snapshot(&self, moment: Moment) -> Snapshot {
        let kept = self.kept();
        let day = Day::of(moment);
        Snapshot {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            time_s: day.at(moment.now),
            uptime_s: moment.now.since(kept.began).as_secs(),
            resident_bytes: host::resident().unwrap_or_default(),
            reloads: kept.reloads.clone(),
            links: kept.links.iter().map(|link| link.told(day)).collect(),
        }
    }

    /// All links have received the file's plan.
    pub fn reloaded(&self) {
        let reloads = &mut self.kept().reloads;
        (reloads.done, reloads.last_error) = (reloads.done + 1, None);
    }

    /// The file was not heeded.
    pub fn refused(&self, why: &str) {
        let reloads = &mut self.kept().reloads;
        (reloads.refused, reloads.last_error) = (reloads.refused + 1, Some(why.into()));
    }

    /// The gate of this number has received another plan.
    pub fn goes_by(&self, number: usize, plan: &GatePlan) {
        self.kept().links[number].next.push_back(plan.clone());
    }

    /// The gate of this number has ended.
    pub fn ended(&self, number: usize) {
        self.kept().links[number].running = false;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Whoever panicked with it has left nothing half done that matters to others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of day of other moments.
#[derive(Clone, Copy)]
struct Day {
    now: Time,
    seconds: f64,
}

impl Day {
    fn of(Moment { now, wall }: Moment) -> Day {
        Day {
            now,
            seconds: wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        }
    }

    /// In seconds from 1970 on.
    fn at(self, then: Time) -> f64 {
        self.seconds + (then.as_secs() - self.now.as_secs())
    }
}

/// The ways of both directions.
fn ways(plan: &GatePlan) -> [Option<&Way>; 2] {
    let settings = plan.settings();
    [Some(&settings.there), settings.back.as_ref()]
}

impl Gated {
    fn new(now: Time, name: String, plan: GatePlan, samples: Samples) -> Gated {
        let mut last = Box::new(GateSample::empty(0, plan.settings().back.as_ref().map(|_| 0)));
        last.at = now;
        let offenders = ways(&plan)
            .map(|way| way.map(|way| Offenders::new(way.offenders.clone(), way.sharing())));
        let past = VecDeque::from([PastSamples::of(&last)]);
        Gated { name, plan, next: VecDeque::new(), running: true, samples, last, past, offenders }
    }

    /// Goes by the next plan.
    fn change(&mut self) {
        let Some(plan) = self.next.pop_front() else { return };
        for (offenders, way) in self.offenders.iter_mut().zip(ways(&plan)) {
            if let (Some(offenders), Some(way)) = (offenders, way) {
                offenders.goes_by(way.offenders.clone(), way.sharing());
            }
        }
        self.plan = plan;
    }

    fn take_in(&mut self) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        while let Some(sample) = self.samples.next() {
            (self.last.renewals..sample.renewals).for_each(|_| self.change());
            for (offenders, lane) in self.offenders.iter_mut().zip(sample.lanes()) {
                if let (Some(offenders), Some(lane)) = (offenders, lane)
                    && lane.closed
                {
                    alarms.extend(offenders.hear(sample.at, lane.rate, lane.interval.clone()));
                }
            }
            self.past.push_back(PastSamples::of(&sample));
            let before = |past: &PastSamples| sample.at.since(past.at) >= OF_LATE;
            while self.past.get(1).is_some_and(before) {
                self.past.pop_front();
            }
            self.samples.give_back(std::mem::replace(&mut self.last, sample));
        }
        alarms
    }

    fn told(&self, day: Day) -> LinkSnapshot {
        let settings = self.plan.settings();
        let (inner, outer) = (settings.inner.as_str(), settings.outer.as_str());
        LinkSnapshot {
            name: self.name.clone(),
            running: self.running,
            taken_s: day.at(self.last.at),
            managed: self.direction(0, [inner, outer], day),
            reverse: self.direction(1, [outer, inner], day),
        }
    }

    fn direction(&self, number: usize, [from, to]: [&str; 2], day: Day) -> Direction {
        let account = &self.last.account;
        let counters = [&account.managed, &account.reverse][number];
        let DirectionCounters { received, sent, held, allowed, unfinished, missed, .. } = *counters;
        let queue =
            match (ways(&self.plan)[number], self.last.lanes()[number], &self.offenders[number]) {
                (Some(way), Some(lane), Some(offenders)) => {
                    let of_late = self.waited_of_late(number);
                    Some(QueueSnapshot { delay: of_late, ..queue(way, lane, offenders, day) })
                }
                _ => None,
            };
        Direction {
            from: from.into(),
            to: to.into(),
            received,
            sent,
            held,
            lost: snapshot::lost(counters),
            marked: snapshot::marked(counters),
            allowed,
            unfinished,
            missed,
            recent: self.recent(number),
            memory: self.last.memory[number],
            queue,
        }
    }

    fn recent(&self, number: usize) -> RecentRates {
        let (Some(first), Some(last)) = (self.past.front(), self.past.back()) else {
            return RecentRates::default();
        };
        let span_s = last.at.since(first.at).as_secs();
        // A frame that was sent may turn out not to be.
        let since = |which: usize| {
            last.tallies[number][which].bytes.saturating_sub(first.tallies[number][which].bytes)
                as f64
                * 8.0
        };
        let [received_bps, sent_bps, lost_bps] =
            [0, 1, 2].map(|which| if span_s > 0.0 { since(which) / span_s } else { 0.0 });
        RecentRates { span_s, received_bps, sent_bps, lost_bps }
    }

    fn waited_of_late(&self, number: usize) -> Option<QueueDelay> {
        let of = |past: Option<&PastSamples>| past.and_then(|past| past.sojourns[number]);
        let sojourns = of(self.past.back())?.since(&of(self.past.front())?);
        let longest = self.past.iter().skip(1).map(|past| past.longest[number]).max()?;
        let quantile = |part| sojourns.quantile(part).map(|span| span.min(longest).as_secs());
        Some(QueueDelay {
            frames: sojourns.frames(),
            mean_s: sojourns.mean()?.as_secs(),
            p50_s: quantile(0.5)?,
            p99_s: quantile(0.99)?,
            max_s: longest.as_secs(),
        })
    }
}

impl PastSamples {
    fn of(sample: &GateSample) -> PastSamples {
        let lanes = sample.lanes();
        let of = |counters: &DirectionCounters| {
            [counters.received, counters.sent, counters.lost_in_all()]
        };
        PastSamples {
            at: sample.at,
            tallies: [of(&sample.account.managed), of(&sample.account.reverse)],
            sojourns: lanes.map(|lane| lane.map(|lane| lane.sojourns)),
            longest: lanes.map(|lane| lane.map_or(Span::ZERO, |lane| lane.longest)),
        }
    }
}

/// The queue of `way`, without how long frames waited of late.
fn queue(way: &Way, lane: &LaneSample, offenders: &Offenders, day: Day) -> QueueSnapshot {
    let reading = |gauge: &tidegate::Gauge| GaugeReading {
        name: gauge.name.into(),
        unit: gauge.unit.into(),
        value: gauge.value.is_finite().then_some(gauge.value),
    };
    QueueSnapshot {
        label: way.label.clone(),
        name: way.queue.name().into(),
        parameters: way
            .queue
            .values()
            .iter()
            .map(|(param, value)| (param.name.into(), value.to_string()))
            .collect(),
        rate_bps: way.link.rate.as_bps(),
        limit: way.link.limit.into(),
        flow_key: way.flow_key.to_string(),
        rehash: way.rehash.to_string(),
        overhead: way.overhead.to_string(),
        backlog: Tally { frames: lane.backlog.packets.into(), bytes: lane.backlog.bytes },
        delay: None,
        delays: delays(&lane.sojourns),
        gauges: lane.gauges.iter().map(reading).collect(),
        classes: classes(way, &lane.classes),
        flows: flows(offenders, day),
    }
}

fn delays(sojourns: &Sojourns) -> DelayHistogram {
    let at_most =
        sojourns.at_most().map(|(span, frames)| Bucket { le_s: span.as_secs(), frames }).collect();
    DelayHistogram { frames: sojourns.frames(), sum_s: sojourns.sum().as_secs(), at_most }
}

fn classes(way: &Way, tallies: &[ClassTally]) -> Vec<ClassAccount> {
    let names = way.classes.iter().map(|class| class.name.as_str()).chain([""]);
    let told = tallies.iter().zip(names).map(|(&ClassTally { received, left, lost }, name)| {
        ClassAccount { name: name.into(), received, left, lost, waiting: received - left - lost }
    });
    told.collect()
}

fn flows(offenders: &Offenders, day: Day) -> Flows {
    let last = offenders.last();
    let fair_bps = offenders.fair_rate();
    let offence = |sent: &FlowSent| {
        let mut all = offenders.offenders();
        all.find(|(flow, class, _)| (*flow, *class) == (sent.flow, sent.class))
            .map(|(_, _, offence)| offence)
    };
    let flow = |sent: &FlowSent| {
        let offence = offence(sent);
        FlowState {
            flow: sent.flow.to_string(),
            rate_bps: last.per_second(sent.bytes as f64),
            share: sent.bytes as f64 / last.arrived.max(1) as f64,
            fair_shares: offenders.fair_shares(sent),
            offender_since_s: offence.map(|offence| day.at(offence.since)),
            lost_frames: offence.map_or(sent.lost.into(), |offence| offence.lost),
        }
    };
    let sent = |(flow, class, _)| {
        let sent = last.flows.iter().find(|sent| (sent.flow, sent.class) == (flow, class));
        sent.copied().unwrap_or(FlowSent::nothing(flow, class))
    };
    let mut told: Vec<FlowState> =
        offenders.offenders().map(|offender| flow(&sent(offender))).collect();
    told.sort_by(|one, other| {
        other.rate_bps.total_cmp(&one.rate_bps).then_with(|| one.flow.cmp(&other.flow))
    });
    Flows {
        interval_s: last.span.as_secs(),
        arrived_bps: last.per_second(last.arrived as f64),
        fair_bps,
        unseen_bps: last.per_second(last.unseen as f64),
        became_offender: offenders.became(),
        offenders: told,
        top: last.flows.iter().take(TOP).map(flow).collect(),
    }
}
