//! The congestion window of one connection: its control, with the bounds and the rounding that all
//! controls have in common.
use tidegate::{Rng, Span, Time};

use super::catalog::Control;
use super::{
    Acked, CongestionControl, CutTriggers, Found, LossSignal, MarkFeedback, Pacing, RateNews,
    Sending, SynAck, VegasLoss,
};
use crate::sources::tcp::Tcp;
use crate::sources::tcp::rules::{AfterRecovery, CutFrom, CutTo, MarkFloor, RuleSet, TimeoutCut};

/// The congestion window of one connection, in segments.
#[derive(Clone, Debug)]
pub(in super::super) struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// What fast recovery adds for segments that have left the network.
    pub inflation: u32,
    /// The receiver's window.
    most: u32,
    /// The most segments that one acknowledgement counts for, in the congestion controls that once
    /// counted acknowledgements.
    pub step: u32,
    answers: CutTriggers,
    marks: MarkFeedback,
    cut_from: CutFrom,
    cut_to: CutTo,
    mark_floor: MarkFloor,
    timeout_cut: TimeoutCut,
    after_recovery: AfterRecovery,
    control: Control,
}

/// Where acknowledgements are delayed, one counts for at most two segments (RFC 3465 §2.2, L).
const DELAYED_STEP: u32 = 2;
/// Where none is, one counts for one, however many a filled hole brings along (RFC 5681 §3.1).
const STEP: u32 = 1;

/// The least window after a halving, in segments (RFC 5681 eq. 4).
const LEAST: f64 = 2.0;

impl Window {
    pub fn new(tcp: &Tcp, rules: &RuleSet, cwnd: f64) -> Window {
        let needs = tcp.congestion.needs();
        Window {
            cwnd,
            ssthresh: tcp.receiver_window as f64,
            inflation: 0,
            most: tcp.receiver_window,
            step: if tcp.delayed_ack > Span::ZERO { DELAYED_STEP } else { STEP },
            answers: needs.answers,
            marks: needs.marks,
            cut_from: rules.cut_from,
            cut_to: rules.cut_to,
            mark_floor: rules.mark_floor,
            timeout_cut: rules.timeout_cut,
            after_recovery: rules.after_recovery,
            control: Control::new(tcp),
        }
    }

    /// Whether losses that acknowledgements tell of, and marks, cut it.
    #[inline]
    pub fn answers_losses(&self) -> bool {
        self.answers == CutTriggers::Everything
    }

    /// Whether timeouts cut it, and back the timer off.
    #[inline]
    pub fn answers_timeouts(&self) -> bool {
        self.answers != CutTriggers::Nothing
    }

    /// Whether the control itself answers marks, by how many there are.
    #[inline]
    pub fn control_answers_marks(&self) -> bool {
        self.marks == MarkFeedback::ExactForControl
    }

    /// The least round-trip time of its model, zero before the first.
    pub fn min_rtt(&self) -> Span {
        self.control.min_rtt()
    }

    /// Whether it holds data back to see the path empty.
    pub fn holds_back(&self) -> bool {
        self.control.holds_back()
    }

    /// The pace at which segments leave, if the control sets one.
    #[inline]
    pub fn pacing(&self) -> Option<Pacing> {
        self.control.pacing()
    }

    /// An acknowledgement with a sample of the delivery rate.
    pub fn on_sample(&mut self, news: &RateNews, dice: &mut Rng) {
        self.cwnd = self.control.on_sample(self.cwnd, news, dice);
    }

    /// How many segments may be in flight.
    #[inline]
    pub fn segments(&self) -> u32 {
        // A float beyond the integers becomes the greatest of them.
        (self.cwnd as u32).saturating_add(self.inflation).min(self.most)
    }

