//! Worked values of the draft: phases, bounds, windows.
use super::super::bench::loss;
use super::*;

/// A path of 1000 segments a second and 50 ms whose acknowledgements the test makes up, a round
/// trip at a time.
struct Path {
    bbr: Bbr3,
    cwnd: f64,
    now: Time,
    delivered: u32,
    dice: Rng,
}

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

impl Path {
    fn new() -> Path {
        let bbr = Bbr3::new(&Bbr3Params { margin: 0.0 }, &Tcp::bbr3());
        Path { bbr, cwnd: 10.0, now: Time::ZERO, delivered: 0, dice: Rng::from_seed(1) }
    }

    /// In ProbeBW, its pipe full.
    fn probing() -> Path {
        let mut path = Path::new();
        for rate in [250.0, 500.0, 1000.0, 1000.0, 1000.0, 1000.0] {
            path.round(rate, 100, 0);
        }
        assert_eq!(path.bbr.mode, Bbr3Mode::Drain);
        // What Drain is to drain is what Down is to drain.
        path.round(1000.0, 50, 0);
        assert_eq!(path.bbr.mode, Bbr3Mode::Cruise);
        path
    }

    /// After a round trip fifty segments are acknowledged that were delivered at `rate` a second;
    /// `flight` were in flight when the last was sent, and are now, and `lost` of them are.
    fn round(&mut self, rate: f64, flight: u32, lost: u32) {
        self.now += ms(50);
        let (news, prior) = (50, self.delivered);
        self.delivered += news;
        let rate = Some(SegmentRate::new(rate, Span::from_secs(1.0)));
        let sample = DeliverySample {
            news,
            delivered: self.delivered,
            prior: Some(prior),
            in_flight: flight,
            lost,
            rate,
            limited: false,
            rtt: Some(ms(50)),
        };
        let news = RateNews {
            now: self.now,
            sample,
            rtt: Some(ms(50)),
            lost,
            before: flight + 50,
            flight,
            wait: Span::ZERO,
            repair: Repair::Nothing,
        };
        self.cwnd = self.bbr.on_sample(self.cwnd, &news, &mut self.dice);
    }

    fn pace(&self) -> f64 {
        self.bbr.pace.rate.segments_in(Span::from_secs(1.0))
    }
}

/// §5.3.1, §5.3.2: the pace is 4 ln 2 of the rate until the rate has not grown for three round
/// trips. Then it is half of the rate until no more is in flight than the product.
#[test]
fn startup_ends_when_the_rate_grows_no_more() {
    let mut path = Path::new();
    path.round(250.0, 20, 0);
    assert!((path.pace() - 250.0 * STARTUP).abs() < 1e-9);
    let path = Path::probing();
    assert!((path.pace() - 1000.0).abs() < 1e-9);
    assert_eq!(path.bbr.bounds.long, f64::INFINITY);
}

/// §5.3.1.3: six acknowledgements of a round trip that tell of losses, more than 2 % of what was in
/// flight, end Startup; the product is then the long-term bound.
#[test]
fn startup_ends_by_losses() {
    for (lost, ends) in [(1, false), (5, true)] {
        let mut path = Path::new();
        path.round(1000.0, 100, 0);
        for _ in 0..6 {
            // The same round trip goes on: nothing of it has been delivered when this was sent.
            let delivered = path.delivered;
            path.bbr.bounds.learn(
                &RateNews {
                    now: path.now,
                    sample: DeliverySample {
                        news: 1,
                        delivered,
                        prior: Some(0),
                        in_flight: 100,
                        lost,
                        rate: None,
                        limited: false,
                        rtt: None,
                    },
                    rtt: None,
                    lost,
                    before: 100,
                    flight: 100,
                    wait: Span::ZERO,
                    repair: Repair::Nothing,
                },
                path.cwnd,
                true,
            );
        }
        path.round(2000.0, 100, 0);
        assert_eq!(path.bbr.full.reached, ends, "{lost}");
        assert_eq!(path.bbr.bounds.long < f64::INFINITY, ends);
    }
}

