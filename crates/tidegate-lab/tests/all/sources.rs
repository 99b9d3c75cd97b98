//! What groups of each source put through an empty line, from a scenario to its result.
use crate::jobs::{document, in_repository, scenario};
use tidegate_lab::Scenario;
use tidegate_report::Group;

/// The figures of the one group.
fn figures(seeds: u32, duration: u32, group: &str) -> Group {
    let text = format!(
        "[run]\nduration = \"{duration} s\"\nwarmup = \"0 s\"\nseeds = {seeds}\n[network]\n\
         rate = \"100 Mbit/s\"\n\
         limit = \"1000 packets\"\ndelay = \"1 ms\"\n[[group]]\nname = \"g\"\n{group}"
    );
    let group = document(scenario(&text), "drop_tail").groups.remove(0);
    assert_eq!(group.loss_ratio.unwrap().mean(), 0.0);
    group
}

/// Its throughput in bit/s, the mean over seeds.
fn throughput(seeds: u32, duration: u32, group: &str) -> f64 {
    figures(seeds, duration, group).throughput_bps.unwrap().mean()
}

#[test]
fn a_schedule_starts_and_stops() {
    // Ten packets a second in [1, 2) and [3, 4.5): 25 of them in ten seconds.
    let group = "source = \"cbr\"\nrate = \"80 kbit/s\"\njitter = 0\nactive = [\"1 s..2 s\", \"3 \
         s..4500 ms\"]\n";
    assert_eq!(throughput(1, 10, group), 25.0 * 8000.0 / 10.0);
    // One a second, but also at the start of a period that is shorter.
    let slow = "source = \"cbr\"\nrate = \"8 kbit/s\"\njitter = 0\nactive = [\"1 s..1100 ms\", \
         \"1200 ms..1300 ms\", \"9 s..\"]\n";
    assert_eq!(throughput(1, 10, slow), 3.0 * 8000.0 / 10.0);
}

#[test]
fn calls_carry_their_erlangs() {
    let group = "source = \"voip\"\ncount = 200\nerlangs = 50\ncall = \"exponential(10 s)\"\n";
    let (seeds, duration) = (8, 600);
    let share = 1.004 / (1.004 + 1.587);
    let wanted = 50.0 * share * 25_000.0;
    // Variance of the mean number of callers who talk: calls come and go (2 E h / T), talk and
    // silence (2 m²n²/(m+n)³/T each).
    let calls = 2.0 * 50.0 * 10.0 / duration as f64 * share * share;
    let talk = 50.0 * 2.0 * (1.004f64 * 1.587).powi(2) / 2.591f64.powi(3) / duration as f64;
    let slack = 5.0 * ((calls + talk) / seeds as f64).sqrt() * 25_000.0;
    let got = throughput(seeds, duration, group);
    assert!((got - wanted).abs() < slack, "{got} is not {wanted}, slack {slack}");
}

#[test]
fn on_off_with_means_of_each_flow_s_own() {
    // Equal laws for on and off: half the rate on average, whatever the flow's own mean is.
    let group = "source = \"on_off\"\ncount = 400\nrate = \"80 kbit/s\"\nbegin = \"either\"\n\
                 start = \"0 s\"\n\
                 on = \"exponential(uniform(1 s, 10 s))\"\noff = \"exponential(uniform(1 s, 10 s))\"\n";
    let got = throughput(2, 100, group);
    // E[on / (on + off)] is a half by symmetry; over flows and time the deviation of a flow's share
    // is below 0.3.
    let slack = 5.0 * 0.3 / 800f64.sqrt();
    assert!((got / (400.0 * 80_000.0) - 0.5).abs() < slack, "{got}");
}

#[test]
fn files_of_given_sizes_are_done() {
    let group = "source = \"finite\"\ncount = 40\nstart = \"every(100 ms)\"\ndata = [\"1 kB\", \
         \"2001 B\"]\naccess_delay = \"1 ms\"\n";
    let g = figures(2, 10, group);
    assert_eq!(g.completions.unwrap().mean(), 40.0);
    assert_eq!(g.throughput_bps.unwrap().mean(), 20.0 * (1000.0 + 3000.0) * 8.0 / 10.0);
    // One packet takes 3 ms and its times on three links; three packets a round trip more (the
    // window begins with 2).
    let (least, most) = (3.0 + 0.24, 9.0 + 0.6);
    let mean = g.completion_ms.mean.unwrap().mean();
    assert!(mean > (least + 9.0) / 2.0 && mean < (least + most) / 2.0 + 0.1, "{mean}");
}

