//! The figures of a result against the same worked out from its flows by the definitions.
use crate::jobs::{documents, job, scenario};
use tidegate_lab::Job;
use tidegate_report::{Document, Figure};

fn document(text: &str) -> Document {
    let scenario = scenario(text);
    let queues = vec![scenario.own_queue().clone()];
    documents(&Job { queues, flows: true, series: true, threads: Some(1), ..job(scenario, &[]) })
        .remove(0)
}

#[track_caller]
fn mean(figure: Option<Figure>) -> f64 {
    figure.expect("a figure").mean()
}

#[track_caller]
fn near(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-9), "{what}: {a} is not {b}");
}

const DUMBBELL: &str = r#"
[run]
duration = "12 s"
warmup = "2 s"
seeds = 1
[network]
rate = "4 Mbit/s"
limit = "20 packets"
[[group]]
name = "tcp"
source = "newreno"
count = 4
[[group]]
name = "files"
source = "newreno"
count = 3
start = "3 s"
initial_rto = "300 ms"
data = "100 kB"
[[group]]
name = "flood"
source = "cbr"
rate = "1.5 Mbit/s"
"#;

#[test]
fn figures_follow_from_the_flows() {
    let result = document(DUMBBELL);
    let flows = result.flows.as_deref().unwrap();
    let (fair, all) = (4e6 / 8.0, &result.aggregate);
    let rates =
        |of: fn(&tidegate_report::Flow) -> Option<Figure>| flows.iter().map(move |f| mean(of(f)));
    let norm: f64 = rates(|f| f.throughput_bps).map(|b| (b - fair) / 1e3).map(|d| d * d).sum();
    near(mean(all.norm_kbps), norm.sqrt(), "norm");
    let around: f64 = rates(|f| f.goodput_bps).map(|g| g / fair - 1.0).map(|d| d * d).sum();
    near(mean(all.fair_deviation), (around / 7.0).sqrt(), "deviation from fair");
    assert!((0.0..10.0).contains(&mean(all.nearly_full_s)));
    assert!(result.links.is_empty(), "one managed link is the bottleneck");
    // An ideal queue of n drops in the window has n - 1 gaps; their mean is their span over their
    // number.
    let drops: f64 = all.drops.values().map(Figure::mean).sum();
    let gap = mean(all.drop_gap_ms.mean);
    assert!(
        gap * (drops - 1.0) < 10_000.0 && gap * (drops - 1.0) > 8_000.0,
        "{gap} ms between {drops} drops"
    );
    for group in &result.groups {
        let own: Vec<_> =
            flows.iter().filter(|f| f.group.as_deref() == Some(&group.name)).collect();
        let covs: Vec<f64> = own.iter().filter_map(|f| f.rate_cov).map(|f| f.mean()).collect();
        near(mean(group.rate_cov.mean), covs.iter().sum::<f64>() / covs.len() as f64, &group.name);
        let again: f64 = own.iter().map(|f| mean(f.retransmitted_bytes)).sum();
        near(mean(group.retransmitted_bytes), again, &group.name);
        // The bottleneck's 10 ms and twice the access link's 2 ms at least; 20 packets of 2 ms more
        // at most, and the times of transmission.
        let [p50, p99] = [group.one_way_ms.p50, group.one_way_ms.p99].map(mean);
        assert!(14.0 < p50 && p50 <= p99 && p99 < 14.0 + 40.0 + 4.5, "{}: {p50} {p99}", group.name);
    }
    let [tcp, files, flood] = &result.groups[..] else { panic!("three groups") };
    assert!(
        mean(tcp.rtt_ms.mean) > mean(tcp.one_way_ms.mean) + 14.0 && flood.rtt_ms.mean.is_none()
    );
    assert_eq!([tcp, files, flood].map(|g| mean(g.completions)), [0.0, 3.0, 0.0]);
    // 100 packets of a kilobyte need 200 ms of the link at least.
    assert!(mean(files.completion_ms.p50) > 200.0 && mean(files.completion_ms.p99) < 9000.0);
}

const TWO_LINKS: &str = r#"
[run]
duration = "5 s"
warmup = "1 s"
seeds = 2
[network]
kind = "graph"
[[link]]
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "5 ms"
limit = "20 packets"
[[link]]
from = "b"
to = "c"
rate = "800 kbit/s"
delay = "5 ms"
limit = "10 packets"
watch = true
[[group]]
name = "through"
source = "cbr"
rate = "1.2 Mbit/s"
from = "a"
to = "c"
[[group]]
name = "first"
source = "cbr"
rate = "1.4 Mbit/s"
from = "a"
to = "b"
"#;

