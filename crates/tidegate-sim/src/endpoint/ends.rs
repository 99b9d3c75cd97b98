//! The ends of flows: senders with their timers, and receivers. It knows nothing of the network
//! between them; the engine and the reference both drive it.
use std::collections::VecDeque;

use tidegate::{Rng, Seed, Time};

use crate::event::prefetch::fetch;
use crate::event::queue::{Class, Key};
use crate::measure::meters::Meters;
use crate::net::flight::{Body, Label, flag};
use crate::net::network::{Flow, FlowId, Network};
use crate::net::routes::{Routes, Way};
use crate::sources::tcp::{
    Arrival, DelayedAck, Output, Receiver, Report, Reports, TcpSender, Wait,
};
use crate::sources::{
    Feedback, Handshake, Open, OpenPacket, Period, Rules, Session, Source, Tcp, TfrcArrival,
    TfrcReceiver, TfrcSender,
};

/// What a block of a selective acknowledgement takes by ns-2's rules: two numbers of four bytes.
const BLOCK: u16 = 8;

/// Every flow's two ends.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    senders: Vec<Sender>,
    far: Vec<Far>,
    labels: Vec<Label>,
    /// What a sender has just put out at the end of the list; whoever woke it sends that and takes
    /// it off.
    pub out: Vec<Output>,
}

#[derive(Clone, Debug)]
enum Work {
    /// With what opens further connections, if there are to be any.
    Tcp(TcpSender, Option<Box<Session>>),
    Tfrc(TfrcSender),
    /// With its place in the agenda, unless it is at home.
    Open(Open, Option<u32>),
}

/// A sender and its timers. A timer that moves later is left where it is and set anew when it
/// fires, for that happens once a timeout, and moving it happens at every acknowledgement.
#[derive(Clone, Debug)]
struct Sender {
    stop: Time,
    /// When it is active after that, the next last.
    again: Vec<Period>,
    /// Of a connection, the earliest event of class [`Class::Send`] that is pending, others are
    /// void; of a source that is not answered its next turn if it is at home, else the first.
    send: Time,
    /// The same of class [`Class::Timeout`].
    timeout: Time,
    work: Work,
    /// Which connection it is, counted modulo 256; packets of others are not for it.
    life: u8,
    dice: Rng,
    /// Where its way begins.
    there: u32,
    /// Whether it is at home on the first link of its way.
    home: bool,
}

/// A flow's receiving end, in one line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Far {
    receiver: Receiver,
    /// Where the way back begins; 0 for a flow that is not answered.
    back: u32,
    /// The first segment that will never come, when all data are there: the transfer is finished.
    end: u32,
    ack_len: u16,
    /// How much longer each block makes a selective acknowledgement.
    block_len: u16,
    /// Which connection it is at.
    life: u8,
    /// Whether segment 0 carries no data.
    syn: bool,
    /// What connections without end that answer at once have no need of.
    more: Option<Box<More>>,
}

const _: () = assert!(size_of::<Far>() == 64);

/// The rest of a receiving end.
#[derive(Clone, Debug, Default)]
struct More {
    /// Of a connection whose acknowledgements are delayed.
    delayed: Option<DelayedAck>,
    transfer: Transfer,
    /// Those of the connections opened since, with their numbers, in order: when a packet of one
    /// is dealt with, the sender may be at the next but one.
    coming: VecDeque<(u8, Transfer)>,
    /// In place of all that, of a TFRC flow.
    tfrc: Option<TfrcReceiver>,
}

impl More {
    /// Connection `life` is opened, to bring this over.
    fn expect(&mut self, life: u8, transfer: Transfer) {
        // Of more the numbers cannot be told apart.
        if self.coming.len() == 127 {
            self.coming.pop_front();
        }
        self.coming.push_back((life, transfer));
    }

    /// The transfer is that of connection `life`.
    fn turn_to(&mut self, life: u8) {
        while let Some(&(of, transfer)) = self.coming.front()
            && life.wrapping_sub(of) < 128
        {
            self.transfer = transfer;
            self.coming.pop_front();
        }
    }
}

/// What a connection has to bring over.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// See [`Far::end`].
    end: u32,
    /// When it was asked for.
    start: Time,
    bytes: u64,
}

