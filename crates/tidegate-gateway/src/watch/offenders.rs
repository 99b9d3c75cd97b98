//! Finds who sends more than its share of a congested link, and does not heed what it loses. This
//! is a state machine. It receives what arrived, interval by interval, and says who becomes an
//! offender and who ceases to be one.
//!
//! A flow exceeds in an interval if three things hold. The link is congested: more arrived than it
//! sends. The flow sent more than its [fair rate](crate::watch::fair). And the flow itself lost at
//! least half of what it sent beyond that rate. The last one spares a user whose share has grown
//! because the queue holds a flood below its own. Besides, one of two things must hold:
//!
//! - It sent more than [`OffenderRules::factor`] times its fair rate.
//! - It is **deaf**: it lost at least 5 % of its bytes and still sent three times what TCP would.
//!   TCP's rate is that of the throughput equation (RFC 5348 §3.1), with the flow's own loss and
//!   its longest frame. The round-trip time is the wait in the queue and a millisecond, so that TCP
//!   hardly sends more. This finds a flood hardly faster than the link where everybody else falls
//!   silent, as behind drop-tail. Floyd and Fall (Promoting the use of end-to-end congestion
//!   control in the Internet, 1999) have the same test with a known round-trip time.
//!
//! A flow becomes an offender after [`OffenderRules::after`] such intervals in a row; those in
//! which it was deaf only count half. It ceases to be one after [`OffenderRules::clear_after`] calm
//! ones in a row. An interval is calm if the flow was not deaf, and sent less than
//! [`OffenderRules::clear_factor`] times its fair rate or lost less than half of what exceeded it.
//!
//! A flow's count may be [less](crate::watch::heavy) than what came. Then the less counts when it
//! becomes an offender, and the more when it ceases. The fair rate is never below what a flow may
//! have sent unseen.
use std::fmt;

use tidegate::{ConfigError, Rate, Span, Time, params};
use tidegate_packet::Flow;
use tidegate_report::{Figure, human};

use crate::watch::fair::{Fair, Sharing, fair};
use crate::watch::interval::{FlowSent, Interval};

/// So many flows are offenders, or on the way to it, at most; of more the larger ones.
pub const SUSPECTS: usize = 64;

/// The part of what exceeds the fair rate that a flow must lose itself. Not all of it: some is lost
/// within the next interval only, and where losses hit all alike others bear a part.
const LOSES: f64 = 0.5;
/// The least loss at which a flow can be deaf. TCP that loses less has windows of more than five
/// packets, and its losses come in bursts with times between them that are longer than an interval.
const HEARD: f64 = 0.05;
/// What a round trip takes at least beside the wait in the queue. On a shorter one TCP goes on
/// under such losses, but not at so many times the rate.
const TRIP: Span = Span::from_millis(1);
/// How many times TCP's rate a deaf flow sends. TCP's own rate varies by less from interval to
/// interval.
const DEAF: f64 = 3.0;

params! {
    /// When a flow is an offender.
    pub struct OffenderRules {
        /// How long an interval is.
        interval: Span = Span::from_millis(500), "", 100_000_000 ..= 60_000_000_000_u64;
        /// How many times the fair rate a flow must exceed to become an offender.
        factor: f64 = 1.5, "", 1.0 ..= 1000.0;
        /// For how many intervals in a row it must do so.
        after: u32 = 4, "", 1 ..= 1000;
        /// Below how many times the fair rate a flow must stay to cease to be an offender.
        clear_factor: f64 = 1.2, "", 1.0 ..= 1000.0;
        /// For how many intervals in a row it must do so.
        clear_after: u32 = 10, "", 1 ..= 1000;
    }
}

impl OffenderRules {
    /// Checks one against the other: a flow that becomes an offender must not cease at once.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub fn consistent(&self) -> Result<(), ConfigError> {
        if self.clear_factor <= self.factor {
            Ok(())
        } else {
            let why = format!("must be at most the factor, {}", self.factor);
            Err(ConfigError::new("clear_factor", self.clear_factor, why))
        }
    }
}

/// Something to report of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Alarm {
    /// It has become an offender.
    Became {
        /// Which flow.
        flow: Flow,
        /// What it sent in the last interval, in bit/s.
        rate: f64,
        /// Its part of all that arrived, 0 to 1.
        share: f64,
        /// The fair rate, in bit/s.
        fair: f64,
    },
    /// It is an offender no more.
    Ceased {
        /// Which flow.
        flow: Flow,
        /// For how long it was one.
        for_long: Span,
        /// How many frames of it the queue dropped meanwhile.
        lost: u64,
    },
}

