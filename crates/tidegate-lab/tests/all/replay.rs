//! Replays of hand-made captures, held against what can be worked out by hand or by a simpler
//! program.
use std::path::PathBuf;
use std::sync::Mutex;

use tidegate::{Rate, Rng};
use tidegate_lab::replay::{POINTS, ReplayError, ReplayJob, Replayed, default_limit, replay};
use tidegate_lab::{Progress, Watch};
use tidegate_packet::Fault;
use tidegate_report::{Counts, Document, PacketSource, SeriesQuantity};

/// One packet of a capture: when, from whom, its protocol, how long, with which ECN bits.
#[derive(Clone, Copy)]
struct P {
    nanos: u64,
    host: u8,
    protocol: u8,
    len: u32,
    ecn: u8,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

fn p(nanos: u64, host: u8, protocol: u8, len: u32) -> P {
    P { nanos, host, protocol, len, ecn: 0 }
}

/// A pcap file with nanosecond stamps, each frame cut to its headers: the beginning, then one
/// record each.
fn records(packets: &[P]) -> Vec<Vec<u8>> {
    let mut file = vec![
        [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]
            .to_vec(),
    ];
    for p in packets {
        let mut frame = vec![0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00];
        frame.extend([
            0x45, p.ecn, 0, 40, 0, 0, 0x40, 0, 64, p.protocol, 0, 0, 10, 0, 0, p.host, 10, 0, 1, 1,
        ]);
        frame.extend([0x13, 0x88, 0, 80]);
        let (seconds, nanos) = ((p.nanos / 1_000_000_000) as u32, (p.nanos % 1_000_000_000) as u32);
        let head = [seconds, nanos, frame.len() as u32, p.len].map(u32::to_le_bytes).concat();
        file.push([head, frame].concat());
    }
    file
}

/// A job on a capture in a directory of its own, which lives as long as the first of the two.
fn job(bytes: &[u8], rate: &str, queue: &str) -> (tempfile::TempDir, ReplayJob) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.pcap");
    std::fs::write(&path, bytes).unwrap();
    (dir, ReplayJob::new(path, rate.parse().unwrap(), vec![queue.parse().unwrap()]))
}

fn run(packets: &[P], rate: &str, limit: &str, queue: &str) -> Replayed {
    let (_dir, job) = job(&records(packets).concat(), rate, queue);
    replay(&ReplayJob { limit: limit.parse().unwrap(), ..job }, &()).unwrap()
}

fn first(replayed: &Replayed) -> &Document {
    &replayed.outcomes[0].document
}

