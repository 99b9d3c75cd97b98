//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00, whose sections the comments
//! cite). It keeps a model of the path: the greatest delivery rate and the least round-trip time of
//! late. Pace and window follow that model.
//!
//! Windows are in segments. It heeds no mark. A connection of ours has data until it ends, so
//! nothing restarts from idle (§4.3.4.4). By Linux's rules (net/ipv4/tcp_bbr.c) the window is even,
//! has room for acknowledgements that come in bunches (`aggregation`), and has two segments more
//! while it probes. The phases of the cycle see what is under way when the next segments leave. The
//! long-term rate of a path that polices is not here.
use tidegate::{Rng, Span, Time};

use super::{Acked, CongestionControl, CutTriggers, LossSignal, Needs, Pacing, RateNews, Repair};
use crate::sources::tcp::delivery::{DeliverySample, SegmentRate};
use crate::sources::tcp::{Rules, Tcp};

pub(super) mod aggregation;
mod filter;
pub(super) mod full;
pub(super) mod pace;

use aggregation::Aggregation;
use filter::BandwidthFilter;
use full::FullBandwidth;
use pace::Pace;

tidegate::params! {
    /// The parameters of BBR.
    pub struct BbrParams {
        /// The fraction of the pace that is held back: none in the draft, 0.01 in Linux.
        margin: f64 = 0.0, "", 0 ..= 0.5;
    }
}

/// The least gain at which the rate doubles in each round trip: 2/ln 2, BBRHighGain (§4.3.2.1).
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// The window's gain in ProbeBW (§4.3.4.3).
const CWND_GAIN: f64 = 2.0;
/// The pace's gains in ProbeBW, one after the other (§4.3.4.1).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// How long the least round-trip time holds: RTpropFilterLen (§4.1.2.2).
const HOLDS: Span = Span::from_millis(10_000);
/// In ProbeRTT no more than this is under way, BBRMinPipeCwnd, for this long, ProbeRTTDuration
/// (§4.3.5).
const LEAST: f64 = 4.0;
const PROBE: Span = Span::from_millis(200);
/// The round-trip time before the first is measured (§4.2.1).
const NOMINAL: Span = Span::from_millis(1);
/// How much more may be under way while it probes, however small the product of bandwidth and delay
/// (Linux, bbr_quantization_budget).
const PROBES: f64 = 2.0;

/// What it is doing (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrMode {
    Startup,
    Drain,
    /// With the phase of the cycle.
    ProbeBw(usize),
    ProbeRtt,
}

/// BBR at work.
#[derive(Clone, Debug)]
pub(super) struct Bbr {
    mode: BbrMode,
    /// The greatest delivery rate of each of the last rounds, with its number (BBR.BtlBwFilter),
    /// and of all (BBR.BtlBw).
    rates: BandwidthFilter,
    bandwidth: SegmentRate,
    /// How many round trips there have been, and how much must be delivered for the next:
    /// BBR.round_count, BBR.next_round_delivered.
    round: usize,
    round_end: u32,
    /// The least round-trip time, BBR.RTprop, and when it was found; `None` before the first.
    least: Option<Span>,
    least_at: Time,
    pacing_gain: f64,
    cwnd_gain: f64,
    full: FullBandwidth,
    /// When the phase of the cycle began.
    phase_at: Time,
    /// When ProbeRTT may end, if little enough is under way; and whether a round trip of it is
    /// over.
    probe_until: Option<Time>,
    probe_round: bool,
    repair: Repair,
    /// In the first round of a recovery no more is sent than arrives: BBR.packet_conservation.
    conserving: bool,
    /// The window before a recovery or ProbeRTT cut it: BBR.prior_cwnd.
    prior: f64,
    pace: Pace,
    initial_window: f64,
    /// By Linux's rules, how acknowledgements bunch.
    aggregation: Option<Aggregation>,
}

impl Bbr {
    /// The least round-trip time of late; zero before the first.
    fn least(&self) -> Span {
        self.least.unwrap_or_default()
    }

    /// A recovery begins, or the last one is over (§4.2.3.4).
    fn turn_to(&mut self, cwnd: f64, news: &RateNews) -> f64 {
        let cwnd = match (self.repair, news.repair) {
            (Repair::Nothing | Repair::All, Repair::Loss) => {
                self.save(cwnd);
                self.conserving = true;
                // For a round trip from now on.
                self.round_end = news.sample.delivered;
                (news.flight + news.sample.news.max(1)) as f64
            }
            (Repair::Loss | Repair::All, Repair::Nothing) => {
                self.conserving = false;
                cwnd.max(self.prior)
            }
            _ => cwnd,
        };
        self.repair = news.repair;
        cwnd
    }

