//! Prague (draft-briscoe-iccrg-prague-congestion-control-04, whose sections the comments cite; its
//! authors' udp_prague settles what the draft leaves open): a scalable control for L4S.
//!
//! As in DCTCP a mark leaves 1 − α/2 of the window, with α the smoothed fraction of packets marked.
//! Its packets are ECT(1), each mark is reported, and it paces. All its times are at least a
//! virtual round trip, so that flows with short round trips get no more than others (§2.4.4). A
//! loss halves the window, as in Reno.
use tidegate::{Ecn, Span, Time};

use super::{Acked, CongestionControl, LossSignal, MarkFeedback, Needs, Pacing};
use crate::sources::tcp::Tcp;
use crate::sources::tcp::delivery::SegmentRate;

tidegate::params! {
    /// The parameters of Prague.
    pub struct PragueParams {
        /// The weight of the newest round trip in the fraction marked
        /// (draft-briscoe-iccrg-prague-congestion-control-04 §2.3.2).
        g: f64 = 0.0625, "g", 0.0001 ..= 1.0;
        /// The least round trip that it goes by; 0 for the true one (the same draft, §2.4.4).
        rtt_virt: Span = Span::from_millis(25), "rtt_virt", 0 ..= 1_000_000_000_u64;
    }
}

/// The round-trip time to pace by until the first is measured.
const NOMINAL: Span = Span::from_millis(1);
/// As many segments leave together as in this time (§2.4.5).
const TOGETHER: Span = Span::from_micros(250);
/// How much faster than the window in a round trip it paces in slow start.
const SEARCHING: f64 = 2.0;

/// Prague at work.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    g: f64,
    rtt_virt: Span,
    /// The fraction marked; `None` before the first mark, which makes it one (§2.3.2).
    alpha: Option<f64>,
    /// What was acknowledged and marked since the fraction was last updated, and how long that is.
    acked: u32,
    marked: u32,
    round: VirtualRound,
    /// Whether the last acknowledgement echoed a mark.
    echo: bool,
    /// No mark cuts the window while this lasts, and how much the mark that began it has cut.
    cut: VirtualRound,
    given_up: f64,
    /// The smoothed round trip, zero before the first.
    rtt: Span,
    window: f64,
    searching: bool,
}

/// A round trip and a virtual one, whichever is over last.
#[derive(Clone, Copy, Debug, Default)]
struct VirtualRound {
    /// The round trip ends with the acknowledgement of this segment.
    end: u32,
    until: Time,
}

impl VirtualRound {
    /// Whether it is over.
    fn is_over(&self, ack: &Acked) -> bool {
        ack.una > self.end && ack.now >= self.until
    }
}

impl Prague {
    /// The round trip that it goes by.
    fn virtual_rtt(&self) -> Span {
        self.rtt.max(self.rtt_virt)
    }

    fn begin(&self, ack: &Acked) -> VirtualRound {
        VirtualRound { end: ack.max, until: ack.now + self.virtual_rtt() }
    }

    /// Begins to count anew.
    fn turn(&mut self, ack: &Acked) {
        (self.acked, self.marked) = (0, 0);
        self.round = self.begin(ack);
    }

    /// What a mark leaves of the window (§2.4.2).
    fn reduce(&mut self, cwnd: f64, ack: &Acked) -> f64 {
        let alpha = self.alpha.unwrap_or_default();
        self.given_up = cwnd * alpha / 2.0;
        self.cut = self.begin(ack);
        (cwnd - self.given_up).max(2.0)
    }
}

impl CongestionControl for Prague {
    type Params = PragueParams;

    const NEEDS: Needs = Needs {
        marks: MarkFeedback::ExactForControl,
        codepoint: Ecn::Ect1,
        paces_as: Some("Prague"),
        ..Needs::CLASSIC
    };

    fn new(params: &PragueParams, tcp: &Tcp) -> Prague {
        Prague {
            g: params.g,
            rtt_virt: params.rtt_virt,
            alpha: None,
            acked: 0,
            marked: 0,
            round: VirtualRound::default(),
            echo: false,
            cut: VirtualRound::default(),
            given_up: 0.0,
            rtt: Span::ZERO,
            window: tcp.initial_window,
            searching: true,
        }
    }

