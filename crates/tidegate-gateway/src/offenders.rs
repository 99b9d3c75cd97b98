//! Who sends more than its share of a congested link, and does not heed it: a state machine that is told what arrived, interval by
//! interval, and says who becomes an offender and who ceases to be one.
//!
//! The **fair rate** is max-min fair among the flows by what they sent: the rate that none may exceed so that together they
//! just fill the link (Bertsekas and Gallager, Data Networks, §6.5.2). It exists only while more arrives than the link sends, the link
//! being congested then. A flow becomes an offender after [`Rules::after`] intervals in a row in which it sent more than
//! [`Rules::factor`] times the fair rate, and ceases to be one after [`Rules::clear_after`] in a row in which it sent less than
//! [`Rules::clear_factor`] times.
//!
//! Who heeds congestion is not called an offender, however large its share: what a flow sends beyond the fair rate is no more than what
//! arrives beyond the link's, so that at a factor of 1.5 an offender's excess is a third of what it sends, and all of it is
//! lost to someone. The price: a flood hardly faster than the link, before which everybody else falls silent (as behind drop-tail), is
//! not called one either until somebody else wants a share.
//!
//! Of flows of which [less is told](crate::heavy) than came, less is what counts when they become offenders, and more when they
//! cease. The fair rate is never below what a flow may have sent unseen.
use std::fmt;

use tidegate::{ConfigError, Rate, Span, Time, params};
use tidegate_packet::Flow;
use tidegate_report::{Figure, human};

/// So many flows are offenders, or on the way to it, at most; of more the larger ones.
pub const SUSPECTS: usize = 64;

params! {
    /// When a flow is an offender.
    pub struct Rules {
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

impl Rules {
    /// Checks one against the other: whoever becomes an offender is not to cease at once.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub fn consistent(&self) -> Result<(), ConfigError> {
        match self.clear_factor <= self.factor {
            true => Ok(()),
            false => {
                let why = format!("must be at most the factor, {}", self.factor);
                Err(ConfigError::new("clear_factor", self.clear_factor, why))
            }
        }
    }
}

/// What arrived in an interval, as bytes on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// How long it was.
    pub span: Span,
    /// What all flows sent that are judged.
    pub arrived: u64,
    /// What was sent besides, of the same link's rate, by those that are not judged.
    pub allowed: u64,
    /// So many bytes may be missing from each flow, and have come at most of one that is not told.
    pub unseen: u64,
    /// The flows, in any order.
    pub flows: Vec<Sent>,
}

/// What a flow sent in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Which flow.
    pub flow: Flow,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Frames of it that the queue dropped.
    pub lost: u32,
}

/// Something to be told of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
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
    rules: Rules,
    suspects: Vec<Suspect>,
    last: Interval,
    fair: Option<f64>,
    became: u64,
}