/// What a receiver has to say, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// Nothing.
    None,
    /// This, on its way back now.
    Now(Body),
    /// Perhaps something then: an event of class [`Class::Acknowledge`] to add.
    Later(u64),
    /// Both.
    Both(Body, u64),
    /// Two, one after the other.
    Twice(Body, Body),
}

/// The times of the events that a sender asks for; [`NEVER`] for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Of class [`Class::Send`].
    pub send: u64,
    /// Of class [`Class::Timeout`].
    pub timeout: u64,
}

/// Later than every event.
pub(crate) const NEVER: u64 = u64::MAX;

impl Ends {
    /// The ends of `network`'s flows, each with dice of its own.
    /// `player` gives a place in the agenda to each source that is not answered and not at home.
    pub fn new<Q>(
        network: &Network<Q>,
        routes: &Routes,
        seed: Seed,
        mut player: impl FnMut(u32) -> u32,
    ) -> Ends {
        let flows = &network.flows;
        let sender = |(i, flow): (usize, &Flow)| {
            let mut dice = seed.stream(&format!("flow {i}"));
            let again = network.again.get(&FlowId(i as u32));
            let again: Vec<Period> = again.into_iter().flatten().rev().copied().collect();
            let mut send = flow.start;
            let Way { there, home, .. } = routes.ways[i];
            let work = match (Open::new(&flow.source, i as u64, &mut dice), &flow.source) {
                (Some(source), _) => Work::Open(source, (!home).then(|| player(i as u32))),
                (None, Source::Web(web)) => {
                    let tcp = TcpSender::new(&web.tcp, &mut dice);
                    let mut session = Session::web(web, i as u64, &mut dice);
                    send = session.think(send, &mut dice);
                    Work::Tcp(tcp, Some(Box::new(session)))
                }
                (None, Source::Tfrc(tfrc)) => Work::Tfrc(TfrcSender::new(tfrc)),
                (None, source) => {
                    let tcp = source.tcp().expect("a source that is answered has connections");
                    let session = (!again.is_empty()).then(|| Box::new(Session::plain(tcp)));
                    Work::Tcp(TcpSender::new(tcp, &mut dice), session)
                }
            };
            Sender {
                stop: flow.stop,
                again,
                send,
                timeout: Time::MAX,
                work,
                life: 0,
                dice,
                there,
                home,
            }
        };
        let far = |(i, flow): (usize, &Flow)| {
            let back = routes.ways[i].back;
            match (&flow.source, flow.source.tcp()) {
                (_, Some(tcp)) => Far::tcp(tcp, flow.start, back),
                (Source::Tfrc(tfrc), _) => {
                    let more =
                        Box::new(More { tfrc: Some(TfrcReceiver::new(tfrc)), ..More::default() });
                    Far { more: Some(more), ack_len: tfrc.report.get() as u16, ..Far::deaf(back) }
                }
                _ => Far::deaf(back),
            }
        };
        Ends {
            senders: flows.iter().enumerate().map(sender).collect(),
            far: flows.iter().enumerate().map(far).collect(),
            labels: flows.iter().map(|f| Label { flow: f.key, class: f.class }).collect(),
            out: Vec::with_capacity(64),
        }
    }

    /// The first event of every flow, with the flow's place in the agenda if it has one; of a
    /// connection's flow all its starts.
    pub fn starts(&self) -> impl Iterator<Item = (Option<u32>, Key)> {
        self.senders.iter().enumerate().flat_map(|(i, s)| {
            let (player, class, again) = match s.work {
                Work::Open(_, player) => (player, Class::Tick, [].as_slice()),
                Work::Tcp(..) | Work::Tfrc(_) => (None, Class::Send, s.again.as_slice()),
            };
            let times = std::iter::once(s.send).chain(again.iter().map(|period| period.0));
            times.map(move |time| (player, Key::new(time.as_nanos(), class, i as u32)))
        })
    }

    /// Where the way of `flow` begins, if its sender is at home there.
    #[inline]
    pub fn home(&self, flow: u32) -> Option<u32> {
        let sender = &self.senders[flow as usize];
        sender.home.then_some(sender.there)
    }

    /// Where the way of `flow` begins.
    #[inline]
    pub fn there(&self, flow: u32) -> u32 {
        self.senders[flow as usize].there
    }

    /// Where its way back begins.
    #[inline]
    pub fn back(&self, flow: u32) -> u32 {
        self.far[flow as usize].back
    }

