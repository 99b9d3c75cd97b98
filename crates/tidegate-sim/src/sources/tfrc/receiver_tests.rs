use super::*;
use tidegate::Span;

/// A packet every 10 ms, sent 50 ms before it arrives, on a path of 100 ms. The sender knows the
/// path from the given packet on. The last field is the next event.
struct Paced(TfrcReceiver, u32, Time);

impl Paced {
    fn new(rules: TfrcRules) -> Paced {
        Paced(TfrcReceiver::new(&Tfrc { rules, ..Tfrc::default() }), 10, Time::MAX)
    }

    /// Packet `seq` comes: whether it is reported.
    fn packet(&mut self, seq: u32) -> bool {
        let sent = Time::ZERO + Span::from_millis(1000 + 10 * seq as u64);
        let now = sent + Span::from_millis(50);
        let path = Times::of(if seq < self.1 { 0.0 } else { 0.1 });
        let note = Note { path, round: seq / 10, urgent: false };
        while self.2 < now {
            self.2 = self.0.ring(self.2).next;
        }
        let feedback = self.0.receive(now, TfrcArrival { seq, marked: false, sent, note });
        self.2 = self.2.min(feedback.next);
        feedback.report.is_some()
    }

    fn loss(&self) -> f64 {
        self.0.history.loss_event_rate(self.0.next)
    }
}

#[test]
fn three_later_packets_make_a_loss() {
    let mut receiver = Paced::new(TfrcRules::Rfc);
    assert!(receiver.packet(0), "the first packet is reported at once");
    let reports = (1..100).filter(|&seq| receiver.packet(seq)).count();
    assert_eq!(reports, 9, "and every round trip once one is known");
    for seq in [101, 102] {
        assert!(!receiver.packet(seq));
        assert_eq!(receiver.loss(), 0.0);
    }
    assert!(receiver.packet(103), "and a new event is reported at once");
    // Nine packets came in the last tenth of a second: the first interval is the one for which
    // the equation gives that.
    let x = TfrcRules::Rfc.rate(1000.0, Times::of(0.1), receiver.loss());
    assert!((x / 90_000.0 - 1.0).abs() < 1e-3, "{x}");
}

#[test]
fn by_ns2_s_rules_one_later_packet_makes_a_loss() {
    let mut receiver = Paced::new(TfrcRules::Ns2);
    let reports = (0..100).filter(|&seq| receiver.packet(seq)).count();
    assert_eq!(reports, 10, "every round trip with a packet; its timer would wait longer");
    assert!(receiver.packet(101) && receiver.loss() > 0.0);
    let first = receiver.loss();
    assert!(
        !receiver.packet(103) && receiver.loss() <= first,
        "the sender has heard of no loss: it is the same round"
    );
}

/// Packet `seq` comes at `at` seconds after 50 ms, of a path of `rtt`.
fn come(receiver: &mut TfrcReceiver, seq: u32, at: f64, rtt: f64) -> Feedback {
    let now = Time::ZERO + Span::from_secs(at);
    let sent = Time::ZERO + Span::from_secs(at - 0.05);
    let note = Note { path: Times::of(rtt), round: seq, urgent: false };
    receiver.receive(now, TfrcArrival { seq, marked: false, sent, note })
}

/// When the report that goes now answers, and what it says was received; and when to look
/// again, in seconds.
fn told(receiver: &TfrcReceiver, feedback: Feedback) -> (Option<(f64, f64)>, Option<f64>) {
    let said =
        |(number, answered): (u32, Time)| (answered.as_secs(), receiver.read(number).received);
    let next = (feedback.next != Time::MAX).then(|| feedback.next.as_secs());
    (feedback.report.map(said), next)
}

fn ring(receiver: &mut TfrcReceiver, at: f64) -> Feedback {
    receiver.ring(Time::ZERO + Span::from_secs(at))
}

/// RFC 5348 §6.2: the timer reports at the end of a round trip in which packets came. It reports
/// nothing after an empty one; the next packet then belongs to the current round trip.
#[test]
fn the_timer_reports_what_has_come() {
    let mut receiver = TfrcReceiver::new(&Tfrc::default());
    let first = come(&mut receiver, 0, 1.0, 0.0);
    assert_eq!(told(&receiver, first), (Some((0.95, 0.0)), None), "no round trip is known yet");
    let second = come(&mut receiver, 1, 1.03, 0.1);
    assert_eq!(told(&receiver, second), (None, Some(1.1)));
    assert_eq!(
        ring(&mut receiver, 1.07),
        Feedback { report: None, next: Time::MAX },
        "nobody asked for that"
    );
    let report = ring(&mut receiver, 1.1);
    // A packet in a tenth of a second; it took 50 ms, and would have come now had it been sent
    // so long before.
    let (said, next) = told(&receiver, report);
    assert!(
        said.unwrap().0 == 1.05 && (said.unwrap().1 - 10_000.0).abs() < 0.01 && next == Some(1.2),
        "{said:?} {next:?}"
    );
    assert_eq!(ring(&mut receiver, 1.2), Feedback { report: None, next: Time::MAX });
    let third = come(&mut receiver, 2, 1.47, 0.1);
    assert_eq!(told(&receiver, third), (None, Some(1.5)));
    let fourth = come(&mut receiver, 3, 1.49, 0.1);
    assert_eq!(told(&receiver, fourth), (None, None), "the event is pending already");
    let report = ring(&mut receiver, 1.5);
    let (said, next) = told(&receiver, report);
    assert!(
        (said.unwrap().1 - 20_000.0).abs() < 0.01 && next == Some(1.6),
        "two in a tenth of a second: {said:?}"
    );
}

/// ns-2 reports 1.5 round trips after the last report, whatever has come.
#[test]
fn by_ns2_s_rules_the_timer_reports_in_any_case() {
    let mut receiver = TfrcReceiver::new(&Tfrc { rules: TfrcRules::Ns2, ..Tfrc::default() });
    come(&mut receiver, 0, 1.0, 0.0);
    let second = come(&mut receiver, 1, 1.1, 0.1);
    let (said, next) = told(&receiver, second);
    assert!(said.is_some() && next == Some(1.25), "{said:?} {next:?}");
    let report = ring(&mut receiver, 1.25);
    let (said, next) = told(&receiver, report);
    assert!(
        said == Some((1.2, 1000.0)) && next == Some(1.4),
        "a packet a second for want of any: {said:?} {next:?}"
    );
}

/// RFC 5348 §6.3.1: with the first packet lost, the first interval stands for half a packet a
/// round trip.
#[test]
fn with_the_first_packet_lost_the_first_interval_is_that_of_half_a_packet() {
    let mut receiver = Paced(Paced::new(TfrcRules::Rfc).0, 1, Time::MAX);
    for seq in [1, 2, 3] {
        receiver.packet(seq);
    }
    let x = TfrcRules::Rfc.rate(1000.0, Times::of(0.1), receiver.loss());
    assert!((x / 5_000.0 - 1.0).abs() < 1e-3, "{x}");
}