#[test]
fn users_of_the_web_are_heard_of() {
    let g = figures(
        2,
        60,
        "source = \"web\"\ncount = 50\nsize = \"10 kB\"\nthink = \"exponential(1 s)\"\n",
    );
    // 50 users, a second of thinking and some tens of ms: near 3000 objects less those;
    // Poisson-like.
    let n = g.completions.unwrap().mean();
    assert!((n - 3000.0 / (1.0 + 0.035)).abs() < 5.0 * (3000.0f64 / 2.0).sqrt() + 30.0, "{n}");
    assert!(g.completion_ms.p99.is_some() && g.completion_ms.p50.unwrap().mean() > 20.0);
}

#[test]
fn tfrc_takes_what_an_empty_line_has() {
    let got = throughput(1, 20, "source = \"tfrc\"\nstart = \"0 s\"\n");
    assert!(got > 70e6, "{got}");
}

#[test]
fn a_capture_s_packets_go_at_their_times() {
    let root = in_repository("captures/flood.pcapng");
    let group = |rest: &str| {
        format!(
            "source = \"replay\"\nstart = \"0 s\"\ncapture = {:?}\n{rest}",
            root.display().to_string()
        )
    };
    let mut capture = tidegate_packet::Capture::open(&root).unwrap();
    let (mut bytes, mut last) = (0, 0.0f64);
    while let Some(packet) = capture.next_packet().unwrap() {
        (bytes, last) = (bytes + packet.frame().len as u64, last.max(packet.time.as_secs()));
    }
    let duration = last as u32 + 2;
    for rest in ["", "count = 3\n"] {
        let got = throughput(1, duration, &group(rest)) * duration as f64 / 8.0;
        assert!((got - bytes as f64).abs() < 1.0, "{got} is not {bytes}");
    }
    let refused = |capture: &str, rest: &str| {
        let text = format!(
            "[network]\nrate = \"1 Gbit/s\"\nlimit = \"9 packets\"\n[[group]]\nname = \"g\"\n\
             source = \"replay\"\n\
             capture = {capture:?}\n{rest}"
        );
        Scenario::parse(text.as_bytes(), "nowhere/s.toml", &[]).unwrap_err().to_string()
    };
    assert!(refused("none.pcap", "").contains("group.g.capture = none.pcap: nowhere/none.pcap: "));
    assert!(refused("/", "").contains("is no file"));
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty.pcap");
    std::fs::write(
        &empty,
        [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[96, 0, 0, 0, 1, 0, 0, 0]].concat(),
    )
    .unwrap();
    let told = refused(&empty.display().to_string(), "");
    assert!(told.contains("empty.pcap: the capture has no packets"), "{told}");
    let many = refused(&root.display().to_string(), "count = 100000\n");
    assert!(many.contains("more than the capture's flows"), "{many}");
}

/// Each comes and goes by exponential times of 2 s and 6 s: a quarter of the time at 1 Mbit/s, all
/// of it good. Reports count it among those that heed nothing.
#[test]
fn unresponsive_connections_come_and_go() {
    let group = "source = \"unresponsive\"\ncount = 40\nrate = \"1 Mbit/s\"\n\
                 on = \"exponential(2 s)\"\noff = \"exponential(6 s)\"\n\
                 start = \"exponential(6 s)\"\n";
    let (seeds, duration) = (4, 200);
    let g = figures(seeds, duration, group);
    assert_eq!(g.conduct, Some(tidegate_report::Conduct::Unresponsive));
    // Variance of the mean share: 2 m²n² / ((m + n)³ T) for each; at the start none is there, which
    // costs each 6 s · 2/8 of the time that counts.
    let variance = 2.0 * 4.0 * 36.0 / (512.0 * duration as f64) / (40 * seeds) as f64;
    let wanted = 40e6 * 0.25 * (1.0 - 1.5 / duration as f64);
    let slack = 5.0 * variance.sqrt() * 40e6;
    let got = g.goodput_bps.unwrap().mean();
    assert!((got - wanted).abs() < slack, "{got} is not {wanted}, slack {slack}");
    assert_eq!(g.fair_share_bps.unwrap().mean(), 0.25e6 * 40.0);
}
