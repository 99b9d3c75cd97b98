//! Congestion control: how the window grows, and what a loss, a mark or a timeout leaves of it.
//!
//! Each congestion control is a file that implements [`CongestionControl`], and a line in
//! `catalog`. The connection knows it through [`Window`] only, which adds what all have in common:
//! bounds, rounding and the inflation of fast recovery.
use tidegate::{ConfigError, Ecn, Rng, Span, Time};

use super::Tcp;
use super::delivery::{DeliverySample, SegmentRate};

mod aimd;
mod bbr;
mod bbr3;
mod binomial;
mod catalog;
mod cubic;
mod dctcp;
mod ledbat;
mod marks;
mod prague;
mod reno;
mod reno_num;
mod unresponsive;
mod vegas;
mod vegas_rem;
mod whole;
mod window;

pub use aimd::{AimdParams, Share};
pub use bbr::BbrParams;
pub use bbr3::Bbr3Params;
pub use binomial::{BinomialParams, Reading};
pub use catalog::Congestion;
pub use cubic::{CubicParams, FastConvergence, SlowStart};
pub use dctcp::DctcpParams;
pub use ledbat::LedbatParams;
pub use prague::PragueParams;
pub use reno_num::RenoNumParams;
pub use unresponsive::UnresponsiveParams;
pub use vegas::VegasParams;
pub use vegas_rem::VegasRemParams;
pub(super) use window::Window;

/// A congestion control. Windows are in segments.
trait CongestionControl: Sized {
    /// Its parameters.
    type Params;

    /// What it needs of the connection around it.
    const NEEDS: Needs = Needs::CLASSIC;

    /// That of a connection like `tcp`, which begins.
    fn new(params: &Self::Params, tcp: &Tcp) -> Self;

    /// Checks what the bounds of single parameters do not say.
    fn check(_: &Self::Params) -> Result<(), ConfigError> {
        Ok(())
    }

    /// New data are acknowledged and recovery, if there was one, is over: the new window.
    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64;

    /// Acknowledgements show a loss: what is left of the window.
    fn on_loss(&mut self, loss: &LossSignal) -> f64;

    /// An acknowledgement echoes a mark: what is left of the window.
    fn on_ecn(&mut self, loss: &LossSignal) -> f64 {
        self.on_loss(loss)
    }

    /// The retransmission timer expires: where slow start will end.
    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.on_loss(loss)
    }

    /// It expires again for the same segment: nothing is cut.
    fn on_repeated_rto(&mut self) {}

    /// The window after a timeout.
    fn restart_window(&self) -> f64 {
        1.0
    }

    /// A segment is sent.
    fn on_sent(&mut self, _: &Sending) {}

    /// New data are acknowledged, also during recovery, and nothing has been done about it yet.
    fn on_every_ack(&mut self, _: &Acked) {}

    /// An acknowledgement says for how long the segment that it answers was under way, in
    /// microseconds.
    fn on_delay(&mut self, _: Time, _: u32) {}

    /// A SYN is acknowledged. How that counts.
    fn on_open(&mut self, _: &Acked) -> SynAck {
        SynAck::OpensOnly
    }

    /// An acknowledgement with a sample of the delivery rate: the new window.
    fn on_sample(&mut self, cwnd: f64, _: &RateNews, _: &mut Rng) -> f64 {
        cwnd
    }

    /// The pace at which segments leave, if it sets one.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// The least round-trip time that its model knows; zero before the first.
    fn min_rtt(&self) -> Span {
        Span::ZERO
    }

    /// Whether it holds data back, so that samples now say little of the path.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether `seq`, which is in flight, is overdue by a timeout finer than the sender's.
    fn is_overdue(&self, _seq: u32, _now: Time) -> bool {
        false
    }

    /// Whether an acknowledgement up to `una`, which is `in_flight` or not, shows another hole
    /// there, to be repaired at once.
    fn sees_another_hole(&mut self, _una: u32, _in_flight: bool, _now: Time) -> bool {
        false
    }

    /// ns-2's Vegas takes a segment for lost.
    fn on_vegas_loss(&mut self, _: &VegasLoss) -> VegasCut {
        VegasCut::default()
    }

    /// The window that the last loss by ns-2's Vegas left; zero after a timeout.
    fn vegas_window(&self) -> Option<f64> {
        None
    }
}

/// What a congestion control needs of the connection around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What cuts its window.
    pub answers: CutTriggers,
    /// How marks reach it.
    pub marks: MarkFeedback,
    /// The codepoint of its ECN-capable segments.
    pub codepoint: Ecn,
    /// Whether each acknowledgement brings a sample of the delivery rate.
    pub rate_samples: bool,
    /// Whether the receiver measures how long each segment is under way.
    pub delays: bool,
    /// What messages call it, if it paces. Then it needs selective acknowledgements.
    pub paces_as: Option<&'static str>,
}

