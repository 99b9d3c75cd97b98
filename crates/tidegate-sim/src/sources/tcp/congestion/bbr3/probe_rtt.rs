//! The least round-trip time, and ProbeRTT, which looks for it (§5.3.4).
use tidegate::{Rng, Span};

use super::super::RateNews;
use super::probe::AckPhase;
use super::{Bbr3, Bbr3Mode, CWND_PROBE_RTT, LEAST, STARTUP};

/// How long the least round-trip time holds, MinRTTFilterLen, and how old it may be before
/// ProbeRTT, ProbeRTTInterval (§2.14).
const HOLDS: Span = Span::from_millis(10_000);
const PROBE_EVERY: Span = Span::from_millis(5_000);
/// ProbeRTTDuration (§2.14).
const PROBE_FOR: Span = Span::from_millis(200);

impl Bbr3 {
    /// Takes the round-trip time in (§5.3.4.3): whether that of the last five seconds was too old.
    pub(super) fn update_least(&mut self, news: &RateNews) -> bool {
        let expired = self.least.is_some() && news.now.since(self.recent_at) > PROBE_EVERY;
        let Some(rtt) = news.rtt else { return expired };
        if self.least.is_none() {
            self.pace.begin(STARTUP, self.initial_window, rtt);
        }
        if self.least.is_none() || rtt < self.recent || expired {
            (self.recent, self.recent_at) = (rtt, news.now);
        }
        let stale = news.now.since(self.least_at) > HOLDS;
        if stale || self.least.is_none_or(|least| self.recent < least) {
            (self.least, self.least_at) = (Some(self.recent), self.recent_at);
        }
        expired
    }

    /// Enters ProbeRTT, and leaves it when for long enough little was in flight (§5.3.4.3): the
    /// window.
    pub(super) fn check_probe_rtt(
        &mut self,
        cwnd: f64,
        expired: bool,
        news: &RateNews,
        dice: &mut Rng,
    ) -> f64 {
        if expired && self.mode != Bbr3Mode::ProbeRtt {
            self.save(cwnd);
            self.enter(Bbr3Mode::ProbeRtt);
            self.probe_until = None;
            self.probe.acks = AckPhase::Stopping;
            self.start_round(&news.sample);
        }
        if self.mode != Bbr3Mode::ProbeRtt {
            return cwnd;
        }
        match self.probe_until {
            None if news.flight as f64 <= self.probe_rtt_window() => {
                self.probe_until = Some(news.now + PROBE_FOR);
                self.probe_round = false;
                self.start_round(&news.sample);
            }
            None => {}
            Some(until) => {
                self.probe_round |= self.starts;
                if self.probe_round && news.now > until {
                    self.recent_at = news.now;
                    self.leave_probe_rtt(news, dice);
                    return cwnd.max(self.prior);
                }
            }
        }
        cwnd
    }

    fn leave_probe_rtt(&mut self, news: &RateNews, dice: &mut Rng) {
        self.bounds.forget_short();
        if !self.full.reached {
            return self.enter(Bbr3Mode::Startup);
        }
        self.go_down(news, dice);
        self.enter(Bbr3Mode::Cruise);
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.product(self.bandwidth(), CWND_PROBE_RTT).max(LEAST)
    }
}