fn counts(offered: u64, delivered: u64, dropped: u64, marked: u64) -> Option<Counts> {
    Some(Counts { offered, delivered, dropped, marked })
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn drop_tail_by_hand() {
    // One packet takes a second. Of five at once one is sent, two wait, two find no room.
    let mut packets =
        vec![p(0, 1, TCP, 1000), p(0, 2, UDP, 1000), p(0, 1, TCP, 1000), p(0, 2, UDP, 1000)];
    packets.extend([p(0, 2, UDP, 1000), p(10 * SECOND, 1, TCP, 1000)]);
    let replayed = run(&packets, "8 kbit/s", "2 packets", "drop_tail as plain");
    let document = first(&replayed);
    assert_eq!(
        (document.source, document.label.as_str(), document.packets),
        (PacketSource::Replayed, "plain", Some(6))
    );
    assert_eq!(document.bottleneck.duration_s, Some(10.0));
    let flows = document.flows.as_ref().unwrap();
    assert_eq!(flows[0].label, "10.0.0.1:5000 -> 10.0.1.1:80 tcp");
    assert_eq!(flows[1].label, "10.0.0.2:5000 -> 10.0.1.1:80 udp");
    assert_eq!([flows[0].packets, flows[1].packets], [counts(3, 3, 0, 0), counts(3, 1, 2, 0)]);
    assert_eq!(
        [flows[0].bytes, flows[1].bytes],
        [counts(3000, 3000, 0, 0), counts(3000, 1000, 2000, 0)]
    );
    // The link was sending for 3 s of the capture's 10 (the last packet leaves after its end).
    let all = &document.aggregate;
    assert_eq!(all.utilization.unwrap().mean(), 0.3);
    assert_eq!(all.queue_packets.unwrap().mean(), 0.3, "two waited for a second, then one");
    assert_eq!(all.loss_ratio.unwrap().mean(), 2.0 / 6.0);
    assert_eq!(all.drops["overlimit"].mean(), 2.0);
    // Waits: tcp 0, 2 and 0 s, udp 1 s.
    assert!((all.queue_delay_ms.mean.unwrap().mean() - 750.0).abs() < 1e-9);
    assert!((flows[0].delay_ms.mean.unwrap().mean() - 2000.0 / 3.0).abs() < 1e-9);
    assert_eq!(flows[0].delay_ms.p50.unwrap().mean(), 0.0);
    assert!((flows[0].delay_ms.p99.unwrap().mean() / 2000.0 - 1.0).abs() < 0.008);
    let names: Vec<_> = document.groups.iter().map(|g| (g.name.as_str(), g.count)).collect();
    assert_eq!(names, [("tcp", 1), ("udp", 1)], "no group without a packet");
    let tcp = &document.groups[0];
    assert_eq!(tcp.offered_bps.unwrap().mean(), 2400.0);
    assert_eq!(tcp.fair_share_bps.unwrap().mean(), 2400.0, "it asks for less than half the link");
    assert_eq!(tcp.goodput_bps, None);
    assert_eq!(document.groups[1].loss_bps.unwrap().mean(), 1600.0);
    assert_eq!(replayed.outcomes[0].series.seed, Some(1));
}

/// Poisson arrivals of many sizes from a few hosts, at times that divide by nothing.
fn busy(n: usize, mean_gap: f64, ecn: u8) -> Vec<P> {
    let mut dice = Rng::from_seed(5);
    let mut nanos = 0;
    let mut packets = Vec::new();
    for _ in 0..n {
        let protocol = if dice.chance(0.3) { UDP } else { TCP };
        let (host, len) = (dice.below(9) as u8, 60 + dice.below(1455) as u32);
        packets.push(P { nanos, host, protocol, len, ecn });
        nanos += dice.exponential(mean_gap) as u64;
    }
    packets
}

#[test]
fn waits_agree_with_exact_arithmetic() {
    // A FIFO that never overflows: each packet starts when the one before it has left. In fractions
    // of 1/rate ns.
    let (rate, packets) = (7_777_777u128, busy(20_000, 1.0e6, 0));
    let (mut free, mut waited) = (0u128, 0f64);
    for packet in &packets {
        let arrived = packet.nanos as u128 * rate;
        let start = free.max(arrived);
        waited += (start - arrived) as f64 / rate as f64;
        free = start + packet.len as u128 * 8_000_000_000;
    }
    let replayed = run(&packets, "7777777 bit/s", "1 GB", "drop_tail");
    let mean = first(&replayed).aggregate.queue_delay_ms.mean.unwrap().mean() * 1e6;
    // A busy period may begin a fraction of a nanosecond off and carries its remainder from there.
    assert!((mean - waited / 20_000.0).abs() < 1.0, "{mean} {}", waited / 20_000.0);
    assert!(mean > 1e6, "the test means to queue");
}

#[test]
fn every_packet_has_one_fate() {
    for queue in tidegate::catalog::QUEUES {
        let replayed = run(&busy(30_000, 0.4e6, 2), "10 Mbit/s", "60 kB", queue.name);
        let document = first(&replayed);
        assert!(
            document.aggregate.loss_ratio.unwrap().mean() > 0.0,
            "{}: the test means to overload",
            queue.name
        );
        let mut sum = Counts::default();
        for flow in document.flows.as_ref().unwrap() {
            let Counts { offered, delivered, dropped, marked } = flow.packets.unwrap();
            assert_eq!(offered, delivered + dropped, "{} {}", queue.name, flow.label);
            sum.offered += offered;
            sum.dropped += dropped;
            sum.marked += marked;
        }
        assert_eq!(sum.offered, 30_000);
        let reasons: f64 = document.aggregate.drops.values().map(|f| f.mean()).sum();
        assert_eq!(reasons, sum.dropped as f64, "{}", queue.name);
        let marks: f64 = document.aggregate.marks.values().map(|f| f.mean()).sum();
        assert_eq!(marks, sum.marked as f64, "{}", queue.name);
        let used = document.aggregate.utilization.unwrap().mean();
        // How much a queue drops is its own business; the link sends whatever it lets through, and
        // never two at once.
        let (sent, seconds) = (
            document.aggregate.throughput_bps.unwrap().mean(),
            document.bottleneck.duration_s.unwrap(),
        );
        let bytes_apart = (sent - used * 10e6) * seconds / 8.0;
        assert!(
            used <= 1.0 && (-1.0..=1515.0).contains(&bytes_apart),
            "{}: {used}, {bytes_apart} B",
            queue.name
        );
        assert!(used > 0.99 || queue.name != "drop_tail", "{used}");
    }
}

#[test]
fn marks_reach_ecn_capable_packets_only() {
    // After the first loss BLUE signals to everybody.
    let queue = "blue,d1=1,d2=0";
    for (ecn, capable) in [(0, false), (1, true), (2, true)] {
        let replayed = run(&busy(5_000, 0.4e6, ecn), "10 Mbit/s", "20 kB", queue);
        let marked = first(&replayed).aggregate.mark_ratio.unwrap().mean();
        assert_eq!(marked > 0.5, capable, "{marked}");
        assert_eq!(marked > 0.0, capable, "{marked}");
    }
}

fn bytes(replayed: &Replayed) -> String {
    let documents: Vec<Document> =
        replayed.outcomes.iter().map(|o| Document { wall_s: None, ..o.document.clone() }).collect();
    Document::list_to_json(&documents)
        + &format!("{:?}", replayed.outcomes.iter().map(|o| &o.series).collect::<Vec<_>>())
}

#[test]
fn same_seed_same_bytes_whatever_runs_beside_it() {
    let (_dir, job) = job(&records(&busy(20_000, 0.4e6, 2)).concat(), "10 Mbit/s", "blue/steep");
    let two = |seed| ReplayJob {
        queues: vec!["drop_tail".parse().unwrap(), job.queues[0].clone()],
        seed,
        ..job.clone()
    };
    let both = replay(&two(1), &()).unwrap();
    assert_eq!(bytes(&both), bytes(&replay(&two(1), &()).unwrap()));
    assert_ne!(bytes(&both), bytes(&replay(&two(2), &()).unwrap()));
    let alone = replay(&job, &()).unwrap();
    assert_eq!(alone.outcomes[0].series, both.outcomes[1].series);
}

#[test]
fn a_client_can_be_one_flow() {
    let mut packets = busy(1_000, 1e6, 0);
    packets.iter_mut().for_each(|p| p.host %= 2);
    let (_dir, job) = job(&records(&packets).concat(), "10 Mbit/s", "drop_tail");
    let flows = |key: &str| {
        let replayed =
            replay(&ReplayJob { flow_key: key.parse().unwrap(), ..job.clone() }, &()).unwrap();
        let mut labels: Vec<_> = first(&replayed)
            .flows
            .as_ref()
            .unwrap()
            .iter()
            .map(|f| (f.label.clone(), f.group.clone()))
            .collect();
        labels.sort();
        labels
    };
    assert_eq!(flows("five-tuple").len(), 4);
    // Both protocols: in no one group.
    assert_eq!(flows("source"), [("10.0.0.0".into(), None), ("10.0.0.1".into(), None)]);
    assert_eq!(flows("destination"), [("10.0.1.1".into(), None)]);
}

#[test]
fn flows_that_are_not_listed_are_summed_up() {
    let (_dir, job) = job(&records(&busy(2_000, 0.4e6, 0)).concat(), "10 Mbit/s", "drop_tail");
    let all = replay(&job, &()).unwrap();
    let few = replay(&ReplayJob { listed: 3, ..job }, &()).unwrap();
    let (all, few) = (first(&all).flows.as_ref().unwrap(), first(&few).flows.as_ref().unwrap());
    assert_eq!((all.len(), few.len(), few[3].label.as_str()), (18, 4, "other flows"));
    let offered = |flows: &[tidegate_report::Flow]| {
        flows.iter().map(|f| f.bytes.unwrap().offered).sum::<u64>()
    };
    assert_eq!(offered(all), offered(few));
    let least_listed = few[..3].iter().map(|f| f.bytes.unwrap().offered).min();
    assert_eq!(all.iter().filter(|f| f.bytes.map(|b| b.offered) > least_listed).count(), 2);
}

#[test]
fn the_series_has_a_bound_and_adds_up() {
    let replayed = run(&busy(20_000, 0.4e6, 0), "10 Mbit/s", "60 kB", "blue");
    let series = &replayed.outcomes[0].series;
    assert!(
        series.time_s.len() <= POINTS && series.time_s.len() >= POINTS / 2,
        "{}",
        series.time_s.len()
    );
    let duration = first(&replayed).bottleneck.duration_s.unwrap();
    let (end, step) = (series.time_s[series.time_s.len() - 1], series.time_s[0]);
    assert!(end <= duration && end > duration - step);
    let line = |what| series.lines.iter().filter(move |l| l.what == what);
    let sent: f64 = line(SeriesQuantity::Throughput)
        .flat_map(|l| &l.values)
        .map(|v| v.unwrap() * step / 8.0)
        .sum();
    let told = first(&replayed).aggregate.throughput_bps.unwrap().mean() * duration / 8.0;
    assert!(sent <= told && sent > told * 0.998, "{sent} {told}");
    assert_eq!(line(SeriesQuantity::Gauge).map(|l| l.name.as_str()).collect::<Vec<_>>(), ["p_m"]);
    assert!(line(SeriesQuantity::Queue).flat_map(|l| &l.values).any(|v| v.unwrap() > 10.0));
}

#[test]
fn a_damaged_capture_gives_what_was_readable() {
    let whole = records(&busy(100, 1e6, 0)).concat();
    let (_dir, job) = job(&whole[..whole.len() - 7], "10 Mbit/s", "drop_tail");
    let replayed = replay(&job, &()).unwrap();
    assert_eq!(first(&replayed).packets, Some(99));
    let damage = replayed.damage.unwrap();
    assert_eq!((damage.fault, damage.packets), (Fault::CutShort, 99));
}

#[test]
fn files_without_a_packet() {
    let refuse = |bytes: &[u8]| {
        let (_dir, job) = job(bytes, "10 Mbit/s", "drop_tail");
        replay(&job, &()).unwrap_err()
    };
    let whole = records(&[p(0, 1, TCP, 100)]).concat();
    assert!(matches!(refuse(&whole[..24]), ReplayError::Empty(_)));
    assert!(matches!(refuse(&whole[..30]), ReplayError::Capture(e) if e.fault == Fault::CutShort));
    assert!(matches!(
        refuse(b"once upon a time"),
        ReplayError::Capture(e) if e.fault == Fault::NotACapture
    ));
    assert!(matches!(refuse(b""), ReplayError::Capture(e) if e.fault == Fault::NotACapture));
    let missing = ReplayJob::new(
        PathBuf::from("no/such.pcap"),
        Rate::from_bps(1),
        vec!["drop_tail".parse().unwrap()],
    );
    assert!(matches!(
        replay(&missing, &()).unwrap_err(),
        ReplayError::Capture(e) if e.fault == Fault::Open
    ));
}

#[test]
fn a_single_packet_has_no_rates() {
    let replayed = run(&[p(5, 1, 47, 1500)], "1 kbit/s", "10 packets", "drop_tail");
    let document = first(&replayed);
    assert_eq!(document.groups[0].name, "other");
    assert_eq!(document.groups[0].throughput_bps, None);
    assert_eq!(document.aggregate.utilization, None);
    assert_eq!(document.flows.as_ref().unwrap()[0].packets, counts(1, 1, 0, 0));
}

#[test]
fn years_of_silence_take_no_time() {
    let year = 365 * 24 * 3600 * SECOND;
    let replayed =
        run(&[p(0, 1, TCP, 1500), p(3 * year, 1, TCP, 1500)], "1 bit/s", "10 packets", "blue/auto");
    assert_eq!(first(&replayed).flows.as_ref().unwrap()[0].packets, counts(2, 2, 0, 0));
}

struct Impatient(Mutex<Vec<f64>>);

impl Watch for Impatient {
    fn progress(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress.fraction);
    }
    fn cancelled(&self) -> bool {
        self.0.lock().unwrap().len() > 2
    }
}

#[test]
fn a_replay_tells_how_far_it_is_and_can_be_cancelled() {
    let (_dir, job) = job(&records(&busy(20_000, 0.4e6, 0)).concat(), "10 Mbit/s", "drop_tail");
    let watch = Impatient(Mutex::new(vec![]));
    assert_eq!(replay(&job, &watch), Err(ReplayError::Cancelled));
    let told = watch.0.into_inner().unwrap();
    assert_eq!(told.len(), 3);
    assert!(told[0] < told[1] && told[1] < told[2] && told[2] < 0.6, "{told:?}");
}

#[test]
fn the_default_limit_is_a_tenth_of_a_second() {
    let limit =
        |rate: &str| default_limit(rate.parse().unwrap(), tidegate::Bytes::new(1000)).to_string();
    assert_eq!(limit("10 Mbit/s"), "125 kB");
    assert_eq!(limit("1 kbit/s"), "10 kB");
    let (_dir, job) = job(&records(&[p(0, 1, TCP, 100)]).concat(), "1000 Gbit/s", "drop_tail");
    assert!(job.resolve().is_ok());
}