#[test]
fn every_managed_link_has_its_figures() {
    let result = document(TWO_LINKS);
    let names: Vec<&str> = result.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["a->b", "b->c"]);
    for link in &result.links {
        assert!(
            mean(link.utilization) > 0.85 && mean(link.drop_gap_ms.mean) > 0.0,
            "{}",
            link.name
        );
    }
    // The watched link's figures are those of the whole; only the group that crosses it has a share
    // of C/n, all of C.
    assert_eq!(result.links[1].queue_delay_ms, result.aggregate.queue_delay_ms);
    near(
        mean(result.aggregate.norm_kbps),
        (8e5 - mean(result.groups[0].throughput_bps)) / 1e3,
        "norm",
    );
    assert_eq!(result.aggregate.fair_deviation, None, "one flow crosses it");
}

/// `count` flows of `source` and a flood, through a queue of eight packets.
fn crowded(count: u32, source: &str, flood: &str) -> Document {
    document(&format!(
        "[run]\nduration = \"12 s\"\nwarmup = \"2 s\"\nseeds = 1\nrate_window = \"500 ms\"\n\
         [network]\nrate = \"2 Mbit/s\"\nlimit = \"8 packets\"\n\
         [[group]]\nname = \"g\"\ncount = {count}\n{source}\n\
         [[group]]\nname = \"flood\"\nsource = \"cbr\"\nrate = \"{flood}\"\n"
    ))
}

#[test]
fn synchrony_and_starvation_of_a_group_are_the_means_over_its_flows() {
    let document = crowded(6, "source = \"newreno\"", "2.2 Mbit/s");
    let flows = document.flows.as_ref().unwrap();
    let own = || flows.iter().filter(|flow| flow.group.as_deref() == Some("g"));
    let group = &document.groups[0];
    let over = |of: fn(&tidegate_report::Flow) -> Option<Figure>| {
        own().map(|flow| mean(of(flow))).sum::<f64>() / own().count() as f64
    };
    near(mean(group.loss_synchronization), over(|f| f.loss_synchronization), "synchrony");
    near(mean(group.starved_time), over(|f| f.starved_time), "starved time");
    // An event has at least one of six flows in it.
    assert!((1.0 / 6.0..1.0).contains(&mean(group.loss_synchronization)));
    assert!((0.05..1.0).contains(&mean(group.starved_time)), "{:?}", group.starved_time);
}

#[test]
fn edges_of_synchrony_and_starvation() {
    // Of one flow every event is its own, which says nothing.
    let one = crowded(1, "source = \"newreno\"", "2.2 Mbit/s");
    assert!(one.groups.iter().all(|group| group.loss_synchronization.is_none()));
    assert!(mean(one.groups[1].starved_time) == 0.0, "a flood does not starve");
    // Without losses there is no event.
    let calm = crowded(2, "source = \"cbr\"\nrate = \"100 kbit/s\"", "100 kbit/s");
    assert_eq!(calm.groups[0].loss_synchronization, None);
    assert_eq!(mean(calm.groups[0].starved_time), 0.0);
    // Who is silent by himself does not starve, nor is he well.
    let talk = crowded(3, "source = \"on_off\"\nrate = \"300 kbit/s\"", "2.2 Mbit/s");
    assert_eq!(talk.groups[0].starved_time, None);
    let late = crowded(3, "source = \"newreno\"\nstart = \"3 s\"", "100 kbit/s");
    assert_eq!(late.groups[0].starved_time, None);
}

#[test]
fn active_goodput_goes_by_the_time_for_which_each_flow_is_active() {
    // Of the ten seconds measured it is active for two and for three.
    let periods = "active = [\"0 s..4 s\", \"6 s..9 s\"]";
    let talk =
        crowded(2, &format!("source = \"cbr\"\nrate = \"100 kbit/s\"\n{periods}"), "100 kbit/s");
    let [group, flood] = &talk.groups[..] else { panic!("two groups") };
    near(mean(group.active_goodput_bps), 2.0 * mean(group.goodput_bps), "active goodput");
    assert!((195e3..205e3).contains(&mean(group.active_goodput_bps)), "{group:?}");
    assert_eq!(flood.active_goodput_bps, None, "it has one period");
}