/// A flow that is an offender, or on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Suspect {
    flow: Flow,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It has exceeded the factor for so many intervals in a row.
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
    pub fn new(rules: Rules) -> Offenders {
        Offenders { rules, suspects: Vec::new(), last: Interval::default(), fair: None, became: 0 }
    }

    /// Goes on by other rules. Offenders stay so until they cease by them.
    pub fn goes_by(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// An interval has ended at `now`, in which this arrived for a link of `rate`; what there is to tell.
    pub fn hear(&mut self, now: Time, rate: Rate, mut interval: Interval) -> Vec<Event> {
        interval.flows.sort_by(|one, other| other.bytes.cmp(&one.bytes).then(one.flow.cmp(&other.flow)));
        let capacity = rate.bytes_in(interval.span).get().saturating_sub(interval.allowed);
        self.fair = fair(&interval, capacity);
        self.last = interval;
        let mut events = self.ceasing(now);
        events.extend(self.rising(now));
        events
    }

    /// Goes through those that are offenders: who is no more.
    fn ceasing(&mut self, now: Time) -> Vec<Event> {
        let (rules, last, fair) = (&self.rules, &self.last, self.fair);
        let mut events = Vec::new();
        self.suspects.retain_mut(|suspect| {
            let State::Offender(offence) = &mut suspect.state else { return true };
            let sent = last.flows.iter().find(|sent| sent.flow == suspect.flow);
            offence.lost += sent.map_or(0, |sent| u64::from(sent.lost));
            let at_most = sent.map_or(0, |sent| sent.bytes) + last.unseen;
            let below = fair.is_none_or(|fair| (at_most as f64) < rules.clear_factor * fair);
            offence.falling = if below { offence.falling + 1 } else { 0 };
            if offence.falling < rules.clear_after {
                return true;
            }
            let Offence { since, lost, .. } = *offence;
            events.push(Event::Ceased { flow: suspect.flow, for_long: now.since(since), lost });
            false
        });
        events
    }

    /// Goes through those that exceed the factor: who is an offender now. Those that no longer do it are forgotten.
    fn rising(&mut self, now: Time) -> Vec<Event> {
        let (offenders, before): (Vec<Suspect>, Vec<Suspect>) =
            self.suspects.drain(..).partition(|suspect| matches!(suspect.state, State::Offender(_)));
        self.suspects = offenders;
        let mut events = Vec::new();
        let Some(fair) = self.fair else { return events };
        for sent in self.last.flows.iter().take_while(|sent| sent.bytes as f64 > self.rules.factor * fair) {
            if self.suspects.len() == SUSPECTS {
                break;
            }
            if self.suspects.iter().any(|suspect| suspect.flow == sent.flow) {
                continue;
            }
            let times = before.iter().find(|suspect| suspect.flow == sent.flow).map_or(1, Suspect::next);
            let state = if times < self.rules.after {
                State::Rising(times)
            } else {
                self.became += 1;
                let share = sent.bytes as f64 / self.last.arrived as f64;
                let (rate, fair) = (self.last.per_second(sent.bytes as f64), self.last.per_second(fair));
                events.push(Event::Became { flow: sent.flow, rate, share, fair });
                State::Offender(Offence { since: now, lost: 0, falling: 0 })
            };
            self.suspects.push(Suspect { flow: sent.flow, state });
        }
        events
    }

    /// What arrived in the last interval, the flow that sent most first.
    pub fn last(&self) -> &Interval {
        &self.last
    }

    /// The fair rate in the last interval, in bit/s; `None` if the link was not congested.
    pub fn fair_rate(&self) -> Option<f64> {
        self.fair.map(|bytes| self.last.per_second(bytes))
    }

    /// Those that are offenders, in no order.
    pub fn offenders(&self) -> impl Iterator<Item = (Flow, Offence)> {
        self.suspects.iter().filter_map(|suspect| match suspect.state {
            State::Offender(offence) => Some((suspect.flow, offence)),
            State::Rising(_) => None,
        })
    }

    /// How often a flow has become one.
    pub fn became(&self) -> u64 {
        self.became
    }
}

impl Suspect {
    /// How often in a row it has exceeded the factor, with this time.
    fn next(&self) -> u32 {
        match self.state {
            State::Rising(times) => times + 1,
            State::Offender(_) => 1, // such ones are not asked
        }
    }
}

impl Interval {
    /// So many bytes in this interval, in bit/s.
    pub fn per_second(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.span.as_secs().max(1e-9)
    }
}

/// How many bytes no flow may exceed so that `capacity` bytes are sent; `None` if no more arrived. The flows are sorted, the
/// largest first. What is not told of any flow is taken for that of small ones, which may send all they have.
pub fn fair(of: &Interval, capacity: u64) -> Option<f64> {
    if of.arrived <= capacity {
        return None;
    }
    let told: u64 = of.flows.iter().map(|sent| sent.bytes).sum();
    let left = capacity as f64 - of.arrived.saturating_sub(told) as f64;
    let (mut above, mut level) = (0.0, 0.0);
    let mut below = told as f64;
    for (number, sent) in of.flows.iter().enumerate() {
        above += 1.0;
        below -= sent.bytes as f64;
        level = (left - below) / above;
        if of.flows.get(number + 1).is_none_or(|next| level >= next.bytes as f64) {
            break;
        }
    }
    Some(f64::max(level, of.unseen as f64))
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Became { flow, rate, share, fair } => {
                let [sends, might] = [rate, fair].map(|&rate| human::rate(Figure::exact(rate)));
                let (share, times) = (human::percent(*share), rate / fair.max(1.0));
                write!(
                    f,
                    "{flow} has become an offender: it sends {sends}, {share} of what arrives and {times:.1} times its \
                     fair rate of {might}"
                )
            }
            Event::Ceased { flow, for_long, lost } => {
                let (seconds, lost) = (human::seconds(for_long.as_secs()), human::count(*lost));
                write!(f, "{flow} is an offender no more, after {seconds}; {lost} of its frames were dropped meanwhile")
            }
        }
    }
}
