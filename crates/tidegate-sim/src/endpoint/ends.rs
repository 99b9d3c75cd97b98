//! The ends of flows: senders with their timers, and receivers. It knows nothing of the network
//! between them; the engine and the reference both drive it.
use tidegate::{Seed, Time};

use super::labels::Labels;
use super::receiver::{Answer, Far, More, Transfer};
use super::sender::{Sender, Timers, Work};
use crate::event::prefetch::fetch;
use crate::event::queue::{EventClass, EventKey, NEVER};
use crate::measure::meters::Meters;
use crate::net::flight::{Body, Label, flag};
use crate::net::ids::FlowId;
use crate::net::network::{Flow, Network};
use crate::net::routes::Routes;
use crate::sources::tcp::{AckArrival, Output, Report, Reports, TcpSender, Wait};
use crate::sources::{OpenPacket, TfrcArrival};

/// Every flow's two ends.
#[derive(Clone, Debug)]
pub(crate) struct FlowEnds {
    senders: Vec<Sender>,
    far: Vec<Far>,
    labels: Labels,
    /// What a sender has just put out, at the end of the list. The caller that woke the sender
    /// sends that and takes it off.
    pub out: Vec<Output>,
}

impl FlowEnds {
    /// The ends of `network`'s flows, each with dice of its own.
    /// `slot` gives a slot of the event queue to each open-loop source that shares its first link.
    pub fn new<Q>(
        network: &Network<Q>,
        routes: &Routes,
        seed: Seed,
        mut slot: impl FnMut(u32) -> u32,
    ) -> FlowEnds {
        let flows = &network.flows;
        let sender = |(i, flow): (usize, &Flow)| {
            let again = network.again.get(&FlowId(i as u32)).map_or(&[][..], |again| again);
            let dice = seed.stream(&format!("flow {i}"));
            Sender::new(i as u32, flow, again, routes.ways[i], dice, &mut slot)
        };
        let far = |(i, flow): (usize, &Flow)| Far::new(flow, routes.ways[i].back);
        FlowEnds {
            senders: flows.iter().enumerate().map(sender).collect(),
            far: flows.iter().enumerate().map(far).collect(),
            labels: Labels::new(network, seed),
            out: Vec::with_capacity(64),
        }
    }

    /// The first event of every flow, with the flow's place in the event queue if it has one; of a
    /// connection's flow all its starts.
    pub fn starts(&self) -> impl Iterator<Item = (Option<u32>, EventKey)> {
        self.senders.iter().enumerate().flat_map(|(i, s)| {
            let (slot, class, again) = match s.work {
                Work::Open(_, slot) => (slot, EventClass::Tick, [].as_slice()),
                Work::Tcp(..) | Work::Tfrc(_) => (None, EventClass::Send, s.again.as_slice()),
            };
            let times = std::iter::once(s.send).chain(again.iter().map(|period| period.0));
            times.map(move |time| (slot, EventKey::new(time.as_nanos(), class, i as u32)))
        })
    }

    /// Where the way of `flow` begins, if its sender is the sole user of its first link there.
    #[inline]
    pub fn sole_user(&self, flow: u32) -> Option<u32> {
        let sender = &self.senders[flow as usize];
        sender.sole_user.then_some(sender.there)
    }

    /// Where the way of `flow` begins.
    #[inline]
    pub fn there(&self, flow: u32) -> u32 {
        self.senders[flow as usize].there
    }

    /// How often each acknowledgement of [`Answer::Train`] is sent.
    pub fn repeats(&self, flow: u32) -> [u32; 2] {
        self.far[flow as usize].repeats()
    }

    /// Where its way back begins.
    #[inline]
    pub fn back(&self, flow: u32) -> u32 {
        self.far[flow as usize].back
    }

