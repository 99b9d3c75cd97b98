//! A flow's receiving end: what it has received, and what it answers.
use std::collections::VecDeque;

use tidegate::Time;

use crate::event::queue::NEVER;
use crate::measure::meters::Meters;
use crate::net::flight::{Body, flag};
use crate::net::network::Flow;
use crate::sources::tcp::{Acks, DelayedAck, Received, Receiver, Report, Reports, Wait};
use crate::sources::{Feedback, Handshake, Rules, Source, Tcp, TfrcReceiver};

/// The end of a connection that has data for ever.
const ENDLESS: u32 = u32::MAX;

/// What a block of a selective acknowledgement takes by ns-2's rules: two numbers of four bytes.
const BLOCK: u16 = 8;

/// A flow's receiving end, in one line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Far {
    pub(super) receiver: Receiver,
    /// Where the way back begins; 0 for a flow that is open loop.
    pub(super) back: u32,
    /// The first segment that will never come, when all data are there: the transfer is finished.
    pub(super) end: u32,
    pub(super) ack_len: u16,
    /// How much longer each block makes a selective acknowledgement.
    pub(super) block_len: u16,
    /// Which connection it is at.
    pub(super) life: u8,
    /// Whether segment 0 carries no data.
    pub(super) syn: bool,
    /// Whether it echoes no marks.
    pub(super) blind: bool,
    /// What connections without end that answer at once have no need of.
    pub(super) more: Option<Box<More>>,
}

const _: () = assert!(size_of::<Far>() == 64);

/// The rest of a receiving end.
#[derive(Clone, Debug, Default)]
pub(super) struct More {
    /// Of a connection whose acknowledgements are delayed.
    pub(super) delayed: Option<DelayedAck>,
    pub(super) transfer: Transfer,
    /// Of a connection whose sender goes by delays: that of the last segment.
    pub(super) delays: bool,
    pub(super) delay: Option<u32>,
    /// What it acknowledges.
    pub(super) acks: Acks,
    /// Those of the connections opened since, with their numbers, in order: when a packet of one
    /// is dealt with, the sender may be at the next but one.
    pub(super) coming: VecDeque<(u8, Transfer)>,
    /// In place of all that, of a TFRC flow.
    pub(super) tfrc: Option<TfrcReceiver>,
}

impl More {
    /// Connection `life` is opened, to bring this over.
    pub(super) fn expect(&mut self, life: u8, transfer: Transfer) {
        // Of more the numbers cannot be told apart.
        if self.coming.len() == 127 {
            self.coming.pop_front();
        }
        self.coming.push_back((life, transfer));
    }

    /// The transfer is that of connection `life`.
    pub(super) fn turn_to(&mut self, life: u8) {
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
pub(super) struct Transfer {
    /// See [`Far::end`].
    pub(super) end: u32,
    /// When it was asked for.
    pub(super) start: Time,
    pub(super) bytes: u64,
}

/// What a receiver has to say, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// Nothing.
    None,
    /// This, on its way back now.
    Now(Body),
    /// Perhaps something then: an event of class `Class::Acknowledge` to add.
    Later(u64),
    /// Both.
    Both(Body, u64),
    /// Two that a receiver that cheats sends, each as often as [`Acks::repeats`] says.
    Train(Body, Body),
    /// Two, one after the other.
    Twice(Body, Body),
}

impl Default for Transfer {
    /// Nothing that ever ends.
    fn default() -> Transfer {
        Transfer { end: ENDLESS, start: Time::ZERO, bytes: 0 }
    }
}

impl Transfer {
    /// What a connection like `tcp`, opened at `start`, has to bring over.
    pub(super) fn of(tcp: &Tcp, start: Time) -> Transfer {
        let syn = tcp.handshake == Handshake::Syn;
        let end = tcp.data.map_or(ENDLESS, |n| n.saturating_add(syn as u32));
        Transfer { end, start, bytes: tcp.data.map_or(0, |n| n as u64 * tcp.segment.get()) }
    }
}

impl Far {
    /// The receiving end of `flow`, whose way back begins at `back`.
    pub(super) fn new(flow: &Flow, back: u32) -> Far {
        match (&flow.source, flow.source.tcp()) {
            (_, Some(tcp)) => Far::tcp(tcp, flow.start, back),
            (Source::Tfrc(tfrc), _) => {
                let tfrc_end = Some(TfrcReceiver::new(tfrc));
                let more = Box::new(More { tfrc: tfrc_end, ..More::default() });
                Far { more: Some(more), ack_len: tfrc.report.get() as u16, ..Far::deaf(back) }
            }
            _ => Far::deaf(back),
        }
    }

    /// Of a connection that starts at `start`.
    pub(super) fn tcp(tcp: &Tcp, start: Time, back: u32) -> Far {
        let syn = tcp.handshake == Handshake::Syn;
        let block_len = if tcp.rules == Rules::Ns2 { BLOCK } else { 0 };
        let more = More {
            delayed: DelayedAck::new(tcp),
            transfer: Transfer::of(tcp, start),
            delays: tcp.congestion.needs().delays,
            acks: tcp.acks,
            ..More::default()
        };
        let end = more.transfer.end;
        let needed =
            more.delayed.is_some() || more.delays || more.acks.cheats() || tcp.data.is_some();
        let more = needed.then(|| Box::new(more));
        Far {
            receiver: Receiver::new(tcp),
            end,
            ack_len: tcp.ack.get() as u16,
            block_len,
            syn,
            blind: tcp.acks == Acks::Unmarked,
            more,
            ..Far::deaf(back)
        }
    }

