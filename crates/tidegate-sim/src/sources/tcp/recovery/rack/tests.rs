//! Golden sequences of recovery by RACK-TLP and proportional rate reduction, worked out by hand
//! from RFC 8985 and RFC 9937.

use super::*;
use crate::sources::tcp::recovery::bench::Bench;
use crate::sources::tcp::{EcnUse, Flavor, Rules, Tcp, Timestamps};

const MILLI: u64 = 1_000_000;

fn rack() -> Tcp {
    Tcp { flavor: Flavor::Rack, ..Tcp::sack() }
}

impl Bench {
    /// The next timer runs out: what is sent then. It must not be the retransmission timer's time.
    fn alarm(&mut self) -> Vec<u32> {
        let at = self.sender.alarm();
        assert!(at < self.sender.timeout_at());
        self.now = at.as_nanos();
        let mut out = Vec::new();
        assert!(self.sender.look(at, &mut self.dice, &mut out));
        out.iter().map(|o| o.seq).collect()
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds * MILLI;
    }
}

/// Of a window of ten cut to five one segment goes out for every two that arrive, until five are
/// under way, and then for each.
#[test]
fn the_window_falls_in_proportion() {
    let mut bench = Bench::avoiding(rack(), 10);
    assert_eq!((bench.arrive(1), bench.arrive(2)), (vec![10], vec![11]), "limited transmit");
    assert_eq!(
        bench.sender.alarm().as_nanos(),
        125 * MILLI,
        "a quarter of a round trip for reordering"
    );
    assert_eq!(bench.arrive(3), [0], "three held beyond it: no more waiting");
    assert_eq!(bench.sender.connection.window.ssthresh, 5.0);
    let sent: Vec<usize> = (4..10).map(|seq| bench.arrive(seq).len()).collect();
    assert_eq!(
        sent,
        [0, 1, 0, 1, 0, 0],
        "ceil(delivered / 2) less what was sent; 10 to 13 and the repair are under way"
    );
    bench.pass(100);
    assert_eq!(bench.arrive_all([10, 11, 0]), [14, 15, 16]);
    assert!(
        (bench.sender.connection.window.cwnd - 5.2).abs() < 1e-9
            && bench.sender.connection.phase == Phase::Recovered
    );
}

#[test]
fn two_beyond_a_hole_wait_for_reordering_and_no_longer() {
    let mut bench = Bench::avoiding(Tcp { data: Some(3), ..rack() }, 3);
    assert_eq!(bench.arrive_all([1, 2]), []);
    assert_eq!((bench.alarm(), bench.now), (vec![0], 125 * MILLI));
    bench.pass(100);
    assert_eq!((bench.arrive(0), bench.sender.connection.una), (vec![], 3));
}

/// What RFC 6675 leaves to the timer: a retransmission that is lost again.
#[test]
fn a_lost_retransmission_is_seen_a_round_trip_later() {
    let mut bench = Bench::avoiding(rack(), 10);
    assert_eq!(bench.arrive_all([1, 2, 3]), [10, 11, 0]);
    bench.pass(1);
    let later = bench.arrive_all(4..10);
    assert_eq!(later, [12, 13]);
    // The repair was sent at 100 ms with 10 and 11; it is lost, what was sent a millisecond later
    // arrives.
    bench.pass(99);
    assert_eq!(bench.arrive_all([10, 11]), [14, 15], "sent before it");
    bench.pass(1);
    assert_eq!(bench.arrive(12).first(), Some(&0));
    assert_eq!(bench.sender.connection.window.ssthresh, 5.0, "one cut for one recovery");
}

/// Both of the last two segments are lost: the probe repeats the last, and that it arrives tells of
/// the other.
#[test]
fn a_probe_saves_a_timeout() {
    let mut bench = Bench::avoiding(Tcp { data: Some(10), ..rack() }, 10);
    assert_eq!(bench.arrive_all(0..8), []);
    assert_eq!((bench.alarm(), bench.now), (vec![9], 300 * MILLI));
    bench.pass(100);
    assert_eq!(bench.arrive(9), [8]);
    assert!(bench.sender.connection.window.ssthresh < 10.0);
    bench.pass(100);
    assert_eq!((bench.arrive(8), bench.sender.connection.una), (vec![], 10));
    assert_eq!(bench.sender.alarm(), Time::MAX);
}