/// §5.3.3: what waits is drained at nine tenths, then it cruises at the bandwidth. It cruises for
/// two to three seconds, or as many round trips as Reno needs; then it refills for one and probes
/// at 5/4.
#[test]
fn the_phases_of_probe_bw() {
    let mut path = Path::probing();
    let mut rounds = 0;
    while path.bbr.mode == Bbr3Mode::Cruise {
        path.round(1000.0, 50, 0);
        rounds += 1;
        assert!(rounds < 60, "three seconds");
    }
    // The product is fifty segments: as many round trips of 50 ms are two seconds and a half.
    assert!((38..=51).contains(&rounds), "{rounds}");
    assert_eq!((path.bbr.mode, path.pace()), (Bbr3Mode::Refill, 1000.0));
    path.round(1000.0, 50, 0);
    assert_eq!((path.bbr.mode, path.pace()), (Bbr3Mode::Up, 1250.0));
    for _ in 0..3 {
        assert_eq!(path.bbr.mode, Bbr3Mode::Up);
        path.round(1000.0, 60, 0);
    }
    assert_eq!((path.bbr.mode, path.pace()), (Bbr3Mode::Down, 900.0));
    path.round(1000.0, 50, 0);
    assert_eq!(path.bbr.mode, Bbr3Mode::Cruise);
}

/// §5.5.10.2: 2 % lost while it probes sets the long-term bound to what was in flight, and ends the
/// probe; cruising leaves 15 % of it free.
#[test]
fn a_loss_while_probing_sets_the_long_term_bound() {
    for (lost, bound) in [(2, f64::INFINITY), (3, 100.0)] {
        let mut path = Path::probing();
        while path.bbr.mode != Bbr3Mode::Up {
            path.round(1000.0, 50, 0);
        }
        path.round(1000.0, 100, lost);
        assert_eq!(path.bbr.bounds.long, bound, "{lost}");
        if lost == 3 {
            assert_eq!((path.bbr.mode, path.bbr.bounds.with_headroom()), (Bbr3Mode::Down, 85.0));
            path.round(1000.0, 50, 0);
            assert_eq!(path.bbr.mode, Bbr3Mode::Cruise);
            assert!(path.cwnd <= 85.0);
        }
    }
}

/// §5.5.10.3: a loss while it cruises bounds bandwidth and flight for the short term, to what got
/// through or seven tenths of what was; the next refill forgets both.
#[test]
fn a_loss_while_cruising_bounds_for_the_short_term() {
    let mut path = Path::probing();
    path.round(1000.0, 50, 0);
    path.round(500.0, 50, 1);
    assert_eq!(path.bbr.mode, Bbr3Mode::Cruise);
    // The best of this round trip and of the one before it, which got through.
    let short = path.bbr.bandwidth().segments_in(Span::from_secs(1.0));
    assert!((short - 1000.0).abs() < 1e-9, "{short}");
    path.round(500.0, 50, 1);
    let short = path.bbr.bandwidth().segments_in(Span::from_secs(1.0));
    assert!((short - 700.0).abs() < 1e-9, "{short}");
    assert!(path.bbr.bounds.short() < 100.0);
    while path.bbr.mode != Bbr3Mode::Refill {
        path.round(700.0, 30, 0);
    }
    assert_eq!(path.bbr.bounds.short(), f64::INFINITY);
    assert!((path.bbr.bandwidth().segments_in(Span::from_secs(1.0)) - 1000.0).abs() < 1e-9);
}

/// A timeout leaves one segment, and what was before comes back when it is repaired.
#[test]
fn a_timeout_keeps_the_window_in_mind() {
    let mut path = Path::probing();
    path.round(1000.0, 50, 0);
    let before = path.cwnd;
    path.bbr.on_rto(&loss(path.cwnd, 1e6));
    path.cwnd = 1.0;
    path.round(1000.0, 4, 0);
    assert!(path.cwnd >= before.min(100.0), "{} of {before}", path.cwnd);
}
