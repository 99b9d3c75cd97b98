//! BBR, version 3 (draft-ietf-ccwg-bbr-04, whose sections the comments cite): the model of version
//! 1, with bounds that losses teach it.
//!
//! In the long term no more is in flight than was when few were lost. For one round trip or a few,
//! bandwidth and data in flight are bounded by what got through when something was lost. ProbeBW
//! has four phases in place of a cycle of eight. Windows are in segments. It heeds no mark: the
//! draft leaves ECN to a later version. A connection of ours has data until it ends, so nothing
//! restarts from idle, and spurious timeouts are not undone.
use tidegate::{Rng, Span, Time};

use super::bbr::aggregation::Aggregation;
use super::bbr::full::FullBandwidth;
use super::bbr::pace::Pace;
use super::{Acked, CongestionControl, CutTriggers, LossSignal, Needs, Pacing, RateNews, Repair};
use crate::sources::tcp::Tcp;
use crate::sources::tcp::delivery::{DeliverySample, SegmentRate};

mod bounds;
mod cycle;
mod probe;
mod probe_rtt;

use bounds::ModelBounds;
use probe::Probe;

tidegate::params! {
    /// The parameters of BBR, version 3.
    pub struct Bbr3Params {
        /// The fraction of the pace that is held back: PacingMarginPercent (draft-ietf-ccwg-bbr-04
        /// §2.5).
        margin: f64 = 0.01, "", 0 ..= 0.5;
    }
}

/// StartupPacingGain, 4 ln 2 (§2.4).
const STARTUP: f64 = 4.0 * std::f64::consts::LN_2;
/// DrainPacingGain (§2.4).
const DRAIN: f64 = 0.5;
/// DefaultCwndGain (§2.4), and the gain in ProbeBW_UP (§5.3.3.6).
const CWND: f64 = 2.0;
const CWND_UP: f64 = 2.25;
/// ProbeRTTCwndGain (§2.14).
const CWND_PROBE_RTT: f64 = 0.5;
/// MinPipeCwnd (§2.7).
const LEAST: f64 = 4.0;
/// The round-trip time before the first is measured (§5.6.2).
const NOMINAL: Span = Span::from_millis(1);

/// What it is doing (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bbr3Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bbr3Mode {
    /// Whether it is one of ProbeBW.
    fn probes_bandwidth(self) -> bool {
        matches!(self, Bbr3Mode::Down | Bbr3Mode::Cruise | Bbr3Mode::Refill | Bbr3Mode::Up)
    }

    /// Whether it looks for more, so that losses are no reason to hold back (BBRIsProbingBW).
    fn searches(self) -> bool {
        matches!(self, Bbr3Mode::Startup | Bbr3Mode::Refill | Bbr3Mode::Up)
    }

    /// Gains of pace and window (§5.3).
    fn gains(self) -> (f64, f64) {
        match self {
            Bbr3Mode::Startup => (STARTUP, CWND),
            Bbr3Mode::Drain => (DRAIN, CWND),
            Bbr3Mode::Down => (0.9, CWND),
            Bbr3Mode::Cruise | Bbr3Mode::Refill => (1.0, CWND),
            Bbr3Mode::Up => (1.25, CWND_UP),
            Bbr3Mode::ProbeRtt => (1.0, CWND_PROBE_RTT),
        }
    }
}

/// BBR, version 3, at work.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    mode: Bbr3Mode,
    /// How much must be delivered for the next round trip, and whether this acknowledgement begins
    /// one: BBR.next_round_delivered, BBR.round_start.
    round_end: u32,
    starts: bool,
    bounds: ModelBounds,
    full: FullBandwidth,
    probe: Probe,
    /// The least round-trip time, BBR.min_rtt, and when it was found; `None` before the first.
    least: Option<Span>,
    least_at: Time,
    /// The least of the last five seconds, BBR.probe_rtt_min_delay, and when it was found.
    recent: Span,
    recent_at: Time,
    /// When ProbeRTT may end, if little enough is in flight; whether a round trip of it is over.
    probe_until: Option<Time>,
    probe_round: bool,
    repair: Repair,
    /// The window before a recovery or ProbeRTT: BBR.prior_cwnd.
    prior: f64,
    pace: Pace,
    initial_window: f64,
    aggregation: Aggregation,
}

impl Bbr3 {
    fn least(&self) -> Span {
        self.least.unwrap_or_default()
    }

    /// BBR.bw (§5.5.7).
    fn bandwidth(&self) -> SegmentRate {
        self.bounds.bandwidth()
    }

    /// So many times the bandwidth-delay product (§5.6.4.2).
    fn product(&self, bandwidth: SegmentRate, gain: f64) -> f64 {
        self.least.map_or(self.initial_window, |least| gain * bandwidth.segments_in(least))
    }

    /// The same, with what waits in both ends: BBRInflight.
    fn inflight(&self, bandwidth: SegmentRate, gain: f64) -> f64 {
        self.quantized(self.product(bandwidth, gain))
    }

    fn quantized(&self, inflight: f64) -> f64 {
        let inflight = inflight.max(3.0 * self.pace.quantum as f64).max(LEAST);
        if self.mode == Bbr3Mode::Up { inflight + 2.0 } else { inflight }
    }

    fn enter(&mut self, mode: Bbr3Mode) {
        self.mode = mode;
    }