#[test]
fn a_probe_is_new_data_where_there_are_any_even_beyond_the_window() {
    let mut bench = Bench::avoiding(rack(), 4);
    assert_eq!(bench.arrive(0), [4]);
    assert_eq!((bench.alarm(), bench.now), (vec![5], 300 * MILLI));
    assert_eq!(bench.sender.alarm(), bench.sender.timeout_at(), "one probe, then the timer");
}

#[test]
fn a_timeout_takes_for_lost_what_is_older_than_a_round_trip() {
    let mut bench = Bench::avoiding(Tcp { data: Some(8), ..rack() }, 8);
    bench.arrive(0);
    bench.alarm();
    let at = bench.sender.timeout_at();
    assert!(!bench.sender.look(at, &mut bench.dice, &mut Vec::new()));
    assert_eq!(bench.time_out(), [1]);
    bench.pass(100);
    assert_eq!(bench.arrive(1), [2, 3], "slow start");
}

fn linux() -> Tcp {
    Tcp { rules: Rules::Linux, ecn: EcnUse::On, ..rack() }
}

/// Of a window of ten halved for a mark one segment goes out for every two that arrive; the others
/// wait until five are under way.
#[test]
fn a_mark_lowers_the_window_in_proportion_only_by_linux_s_rules() {
    let sent = |tcp: Tcp| {
        let mut bench = Bench::avoiding(tcp, 10);
        let sent: Vec<usize> = (0..10).map(|seq| bench.echo(seq).len()).collect();
        (sent, bench)
    };
    let (at_once, _) = sent(Tcp { rules: Rules::Rfc, ..linux() });
    assert_eq!(at_once[..6], [0, 0, 0, 0, 0, 1]);
    let (in_proportion, mut bench) = sent(linux());
    assert_eq!(
        in_proportion,
        [1, 0, 1, 0, 1, 0, 1, 0, 0, 1],
        "ceil(delivered / 2) less what was sent, while over five are under way; then up to five"
    );
    assert_eq!(
        bench.sender.connection.window.ssthresh, 5.0,
        "marks on the way down are answered by it"
    );
    // 10 was sent after the first mark: with it the way down ends.
    assert_eq!(bench.arrive(10).len(), 1);
    assert_eq!(
        (bench.sender.connection.window.cwnd, bench.sender.connection.phase),
        (5.0, Phase::Recovered)
    );
    bench.echo(11);
    assert_eq!(bench.sender.connection.window.ssthresh, 2.0, "half of five, whole");
}

#[test]
fn by_linux_a_loss_on_the_way_down_for_a_mark_is_only_repaired() {
    let mut bench = Bench::avoiding(linux(), 10);
    assert_eq!((bench.echo(0), bench.arrive_all([2, 3])), (vec![10], vec![11]));
    // Of three that arrive two may leave, and have; with the fourth the second half of a segment is
    // there.
    assert_eq!((bench.arrive(4), bench.sender.connection.phase), (vec![], Phase::Recovery));
    assert_eq!(bench.arrive(5), [1]);
    assert_eq!(bench.sender.connection.window.ssthresh, 5.0);
    bench.pass(100);
    bench.arrive_all([6, 7, 8, 9, 10, 11, 1]);
    assert_eq!((bench.sender.connection.una, bench.sender.connection.window.cwnd as u32), (12, 5));
}

/// Of window ten, 0 and its repair are lost, and 12, which was sent in the recovery; 12's repair is
/// under way when 0's second arrives.
#[test]
fn by_linux_what_a_recovery_has_lost_besides_is_a_loss_of_its_own() {
    let ends = |tcp: Tcp| {
        let mut bench = Bench::avoiding(tcp, 10);
        bench.arrive_all([1, 2, 3]);
        bench.pass(1);
        bench.arrive_all(4..10);
        bench.pass(100);
        let repairs = bench.arrive_all([10, 11, 13]);
        assert!(repairs.contains(&0) && repairs.contains(&12), "{repairs:?}");
        bench.pass(100);
        bench.arrive(0);
        assert_eq!(bench.sender.connection.una, 12);
        (bench.sender.connection.phase, bench.sender.connection.window.ssthresh)
    };
    assert_eq!(ends(Tcp { rules: Rules::Rfc, ..linux() }), (Phase::Recovered, 5.0));
    assert_eq!(ends(linux()), (Phase::Recovery, 2.0));
}

