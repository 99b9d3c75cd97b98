//! The gateway with the kernel's TCP, in network namespaces. Skipped, and says so, where they
//! cannot be made.
mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use common::{Home, hold};
use serde_json::Value;
use tidegate::catalog::{self, QUEUES};
use tidegate::{Link, Span};
use tidegate_gateway::demo::{
    Demo, FRAME, KernelTcp, Process, Rig, SERVER, Spoofed, Trial, has_congestion_control, possible,
};
use tidegate_gateway::machine::namespaces::{Namespace, skip};
use tidegate_packet::FlowKey;

/// Two that load the machine at once would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> Option<MutexGuard<'static, ()>> {
    if let Err(why) = possible() {
        skip(&why);
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// What one connection sends through a queue: 160 ms of the line below.
const SENT: usize = 1_000_000;
/// How long that may take: an RTT is 10 ms, so TCP may fail and begin anew several times.
const PATIENCE: Duration = Duration::from_secs(10);

fn demo() -> Demo {
    Demo {
        program: env!("CARGO_BIN_EXE_tidegate").into(),
        link: Link::new("50 Mbit/s".parse().unwrap(), "100 packets".parse().unwrap(), FRAME)
            .unwrap(),
        delay: Span::from_millis(5),
        flow_key: FlowKey::FiveTuple,
        rehash: None,
        tcp: KernelTcp::Full,
        groups: vec![],
        warmup: Span::ZERO,
        duration: Span::ZERO,
    }
}

/// `queue` as it is scaled to the link. (A lone TCP that bursts into a small bin of SFB can be in
/// its penalty box for long.)
fn trial(demo: &Demo, queue: &str) -> Trial {
    let config = catalog::config(queue, Some("auto"), &demo.link).unwrap();
    Trial { queue: format!("{queue}/auto"), label: queue.into(), preset: "auto".into(), config }
}

/// A gateway with that, through which packets come.
fn open(demo: &Demo, rig: &Rig, queue: &str) -> Result<Process, String> {
    let mut gate = demo.gate(rig, &trial(demo, queue)).unwrap();
    let begun = Instant::now();
    while !rig.connected(gate.id(), Duration::from_millis(100)).unwrap() {
        if let Some(said) = gate.ended().unwrap() {
            return Err(format!("the gateway has ended: {said}"));
        }
        if begun.elapsed() > PATIENCE {
            return Err("no packet comes through".into());
        }
    }
    Ok(gate)
}

/// How often it is tried again because the machine had no time for the gate.
const TRIES: usize = 5;

/// Does `work` with each queue. A gate may say that the kernel stood in for it, since it had no
/// processor for too long. Such a gate has shown nothing: we try again, and after some tries say so
/// and pass it over. Every other failure is one.
fn with_every_queue(
    demo: &Demo,
    rig: &Rig,
    work: impl Fn(&'static str, &mut Process) -> Result<(), String>,
) {
    const LAPSED: &str = "we were stopped, and the kernel forwarded";
    'queues: for row in QUEUES {
        for _ in 0..TRIES {
            let mut gate =
                open(demo, rig, row.name).unwrap_or_else(|why| panic!("{}: {why}", row.name));
            let Err(why) = work(row.name, &mut gate) else { continue 'queues };
            // It says so within a beat.
            std::thread::sleep(Duration::from_millis(200));
            assert!(gate.said().contains(LAPSED), "{}: {why}; it said: {}", row.name, gate.said());
        }
        skip(&format!(
            "{}: {TRIES} times this machine was too busy to let the gateway run",
            row.name
        ));
    }
}

/// What is sent: nothing that a lost, doubled or misplaced piece would leave as it is.
fn letter() -> Vec<u8> {
    (0..SENT as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn tcp_gets_through_every_queue_whole() {
    let Some(_alone) = alone() else { return };
    let (demo, letter) = (demo(), letter());
    let rig = Rig::new(1, 1500).unwrap();
    with_every_queue(&demo, &rig, |_, gate| {
        let listener = rig.server.inside(|| TcpListener::bind((SERVER, 0))).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let begun = Instant::now();
        let stream = rig.clients.inside(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
        let received = carried(stream.map_err(|e| e.to_string())?, &listener, &letter)?;
        check(received == letter, || {
            format!("of {SENT} bytes {} came, or others", received.len())
        })?;
        check(begun.elapsed() < PATIENCE, || format!("it took {:?}", begun.elapsed()))?;
        let account: Value = serde_json::from_str(&gate.finish().unwrap()).unwrap();
        let through = account["managed"]["sent"]["bytes"].as_u64().unwrap();
        check(through > SENT as u64, || format!("TCP went by another way: {account}"))
    });
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// What comes of `letter` at the listener.
fn carried(
    mut stream: TcpStream,
    listener: &TcpListener,
    letter: &[u8],
) -> Result<Vec<u8>, String> {
    let mut received = Vec::with_capacity(SENT);
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    std::thread::scope(|scope| {
        let sender =
            scope.spawn(move || stream.write_all(letter).map_err(|e| format!("sending: {e}")));
        let (mut reader, _) = listener.accept().unwrap();
        reader.set_read_timeout(Some(PATIENCE)).unwrap();
        let read = reader.read_to_end(&mut received);
        sender.join().unwrap()?;
        read.map_err(|e| format!("{} bytes, then {e}", received.len()))?;
        Ok(received)
    })
}

/// Forged sources, and memory that is nobody's: pages of stacks, and the allocator's own. With 8
/// bytes for each of so many a queue would show.
const FORGED: u64 = 50_000;
const PAGES: u64 = 256 << 10;

#[test]
fn forged_sources_neither_stop_it_nor_make_it_grow() {
    let Some(_alone) = alone() else { return };
    let demo = demo();
    let rig = Rig::new(1, 1500).unwrap();
    with_every_queue(&demo, &rig, |queue, gate| {
        let before = gate.memory().unwrap();
        let flood = Spoofed::start(&rig, FORGED).unwrap();
        let begun = Instant::now();
        while !flood.is_over() {
            check(begun.elapsed() < 6 * PATIENCE, || format!("only {} were sent", flood.sent()))?;
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(flood.sent(), FORGED, "{queue}");
        assert_eq!(gate.ended().unwrap(), None, "{queue}");
        let grown = gate.memory().unwrap().saturating_sub(before);
        // What is laid out at the start was there before.
        let plan = demo.plan(&trial(&demo, queue)).unwrap();
        let stated = plan.memory() - plan.laid_out();
        assert!(
            grown <= stated + PAGES,
            "{queue}: {grown} bytes more than before, {stated} stated"
        );
        let account: Value = serde_json::from_str(&gate.finish().unwrap()).unwrap();
        let managed = |what: &str| account["managed"][what]["frames"].as_u64().unwrap();
        let lost: u64 = account["managed"]["lost"]
            .as_object()
            .unwrap()
            .values()
            .map(|v| v["frames"].as_u64().unwrap())
            .sum();
        assert_eq!(
            managed("received"),
            managed("sent") + managed("held") + lost,
            "{queue}: {account}"
        );
        check(managed("received") > FORGED / 10, || account.to_string())
    });
}

/// Namespaces of `gate demo`s of the process `pid`.
fn left_behind(pid: u32) -> Vec<String> {
    let names = tidegate_gateway::machine::namespaces::run(
        std::process::Command::new("ip").args(["netns", "list"]),
    )
    .unwrap();
    let ours = format!("gdemo-{pid}-");
    names.lines().filter(|line| line.starts_with(&ours)).map(String::from).collect()
}

const SHORT: [&str; 12] = [
    "gate",
    "demo",
    "--queue",
    "drop_tail as plain",
    "--duration",
    "1s",
    "--warmup",
    "500ms",
    "--tcp",
    "2",
    "--bbr",
    "0",
];

/// What iperf3 says about a flow is no flow of the queue's; the flows themselves are, and
/// everything else.
#[test]
fn what_is_said_about_a_flow_goes_past_the_gateway_and_the_flow_through_it() {
    const FLOW: u16 = 5202;
    let Some(_alone) = alone() else { return };
    let rig = Rig::new(2, 1500).unwrap();
    rig.lay_past(1500).unwrap();
    let way = |end: &Namespace, ends: [&str; 2], protocol: &str, ports: [u16; 2]| {
        let ([from, to], [source, port]) = (ends, ports.map(|port| port.to_string()));
        let ask = [
            "ip", "route", "get", to, "from", from, "ipproto", protocol, "sport", &source, "dport",
            &port,
        ];
        let answer = end.run(&ask).unwrap();
        answer.split_once(" dev ").unwrap().1.split(' ').next().unwrap().to_string()
    };
    let there = |protocol, ports| way(&rig.clients, ["10.77.1.2", "10.77.0.2"], protocol, ports);
    assert_eq!(there("tcp", [40_000, FLOW]), "control");
    assert_eq!(
        [there("tcp", [FLOW; 2]), there("udp", [FLOW; 2]), there("tcp", [40_000, 9])],
        ["users"; 3]
    );
    let back = |ports| way(&rig.server, ["10.77.0.2", "10.77.1.2"], "tcp", ports);
    assert_eq!(
        [back([FLOW, 40_000]), back([FLOW; 2]), back([9, 40_000])],
        ["control", "server", "server"]
    );
    // There is no gateway, so whatever gets through has gone past it.
    let listener = rig.server.inside(|| TcpListener::bind((SERVER, FLOW))).unwrap().unwrap();
    let stream = rig
        .clients
        .inside(|| TcpStream::connect_timeout(&(SERVER, FLOW).into(), PATIENCE))
        .unwrap()
        .unwrap();
    drop((stream, listener.accept().unwrap()));
    let open = rig.server.inside(|| TcpListener::bind((SERVER, 4_000))).unwrap().unwrap();
    let outside = rig.clients.inside(|| {
        TcpStream::connect_timeout(&open.local_addr().unwrap(), Duration::from_millis(300)).is_err()
    });
    assert!(outside.unwrap(), "what is not about a flow needs the gateway");
}

/// One that begins with bbr, where that is the default, stays paced whatever is set later.
#[test]
fn connections_begin_with_reno_and_can_be_left_with_newreno() {
    let Some(_alone) = alone() else { return };
    let rig = Rig::new(1, 1500).unwrap();
    let setting = |end: &Namespace, name: &str| {
        end.run(&["sysctl", "-n", &format!("net.ipv4.tcp_{name}")]).unwrap()
    };
    for end in [&rig.clients, &rig.server] {
        assert_eq!(
            (setting(end, "congestion_control").as_str(), setting(end, "sack").as_str()),
            ("reno\n", "1\n")
        );
    }
    rig.repair_as_newreno().unwrap();
    for end in [&rig.clients, &rig.server] {
        assert_eq!(
            (setting(end, "sack").as_str(), setting(end, "timestamps").as_str()),
            ("0\n", "0\n")
        );
    }
    let route = rig.server.run(&["ip", "route", "show", "dev", "server"]).unwrap();
    assert!(route.starts_with("10.77.0.0/16 ") && route.contains("quickack 1"), "{route}");
    let other = rig.clients.run(&["ip", "route", "get", "10.77.0.2"]).unwrap();
    assert!(!other.contains("quickack"), "{other}");
}

#[test]
fn the_demo_measures_what_it_says() {
    let Some(_alone) = alone() else { return };
    let home = Home::new();
    let more = [
        "--flood", "60Mbit/s", "--rate", "20Mbit/s", "--delay", "5ms", "--json", "--flows",
        "--out", "out",
    ];
    let result = home.run(&[&SHORT[..], &more].concat()).json();
    hold(&result);
    let [document] = result.as_array().unwrap().as_slice() else { panic!("{result}") };
    assert_eq!(
        (document["source"].as_str(), document["label"].as_str()),
        (Some("measured"), Some("plain"))
    );
    let names: Vec<_> =
        document["groups"].as_array().unwrap().iter().map(|g| g["name"].clone()).collect();
    assert_eq!(names, ["tcp", "flood"]);
    let mean = |group: usize, what: &str| document["groups"][group][what]["mean"].as_f64().unwrap();
    // The line is full, and no more than full; the flood, three times the line, keeps TCP out of a
    // plain FIFO.
    let total = mean(0, "throughput_bps") + mean(1, "throughput_bps");
    assert!((18e6..20.4e6).contains(&total), "{document:#}");
    assert!(mean(0, "throughput_bps") < 2e6, "{document:#}");
    assert!(
        mean(1, "offered_bps") > 40e6 && (0.5..0.7).contains(&mean(1, "loss_ratio")),
        "{document:#}"
    );
    // 100 ms of waiting make a full queue.
    let waits = document["aggregate"]["queue_delay_ms"]["p50"]["mean"].as_f64().unwrap();
    assert!((90.0..130.0).contains(&waits), "{document:#}");
    let least = document["groups"][0]["per_flow"]["min"]["mean"].as_f64().unwrap();
    let worst = least / (mean(0, "fair_share_bps") / 2.0);
    assert!((mean(0, "worst_share") - worst).abs() < 1e-9, "{worst}: {document:#}");
    assert_eq!(worst < 0.1, mean(0, "starved") >= 1.0, "{document:#}");
    assert_eq!(document["flows"].as_array().unwrap().len(), 3);
    let page = home.read("out/report.html");
    assert!(page.contains("Tidegate report · Measured") && page.contains("<b>plain</b>: "));
}

/// Its first packet is answered after 400 ms.
#[test]
fn a_server_may_be_far_away() {
    let Some(_alone) = alone() else { return };
    let far = ["--delay", "200ms", "--rate", "20Mbit/s", "--flood", "1Mbit/s", "--json"];
    let result = Home::new().run(&[&SHORT[..], &far].concat()).json();
    let flood = &result[0]["groups"][1]["throughput_bps"]["mean"];
    assert!((0.8e6..1.2e6).contains(&flood.as_f64().unwrap()), "{result:#}");
}

/// The set-up of the witness below, for the simulator; `limit` and `packet` as the demo has them.
const TWIN: &str = r#"
[run]
duration = "3500 ms"
warmup = "500 ms"
seeds = 2

[network]
rate = "20 Mbit/s"
delay = "5 ms"
limit = "250 kB"
mean_packet = "1514 B"
access_rate = "10 Gbit/s"
access_delay = "10 us"

[compare]
queues = ["drop_tail", "fq_codel"]
"#;

/// Kernel TCP of each congestion control, and a flood of three times the line. Behind a plain FIFO
/// the flood has the line, behind FQ-CoDel TCP has it, in the simulator as on the wire. Shares take
/// an idle machine (`make validate-witness`); who gets more does not.
#[test]
fn the_kernel_s_tcp_bears_the_simulator_out() {
    let Some(_alone) = alone() else { return };
    let controls: Vec<(&str, &str)> = [("reno", "sack"), ("cubic", "cubic"), ("bbr", "bbr")]
        .into_iter()
        .filter(|(name, _)| {
            let has = has_congestion_control(name).unwrap();
            if !has {
                skip(&format!("{name}: this kernel has no such congestion control"));
            }
            has
        })
        .collect();
    let home = Home::new();
    let mut twin = TWIN.to_string();
    for (name, source) in &controls {
        let tcp =
            "packet = \"1514 B\"\nack = \"66 B\"\necn = \"on\"\ninitial_window = \"10 packets\"";
        twin += &format!(
            "[[group]]\nname = \"{name}\"\nsource = \"{source}\"\nstart = \"0 s\"\n{tcp}\n"
        );
    }
    twin += "[[group]]\nname = \"flood\"\nsource = \"cbr\"\nrate = \"60 Mbit/s\"\npacket = \"1514 \
        B\"\nstart = \"100 ms\"\n";
    home.write("twin.toml", twin);
    let simulated = home.run(&["compare", "twin.toml", "--json"]).json();
    let mut words: Vec<&str> =
        "gate demo --bbr 0 --tcp 1 --rate 20Mbit/s --delay 5ms --flood 60Mbit/s --queue drop_tail \
                                --queue fq_codel --warmup 500ms --duration 3s --json"
            .split_whitespace()
            .collect();
    controls.iter().for_each(|(name, _)| words.extend(["--congestion", name]));
    let measured = home.run(&words).json();
    for (queue, flood_wins) in [("drop_tail", true), ("fq_codel", false)] {
        for (what, documents) in [("simulated", &simulated), ("measured", &measured)] {
            let documents = documents.as_array().unwrap();
            let document = documents.iter().find(|d| d["label"] == queue).unwrap();
            let rate = |g: &Value| g["throughput_bps"]["mean"].as_f64().unwrap();
            let (flood, tcp): (Vec<&Value>, Vec<&Value>) =
                document["groups"].as_array().unwrap().iter().partition(|g| g["name"] == "flood");
            assert_eq!((flood.len(), tcp.len()), (1, controls.len()), "{document:#}");
            let (flood, tcp) = (rate(flood[0]), tcp.into_iter().map(rate).sum::<f64>());
            assert_eq!(
                flood > tcp,
                flood_wins,
                "{queue}, {what}: the flood has {flood}, TCP {tcp} bit/s"
            );
        }
    }
}

#[test]
fn nothing_is_left_behind_after_ctrl_c() {
    let Some(_alone) = alone() else { return };
    // While it lays the network, while it starts its children one after the other, and while they
    // send.
    for wait in [0, 5, 10, 20, 60, 120, 240, 600] {
        let home = Home::new();
        let child = home.command(&SHORT).process_group(0).spawn().unwrap();
        let pid = child.id();
        let begun = Instant::now();
        while left_behind(pid).len() < 3 {
            assert!(begun.elapsed() < PATIENCE, "it does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(wait));
        // A terminal may send it twice, and to the whole group.
        for _ in 0..2 {
            let told = std::process::Command::new("kill")
                .args(["-INT", "--", &format!("-{pid}")])
                .status()
                .unwrap();
            assert!(told.success());
        }
        let ran: common::Ran = child.wait_with_output().unwrap().into();
        ran.refused(130, &["interrupted"]);
        assert_eq!(left_behind(pid), Vec::<String>::new(), "after {wait} ms");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_touched() {
    let Some(_alone) = alone() else { return };
    let home = Home::new();
    let refuses =
        |more: &[&str], words: &[&str]| home.refuses(2, &[&["gate", "demo"], more].concat(), words);
    refuses(&["--queue", "sbf"], &["sbf", "did you mean `sfb`?"]);
    refuses(&["--queue", "red", "--queue", "red"], &["another queue is called that too"]);
    refuses(&["--congestion", "vegan"], &["--congestion vegan", "it has ", "cubic"]);
    refuses(&["--congestion", "reno", "--congestion", "vegan"], &["--congestion vegan", "it has "]);
    refuses(
        &["--congestion", "reno", "--congestion", "reno"],
        &["--congestion reno", "given twice"],
    );
    refuses(&["--duration", "5"], &["--duration", "unit"]);
    refuses(&["--duration", "1 us"], &["must lie in 100 ms to 1000 s"]);
    refuses(&["--out", "small.toml"], &["small.toml: is a file"]);
}
