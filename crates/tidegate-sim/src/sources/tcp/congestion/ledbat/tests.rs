use tidegate::Rng;

use super::super::bench::{ack, loss};
use super::*;

/// RFC 6817 §2.4.2 as its steps stand there: lists that are full from the beginning, bytes, and
/// infinity for what is not known yet.
struct Naive {
    params: LedbatParams,
    base_delays: Vec<f64>,
    current_delays: Vec<f64>,
    last_rollover: f64,
    flightsize: f64,
    cwnd: f64,
}

const MSS: f64 = 1000.0;

impl Naive {
    fn new(params: &LedbatParams, cwnd: f64) -> Naive {
        Naive {
            params: params.clone(),
            base_delays: vec![f64::INFINITY; params.base_history as usize],
            current_delays: vec![f64::INFINITY; params.current_filter as usize],
            last_rollover: f64::NEG_INFINITY,
            flightsize: 0.0,
            cwnd: cwnd * MSS,
        }
    }

    fn update_base_delay(&mut self, now: f64, delay: f64) {
        if (now / 60.0).floor() != (self.last_rollover / 60.0).floor() {
            self.last_rollover = now;
            self.base_delays.remove(0);
            self.base_delays.push(delay);
        } else {
            let tail = self.base_delays.last_mut().unwrap();
            *tail = tail.min(delay);
        }
    }

    fn update_current_delay(&mut self, delay: f64) {
        self.current_delays.remove(0);
        self.current_delays.push(delay);
    }

    fn on_acknowledgement(&mut self, now: f64, delay: f64, bytes_newly_acked: f64) {
        let min = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
        self.update_base_delay(now, delay);
        self.update_current_delay(delay);
        let queuing_delay = min(&self.current_delays) - min(&self.base_delays);
        let target = self.params.target.as_secs();
        let off_target = (target - queuing_delay) / target;
        self.cwnd += self.params.gain * off_target * bytes_newly_acked * MSS / self.cwnd;
        let max_allowed_cwnd = self.flightsize + self.params.allowed_increase * MSS;
        self.cwnd = self.cwnd.min(max_allowed_cwnd);
        self.cwnd = self.cwnd.max(2.0 * MSS);
        self.flightsize -= bytes_newly_acked;
    }

    fn on_data_loss(&mut self) {
        self.cwnd = self.cwnd.min((self.cwnd / 2.0).max(2.0 * MSS));
    }
}

/// A hundred thousand acknowledgements, losses and timeouts over a day, on a path whose least delay
/// changes.
#[test]
fn it_agrees_with_the_naive_twin() {
    let mut dice = Rng::from_seed(6817);
    let mut params = LedbatParams::default();
    let (mut greatest, mut least) = (0.0f64, f64::INFINITY);
    for turn in 0..20u64 {
        params.base_history = 1 + (turn % 4) as u32 * 3;
        params.current_filter = 1 + (turn % 5) as u32;
        params.gain = [1.0, 0.5, 0.1][turn as usize % 3];
        params.allowed_increase = [1.0, 3.0][turn as usize % 2];
        params.target = Span::from_millis([100, 25, 60][turn as usize % 3]);
        let mut fast = Ledbat::new(&params, &Tcp::reno());
        let mut slow = Naive::new(&params, 2.0);
        let (mut cwnd, mut now, mut una) = (2.0f64, 0u64, 0u32);
        for step in 0..5000u32 {
            let most = if dice.chance(0.01) { 90_000_000_000 } else { 200_000_000 };
            now += 1 + dice.below(most);
            let path = 20_000 + 30_000 * (step / 1200 % 3);
            let delay = path + dice.below(150_000) as u32 * (step % 700 / 350);
            let segments = 1 + dice.below(2) as u32;
            let idle = if dice.chance(0.02) { dice.below(cwnd as u64 + 1) as u32 } else { 0 };
            let flight = segments.max(cwnd as u32 - idle);
            slow.flightsize = flight as f64 * MSS;
            una += segments;
            let at = Time::from_nanos(now);
            fast.on_delay(at, delay);
            let ack = Acked { now: at, segments, una, next: una + flight - segments, ..ack() };
            cwnd = fast.on_ack(cwnd, &mut 1e6, &ack);
            slow.on_acknowledgement(now as f64 / 1e9, delay as f64 / 1e6, segments as f64 * MSS);
            if dice.chance(0.003) {
                cwnd = fast.on_loss(&loss(cwnd, 1e6));
                slow.on_data_loss();
            }
            if dice.chance(0.001) {
                (cwnd, slow.cwnd) = (fast.restart_window(), MSS);
            }
            let wanted = slow.cwnd / MSS;
            assert!(
                (cwnd - wanted).abs() <= 1e-9 * wanted,
                "turn {turn}, step {step}: {cwnd} {wanted}"
            );
            (greatest, least) = (greatest.max(cwnd), least.min(cwnd));
        }
    }
    assert!(greatest > 20.0 && least < 2.0, "too little was compared: {least} to {greatest}");
}

fn told(control: &mut Ledbat, ms: u64, delay_ms: u32) {
    control.on_delay(Time::from_nanos(ms * 1_000_000), delay_ms * 1000);
}

/// By hand: ten segments in flight of a window of ten, and no queue: 1/10 more. A queue at the
/// target: nothing. Twice the target: 1/10 less.
#[test]
fn steps_by_hand() {
    let params = LedbatParams { current_filter: 1, ..LedbatParams::default() };
    let mut control = Ledbat::new(&params, &Tcp::reno());
    let ack = Acked { segments: 1, una: 1, next: 10, ..ack() };
    assert_eq!(control.on_ack(10.0, &mut 1e6, &ack), 10.0, "nothing is known yet");
    for (delay, wanted) in [(20, 10.1), (120, 10.0), (220, 9.9)] {
        told(&mut control, 1000, delay);
        assert_eq!(control.on_ack(10.0, &mut 1e6, &ack), wanted);
    }
    let idle = Acked { segments: 1, una: 1, next: 3, ..ack };
    assert_eq!(control.on_ack(10.0, &mut 1e6, &idle), 4.0, "three in flight and one more");
    assert_eq!(control.on_loss(&loss(3.0, 1e6)), 2.0, "never below two");
}

/// The base delay is forgotten after so many minutes in which there were samples.
#[test]
fn the_base_delay_is_forgotten() {
    let params = LedbatParams { current_filter: 1, base_history: 2, ..LedbatParams::default() };
    let mut control = Ledbat::new(&params, &Tcp::reno());
    let mut queued = |second: u64, delay| {
        told(&mut control, second * 1000, delay);
        control.queued()
    };
    assert_eq!(queued(10, 20), Some(0));
    assert_eq!(queued(59, 70), Some(50_000));
    assert_eq!(queued(60, 70), Some(50_000), "of the minute before");
    assert_eq!(queued(120, 70), Some(0));
}