    /// A packet that was not marked opens the window, by less if the round trip is shorter than the
    /// virtual one (§2.4.3, §2.4.4); one that was marked does not.
    fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        self.window = if self.echo {
            if self.cut.is_over(ack) {
                *ssthresh = self.reduce(cwnd, ack);
                *ssthresh
            } else {
                cwnd
            }
        } else if cwnd < *ssthresh {
            cwnd + ack.counted()
        } else {
            let part = self.rtt.as_secs() / self.virtual_rtt().as_secs();
            cwnd + ack.counted() * part * part / cwnd
        };
        self.searching = self.window < *ssthresh;
        self.window
    }

    /// Half; what a mark of the same round trip has cut counts (§2.4.6).
    fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        let recent = loss.una <= self.cut.end || loss.now < self.cut.until;
        let before = loss.found + if recent { self.given_up } else { 0.0 };
        self.given_up = 0.0;
        self.searching = false;
        self.window = before / 2.0;
        self.window
    }

    fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.given_up = 0.0;
        self.searching = true;
        self.window = self.restart_window();
        loss.found / 2.0
    }

    /// The fraction marked is taken once a round trip, also during recovery (§2.3.2).
    fn on_every_ack(&mut self, ack: &Acked) {
        self.rtt = Span::from_nanos(ack.rtt);
        self.echo = ack.echo;
        self.acked += ack.segments;
        if ack.echo {
            self.marked += ack.segments;
        }
        let Some(alpha) = self.alpha else {
            if ack.echo {
                self.alpha = Some(1.0);
                self.turn(ack);
            }
            return;
        };
        if self.round.is_over(ack) {
            let fraction = self.marked as f64 / self.acked.max(1) as f64;
            self.alpha = Some(alpha + self.g * (fraction - alpha));
            self.turn(ack);
        }
    }

    /// The window in a round trip, twice that while it searches (§2.4.5).
    fn pacing(&self) -> Option<Pacing> {
        let rtt = if self.rtt > Span::ZERO { self.rtt } else { NOMINAL };
        let gain = if self.searching { SEARCHING } else { 1.0 };
        let rate = SegmentRate::new(self.window.max(1.0), rtt).times(gain);
        Some(Pacing { rate, quantum: (rate.segments_in(TOGETHER) as u32).max(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ack, loss};
    use super::*;

    /// Acknowledgements a millisecond apart of a connection with round trips of `rtt` ms, as many
    /// segments: the window after each.
    struct Path {
        control: Prague,
        cwnd: f64,
        ssthresh: f64,
        una: u32,
        rtt: u32,
    }

    impl Path {
        fn new(rtt: u32, cwnd: f64, ssthresh: f64) -> Path {
            let control = Prague::new(&PragueParams::default(), &Tcp::prague());
            Path { control, cwnd, ssthresh, una: 0, rtt }
        }

        fn ack(&mut self, echo: bool) -> f64 {
            self.una += 1;
            let rtt = self.rtt as u64 * 1_000_000;
            let now = Time::from_nanos((1_000 + self.una as u64) * 1_000_000);
            let (una, max) = (self.una, self.una + self.rtt - 1);
            let ack = Acked { now, rtt, una, next: max, max, echo, ..ack() };
            self.control.on_every_ack(&ack);
            self.cwnd = self.control.on_ack(self.cwnd, &mut self.ssthresh, &ack);
            self.cwnd
        }
    }

    /// The first mark makes α one, so it halves the window and ends slow start. The next marks of
    /// its round trip cut nothing, and no marked segment opens the window.
    #[test]
    fn the_first_mark_halves() {
        let mut path = Path::new(50, 40.0, 1e6);
        assert_eq!(path.ack(false), 41.0);
        assert_eq!(path.ack(true), 20.5);
        assert_eq!((path.ssthresh, path.control.alpha), (20.5, Some(1.0)));
        assert_eq!(path.ack(true), 20.5);
        assert_eq!(path.ack(false), 20.5 + 1.0 / 20.5);
        // The cut was at 2 with 51 under way: 52 is the first of the next round trip. By then two
        // of 50 were marked: α = 15/16 + 1/16 · 2/50.
        for _ in 5..=51 {
            path.ack(false);
        }
        let (before, alpha) = (path.cwnd, 0.94);
        let after = path.ack(true);
        assert!((path.control.alpha.unwrap() - alpha).abs() < 1e-12, "{:?}", path.control.alpha);
        assert!((after - before * (1.0 - alpha / 2.0)).abs() < 1e-12);
    }

    /// With round trips of 5 ms all goes by 25 ms: a segment opens the window by a
    /// twenty-fifth, and a second cut comes five round trips after the first.
    #[test]
    fn short_round_trips_count_as_25_ms() {
        let mut path = Path::new(5, 10.0, 2.0);
        assert_eq!(path.ack(false), 10.0 + 0.04 / 10.0);
        let mut cuts = Vec::new();
        for _ in 0..60 {
            let before = path.cwnd;
            if path.ack(true) < before {
                cuts.push(path.una);
            }
        }
        assert_eq!(cuts, [2, 27, 52]);
    }

    /// A loss halves; right after a mark, what both leave is half of what was before.
    #[test]
    fn a_loss_halves() {
        let mut path = Path::new(50, 40.0, 2.0);
        assert_eq!(path.control.on_loss(&loss(40.0, 2.0)), 20.0);
        path.ack(true);
        assert_eq!(path.cwnd, 20.0);
        let mut found = LossSignal { now: Time::from_nanos(1_002_000_000), ..loss(20.0, 20.0) };
        assert_eq!(path.control.on_loss(&found), 20.0);
        assert_eq!(path.control.on_loss(&found), 10.0, "that was once");
        path.ack(false);
        (found.una, found.now) = (60, Time::from_nanos(2_000_000_000));
        assert_eq!(path.control.on_loss(&found), 10.0, "long after");
    }

    /// The window in a round trip, twice that in slow start; of what fits 250 µs all leaves at
    /// once.
    #[test]
    fn it_paces() {
        let mut path = Path::new(50, 499.0, 1e6);
        path.ack(false);
        let pace = |path: &Path| {
            let pacing = path.control.pacing().unwrap();
            (pacing.rate.segments_in(Span::from_millis(1)), pacing.quantum)
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(pace(&path).0, 20.0);
        assert_eq!(pace(&path).1, 5);
        path.ack(true);
        near(pace(&path).0, 5.0);
        assert_eq!(pace(&path).1, 1);
        path.control.on_rto(&loss(100.0, 50.0));
        near(pace(&path).0, 0.04);
        assert_eq!(path.control.on_rto(&loss(100.0, 50.0)), 50.0);
    }
}
