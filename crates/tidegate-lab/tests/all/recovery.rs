//! What TCP delivers of what it sends where much is lost or marked. A sender that waits for its
//! timer while it sends on beyond a hole has a throughput, and no goodput.
use crate::jobs;
use crate::jobs::scenario;
use tidegate_report::{Document, Group, fair};

/// `count` endless flows of `source` on a line of `rate` Mbit/s, all equally far.
fn crowd(source: &str, count: usize, rate: u32, options: &str, duration: &str) -> String {
    format!(
        r#"
[run]
duration = "{duration}"
warmup = "10 s"
seeds = 1

[network]
kind = "dumbbell"
rate = "{rate} Mbit/s"
delay = "20 ms"
limit = "{limit} packets"
mean_packet = "1000 B"
access_rate = "1 Gbit/s"

[queue]
name = "codel"

[[group]]
name = "tcp"
count = {count}
source = "{source}"
access_delay = "5 ms"
{options}
"#,
        limit = rate * 10,
    )
}

/// All flows of the group together: goodput over throughput.
fn delivered(document: &Document) -> f64 {
    let group = &document.groups[0];
    group.goodput_bps.unwrap().mean() / group.throughput_bps.unwrap().mean()
}

/// The flow that has least of its throughput.
fn least(document: &Document) -> f64 {
    let part = |flow: &tidegate_report::Flow| {
        flow.goodput_bps.unwrap().mean() / flow.throughput_bps.unwrap().mean()
    };
    document.flows.as_ref().unwrap().iter().map(part).fold(f64::INFINITY, f64::min)
}

/// Jain's index of what the flows were delivered.
fn jain(document: &Document) -> f64 {
    let got = |flow: &tidegate_report::Flow| flow.goodput_bps.unwrap().mean();
    fair::jain(&document.flows.iter().flatten().map(got).collect::<Vec<_>>()).unwrap()
}

fn behind(queue: &str, text: &str) -> Document {
    let job = tidegate_lab::Job { flows: true, ..jobs::job(scenario(text), &[queue]) };
    jobs::documents(&job).remove(0)
}

#[test]
fn with_time_stamps_nothing_waits_for_a_timer_that_backed_off() {
    for source in ["sack", "cubic"] {
        // Receivers that wait for a second segment, and a timer of a second at least: what an
        // independent simulator with time stamps delivers whole.
        let slow = "delayed_ack = \"200 ms\"\nmin_rto = \"1 s\"";
        let document = behind("codel", &crowd(source, 25, 10, slow, "200 s"));
        let jain = jain(&document);
        assert!(delivered(&document) >= 0.97 && jain >= 0.97, "{source}: {jain}");
        // An ordinary host.
        let usual = "delayed_ack = \"40 ms\"\nmin_rto = \"200 ms\"";
        let document = behind("codel", &crowd(source, 25, 10, usual, "200 s"));
        assert!(least(&document) >= 0.9, "{source}: {}", least(&document));
    }
}

#[test]
fn four_hundred_flows_deliver_what_the_line_carries_and_without_time_stamps_some_do_not() {
    let usual = "delayed_ack = \"200 ms\"\nmin_rto = \"1 s\"";
    let goodput = |document: &Document| document.groups[0].goodput_bps.unwrap().mean();
    let with = behind("fq_codel", &crowd("sack", 400, 45, usual, "60 s"));
    assert!(goodput(&with) >= 42e6, "{}", goodput(&with));
    let off = format!("{usual}\ntimestamps = \"off\"");
    let without = behind("fq_codel", &crowd("sack", 400, 45, &off, "60 s"));
    assert!(least(&without) < 0.5 && least(&with) > least(&without), "{}", least(&without));
}

/// Marks that are answered one by one after a timeout silence a user for a minute, and the mean
/// over users hides it.
#[test]
fn users_with_ecn_beside_a_flood_all_have_their_share() {
    for (queue, bound) in [("fq_codel", 0.85), ("drr", 0.9)] {
        let flood = jobs::shipped("scenarios/flood.toml", &["run.seeds=3"]);
        let document = jobs::document(flood, queue);
        let tcp: &Group = document.groups.iter().find(|group| group.name == "tcp").unwrap();
        let worst = tcp.worst_share.unwrap().mean();
        assert!(worst >= bound, "{queue}: {worst}");
        assert_eq!(tcp.starved.unwrap().mean(), 0.0, "{queue}");
    }
}