    /// The next of the events of a sender that is at home: its time and class.
    #[inline]
    pub fn due(&self, flow: u32) -> (u64, Class) {
        let Sender { send, timeout, .. } = self.senders[flow as usize];
        if send <= timeout {
            (send.as_nanos(), Class::Send)
        } else {
            (timeout.as_nanos(), Class::Timeout)
        }
    }

    /// When `flow`'s sender sends what waits, and how long the first of it is at least.
    #[inline]
    pub fn sends(&self, flow: u32) -> (u64, u32) {
        let Sender { send, work, .. } = &self.senders[flow as usize];
        let len = match work {
            Work::Tcp(tcp, _) => tcp.least_len() as u32,
            Work::Open(source, _) => source.least_len(),
            Work::Tfrc(_) => 0,
        };
        (send.as_nanos(), len)
    }

    /// What queues see of `flow`'s packets.
    #[inline]
    pub fn label(&self, flow: u32) -> Label {
        self.labels[flow as usize]
    }

    /// What follows will be about `flow`'s sender.
    #[inline]
    pub fn fetch_sender(&self, flow: u32) {
        fetch(self.senders.get(flow as usize));
    }

    /// A packet of `flow` will join a queue.
    #[inline]
    pub fn fetch_label(&self, flow: u32) {
        fetch(self.labels.get(flow as usize));
    }

    /// What follows will be about `flow`'s receiver.
    #[inline]
    pub fn fetch_receiver(&self, flow: u32) {
        fetch(self.far.get(flow as usize));
    }

    /// It is the turn of `flow`, which is not answered: its packet, if it sends one, and when its
    /// next turn is (`u64::MAX` for never).
    #[inline]
    pub fn tick(&mut self, now: u64, flow: u32) -> (Option<Body>, u64) {
        let sender = &mut self.senders[flow as usize];
        let Work::Open(source, _) = &mut sender.work else { return (None, NEVER) };
        if now >= sender.stop.as_nanos() {
            return (None, sender.resume());
        }
        let (packet, next) = source.send(Time::from_nanos(now), &mut sender.dice);
        // A next turn after the stop would come too late to start again.
        let next = if sender.again.is_empty() { next } else { next.min(sender.stop) };
        let body =
            |OpenPacket { number, len, ecn }: OpenPacket| Body::new(now, number, len, ecn as u8, 0);
        (packet.map(body), next.as_nanos())
    }

    /// It is the turn of `flow`, which is not answered and at home.
    fn tick_at_home(&mut self, now: u64, flow: u32) -> Timers {
        let (data, send) = self.tick(now, flow);
        self.senders[flow as usize].send = Time::from_nanos(send);
        self.out.extend(data.map(|data| Output {
            seq: data.seq(),
            len: data.len() as u16,
            flags: data.flags(),
        }));
        Timers { send, ..Timers::NONE }
    }

    /// An event of class [`Class::Send`] of `flow`: a connection starts, or a burst that waited
    /// goes out; or a source's turn has come that is not answered and at home.
    #[inline(always)]
    pub fn wake(&mut self, now: u64, flow: u32) -> Timers {
        let sender = &mut self.senders[flow as usize];
        if let Work::Open(..) = sender.work {
            return self.tick_at_home(now, flow);
        }
        let now = Time::from_nanos(now);
        if sender.again.last().is_some_and(|period| period.0 == now) {
            return self.start_again(now, flow);
        }
        if sender.send != now {
            return Timers::NONE; // it has been set anew since
        }
        sender.send = Time::MAX;
        if now >= sender.stop {
            return Timers::NONE;
        }
        if let Work::Tfrc(tfrc) = &mut sender.work {
            tfrc.wake(now, &mut self.out);
            return sender.rearm();
        }
        let Work::Tcp(tcp, session) = &mut sender.work else { return Timers::NONE };
        if session.as_ref().is_some_and(|session| session.idle) {
            return self.open(now, flow);
        }
        tcp.wake(now, &mut sender.dice, &mut self.out);
        sender.rearm()
    }

    /// The timetable has `flow` start anew. Whatever was under way is given up.
    fn start_again(&mut self, now: Time, flow: u32) -> Timers {
        let sender = &mut self.senders[flow as usize];
        sender.resume();
        let Work::Tcp(_, Some(session)) = &mut sender.work else { return Timers::NONE };
        if !session.thinks() {
            return self.open(now, flow);
        }
        sender.life = sender.life.wrapping_add(1);
        sender.think(now)
    }

