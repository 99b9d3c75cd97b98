//! A [`Medium`] at work: what becomes of the packets that a link transmits.
use tidegate::bottleneck::{self, Capacity};
use tidegate::{Ecn, Rng, Seed, Time};

use crate::event::queue::NEVER;
use crate::net::flight::Body;
use crate::net::medium::{Bleach, Jitter, Loss, MOST_JITTER, Medium, Reorder};
use crate::net::wire::TransmissionTimes;

/// A link's medium, and how far it has got.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// In place of the link's own wire.
    capacity: Option<bottleneck::Wire>,
    loss: Option<(Loss, Rng)>,
    /// Whether the chain of [`Loss::GilbertElliott`] is in its bad state.
    bad: bool,
    jitter: Option<(Jitter, Rng)>,
    /// How many delays were drawn.
    turn: u64,
    bleach: Bleach,
    /// When the last packet that was not lost arrives.
    last: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// When its last bit has left.
    pub done: u64,
    /// When it comes out of the link, `None` if it is lost.
    pub arrives: Option<u64>,
}

impl Channel {
    /// That of link number `link`. `None` for a link that does nothing besides.
    pub fn new(link: u32, medium: Option<&Medium>, seed: Seed) -> Option<Box<Channel>> {
        let medium = medium.filter(|medium| **medium != Medium::default())?;
        let dice = |what: &str| seed.stream(&format!("link {link} {what}"));
        let wire = |capacity: &Capacity| bottleneck::Wire::new(capacity.clone()).ok();
        Some(Box::new(Channel {
            capacity: medium.capacity.as_ref().and_then(wire),
            loss: medium.loss.map(|loss| (loss, dice("loss"))),
            bad: false,
            jitter: medium.jitter.as_ref().map(|Jitter { law, reorder }| {
                let mut dice = dice("jitter");
                (Jitter { law: law.settle(&mut dice, 0), reorder: *reorder }, dice)
            }),
            turn: 0,
            bleach: medium.bleach,
            last: 0,
        }))
    }

    /// Whether packets may overtake one another.
    pub fn reorders(&self) -> bool {
        self.jitter.as_ref().is_some_and(|(jitter, _)| jitter.reorder == Reorder::On)
    }

    /// What of a packet comes to the queue.
    pub fn enter(&self, body: Body) -> Body {
        if self.bleach == Bleach::Before { body.with_ecn(Ecn::NotEct) } else { body }
    }

    /// When a free link asks the queue for a packet that has come at `now`.
    pub fn after(&mut self, now: u64) -> u64 {
        let time = Time::from_nanos(now);
        self.capacity.as_mut().map_or(now, |wire| wire.after(time).as_nanos())
    }

    /// When a free link asks the queue that wants to be asked at `time`.
    pub fn at_or_after(&mut self, time: u64) -> u64 {
        match &mut self.capacity {
            Some(wire) if time < NEVER => wire.at_or_after(Time::from_nanos(time)).as_nanos(),
            _ => time,
        }
    }

    /// Transmits `body` from `start`, when `wire` must be free; `wire` then says when it is again.
    pub fn send(&mut self, wire: &mut TransmissionTimes, start: u64, body: &mut Body) -> Sent {
        let done = match &mut self.capacity {
            None => wire.send(start, body.len()),
            Some(varying) => {
                let done = varying.send(Time::from_nanos(start), body.len());
                wire.free = varying.free().as_nanos();
                done.as_nanos()
            }
        };
        if self.bleach == Bleach::Behind {
            *body = body.with_ecn(Ecn::NotEct);
        }
        let lost = self.loses();
        // Drawn for those that are lost, too: how one is lost changes no other's delay.
        let extra = self.delays();
        let mut arrives = done.saturating_add(wire.delay).saturating_add(extra);
        if lost {
            return Sent { done, arrives: None };
        }
        if !self.reorders() {
            arrives = arrives.max(self.last);
            self.last = arrives;
        }
        Sent { done, arrives: Some(arrives) }
    }

    fn loses(&mut self) -> bool {
        match &mut self.loss {
            None => false,
            Some((Loss::Random(p), dice)) => dice.chance(p.get()),
            Some((Loss::GilbertElliott { p, r, bad, good }, dice)) => {
                let (loss, step) = if self.bad { (bad, r) } else { (good, p) };
                let lost = dice.chance(loss.get());
                self.bad ^= dice.chance(step.get());
                lost
            }
        }
    }

    fn delays(&mut self) -> u64 {
        let Some((Jitter { law, .. }, dice)) = &mut self.jitter else { return 0 };
        self.turn += 1;
        law.draw(dice, self.turn - 1).min(MOST_JITTER.as_nanos())
    }
}