    /// Remembers the window as nothing had cut it yet.
    fn save(&mut self, cwnd: f64) {
        let cut = self.repair != Repair::Nothing || self.mode == BbrMode::ProbeRtt;
        self.prior = if cut { self.prior.max(cwnd) } else { cwnd };
    }

    /// Counts round trips and takes the sample in (§4.1.1.3, §4.1.1.5): whether a round trip
    /// begins.
    fn update_bandwidth(&mut self, sample: &DeliverySample) -> bool {
        let Some(prior) = sample.prior else { return false };
        let starts = prior >= self.round_end;
        if starts {
            self.round_end = sample.delivered;
            self.round += 1;
            self.conserving = false;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.bandwidth || !sample.limited)
        {
            self.bandwidth = self.rates.insert(self.round, rate);
        }
        starts
    }

    fn check_drain(&mut self, news: &RateNews, dice: &mut Rng) {
        if self.mode == BbrMode::Startup && self.full.reached {
            self.mode = BbrMode::Drain;
            (self.pacing_gain, self.cwnd_gain) = (1.0 / HIGH_GAIN, HIGH_GAIN);
        }
        if self.mode == BbrMode::Drain && self.under_way(news.flight, news) <= self.inflight(1.0) {
            self.probe_bandwidth(news.now, dice);
        }
    }

    /// Enters ProbeBW at any phase but that of 3/4 (§4.3.4.2).
    fn probe_bandwidth(&mut self, now: Time, dice: &mut Rng) {
        self.cwnd_gain = CWND_GAIN;
        let phase = CYCLE.len() - 1 - dice.below(CYCLE.len() as u64 - 1) as usize;
        self.next_phase(phase, now);
    }

    /// The phase after `phase` begins.
    fn next_phase(&mut self, phase: usize, now: Time) {
        let phase = (phase + 1) % CYCLE.len();
        self.mode = BbrMode::ProbeBw(phase);
        self.phase_at = now;
        self.pacing_gain = CYCLE[phase];
    }

    /// Each phase takes a round trip. The phase of 5/4 goes on until so much is under way or
    /// something is lost. The phase of 3/4 ends when what it came to drain is gone (§4.3.4.3).
    fn check_cycle(&mut self, news: &RateNews) {
        let BbrMode::ProbeBw(phase) = self.mode else { return };
        let full = news.now.since(self.phase_at) > self.least();
        let before = self.under_way(news.before, news);
        let over = match self.pacing_gain {
            gain if gain > 1.0 => full && (news.lost > 0 || before >= self.inflight(gain)),
            gain if gain < 1.0 => full || before <= self.inflight(1.0),
            _ => full,
        };
        if over {
            self.next_phase(phase, news.now);
        }
    }

    /// Takes the round-trip time in (§4.1.2.3): whether the least one was too old.
    fn update_least(&mut self, news: &RateNews) -> bool {
        let expired = self.least.is_some() && news.now.since(self.least_at) > HOLDS;
        let Some(rtt) = news.rtt else { return expired };
        if self.least.is_none() {
            self.pace.begin(HIGH_GAIN, self.initial_window, rtt);
        }
        if expired || self.least.is_none_or(|least| rtt <= least) {
            self.least = Some(rtt);
            self.least_at = news.now;
        }
        expired
    }

    /// Enters ProbeRTT, and leaves it when for long enough no more than the least was under way
    /// (§4.3.5): the window.
    fn check_probe_rtt(
        &mut self,
        mut cwnd: f64,
        starts: bool,
        expired: bool,
        news: &RateNews,
        dice: &mut Rng,
    ) -> f64 {
        if expired && self.mode != BbrMode::ProbeRtt {
            self.save(cwnd);
            self.mode = BbrMode::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.probe_until = None;
        }
        if self.mode != BbrMode::ProbeRtt {
            return cwnd;
        }
        match self.probe_until {
            None if news.flight as f64 <= LEAST => {
                self.probe_until = Some(news.now + PROBE);
                self.probe_round = false;
                self.round_end = news.sample.delivered;
            }
            None => {}
            Some(until) => {
                self.probe_round |= starts;
                if self.probe_round && news.now > until {
                    self.least_at = news.now;
                    cwnd = cwnd.max(self.prior);
                    self.leave_probe_rtt(news.now, dice);
                }
            }
        }
        cwnd
    }

    fn leave_probe_rtt(&mut self, now: Time, dice: &mut Rng) {
        if self.full.reached {
            return self.probe_bandwidth(now, dice);
        }
        self.mode = BbrMode::Startup;
        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
    }