    /// A round trip begins with the next delivery (BBRStartRound).
    fn start_round(&mut self, sample: &DeliverySample) {
        self.round_end = sample.delivered;
    }

    /// Counts round trips (§5.5.1).
    fn update_round(&mut self, sample: &DeliverySample) {
        self.starts = sample.prior.is_some_and(|prior| prior >= self.round_end);
        if self.starts {
            self.start_round(sample);
            self.probe.rounds += 1;
        }
    }

    /// Startup ends when the pipe is full or much is lost, Drain when what it added is gone
    /// (§5.3.1, §5.3.2).
    fn check_startup(&mut self, news: &RateNews, dice: &mut Rng) {
        if self.mode == Bbr3Mode::Startup {
            if self.bounds.startup_loses(self.starts) {
                self.full.reached = true;
                let found = self.product(self.bounds.most(), 1.0).max(self.bounds.latest());
                self.bounds.long = found;
            }
            if self.full.reached {
                self.enter(Bbr3Mode::Drain);
            }
        }
        if self.mode == Bbr3Mode::Drain
            && news.flight as f64 <= self.inflight(self.bandwidth(), 1.0)
        {
            self.go_down(news, dice);
        }
    }

    /// Remembers the window as nothing had cut it yet.
    fn save(&mut self, cwnd: f64) {
        let cut = self.repair != Repair::Nothing || self.mode == Bbr3Mode::ProbeRtt;
        self.prior = if cut { self.prior.max(cwnd) } else { cwnd };
    }

    /// The window (§5.6.4.4 to §5.6.4.7).
    fn window(&self, mut cwnd: f64, news: &RateNews) -> f64 {
        let (_, gain) = self.mode.gains();
        let extra = if self.full.reached { self.aggregation.room(self.bandwidth()) } else { 0.0 };
        let most = self.quantized(self.product(self.bandwidth(), gain) + extra);
        let arrived = news.sample.news as f64;
        if self.full.reached {
            cwnd = (cwnd + arrived).min(most);
        } else if cwnd < most || (news.sample.delivered as f64) < self.initial_window {
            cwnd += arrived;
        }
        cwnd = cwnd.max(LEAST);
        if self.mode == Bbr3Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_window());
        }
        let long = match self.mode {
            Bbr3Mode::Cruise | Bbr3Mode::ProbeRtt => self.bounds.with_headroom(),
            mode if mode.probes_bandwidth() => self.bounds.long,
            _ => f64::INFINITY,
        };
        cwnd.min(long.min(self.bounds.short()).max(LEAST))
    }
}

/// The window is set with each sample of the delivery rate; these leave it as it is.
impl CongestionControl for Bbr3 {
    type Params = Bbr3Params;

    const NEEDS: Needs = Needs {
        answers: CutTriggers::Timeouts,
        rate_samples: true,
        paces_as: Some("BBR"),
        ..Needs::CLASSIC
    };

    fn new(params: &Bbr3Params, tcp: &Tcp) -> Bbr3 {
        let mut bbr = Bbr3 {
            mode: Bbr3Mode::Startup,
            round_end: 0,
            starts: false,
            bounds: ModelBounds::default(),
            full: FullBandwidth::default(),
            probe: Probe::default(),
            least: None,
            least_at: Time::ZERO,
            recent: Span::ZERO,
            recent_at: Time::ZERO,
            probe_until: None,
            probe_round: false,
            repair: Repair::Nothing,
            prior: 0.0,
            pace: Pace::new(params.margin, tcp.segment),
            initial_window: tcp.initial_window,
            aggregation: Aggregation::default(),
        };
        bbr.pace.begin(STARTUP, tcp.initial_window, NOMINAL);
        bbr
    }

    fn on_ack(&mut self, cwnd: f64, _: &mut f64, _: &Acked) -> f64 {
        cwnd
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        loss.cwnd
    }

    /// The window is back at one segment, and begins anew from there (§5.6.4.4).
    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.save(loss.cwnd);
        self.repair = Repair::All;
        loss.cwnd
    }

    /// An acknowledgement comes: the new window (§5.2.3).
    fn on_sample(&mut self, mut cwnd: f64, news: &RateNews, dice: &mut Rng) -> f64 {
        if self.repair == Repair::Nothing && news.repair != Repair::Nothing {
            self.save(cwnd);
        } else if self.repair != Repair::Nothing && news.repair == Repair::Nothing {
            cwnd = cwnd.max(self.prior);
        }
        self.repair = news.repair;
        self.update_round(&news.sample);
        self.bounds.learn(news, cwnd, self.mode.searches());
        self.aggregation.learn(news.now, &news.sample, self.starts, self.bandwidth(), cwnd);
        self.full.check(news.sample.rate, self.starts, news.sample.limited);
        self.check_startup(news, dice);
        self.check_cycle(cwnd, news, dice);
        let expired = self.update_least(news);
        cwnd = self.check_probe_rtt(cwnd, expired, news, dice);
        let (gain, _) = self.mode.gains();
        self.pace.follow(self.bandwidth(), gain, self.full.reached);
        self.window(cwnd, news)
    }

    fn pacing(&self) -> Option<Pacing> {
        Some(Pacing { rate: self.pace.rate, quantum: self.pace.quantum })
    }

    fn min_rtt(&self) -> Span {
        self.least()
    }

    /// In ProbeRTT, to see the path empty.
    fn holds_back(&self) -> bool {
        self.mode == Bbr3Mode::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
