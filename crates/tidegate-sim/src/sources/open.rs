//! Open-loop sources: they get no feedback. Each call sends a packet and says when the next is due.
use tidegate::{Ecn, Rng, Time};

use super::Source;
use super::cbr::CbrSender;
use super::following::FollowingSender;
use super::on_off::OnOffSender;
use super::oscillating::OscillatingSender;
use super::replay::ReplaySender;
use crate::net::ids::FlowId;

/// A source that is open loop, at work.
#[derive(Clone, Debug)]
pub(crate) enum Open {
    Cbr(CbrSender),
    Following(Box<FollowingSender>),
    OnOff(Box<OnOffSender>),
    Oscillating(Box<OscillatingSender>),
    Replay(ReplaySender),
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenPacket {
    pub number: u32,
    pub len: u16,
    pub ecn: Ecn,
}

impl Open {
    /// The source of flow number `flow`; `None` for one that is answered.
    pub fn new(source: &Source, flow: u64, dice: &mut Rng) -> Option<Open> {
        Some(match source {
            Source::Tcp(_) | Source::Web(_) | Source::Tfrc(_) => return None,
            Source::Cbr(cbr) => Open::Cbr(CbrSender::new(cbr)),
            Source::Following(source) => Open::Following(Box::new(FollowingSender::new(source))),
            Source::OnOff(on_off) => Open::OnOff(Box::new(OnOffSender::new(on_off, flow, dice))),
            Source::Replay(source) => Open::Replay(ReplaySender::new(source)),
            Source::Oscillating(source) => {
                Open::Oscillating(Box::new(OscillatingSender::new(source)))
            }
        })
    }

    /// The least length of its next packet, in bytes.
    #[inline]
    pub fn least_len(&self) -> u32 {
        match self {
            Open::Cbr(source) => source.len,
            Open::Following(source) => source.cbr.len,
            Open::OnOff(source) => source.len,
            Open::Oscillating(source) => source.len,
            Open::Replay(source) => source.next_len(),
        }
    }

    /// Starts again after silence.
    pub fn restart(&mut self) {
        match self {
            Open::Following(source) => source.restart(),
            Open::OnOff(source) => source.restart(),
            Open::Replay(source) => source.restart(),
            Open::Cbr(_) | Open::Oscillating(_) => {}
        }
    }

    /// The flow whose window it follows.
    #[inline]
    pub fn follows(&self) -> Option<FlowId> {
        match self {
            Open::Following(source) => Some(source.follows),
            _ => None,
        }
    }

    /// Its turn has come at `now`. If it follows a window, that window has `window` segments.
    /// Returns a packet, if it sends one, and the time of its next turn (at least a nanosecond
    /// later).
    #[inline]
    pub fn send(&mut self, now: Time, window: f64, dice: &mut Rng) -> (Option<OpenPacket>, Time) {
        let ((number, next), len, ecn) = match self {
            Open::Cbr(cbr) => {
                let (number, next) = cbr.send(now, dice);
                ((Some(number), next), cbr.len, cbr.ecn)
            }
            Open::Replay(source) => {
                let (packet, next) = source.send(now);
                return (
                    packet.map(|(number, a)| OpenPacket { number, len: a.len, ecn: a.ecn }),
                    next,
                );
            }
            Open::Following(source) => {
                (source.send(now, window, dice), source.cbr.len, source.cbr.ecn)
            }
            Open::OnOff(source) => (source.send(now, dice), source.len, source.ecn),
            Open::Oscillating(source) => (source.send(now, dice), source.len, source.ecn),
        };
        (number.map(|number| OpenPacket { number, len: len as u16, ecn }), next)
    }
}