    /// `flow` opens its next connection.
    fn open(&mut self, now: Time, flow: u32) -> Timers {
        let sender = &mut self.senders[flow as usize];
        let Work::Tcp(tcp, Some(session)) = &mut sender.work else { return Timers::NONE };
        let next = session.open(&mut sender.dice);
        *tcp = TcpSender::new(next, &mut sender.dice);
        sender.life = sender.life.wrapping_add(1);
        sender.send = Time::MAX;
        let more = self.far[flow as usize].more.get_or_insert_default();
        more.expect(sender.life, Transfer::of(next, now));
        tcp.wake(now, &mut sender.dice, &mut self.out);
        sender.rearm()
    }

    /// An event of class [`Class::Timeout`] of `flow`: its retransmission timer may have run out.
    pub fn timeout(&mut self, now: u64, flow: u32, meters: &mut Meters) -> Timers {
        let sender = &mut self.senders[flow as usize];
        let now = Time::from_nanos(now);
        if sender.timeout != now {
            return Timers::NONE;
        }
        sender.timeout = Time::MAX;
        if let Work::Tfrc(tfrc) = &mut sender.work
            && now < sender.stop
        {
            if tfrc.timeout_at <= now {
                tfrc.timed_out(now, &mut self.out);
                meters.timed_out(now.as_nanos(), flow);
            }
            return sender.rearm();
        }
        let Work::Tcp(tcp, session) = &mut sender.work else { return Timers::NONE };
        if now >= sender.stop || session.as_ref().is_some_and(|session| session.idle) {
            return Timers::NONE;
        }
        if tcp.look(now, &mut sender.dice, &mut self.out) {
            // It was about something else.
        } else if tcp.timeout_at() <= now && tcp.timed_out(now, &mut sender.dice, &mut self.out) {
            meters.timed_out(now.as_nanos(), flow);
        }
        sender.rearm()
    }

    /// `ack` comes back to `flow`'s sender.
    #[inline(always)]
    pub fn acknowledged(
        &mut self,
        now: u64,
        flow: u32,
        ack: Body,
        reports: &mut Reports,
    ) -> Timers {
        let blocks = ack.flags() & flag::BLOCKS != 0;
        let report = if blocks { reports.take(ack.seq()) } else { Report::plain(ack.seq()) };
        let sender = &mut self.senders[flow as usize];
        let now = Time::from_nanos(now);
        if let Work::Tfrc(tfrc) = &mut sender.work {
            let Some(receiver) = self.far[flow as usize].tfrc() else { return Timers::NONE };
            if now >= sender.stop {
                return Timers::NONE;
            }
            tfrc.reported(now, receiver.read(ack.seq()), Time::from_nanos(ack.born), &mut self.out);
            return sender.rearm();
        }
        let Work::Tcp(tcp, session) = &mut sender.work else { return Timers::NONE };
        if now >= sender.stop || ack.life() != sender.life {
            return Timers::NONE;
        }
        if session.as_ref().is_some_and(|session| session.idle) {
            return Timers::NONE;
        }
        let arrival = Arrival {
            report: &report,
            echo: ack.flags() & flag::ECHO != 0,
            answers: Time::from_nanos(ack.born),
        };
        tcp.on_ack(now, &arrival, &mut sender.dice, &mut self.out);
        if tcp.is_done() && session.is_some() {
            return sender.think(now);
        }
        sender.rearm()
    }