    /// What becomes of the acknowledgement that is due at `at`, or waits.
    #[inline(always)]
    pub(super) fn answer(
        &self,
        at: u64,
        wait: Wait,
        reports: &mut Reports,
        meters: &mut Meters,
    ) -> Answer {
        let born = match wait {
            Wait::No { born } => born,
            Wait::Yes => return Answer::None,
            Wait::Until(due) => return Answer::Later(due.as_nanos()),
        };
        meters.answered(at);
        let (ack, echo) = self.receiver.state();
        let echo = if echo && !self.blind { flag::ECHO } else { 0 };
        let (seq, with, blocks) = match self.report() {
            Some(report) => (reports.keep(report), flag::BLOCKS, report.count() * self.block_len),
            None => (ack, 0, 0),
        };
        let (len, flags) = (self.ack_len.saturating_add(blocks), flag::ACK | echo | with);
        Answer::Now(Body::new(born, seq, len, flags, self.life))
    }

    /// What an acknowledgement says now beside its number, if anything.
    #[inline]
    fn report(&self) -> Option<Report> {
        let report = self.receiver.report();
        let Some(delay) = self.more.as_deref().and_then(|more| more.delay) else { return report };
        let plain = || Report::plain(self.receiver.state().0);
        Some(Report { delay: Some(delay), ..report.unwrap_or_else(plain) })
    }

    /// `data` have come at `at`: how long they were under way, if their sender goes by that. A SYN
    /// is shorter than data and says nothing of them.
    #[inline]
    pub(super) fn measure(&mut self, at: u64, data: Body) {
        if let Some(more) = self.more.as_deref_mut().filter(|more| more.delays) {
            let micros = ((at - data.born) / 1000).min(u32::MAX as u64) as u32;
            more.delay = (!self.syn || data.seq() > 0).then_some(micros);
        }
    }

    /// What is sent in place of `answer` to a segment that led to `received`: more, if it cheats.
    #[inline]
    pub(super) fn cheat(&self, answer: Answer, received: &Received) -> Answer {
        match (self.more.as_deref(), answer) {
            (Some(more), Answer::Now(ack)) if more.acks.cheats() => {
                self.false_acks(more.acks, ack, received)
            }
            _ => answer,
        }
    }

    #[cold]
    fn false_acks(&self, acks: Acks, ack: Body, received: &Received) -> Answer {
        if self.syn && received.ack <= 1 {
            return Answer::Now(ack); // of a SYN
        }
        let plain =
            |seq, flags| Body::new(ack.born, seq, self.ack_len, flag::ACK | flags, self.life);
        match acks {
            Acks::Divided(_) if received.new > 0 => {
                Answer::Train(plain(received.ack - received.new, flag::PART), ack)
            }
            Acks::Repeated(_) => Answer::Train(ack, plain(received.ack, 0)),
            Acks::Anticipated(ahead) if ahead > 0 => {
                let beyond = received.ack.saturating_add(ahead).min(self.end);
                Answer::Train(ack, plain(beyond, 0))
            }
            _ => Answer::Now(ack),
        }
    }

    /// How often each of [`Answer::Train`]'s acknowledgements is sent.
    pub(super) fn repeats(&self) -> [u32; 2] {
        self.more.as_deref().map_or([1, 1], |more| more.acks.repeats())
    }

    /// The acknowledgement that waits, if marks begin or end with a segment that is `marked` or
    /// not, and each is to tell of its own segments only (RFC 8257 §3.2).
    #[inline]
    pub(super) fn release(
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
    pub(super) fn feed_back(&self, at: u64, feedback: Feedback, meters: &mut Meters) -> Answer {
        let next = feedback.next.as_nanos();
        let Some((seq, answered)) = feedback.report else {
            return if next == NEVER { Answer::None } else { Answer::Later(next) };
        };
        meters.answered(at);
        let report = Body::new(answered.as_nanos(), seq, self.ack_len, flag::ACK, self.life);
        if next == NEVER { Answer::Now(report) } else { Answer::Both(report, next) }
    }

    /// Of a source that is open loop.
    pub(super) fn deaf(back: u32) -> Far {
        let receiver = Receiver::default();
        Far {
            receiver,
            back,
            end: ENDLESS,
            ack_len: 0,
            block_len: 0,
            life: 0,
            syn: false,
            blind: false,
            more: None,
        }
    }

    #[inline]
    pub(super) fn delayed(&mut self) -> Option<&mut DelayedAck> {
        self.more.as_mut()?.delayed.as_mut()
    }

    #[inline]
    pub(super) fn tfrc(&self) -> Option<&TfrcReceiver> {
        self.more.as_ref()?.tfrc.as_ref()
    }

    #[inline]
    pub(super) fn tfrc_mut(&mut self) -> Option<&mut TfrcReceiver> {
        self.more.as_mut()?.tfrc.as_mut()
    }

    /// A packet of connection `life` has come: whether that is a later one than the one it was at.
    /// Of those numbered modulo 256 the nearer way round is the way.
    pub(super) fn turn_to(&mut self, life: u8) -> bool {
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
