//! Our twins of some ns-2 set-ups against what ns-2 gave (`validation/ns2/results`): There are a
//! few of the seeds that `validation/compare.py` takes. So a change of TCP, RED or the simulator
//! that spoils the agreement is seen here.
use crate::jobs::{documents, in_repository, job, shipped};
use tidegate_lab::Job;
use tidegate_report::{Document, Figure};

/// Agreement, as everywhere in `validation`.
const WITHIN: f64 = 0.05;

/// ns-2's mean of the figure `name` over its seeds.
fn theirs(label: &str, name: &str) -> f64 {
    let path = in_repository(&format!("validation/ns2/results/{label}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()[name].as_f64().unwrap()
    });
    let values: Vec<f64> = rows.collect();
    assert!(values.len() >= 6, "{label}: {} runs", values.len());
    values.iter().sum::<f64>() / values.len() as f64
}

fn ours(network: &str, queue: Option<&str>, sets: &[&str]) -> Document {
    let scenario = shipped(&format!("validation/scenarios/{network}.toml"), sets);
    let queue = queue.map_or_else(|| scenario.queue.clone(), |q| q.parse().unwrap());
    documents(&Job { queues: vec![queue], ..job(scenario, &[]) }).remove(0)
}

/// Every figure that is steady enough over so few seeds.
fn compare(label: &str, ours: &Document, names: &[&str]) {
    let group = |name: &str| ours.groups.iter().find(|g| g.name == name).unwrap();
    let (tcp, udp) = (group("tcp"), group("udp"));
    for &name in names {
        let (figure, scale): (Option<Figure>, f64) = match name {
            "udp_thr_mbps" => (udp.throughput_bps, 1e-6),
            "tcp_thr_mean_mbps" => (tcp.per_flow.mean, 1e-6),
            "jain_tcp" => (tcp.jain, 1.0),
            "loss_tcp" => (tcp.loss_ratio, 1.0),
            "loss_udp" => (udp.loss_ratio, 1.0),
            "mean_q_pkts" => (ours.aggregate.queue_packets, 1.0),
            _ => panic!("{name} is not compared"),
        };
        let ratio = figure.unwrap().mean() * scale / theirs(label, name);
        assert!((ratio - 1.0).abs() <= WITHIN, "{label}: {name} is {ratio} of ns-2's");
    }
}

#[test]
fn four_hundred_tcp_and_a_flood_through_red() {
    let all =
        ["udp_thr_mbps", "tcp_thr_mean_mbps", "jain_tcp", "loss_tcp", "loss_udp", "mean_q_pkts"];
    compare("sfb400-45m-red", &ours("sfb400-45m", None, &["run.seeds=4"]), &all);
}

#[test]
fn twenty_flows_through_red_in_bytes_and_drop_tail() {
    let steady = ["udp_thr_mbps", "tcp_thr_mean_mbps", "jain_tcp", "loss_tcp", "mean_q_pkts"];
    compare("bare20-red", &ours("bare20", None, &["run.seeds=8"]), &steady);
    // ns-2's drop-tail holds one packet less than its limit.
    let tail = ours("bare20", Some("drop_tail"), &["run.seeds=8", "network.limit=119 packets"]);
    compare("bare20-drop_tail", &tail, &steady);
}

/// REM, and DRR with a queue for each flow, as `validation/setups.py` sets them.
#[test]
fn twenty_flows_through_rem_and_drr() {
    let rem = ours(
        "bare20",
        Some("rem/ns2,target=20 packets"),
        &["run.seeds=8", "network.limit=119 packets"],
    );
    compare(
        "bare20-rem",
        &rem,
        &["udp_thr_mbps", "tcp_thr_mean_mbps", "jain_tcp", "loss_tcp", "mean_q_pkts"],
    );
    let dealt = format!("group.tcp.class={:?}", (0..19).collect::<Vec<_>>());
    let queue = "drr/ns2,map=class,classes=20,quantum=1000 B";
    let drr = ours("bare20", Some(queue), &["run.seeds=8", &dealt, "group.udp.class=19"]);
    compare(
        "bare20-drr",
        &drr,
        &["udp_thr_mbps", "tcp_thr_mean_mbps", "jain_tcp", "loss_udp", "mean_q_pkts"],
    );
}

/// What RED-PD leaves an unresponsive flow among 35 of TCP: ns-2.35 with the authors' scripts,
/// which the package lacks (`validation/scenarios/redpd36.toml`). Its runs are few and ours have 95
/// % intervals of a twentieth, so a tenth, not a twentieth.
#[test]
fn red_pd_holds_a_flood_down_as_in_ns_2() {
    for limit in [100, 200] {
        let theirs = theirs(&format!("redpd36-red_pd-{limit}"), "class.udp.kbps");
        let queue = "red_pd/ns2,hold=401 ms"; // as setups.py, which says why
        let ours = ours(
            "redpd36",
            Some(queue),
            &["run.seeds=8", &format!("network.limit={limit} packets")],
        );
        let udp =
            ours.groups.iter().find(|g| g.name == "udp").unwrap().throughput_bps.unwrap().mean()
                / 1e3;
        assert!((udp / theirs - 1.0).abs() < 0.1, "{limit}: {udp} kbit/s, ns-2 {theirs}");
    }
}