/// Who has sent how much of late, and who has done so for long.
#[derive(Clone, Debug)]
pub struct Offenders {
    rules: OffenderRules,
    sharing: Sharing,
    suspects: Vec<Suspect>,
    last: Interval,
    fair: Option<Fair>,
    became: u64,
}

/// A flow that is an offender, or on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suspect {
    flow: Flow,
    class: u16,
    state: OffenderState,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OffenderState {
    /// It has exceeded for some intervals in a row: the sum of their [weights](Exceeds::weight).
    Rising(u32),
    /// It is one.
    Offender(Offence),
}

/// What there is to say of an offender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offence {
    /// Since when it is one.
    pub since: Time,
    /// How many frames of it the queue has dropped since.
    pub lost: u64,
    /// For how many intervals in a row it has been below the threshold.
    falling: u32,
}

impl Offenders {
    /// Nobody is one yet.
    pub fn new(rules: OffenderRules, sharing: Sharing) -> Offenders {
        Offenders {
            rules,
            sharing,
            suspects: Vec::new(),
            last: Interval::default(),
            fair: None,
            became: 0,
        }
    }

    /// Goes on by other rules. Offenders stay so until they cease by them.
    pub fn goes_by(&mut self, rules: OffenderRules, sharing: Sharing) {
        (self.rules, self.sharing) = (rules, sharing);
    }

    /// An interval has ended at `now`, in which this arrived for a link of `rate`; what there is to
    /// tell.
    pub fn hear(&mut self, now: Time, rate: Rate, mut interval: Interval) -> Vec<Alarm> {
        interval
            .flows
            .sort_by(|one, other| other.bytes.cmp(&one.bytes).then(one.flow.cmp(&other.flow)));
        let capacity = rate.bytes_in(interval.span).get().saturating_sub(interval.allowed);
        self.fair = fair(&interval, capacity, &self.sharing);
        self.last = interval;
        let mut alarms = self.ceasing(now);
        alarms.extend(self.rising(now));
        alarms
    }

    /// Goes through those that are offenders: who is no more.
    fn ceasing(&mut self, now: Time) -> Vec<Alarm> {
        let (rules, last, fair) = (&self.rules, &self.last, &self.fair);
        let mut alarms = Vec::new();
        self.suspects.retain_mut(|suspect| {
            let sent = last.flows.iter().find(|sent| suspect.is(sent)).copied();
            let sent = sent.unwrap_or(FlowSent::nothing(suspect.flow, suspect.class));
            let OffenderState::Offender(offence) = &mut suspect.state else { return true };
            offence.lost += u64::from(sent.lost);
            let exceeds = fair.as_ref().is_some_and(|fair| {
                let at_most = (sent.bytes + last.unseen) as f64;
                sent.loses(fair) && at_most >= rules.clear_factor * fair.of(&sent)
                    || last.is_deaf(&sent, fair)
            });
            offence.falling = if exceeds { 0 } else { offence.falling + 1 };
            if offence.falling < rules.clear_after {
                return true;
            }
            let Offence { since, lost, .. } = *offence;
            alarms.push(Alarm::Ceased { flow: suspect.flow, for_long: now.since(since), lost });
            false
        });
        alarms
    }

    /// Goes through those that exceed the factor: who is an offender now. Those that no longer do
    /// it are forgotten.
    fn rising(&mut self, now: Time) -> Vec<Alarm> {
        let (offenders, before): (Vec<Suspect>, Vec<Suspect>) = self
            .suspects
            .drain(..)
            .partition(|suspect| matches!(suspect.state, OffenderState::Offender(_)));
        self.suspects = offenders;
        let mut alarms = Vec::new();
        let Some(fair) = &self.fair else { return alarms };
        let exceeds = |sent| Some((sent, self.last.exceeds(sent, fair, &self.rules)?));
        for (sent, how) in self.last.flows.iter().filter_map(exceeds) {
            if self.suspects.len() == SUSPECTS {
                break;
            }
            if self.suspects.iter().any(|suspect| suspect.is(sent)) {
                continue;
            }
            let sum = how.weight()
                + before.iter().find(|suspect| suspect.is(sent)).map_or(0, Suspect::risen);
            let state = if sum < self.rules.after * Exceeds::Far.weight() {
                OffenderState::Rising(sum)
            } else {
                self.became += 1;
                let share = sent.bytes as f64 / self.last.arrived as f64;
                let [rate, fair] =
                    [sent.bytes as f64, fair.of(sent)].map(|bytes| self.last.per_second(bytes));
                alarms.push(Alarm::Became { flow: sent.flow, rate, share, fair });
                OffenderState::Offender(Offence { since: now, lost: 0, falling: 0 })
            };
            self.suspects.push(Suspect { flow: sent.flow, class: sent.class, state });
        }
        alarms
    }