impl Needs {
    /// Those of Reno and its kin.
    pub const CLASSIC: Needs = Needs {
        answers: CutTriggers::Everything,
        marks: MarkFeedback::OncePerRound,
        codepoint: Ecn::Ect0,
        rate_samples: false,
        delays: false,
        paces_as: None,
    };
}

/// Which events cut a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutTriggers {
    /// Losses, marks and timeouts.
    Everything,
    /// Timeouts only; its model learns of losses.
    Timeouts,
    /// None; nor does the timer back off.
    Nothing,
}

/// How marks reach a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkFeedback {
    /// The receiver echoes until the sender answers (RFC 3168 §6.1.3).
    OncePerRound,
    /// Each acknowledgement reports its own segments (RFC 8257 §3.2); one a round trip is
    /// answered.
    Exact,
    /// The same, and the control itself answers all of them.
    ExactForControl,
}

/// How the acknowledgement of a SYN counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SynAck {
    /// It opens the connection.
    OpensOnly,
    /// It also counts as one of data.
    CountsAsData,
}

/// A pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// The rate.
    pub rate: SegmentRate,
    /// How many segments leave together.
    pub quantum: u32,
}

/// What an acknowledgement of new data says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub now: Time,
    /// How many segments it acknowledges.
    pub segments: u32,
    /// The most of them that it may count for: [`Window::step`].
    pub step: u32,
    /// The smoothed round-trip time in nanoseconds, 0 before the first measurement.
    pub rtt: u64,
    /// When the segment was sent that it answers.
    pub sent: Time,
    /// The first segment not acknowledged now.
    pub una: u32,
    /// The segment to send next.
    pub next: u32,
    /// One past the greatest sent.
    pub max: u32,
    /// Whether it echoes a mark.
    pub echo: bool,
}

impl Acked {
    /// For how many segments it opens a window that grows by so much for each.
    #[inline]
    fn counted(&self) -> f64 {
        self.segments.min(self.step) as f64
    }

    /// The round-trip time of the segment that it answers, in nanoseconds.
    fn sample(&self) -> u64 {
        self.now.since(self.sent).as_nanos()
    }
}

/// A segment that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub now: Time,
    pub seq: u32,
    /// The first segment not acknowledged.
    pub una: u32,
    /// Whether it was sent before.
    pub again: bool,
}

/// What a loss, a mark or a timeout finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub now: Time,
    /// The first segment not acknowledged.
    pub una: u32,
    /// How many segments are in flight.
    pub flight: u32,
}

/// A loss, a mark or a timeout. Windows in segments.
#[derive(Clone, Copy, Debug)]
struct LossSignal {
    now: Time,
    /// The first segment not acknowledged: of a loss, the one that is lost.
    una: u32,
    cwnd: f64,
    /// The same with the inflation of fast recovery.
    inflated: f64,
    ssthresh: f64,
    /// The window to take a share of: by the RFCs what is in flight.
    found: f64,
}

impl LossSignal {
    /// The window to take a share of, with its fraction of a segment where all of it is in flight.
    /// A control that gives up less than half of the window needs it.
    fn window(&self) -> f64 {
        if self.found >= (self.cwnd as u64) as f64 { self.cwnd } else { self.found }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgement with a sample of the delivery rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateNews {
    pub now: Time,
    pub sample: DeliverySample,
    /// The round-trip time, if it gives one.
    pub rtt: Option<Span>,
    /// How many segments it shows to be lost.
    pub lost: u32,
    /// How many were in flight before it.
    pub before: u32,
    /// How many are in flight now.
    pub flight: u32,
    /// How long it is before more may leave.
    pub wait: Span,
    pub repair: Repair,
}

/// What a sender repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    Nothing,
    /// A loss that acknowledgements have shown: fast recovery.
    Loss,
    /// Everything, since the timer expired.
    All,
}

/// A segment that ns-2's Vegas takes for lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct VegasLoss {
    pub found: Found,
    /// Whether it has been sent.
    pub outstanding: bool,
    /// The window in whole segments.
    pub window: u32,
}

/// What such a loss leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VegasCut {
    /// How often the segment has been sent.
    pub times: u32,
    /// The window, if it was not cut since.
    pub window: Option<f64>,
}

/// What tests of single controls begin with.
#[cfg(test)]
mod bench {
    use super::*;

    /// An acknowledgement of one segment after a round trip of 100 ms.
    pub fn ack() -> Acked {
        let now = Time::from_nanos(1_000_000_000);
        Acked {
            now,
            segments: 1,
            step: 1,
            rtt: 100_000_000,
            sent: Time::from_nanos(900_000_000),
            una: 1,
            next: 1,
            max: 1,
            echo: false,
        }
    }

    /// A loss that finds a window of `cwnd`, all of it in flight.
    pub fn loss(cwnd: f64, ssthresh: f64) -> LossSignal {
        LossSignal { now: ack().now, una: 0, cwnd, inflated: cwnd, ssthresh, found: cwnd }
    }
}