    /// Of `flight` segments that are or were under way, how many the cycle goes by. By Linux's
    /// rules those that will be when the next leave, with these if it probes
    /// (bbr_packets_in_net_at_edt).
    fn under_way(&self, flight: u32, news: &RateNews) -> f64 {
        if self.aggregation.is_none() {
            return flight as f64;
        }
        let next = if self.pacing_gain > 1.0 { self.pace.quantum } else { 0 };
        ((flight + next) as f64 - libm::floor(self.bandwidth.segments_in(news.wait))).max(0.0)
    }

    /// How much is under way at so many times the bandwidth-delay product, with what waits in both
    /// ends (§4.2.3.2).
    fn inflight(&self, gain: f64) -> f64 {
        self.inflight_and(gain, 0.0)
    }

    /// The same with `more`. By Linux's rules it is even, and more when it probes.
    fn inflight_and(&self, gain: f64, more: f64) -> f64 {
        let Some(least) = self.least else { return self.initial_window };
        let inflight = libm::ceil(gain * self.bandwidth.segments_in(least))
            + more
            + 3.0 * self.pace.quantum as f64;
        if self.aggregation.is_none() {
            return inflight;
        }
        let probes = if self.mode == BbrMode::ProbeBw(0) { PROBES } else { 0.0 };
        2.0 * libm::ceil(inflight / 2.0) + probes
    }

    /// What the window has besides for acknowledgements that bunch.
    fn room(&self) -> f64 {
        match &self.aggregation {
            Some(aggregation) if self.full.reached => aggregation.room(self.bandwidth),
            _ => 0.0,
        }
    }

    /// The window (§4.2.3.4 to §4.2.3.6).
    fn window(&mut self, mut cwnd: f64, news: &RateNews) -> f64 {
        let target = self.inflight_and(self.cwnd_gain, self.room());
        let arrived = news.sample.news as f64;
        if news.lost > 0 {
            cwnd = (cwnd - news.lost as f64).max(1.0);
        }
        if self.conserving {
            cwnd = cwnd.max(news.flight as f64 + arrived);
        } else {
            if self.full.reached {
                cwnd = (cwnd + arrived).min(target);
            } else if cwnd < target || (news.sample.delivered as f64) < self.initial_window {
                cwnd += arrived;
            }
            cwnd = cwnd.max(LEAST);
        }
        if self.mode == BbrMode::ProbeRtt { cwnd.min(LEAST) } else { cwnd }
    }
}

/// The window is set with each sample of the delivery rate; these leave it as it is.
impl CongestionControl for Bbr {
    type Params = BbrParams;

    const NEEDS: Needs = Needs {
        answers: CutTriggers::Timeouts,
        rate_samples: true,
        paces_as: Some("BBR"),
        ..Needs::CLASSIC
    };

    fn new(params: &BbrParams, tcp: &Tcp) -> Bbr {
        let mut bbr = Bbr {
            mode: BbrMode::Startup,
            rates: BandwidthFilter::default(),
            bandwidth: SegmentRate::ZERO,
            round: 0,
            round_end: 0,
            least: None,
            least_at: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full: FullBandwidth::default(),
            phase_at: Time::ZERO,
            probe_until: None,
            probe_round: false,
            repair: Repair::Nothing,
            conserving: false,
            prior: 0.0,
            pace: Pace::new(params.margin, tcp.segment),
            initial_window: tcp.initial_window,
            aggregation: (tcp.rules == Rules::Linux).then(Aggregation::default),
        };
        bbr.pace.begin(HIGH_GAIN, tcp.initial_window, NOMINAL);
        bbr
    }

    fn on_ack(&mut self, cwnd: f64, _: &mut f64, _: &Acked) -> f64 {
        cwnd
    }

    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        loss.cwnd
    }

    /// The window is back at one segment, and begins anew from there (§4.2.3.4).
    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.save(loss.cwnd);
        self.repair = Repair::All;
        self.conserving = false;
        loss.cwnd
    }

    /// An acknowledgement comes: the new window (§3.5.1).
    fn on_sample(&mut self, cwnd: f64, news: &RateNews, dice: &mut Rng) -> f64 {
        let cwnd = self.turn_to(cwnd, news);
        let starts = self.update_bandwidth(&news.sample);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.learn(news.now, &news.sample, starts, self.bandwidth, cwnd);
        }
        self.check_cycle(news);
        self.full.check(Some(self.bandwidth), starts, news.sample.limited);
        self.check_drain(news, dice);
        let expired = self.update_least(news);
        let cwnd = self.check_probe_rtt(cwnd, starts, expired, news, dice);
        self.pace.follow(self.bandwidth, self.pacing_gain, self.full.reached);
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
        self.mode == BbrMode::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