    /// `data` of `flow` arrive at their receiver at `at`; its answer.
    #[inline(always)]
    pub fn deliver(
        &mut self,
        at: u64,
        flow: u32,
        data: Body,
        reports: &mut Reports,
        meters: &mut Meters,
    ) -> Answer {
        let far = &mut self.far[flow as usize];
        if far.back == 0 {
            meters.delivered(at, flow, data, data.len() as u64);
            return Answer::None;
        }
        if far.tfrc().is_some() {
            return self.report(at, flow, data, meters);
        }
        if data.life() != far.life && !far.turn_to(data.life()) {
            meters.delivered(at, flow, data, 0);
            return Answer::None; // of a connection that is over
        }
        let marked = data.flags() & flag::ECN == flag::ECN;
        let waited = far.release(at, marked, reports, meters);
        let received = far.receiver.receive(data.seq(), marked, data.flags() & flag::REDUCED != 0);
        // The SYN is the first in order and brings no data.
        let new =
            received.new - (far.syn && received.new > 0 && received.ack == received.new) as u32;
        meters.delivered(at, flow, data, new as u64 * data.len() as u64);
        if received.ack == far.end
            && received.new > 0
            && let Some(More { transfer, .. }) = far.more.as_deref()
        {
            meters.finished(flow, transfer.start.as_nanos(), at, transfer.bytes);
        }
        let wait = match far.delayed() {
            Some(delayed) => delayed.arrived(Time::from_nanos(at), data.born, marked, &received),
            None => Wait::No { born: data.born },
        };
        match (far.answer(at, wait, reports, meters), waited) {
            (Answer::Now(second), Some(first)) => Answer::Twice(first, second),
            (answer, _) => answer,
        }
    }

    /// An event of class [`Class::Acknowledge`]: an acknowledgement of `flow` may have waited
    /// enough.
    pub fn acknowledge(
        &mut self,
        now: u64,
        flow: u32,
        reports: &mut Reports,
        meters: &mut Meters,
    ) -> Answer {
        let far = &mut self.far[flow as usize];
        if let Some(receiver) = far.tfrc_mut() {
            if now >= self.senders[flow as usize].stop.as_nanos() {
                return Answer::None;
            }
            let feedback = receiver.ring(Time::from_nanos(now));
            return far.feed_back(now, feedback, meters);
        }
        let Some(delayed) = far.delayed() else { return Answer::None };
        let wait = delayed.ring(Time::from_nanos(now));
        far.answer(now, wait, reports, meters)
    }

    /// `data` of a TFRC flow arrive at `at`; the report that they give rise to, and when there may
    /// be another.
    fn report(&mut self, at: u64, flow: u32, data: Body, meters: &mut Meters) -> Answer {
        let far = &mut self.far[flow as usize];
        let (Some(receiver), Work::Tfrc(sender)) =
            (far.tfrc_mut(), &self.senders[flow as usize].work)
        else {
            return Answer::None;
        };
        meters.delivered(at, flow, data, data.len() as u64);
        let (seq, sent, marked) =
            (data.seq(), Time::from_nanos(data.born), data.flags() & flag::ECN == flag::ECN);
        let arrival = TfrcArrival { seq, marked, sent, note: sender.note_of(seq) };
        let feedback = receiver.receive(Time::from_nanos(at), arrival);
        far.feed_back(at, feedback, meters)
    }

    /// What a sender has put out, as a packet that leaves `flow`'s node at `now`.
    #[inline(always)]
    pub fn launch(&self, now: u64, flow: u32, output: Output) -> Body {
        Body::new(now, output.seq, output.len, output.flags, self.senders[flow as usize].life)
    }
}

impl Timers {
    const NONE: Timers = Timers { send: NEVER, timeout: NEVER };
}

impl Default for Transfer {
    /// Nothing that ever ends.
    fn default() -> Transfer {
        Transfer { end: u32::MAX, start: Time::ZERO, bytes: 0 }
    }
}

impl Transfer {
    /// What a connection like `tcp`, opened at `start`, has to bring over.
    fn of(tcp: &Tcp, start: Time) -> Transfer {
        let syn = tcp.handshake == Handshake::Syn;
        let end = tcp.data.map_or(u32::MAX, |n| n.saturating_add(syn as u32));
        Transfer { end, start, bytes: tcp.data.map_or(0, |n| n as u64 * tcp.segment.get()) }
    }
}

impl Far {
    /// Of a connection that starts at `start`.
    fn tcp(tcp: &Tcp, start: Time, back: u32) -> Far {
        let syn = tcp.handshake == Handshake::Syn;
        let block_len = if tcp.rules == Rules::Ns2 { BLOCK } else { 0 };
        let more = More {
            delayed: DelayedAck::new(tcp),
            transfer: Transfer::of(tcp, start),
            ..More::default()
        };
        let end = more.transfer.end;
        let more = (more.delayed.is_some() || tcp.data.is_some()).then(|| Box::new(more));
        Far {
            receiver: Receiver::new(tcp),
            end,
            ack_len: tcp.ack.get() as u16,
            block_len,
            syn,
            more,
            ..Far::deaf(back)
        }
    }

