//! ProbeBW: drained, cruising, refilling, probing (§5.3.3), and the long-term bound that it finds.
use tidegate::Rng;

use super::super::RateNews;
use super::bounds::{self, BETA};
use super::probe::AckPhase;
use super::{Bbr3, Bbr3Mode};

impl Bbr3 {
    pub(super) fn go_down(&mut self, news: &RateNews, dice: &mut Rng) {
        self.bounds.forget_losses();
        self.probe.pause(news.now, dice);
        self.probe.acks = AckPhase::Stopping;
        self.start_round(&news.sample);
        self.enter(Bbr3Mode::Down);
    }

    /// Fills the pipe, with the short-term bounds forgotten, before it probes for more (§5.3.3.3).
    fn refill(&mut self, news: &RateNews) {
        self.bounds.forget_short();
        self.probe.refill();
        self.start_round(&news.sample);
        self.enter(Bbr3Mode::Refill);
    }

    fn go_up(&mut self, cwnd: f64, news: &RateNews) {
        self.probe.acks = AckPhase::Starting;
        self.start_round(&news.sample);
        self.full.reset(news.sample.rate);
        self.probe.steepen(cwnd);
        self.enter(Bbr3Mode::Up);
    }

    /// The phases of ProbeBW (§5.3.3.6).
    pub(super) fn check_cycle(&mut self, cwnd: f64, news: &RateNews, dice: &mut Rng) {
        if !self.full.reached {
            return;
        }
        self.adapt_long(cwnd, news, dice);
        let enough = self.mode == Bbr3Mode::Up && self.is_enough(cwnd, news);
        let product = self.product(self.bandwidth(), 1.0);
        let due = || self.probe.is_due(news.now, product.min(cwnd));
        match self.mode {
            Bbr3Mode::Down | Bbr3Mode::Cruise if due() => self.refill(news),
            Bbr3Mode::Down => {
                let flight = news.flight as f64;
                if flight <= self.bounds.with_headroom()
                    && flight <= self.inflight(self.bounds.most(), 1.0)
                {
                    self.enter(Bbr3Mode::Cruise);
                }
            }
            Bbr3Mode::Refill if self.starts => {
                self.probe.sampling = true;
                self.go_up(cwnd, news);
            }
            Bbr3Mode::Up if enough => self.go_down(news, dice),
            _ => {}
        }
    }

    /// Whether probing has found the top: of the bandwidth, while the long-term bound does not
    /// hold it back (BBRIsTimeToGoDown).
    fn is_enough(&mut self, cwnd: f64, news: &RateNews) -> bool {
        if is_limited(cwnd, news) && cwnd >= self.bounds.long {
            self.full.reset(news.sample.rate);
            return false;
        }
        self.full.now
    }

    /// The long-term bound rises while little is lost, and falls with the first great loss of a
    /// probe (§5.3.3.6, §5.5.10.2).
    fn adapt_long(&mut self, cwnd: f64, news: &RateNews, dice: &mut Rng) {
        if self.starts {
            match self.probe.acks {
                AckPhase::Starting => self.probe.acks = AckPhase::Feedback,
                AckPhase::Stopping => {
                    if self.mode.probes_bandwidth() && !news.sample.limited {
                        self.bounds.advance();
                    }
                    self.probe.acks = AckPhase::Quiet;
                }
                _ => {}
            }
        }
        if bounds::too_much(&news.sample) {
            if std::mem::take(&mut self.probe.sampling) {
                if !news.sample.limited {
                    let target = self.product(self.bandwidth(), 1.0).min(cwnd);
                    self.bounds.long = (news.sample.in_flight as f64).max(target * BETA);
                }
                if self.mode == Bbr3Mode::Up {
                    self.go_down(news, dice);
                }
            }
            return;
        }
        if self.bounds.long == f64::INFINITY {
            return;
        }
        self.bounds.long = self.bounds.long.max(news.sample.in_flight as f64);
        if self.mode == Bbr3Mode::Up && is_limited(cwnd, news) && cwnd >= self.bounds.long {
            self.bounds.long += self.probe.raise(news.sample.news);
            if self.starts {
                self.probe.steepen(cwnd);
            }
        }
    }
}

/// Whether the window is what held it back.
fn is_limited(cwnd: f64, news: &RateNews) -> bool {
    news.before as f64 + 1.0 > cwnd
}