    /// The next of the events of a sender that is the sole user of its first link: its time and
    /// class.
    #[inline]
    pub fn due(&self, flow: u32) -> (u64, EventClass) {
        let Sender { send, timeout, .. } = self.senders[flow as usize];
        if send <= timeout {
            (send.as_nanos(), EventClass::Send)
        } else {
            (timeout.as_nanos(), EventClass::Timeout)
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

    /// What queues see of the packet `body` of `flow`.
    #[inline]
    pub fn label(&self, flow: u32, body: &Body) -> Label {
        self.labels.of(flow, body)
    }

    /// What follows will be about `flow`'s sender.
    #[inline]
    pub fn fetch_sender(&self, flow: u32) {
        fetch(self.senders.get(flow as usize));
    }

    /// A packet of `flow` will join a queue.
    #[inline]
    pub fn fetch_label(&self, flow: u32) {
        self.labels.fetch(flow);
    }

    /// What follows will be about `flow`'s receiver.
    #[inline]
    pub fn fetch_receiver(&self, flow: u32) {
        fetch(self.far.get(flow as usize));
    }

    /// It is the turn of `flow`, which is open loop: its packet, if it sends one, and when its
    /// next turn is (`NEVER` for never).
    #[inline]
    pub fn tick(&mut self, now: u64, flow: u32) -> (Option<Body>, u64) {
        let window = self.followed(now, flow);
        let sender = &mut self.senders[flow as usize];
        let Work::Open(source, _) = &mut sender.work else { return (None, NEVER) };
        if now >= sender.stop.as_nanos() {
            return (None, sender.resume());
        }
        let (packet, next) = source.send(Time::from_nanos(now), window, &mut sender.dice);
        // A next turn after the stop would come too late to start again.
        let next = if sender.again.is_empty() { next } else { next.min(sender.stop) };
        let body =
            |OpenPacket { number, len, ecn }: OpenPacket| Body::new(now, number, len, ecn as u8, 0);
        (packet.map(body), next.as_nanos())
    }

    /// The congestion window that `flow` follows, in segments; 0 if it follows none. It is that of
    /// `now`, since nothing that is followed runs ahead.
    #[inline]
    fn followed(&self, now: u64, flow: u32) -> f64 {
        let target = self.senders[flow as usize].follows();
        target.map_or(0.0, |t| self.senders[t.index()].window(Time::from_nanos(now)))
    }

    /// It is the turn of `flow`, which is open loop and alone on its first link.
    fn tick_alone(&mut self, now: u64, flow: u32) -> Timers {
        let (data, send) = self.tick(now, flow);
        self.senders[flow as usize].send = Time::from_nanos(send);
        self.out.extend(data.map(|data| Output {
            seq: data.seq(),
            len: data.len() as u16,
            flags: data.flags(),
        }));
        Timers { send, ..Timers::NONE }
    }

    /// An event of class [`EventClass::Send`] of `flow`: a connection starts, or a burst that
    /// waited goes out. Or it is the turn of an open-loop source that is alone on its first link.
    #[inline(always)]
    pub fn wake(&mut self, now: u64, flow: u32) -> Timers {
        let sender = &mut self.senders[flow as usize];
        if let Work::Open(..) = sender.work {
            return self.tick_alone(now, flow);
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

    /// An event of class [`EventClass::Timeout`] of `flow`: its retransmission timer may have run
    /// out.
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
        let arrival = AckArrival {
            report: &report,
            echo: ack.flags() & flag::ECHO != 0,
            part: ack.flags() & flag::PART != 0,
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
        far.measure(at, data);
        let received = far.receiver.receive(data.seq(), marked, data.flags() & flag::REDUCED != 0);
        // The SYN is the first in order and brings no data.
        let opens = far.syn && received.new > 0 && received.ack == received.new;
        let new = received.new - opens as u32;
        if opens && let Some(More { transfer, .. }) = far.more.as_deref() {
            meters.opened(flow, transfer.start.as_nanos(), at);
        }
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
            (answer, _) => far.cheat(answer, &received),
        }
    }

    /// An event of class [`EventClass::Acknowledge`]: an acknowledgement of `flow` may have waited
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