    /// What arrived in the last interval, the flow that sent most first.
    pub fn last(&self) -> &Interval {
        &self.last
    }

    /// The fair rate in the last interval, in bit/s; `None` if the link was not congested. With
    /// classes the least of them.
    pub fn fair_rate(&self) -> Option<f64> {
        self.fair.as_ref().map(|fair| self.last.per_second(fair.least()))
    }

    /// How many times its fair rate `sent` was, of the last interval; `None` if nothing held it
    /// back.
    pub fn fair_shares(&self, sent: &FlowSent) -> Option<f64> {
        let fair = self.fair.as_ref()?.of(sent);
        (fair > 0.0 && fair.is_finite()).then(|| sent.bytes as f64 / fair)
    }

    /// Those that are offenders with the class in which they are, in no order.
    pub fn offenders(&self) -> impl Iterator<Item = (Flow, u16, Offence)> {
        self.suspects.iter().filter_map(|suspect| match suspect.state {
            OffenderState::Offender(offence) => Some((suspect.flow, suspect.class, offence)),
            OffenderState::Rising(_) => None,
        })
    }

    /// How often a flow has become one.
    pub fn became(&self) -> u64 {
        self.became
    }
}

impl Interval {
    /// How `sent` exceeded, if it did.
    fn exceeds(&self, sent: &FlowSent, fair: &Fair, rules: &OffenderRules) -> Option<Exceeds> {
        let far = sent.bytes as f64 > rules.factor * fair.of(sent) && sent.loses(fair);
        if far {
            return Some(Exceeds::Far);
        }
        self.is_deaf(sent, fair).then_some(Exceeds::Deaf)
    }

    /// Whether `sent` went on beyond its fair rate, which it lost, as TCP would not.
    fn is_deaf(&self, sent: &FlowSent, fair: &Fair) -> bool {
        let loss = sent.lost_bytes as f64 / (sent.bytes + self.unseen).max(1) as f64;
        if loss < HEARD || sent.bytes as f64 <= fair.of(sent) || !sent.loses(fair) {
            return false;
        }
        let per_trip =
            sent.bytes as f64 * (self.wait + TRIP).as_secs() / self.span.as_secs().max(1e-9);
        per_trip > DEAF * f64::from(sent.longest) * segments_per_trip(loss.min(1.0))
    }
}

impl FlowSent {
    /// Whether it lost itself what it sent beyond its fair rate.
    fn loses(&self, fair: &Fair) -> bool {
        self.lost_bytes as f64 >= LOSES * (self.bytes as f64 - fair.of(self))
    }
}

/// How a flow exceeded in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exceeds {
    /// By the factor.
    Far,
    /// By less, and deaf.
    Deaf,
}

impl Exceeds {
    /// How much such an interval counts. TCP may seem deaf for two seconds while it recovers from a
    /// window of losses.
    const fn weight(self) -> u32 {
        match self {
            Exceeds::Far => 2,
            Exceeds::Deaf => 1,
        }
    }
}

impl Suspect {
    /// Whether `sent` is of it.
    fn is(&self, sent: &FlowSent) -> bool {
        (self.flow, self.class) == (sent.flow, sent.class)
    }

    /// The weights of the intervals in a row in which it has exceeded.
    fn risen(&self) -> u32 {
        match self.state {
            OffenderState::Rising(sum) => sum,
            OffenderState::Offender(_) => 0, // such ones are not asked
        }
    }
}

/// How many segments TCP sends in a round-trip time where this part of them is lost: RFC 5348 §3.1
/// with b = 1 and t_RTO = 4 R.
fn segments_per_trip(loss: f64) -> f64 {
    let timeouts = 4.0 * 3.0 * (3.0 * loss / 8.0).sqrt() * loss * (1.0 + 32.0 * loss * loss);
    1.0 / ((2.0 * loss / 3.0).sqrt() + timeouts)
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Alarm::Became { flow, rate, share, fair } => {
                let [sends, might] = [rate, fair].map(|&rate| human::rate(Figure::exact(rate)));
                let (share, times) = (human::percent(*share), rate / fair.max(1.0));
                write!(
                    f,
                    "{flow} has become an offender: it sends {sends}, {share} of what arrives and \
                     {times:.1} times its \
                     fair rate of {might}"
                )
            }
            Alarm::Ceased { flow, for_long, lost } => {
                let (seconds, lost) = (human::seconds(for_long.as_secs()), human::count(*lost));
                write!(
                    f,
                    "{flow} is an offender no more, after {seconds}; {lost} of its frames were \
                     dropped meanwhile"
                )
            }
        }
    }
}