    /// What becomes of the acknowledgement that is due at `at`, or waits.
    #[inline(always)]
    fn answer(&self, at: u64, wait: Wait, reports: &mut Reports, meters: &mut Meters) -> Answer {
        let born = match wait {
            Wait::No { born } => born,
            Wait::Yes => return Answer::None,
            Wait::Until(due) => return Answer::Later(due.as_nanos()),
        };
        meters.answered(at);
        let (ack, echo) = self.receiver.state();
        let echo = if echo { flag::ECHO } else { 0 };
        let (seq, with, blocks) = match self.receiver.report() {
            Some(report) => (reports.keep(report), flag::BLOCKS, report.count() * self.block_len),
            None => (ack, 0, 0),
        };
        let (len, flags) = (self.ack_len.saturating_add(blocks), flag::ACK | echo | with);
        Answer::Now(Body::new(born, seq, len, flags, self.life))
    }

    /// The acknowledgement that waits, if marks begin or end with a segment that is `marked` or
    /// not, and each is to tell of its own segments only (RFC 8257 §3.2).
    #[inline]
    fn release(
        &mut self,
        at: u64,
        marked: bool,
        reports: &mut Reports,
        meters: &mut Meters,
    ) -> Option<Body> {
        if !self.receiver.is_exact() {
            return None;
        }
        let born = self.delayed()?.release(marked)?;
        match self.answer(at, Wait::No { born }, reports, meters) {
            Answer::Now(ack) => Some(ack),
            _ => None,
        }
    }

    /// What a TFRC flow's receiver says at `at`.
    fn feed_back(&self, at: u64, feedback: Feedback, meters: &mut Meters) -> Answer {
        let next = feedback.next.as_nanos();
        let Some((seq, answered)) = feedback.report else {
            return if next == NEVER { Answer::None } else { Answer::Later(next) };
        };
        meters.answered(at);
        let report = Body::new(answered.as_nanos(), seq, self.ack_len, flag::ACK, self.life);
        if next == NEVER { Answer::Now(report) } else { Answer::Both(report, next) }
    }

    /// Of a source that is not answered.
    fn deaf(back: u32) -> Far {
        let receiver = Receiver::default();
        Far {
            receiver,
            back,
            end: u32::MAX,
            ack_len: 0,
            block_len: 0,
            life: 0,
            syn: false,
            more: None,
        }
    }

    #[inline]
    fn delayed(&mut self) -> Option<&mut DelayedAck> {
        self.more.as_mut()?.delayed.as_mut()
    }

    #[inline]
    fn tfrc(&self) -> Option<&TfrcReceiver> {
        self.more.as_ref()?.tfrc.as_ref()
    }

    #[inline]
    fn tfrc_mut(&mut self) -> Option<&mut TfrcReceiver> {
        self.more.as_mut()?.tfrc.as_mut()
    }

    /// A packet of connection `life` has come: whether that is a later one than the one it was at.
    /// Of those numbered modulo 256 the nearer way round is the way.
    fn turn_to(&mut self, life: u8) -> bool {
        if life.wrapping_sub(self.life) >= 128 {
            return false;
        }
        self.receiver.restart();
        self.life = life;
        if let Some(more) = &mut self.more {
            more.delayed.iter_mut().for_each(|delayed| delayed.restart());
            more.turn_to(life);
            self.end = more.transfer.end;
        }
        true
    }
}

impl Sender {
    /// Its stop has come: when it starts again, [`NEVER`] if it does not.
    fn resume(&mut self) -> u64 {
        let Some((start, stop)) = self.again.pop() else { return NEVER };
        self.stop = stop;
        if let Work::Open(source, _) = &mut self.work {
            source.restart();
        }
        start.as_nanos()
    }

    /// The connection is done with, or none was open: when the next one is opened.
    fn think(&mut self, now: Time) -> Timers {
        let Work::Tcp(tcp, Some(session)) = &mut self.work else { return Timers::NONE };
        tcp.cancel_burst();
        self.send = session.think(now, &mut self.dice);
        Timers { send: self.send.as_nanos(), ..Timers::NONE }
    }

    /// The events to add, so that each timer has one pending no later than it is due.
    #[inline(always)]
    fn rearm(&mut self) -> Timers {
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
