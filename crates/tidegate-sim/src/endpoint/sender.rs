//! A flow's sending end: its source, its timers, and when it starts again.
use tidegate::{Rng, Time};

use crate::event::queue::NEVER;
use crate::net::ids::FlowId;
use crate::net::network::Flow;
use crate::net::routes::FlowWays;
use crate::sources::tcp::TcpSender;
use crate::sources::{Open, Period, Session, Source, TfrcSender};

/// The times of the events that a sender asks for; [`NEVER`] for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Of class `Class::Send`.
    pub send: u64,
    /// Of class `Class::Timeout`.
    pub timeout: u64,
}

impl Timers {
    pub(super) const NONE: Timers = Timers { send: NEVER, timeout: NEVER };
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    /// With what opens further connections, if there are to be any.
    Tcp(TcpSender, Option<Box<Session>>),
    Tfrc(TfrcSender),
    /// With its place in the event queue, unless it is the sole user of its first link.
    Open(Open, Option<u32>),
}

/// A sender and its timers. A timer that moves later is left where it is and set anew when it
/// fires, for that happens once a timeout, and moving it happens at every acknowledgement.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) stop: Time,
    /// When it is active after that, the next last.
    pub(super) again: Vec<Period>,
    /// For a connection, the earliest pending event of class `Class::Send`; others are void. For an
    /// open-loop source its next turn if it is the sole user of its first link, else the first.
    pub(super) send: Time,
    /// The same of class `Class::Timeout`.
    pub(super) timeout: Time,
    pub(super) work: Work,
    /// Which connection it is, counted modulo 256; packets of others are not for it.
    pub(super) life: u8,
    pub(super) dice: Rng,
    /// Where its way begins.
    pub(super) there: u32,
    /// Whether it is the sole user of the first link of its way.
    pub(super) sole_user: bool,
}

impl Sender {
    /// The sender of `flow`, number `i`, which is active again in the periods `again`.
    pub(super) fn new(
        i: u32,
        flow: &Flow,
        again: &[Period],
        way: FlowWays,
        mut dice: Rng,
        slot: &mut impl FnMut(u32) -> u32,
    ) -> Sender {
        let mut send = flow.start;
        let FlowWays { there, sole_user, .. } = way;
        let work = match (Open::new(&flow.source, i as u64, &mut dice), &flow.source) {
            (Some(source), _) => Work::Open(source, (!sole_user).then(|| slot(i))),
            (None, Source::Web(web)) => {
                let tcp = TcpSender::new(&web.tcp, &mut dice);
                let mut session = Session::web(web, i as u64, &mut dice);
                send = session.think(send, &mut dice);
                Work::Tcp(tcp, Some(Box::new(session)))
            }
            (None, Source::Tfrc(tfrc)) => Work::Tfrc(TfrcSender::new(tfrc)),
            (None, source) => {
                let tcp = source.tcp().expect("a closed-loop source has connections");
                let session = (!again.is_empty()).then(|| Box::new(Session::plain(tcp)));
                Work::Tcp(TcpSender::new(tcp, &mut dice), session)
            }
        };
        let again = again.iter().rev().copied().collect();
        let (stop, timeout) = (flow.stop, Time::MAX);
        Sender { stop, again, send, timeout, work, life: 0, dice, there, sole_user }
    }

    /// The flow whose window it follows.
    #[inline]
    pub(super) fn follows(&self) -> Option<FlowId> {
        match &self.work {
            Work::Open(source, _) => source.follows(),
            _ => None,
        }
    }

    /// The congestion window of its connection at `now`, in segments; 0 while none is open.
    pub(super) fn window(&self, now: Time) -> f64 {
        match &self.work {
            Work::Tcp(_, Some(session)) if session.idle => 0.0,
            Work::Tcp(tcp, _) if now < self.stop => tcp.window(),
            _ => 0.0,
        }
    }

    /// Its stop has come: when it starts again, [`NEVER`] if it does not.
    pub(super) fn resume(&mut self) -> u64 {
        let Some((start, stop)) = self.again.pop() else { return NEVER };
        self.stop = stop;
        if let Work::Open(source, _) = &mut self.work {
            source.restart();
        }
        start.as_nanos()
    }

    /// The connection is done with, or none was open: when the next one is opened.
    pub(super) fn think(&mut self, now: Time) -> Timers {
        let Work::Tcp(tcp, Some(session)) = &mut self.work else { return Timers::NONE };
        tcp.cancel_burst();
        self.send = session.think(now, &mut self.dice);
        Timers { send: self.send.as_nanos(), ..Timers::NONE }
    }

    /// The events to add, so that each timer has one pending no later than it is due.
    #[inline(always)]
    pub(super) fn rearm(&mut self) -> Timers {
        let (send_at, timeout_at) = match &self.work {
            Work::Tcp(tcp, _) => (tcp.send_at(), tcp.alarm()),
            Work::Tfrc(tfrc) => (tfrc.send_at, tfrc.timeout_at),
            Work::Open(..) => return Timers::NONE,
        };
        let mut timers = Timers::NONE;
        if send_at < self.send {
            self.send = send_at;
            timers.send = send_at.as_nanos();
        }
        if timeout_at < self.timeout {
            self.timeout = timeout_at;
            timers.timeout = timeout_at.as_nanos();
        }
        timers
    }
}