/// The mark is of what was sent before 10; that 10 is lost too is another matter.
#[test]
fn by_linux_a_loss_beyond_a_mark_cuts_again() {
    let mut bench = Bench::avoiding(linux(), 10);
    assert_eq!(bench.echo(0), [10]);
    assert!(bench.arrive_all([1, 3, 4, 5, 6, 7, 8, 9]).contains(&2));
    assert_eq!(
        (bench.sender.connection.phase, bench.sender.connection.window.ssthresh),
        (Phase::Recovery, 5.0)
    );
    bench.pass(100);
    assert!(bench.arrive_all([11, 12]).contains(&10));
    bench.arrive(2);
    assert_eq!((bench.sender.connection.una, bench.sender.connection.phase), (10, Phase::Recovery));
    assert_eq!(bench.sender.connection.window.ssthresh, 2.0);
}

/// F-RTO's step 2b: the first acknowledgement after a timeout lets new data out; if these are
/// acknowledged selectively, the losses are real.
#[test]
fn by_linux_a_timeout_is_doubted_once() {
    let mut bench = Bench::avoiding(linux(), 10);
    assert_eq!(bench.alarm(), [10], "the probe");
    assert_eq!(bench.time_out(), [0]);
    bench.pass(100);
    assert_eq!(bench.arrive(0), [11, 12]);
    bench.pass(100);
    assert_eq!(bench.arrive(11), [1], "real: two in the window, of which one has arrived");
    assert_eq!(bench.arrive(12), [2]);
    let mut real = Bench::avoiding(Tcp { rules: Rules::Rfc, ..linux() }, 10);
    real.alarm();
    real.time_out();
    real.pass(100);
    assert_eq!(real.arrive(0), [1, 2]);
}

#[test]
fn by_linux_a_repair_lost_after_a_timeout_is_a_loss_like_any_other() {
    let lost = |tcp: Tcp| {
        let mut bench = Bench::avoiding(tcp, 16);
        bench.alarm();
        let mut sent = bench.time_out();
        for _ in 0..3 {
            bench.pass(100);
            sent = bench.arrive_all(sent);
        }
        bench.pass(100);
        // The first is lost; what was sent after it arrives.
        let window = bench.sender.connection.window.cwnd;
        bench.arrive(sent[1]);
        (bench.sender.connection.phase, window, bench.sender.connection.window.ssthresh)
    };
    assert_eq!(
        lost(Tcp { rules: Rules::Rfc, ..linux() }),
        (Phase::Timeout, 8.0, 8.5),
        "half of the 17 under way, and not again"
    );
    assert_eq!(lost(linux()), (Phase::Recovery, 4.0, 2.0));
}

#[test]
fn by_linux_a_timeout_on_the_way_down_for_a_mark_does_not_cut_again() {
    let cut = |tcp: Tcp| {
        let mut bench = Bench::avoiding(tcp, 10);
        bench.echo(0);
        bench.time_out();
        bench.sender.connection.window.ssthresh
    };
    assert_eq!([cut(linux()), cut(Tcp { rules: Rules::Rfc, ..linux() })], [5.0, 4.5]);
}

#[test]
fn with_time_stamps_the_acknowledgement_of_a_repair_ends_the_back_off() {
    let waits = |tcp: Tcp| {
        let mut bench = Bench::avoiding(tcp, 4);
        bench.arrive(0);
        bench.alarm();
        let usual = bench.sender.connection.rto.timeout();
        bench.time_out();
        bench.time_out();
        bench.pass(100);
        bench.arrive(1);
        (bench.sender.connection.rto.timeout().as_nanos() / usual.as_nanos()) as u32
    };
    let karn = |tcp: Tcp| Tcp { timestamps: Timestamps::Off, ..tcp };
    let rfc = || Tcp { rules: Rules::Rfc, ..linux() };
    assert_eq!(
        [waits(linux()), waits(rfc()), waits(karn(linux())), waits(karn(rfc()))],
        [1, 1, 4, 4]
    );
}