    /// The receiver's window.
    #[inline]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// New data are acknowledged outside of recovery.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Acked) {
        match &mut self.control {
            Control::Reno(reno) => self.cwnd = reno.on_ack(self.cwnd, &mut self.ssthresh, ack),
            // What the receiver does not let out cannot have been tried.
            control => {
                self.cwnd = control.on_ack(self.cwnd, &mut self.ssthresh, ack).min(self.most as f64)
            }
        }
    }

    /// New data are acknowledged, whatever else is made of it.
    #[inline(always)]
    pub fn on_every_ack(&mut self, ack: &Acked) {
        self.control.on_every_ack(ack);
    }

    /// An acknowledgement says how long its segment was under way, in microseconds.
    pub fn on_delay(&mut self, now: Time, delay: u32) {
        self.control.on_delay(now, delay);
    }

    /// The handshake is over: data may go, `initial` segments.
    pub fn on_open(&mut self, initial: f64, ack: &Acked) {
        self.cwnd = initial;
        if self.control.on_open(ack) == SynAck::CountsAsData {
            self.on_ack(ack);
        }
    }

    /// A segment is sent.
    #[inline]
    pub fn on_sent(&mut self, sending: &Sending) {
        self.control.on_sent(sending);
    }

    /// Whether `seq`, which is in flight, is overdue by a timeout of the control's own.
    pub fn is_overdue(&self, seq: u32, now: Time) -> bool {
        self.control.is_overdue(seq, now)
    }

    /// Whether an acknowledgement up to `una`, which is `in_flight` or not, shows another hole
    /// there, to be repaired at once.
    #[inline]
    pub fn sees_another_hole(&mut self, una: u32, in_flight: bool, now: Time) -> bool {
        self.control.sees_another_hole(una, in_flight, now)
    }

    fn loss(&self, found: Found) -> LossSignal {
        let Found { now, una, flight } = found;
        let inflated = self.cwnd + self.inflation as f64;
        let found = match self.cut_from {
            CutFrom::Flight => flight as f64,
            // A mark echoed as recovery ends finds the window still inflated.
            CutFrom::Inflated => inflated.min(self.most as f64),
            CutFrom::Cwnd => self.cwnd.min(self.most as f64),
            CutFrom::WholeInflated => self.segments() as f64,
        };
        LossSignal { now, una, cwnd: self.cwnd, inflated, ssthresh: self.ssthresh, found }
    }

    /// A loss that acknowledgements tell of.
    pub fn on_loss(&mut self, found: Found) {
        if !self.answers_losses() {
            return; // a model learns of it with the acknowledgement
        }
        let loss = self.loss(found);
        let left = self.control.on_loss(&loss);
        self.cut(left);
    }

    fn cut(&mut self, left: f64) {
        self.ssthresh = self.threshold(left);
        self.cwnd = match self.cut_to {
            CutTo::Ssthresh => self.ssthresh,
            CutTo::Share => left,
            CutTo::WholeShare => (left as u64) as f64,
        };
    }

    /// The ssthresh of what a cut leaves.
    fn threshold(&self, left: f64) -> f64 {
        match self.cut_to {
            CutTo::Ssthresh => left.max(LEAST),
            CutTo::Share | CutTo::WholeShare => ((left as u64) as f64).max(LEAST),
        }
    }

    /// An echoed mark.
    pub fn on_ecn(&mut self, found: Found) {
        let loss = self.loss(found);
        let left = self.control.on_ecn(&loss);
        match self.mark_floor {
            MarkFloor::BelowOne => {
                self.ssthresh = left.max(LEAST);
                self.cwnd = if self.cwnd <= 1.0 { 0.5 } else { left.max(1.0) };
            }
            MarkFloor::LikeLoss => self.cut(left),
        }
    }

    /// Whether it lies below one segment, so that nothing is sent before the timer expires (RFC
    /// 3168 §6.1.2).
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.cwnd < 1.0
    }

    /// A timeout: back to the least window. `first` says that the segment was not lost by timeout
    /// before (RFC 5681 §3.1 keeps ssthresh otherwise), nor cut for before by Linux's rules.
    pub fn on_rto(&mut self, found: Found, first: bool) {
        self.inflation = 0;
        if first || self.timeout_cut == TimeoutCut::Every {
            let loss = self.loss(found);
            let left = self.control.on_rto(&loss);
            self.ssthresh = self.threshold(left);
        } else {
            self.control.on_repeated_rto();
        }
        self.restart();
    }

    /// The least window (Vegas's is two segments), and nothing added to it.
    pub fn restart(&mut self) {
        self.cwnd = self.control.restart_window();
        self.inflation = 0;
    }

    /// A partial acknowledgement of `acked` segments: the window shrinks by them and grows by one
    /// (RFC 6582 §3.2 step 5).
    pub fn deflate(&mut self, acked: u32) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd = (self.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
    }

    /// Fast recovery is over.
    pub fn on_recovered(&mut self) {
        self.inflation = 0;
        if self.after_recovery == AfterRecovery::Ssthresh && self.answers_losses() {
            self.cwnd = self.ssthresh;
        }
    }

    /// ns-2's Vegas takes the first segment not acknowledged for lost, `outstanding` or not, after
    /// so many `duplicates`. How often it has been sent.
    pub fn on_vegas_loss(&mut self, found: Found, outstanding: bool, duplicates: u32) -> u32 {
        let loss = VegasLoss { found, outstanding, window: self.segments() };
        let cut = self.control.on_vegas_loss(&loss);
        if let Some(window) = cut.window {
            self.cwnd = window + duplicates as f64;
        }
        cut.times
    }

    /// New data are acknowledged after more than three duplicates, by ns-2's Vegas: back to what
    /// the last cut has left. A timeout forgets that, and then nothing is left.
    pub fn settle_vegas(&mut self) {
        if let Some(left) = self.control.vegas_window()
            && self.cwnd > left
        {
            (self.cwnd, self.ssthresh) = (left, LEAST);
        }
    }
}
