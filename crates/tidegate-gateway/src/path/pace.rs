//! When a frame that goes onto a lane's link has left, and when the next one may follow.
use tidegate::bottleneck::{Trace, Wire};
use tidegate::units::Pacer;
use tidegate::{ConfigError, Rate, Span, Time};

/// What limits a managed direction.
#[derive(Clone, Debug, Default)]
pub enum Paced {
    /// The rate of its link.
    #[default]
    AtRate,
    /// A trace that begins at this time, whatever the rate of its link.
    ByTrace(Trace, Time),
    /// Nothing but this machine.
    Unlimited,
}

/// The link's way of sending, and how far it has come.
#[derive(Debug)]
pub(super) enum LinkPace {
    /// Frame after frame at a rate.
    Rate(Pacer),
    /// As a trace has it, which began then.
    Trace(Wire, Time),
    /// At once.
    Unlimited,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameSending {
    /// When it is on its way.
    pub leaves: Time,
    /// When the next one may begin.
    pub free: Time,
}

impl LinkPace {
    /// That of a link of `rate`, as `paced` says.
    ///
    /// # Errors
    /// None: a trace that could be read can be followed.
    pub fn new(paced: &Paced, rate: Rate) -> Result<LinkPace, ConfigError> {
        Ok(match paced {
            Paced::AtRate => LinkPace::at(rate),
            Paced::ByTrace(trace, began) => {
                LinkPace::Trace(Wire::new(trace.clone().into())?, *began)
            }
            Paced::Unlimited => LinkPace::Unlimited,
        })
    }

    /// That of a link of `rate`.
    pub fn at(rate: Rate) -> LinkPace {
        LinkPace::Rate(Pacer::new(rate))
    }

    /// When a frame may begin that comes to an idle link at `now`.
    #[inline]
    pub fn begins(&mut self, now: Time) -> Time {
        match self {
            LinkPace::Rate(_) | LinkPace::Unlimited => now,
            LinkPace::Trace(wire, began) => after(*began, wire.after(within(*began, now))),
        }
    }

    /// A frame of `len` bytes on the wire begins at `now`.
    #[inline]
    pub fn send(&mut self, now: Time, len: u32) -> FrameSending {
        match self {
            LinkPace::Rate(pacer) => FrameSending { leaves: now, free: now + pacer.next(len) },
            LinkPace::Unlimited => FrameSending { leaves: now, free: now },
            LinkPace::Trace(wire, began) => {
                let leaves = after(*began, wire.send(within(*began, now), len));
                FrameSending { leaves, free: after(*began, wire.free()) }
            }
        }
    }

    /// The link has nothing to send.
    #[inline]
    pub fn rest(&mut self) {
        match self {
            LinkPace::Rate(pacer) => pacer.reset(),
            LinkPace::Trace(..) | LinkPace::Unlimited => {}
        }
    }
}

/// `now` as a trace that began then has it.
fn within(began: Time, now: Time) -> Time {
    Time::ZERO + now.since(began)
}

/// A trace's time as the clock has it.
fn after(began: Time, time: Time) -> Time {
    began + Span::from_nanos(time.as_nanos())
}
