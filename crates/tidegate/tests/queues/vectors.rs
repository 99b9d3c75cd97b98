//! Reference vectors: for every queue and preset a short run that a port in another language can
//! repeat, packet by packet. `docs/embed/vectors.md` describes the files in `vectors/`, which
//! `TIDEGATE_BLESS=1` rewrites.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::support::checked::Checked;
use crate::support::workload::{Phase, Workload};
use crate::support::{bless, gauges, link};
use tidegate::catalog::{self, AnyConfig, AnyQueue, Row};
use tidegate::{
    Asks, Backlog, DropReason, Ecn, Gauge, Hosts, Link, MarkReason, NullSink, Packet, Qdisc, Rng,
    Sink, Size, Span, Time,
};

/// Calls of a usual file at most; those that need twice the time have twice as many.
const USUAL_CALLS: usize = 300;
/// Bytes of a file at most.
const MOST_BYTES: usize = 60_000;
/// The seed of the queue's dice.
const SEED: u64 = 1;

/// What a queue does in none of its files although its golden rows have it, each with the reason.
const NOT_SHOWN: &[(&str, &str)] = &[
    // One overflow of a queue makes BLUE's die 1/256.
    ("cake", "dropped_early"),
];

/// Circumstances in which a queue may show what it can do.
#[derive(Clone, Copy)]
struct Scene {
    rate: &'static str,
    limit: &'static str,
    load: f64,
    world: u64,
    who: Who,
}

/// Who sends.
#[derive(Clone, Copy)]
struct Who {
    flows: u32,
    ect: f64,
    /// How long, in usual lengths.
    length: u64,
    /// Parameters that are not the preset's, of queues that have them.
    changed: &'static [(&'static str, &'static str)],
}

impl Who {
    const USUAL: Who = Who { flows: 8, ect: 0.5, length: 1, changed: &[] };
    const ALL: &[Who] = &[
        Who::USUAL,
        Who { flows: 2, ect: 0.9, ..Who::USUAL },
        Who { length: 2, ..Who::USUAL },
        Who { flows: 2, ect: 0.9, length: 2, ..Who::USUAL },
        // Averages that come to the point in so short a time.
        Who { changed: &[("weight", "0.05")], ..Who::USUAL },
        Who { flows: 40, changed: &[("weight", "0.05"), ("probability", "0.5")], ..Who::USUAL },
        Who { flows: 2, ect: 0.9, changed: &[("weight", "0.05")], ..Who::USUAL },
        // A probability at which marks end is passed in so short a time.
        Who {
            flows: 20,
            ect: 0.9,
            length: 2,
            changed: &[("ecn_prob", "1"), ("tupdate", "1 ms"), ("max_burst", "0 ns")],
        },
    ];
}

/// From the usual to the rare: the first that shows the most is taken.
fn scenes() -> impl Iterator<Item = Scene> {
    let rates = ["1 Mbit/s", "10 Mbit/s", "100 kbit/s"];
    let limits = ["50 packets", "100 packets", "20 kB", "10 packets"];
    Who::ALL.iter().flat_map(move |&who| {
        (1..=2).flat_map(move |world| {
            rates.into_iter().flat_map(move |rate| {
                limits.into_iter().flat_map(move |limit| {
                    [3.0, 1.5, 10.0].map(|load| Scene { rate, limit, load, world, who })
                })
            })
        })
    })
}

impl Scene {
    fn link(&self) -> Link {
        link(self.rate, self.limit, "1000 B")
    }

    fn calls(&self) -> usize {
        USUAL_CALLS * self.who.length as usize
    }

    /// An overload, a rest, a lighter load, an overload again.
    fn workload(&self) -> Workload {
        let phase = |load, packets, idle| Phase {
            load,
            packets: packets * self.who.length,
            idle: Span::from_millis(idle),
        };
        let phases =
            vec![phase(self.load, 90, 0), phase(0.7, 15, 2_000), phase(2.0 * self.load, 60, 0)];
        Workload::new(self.who.flows, 1.1, (40, 1500), self.who.ect, phases)
    }
}

/// Passes calls on to the queue and writes down each with what came of it.
struct Recorder {
    queue: Checked<AnyQueue>,
    asks: Asks,
    lines: Vec<String>,
    kinds: BTreeSet<String>,
}

/// What a call told, as fields of its line.
#[derive(Default)]
struct Told {
    dropped: Vec<String>,
    marked: Vec<String>,
    kinds: Vec<String>,
}

impl Sink for Told {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        self.dropped.push(format!("[{},\"{}\"]", pkt.slot, why.name()));
        self.kinds.push(format!("dropped_{}", why.name()));
    }
    fn marked(&mut self, _: Time, pkt: &Packet, why: MarkReason) {
        self.marked.push(format!("[{},\"{}\"]", pkt.slot, why.name()));
        self.kinds.push(format!("marked_{}", why.name()));
    }
}

impl Recorder {
    fn note(&mut self, mut line: String, told: Told) {
        for (name, list) in [("dropped", told.dropped), ("marked", told.marked)] {
            if !list.is_empty() {
                write!(line, ",\"{name}\":[{}]", list.join(",")).unwrap();
            }
        }
        self.kinds.extend(told.kinds);
        self.lines.push(line + "}\n");
    }
}

impl Qdisc for Recorder {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, _: &mut S) {
        let mut line = format!(
            "{{\"at\":{},\"offer\":{},\"flow\":\"{:016x}\",\"len\":{}",
            now.as_nanos(),
            pkt.slot,
            pkt.flow,
            pkt.len
        );
        if pkt.ecn != Ecn::NotEct {
            write!(line, ",\"ecn\":{}", pkt.ecn as u8).unwrap();
        }
        if pkt.class != 0 {
            write!(line, ",\"class\":{}", pkt.class).unwrap();
        }
        if self.asks.hosts {
            let Hosts { source, destination } = pkt.hosts();
            write!(line, ",\"hosts\":[{source},{destination}]").unwrap();
        }
        if self.asks.dscp && pkt.dscp != 0 {
            write!(line, ",\"dscp\":{}", pkt.dscp).unwrap();
        }
        let mut told = Told::default();
        self.queue.enqueue(now, pkt, &mut told);
        self.note(line, told);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        let mut told = Told::default();
        let sent = self.queue.dequeue(now, &mut told);
        let number = sent.map_or("null".into(), |pkt| pkt.slot.to_string());
        self.note(format!("{{\"at\":{},\"sends\":{number}", now.as_nanos()), told);
        sent
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
        self.note(format!("{{\"at\":{},\"advance\":true", now.as_nanos()), Told::default());
    }

    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// A queue, a scene, and what came of it.
struct Run {
    scene: Scene,
    config: AnyConfig,
    changed: Vec<String>,
    built: AnyQueue,
    after: Recorder,
}

fn play(row: &Row, preset: &str, scene: Scene) -> Run {
    let link = scene.link();
    let mut config = catalog::config(row.name, Some(preset), &link).unwrap();
    let changed: Vec<_> = scene.who.changed.iter().filter(|(name, _)| row.has(name)).collect();
    changed.iter().for_each(|(name, value)| config.set(name, value).unwrap());
    let changed = changed.iter().map(|(name, _)| quoted(name)).collect();
    let built = config.build(link, Rng::from_seed(SEED)).unwrap();
    let queue = Checked::of(&config, built.clone(), link);
    let asks = config.asks();
    let mut after = Recorder { queue, asks, lines: vec![], kinds: BTreeSet::new() };
    let mut bounded = Bounded { inner: &mut after, left: scene.calls() };
    let mut world = Rng::from_seed(scene.world + 1);
    scene.workload().run(&mut bounded, &link, &mut world, &mut NullSink);
    Run { scene, config, changed, built, after }
}

/// Ends a run after so many calls: what comes later does not happen.
struct Bounded<'q> {
    inner: &'q mut Recorder,
    left: usize,
}

impl Bounded<'_> {
    /// Whether one more call may be made, which is counted.
    fn may(&mut self) -> bool {
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}

impl Qdisc for Bounded<'_> {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        if self.may() {
            // Some packets belong to a class, which most queues ignore.
            let class = if pkt.slot % 7 == 6 { 1 } else { 0 };
            self.inner.enqueue(now, pkt.with_class(class), out);
        }
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        if self.may() { self.inner.dequeue(now, out) } else { None }
    }
    fn advance(&mut self, now: Time) {
        if self.may() {
            self.inner.advance(now);
        }
    }
    fn wake_at(&self) -> Option<Time> {
        self.inner.wake_at().filter(|_| self.left > 0)
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

/// What the golden rows of the queue `name` have: drops and marks by reason.
fn possible(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let is_kind = |name: &str| name.starts_with("dropped_") || name.starts_with("marked_");
    rows.flat_map(|row| head.clone().into_iter().zip(row).collect::<Vec<_>>())
        .filter(|(name, count)| is_kind(name) && *count != "0")
        .map(|(name, _)| name.to_string())
        .collect()
}

/// The run of a preset that shows the most. It is searched for when files are written, and if none
/// gives the calls of the file that is `kept`.
fn best(row: &Row, preset: &str, possible: &BTreeSet<String>, kept: Option<&str>) -> Run {
    let calls = kept.and_then(|text| text.split_once('\n')).map(|(_head, calls)| calls);
    let mut best: Option<Run> = None;
    for scene in scenes() {
        let run = play(row, preset, scene);
        if calls.is_some_and(|calls| calls.starts_with(&run.after.lines.concat())) {
            return run;
        }
        if best.as_ref().is_none_or(|best| run.after.kinds.len() > best.after.kinds.len()) {
            best = Some(run);
        }
        if best.as_ref().is_some_and(|best| best.after.kinds.is_superset(possible)) {
            break;
        }
    }
    best.unwrap()
}

/// The streams of dice that `queue` holds, as they lie.
fn streams(queue: &AnyQueue) -> Vec<String> {
    let text = format!("{queue:?}");
    let ends = text.match_indices("Rng(Xoshiro256PlusPlus { s: [").map(|(at, _)| &text[at..]);
    ends.map(|rest| rest[..=rest.find(')').unwrap()].to_string()).collect()
}

/// How many words of `dice` were drawn until they lie as `state`; `None` if they never do.
fn drawn_until(dice: &Rng, state: &str) -> Option<usize> {
    let mut dice = dice.clone();
    (0..5_000).find(|_| {
        let is_there = format!("{dice:?}") == state;
        dice.bits();
        is_there
    })
}

fn words(mut dice: Rng, count: usize) -> Vec<String> {
    (0..count).map(|_| format!("\"{:016x}\"", dice.bits())).collect()
}

/// What tells which words were drawn: the queue as text when it was built, and its dice at the end.
struct Trail {
    built: String,
    dice: Vec<String>,
}

impl Trail {
    /// How many words of `dice` the queue has drawn. We draw until they lie as it holds them now,
    /// or until the last that it kept for a key when it was built.
    fn drawn(&self, dice: &Rng) -> usize {
        let mut early = dice.clone();
        let early: Vec<String> = (0..16).map(|_| early.bits().to_string()).collect();
        let kept = early.iter().rposition(|word| self.built.contains(word)).map_or(0, |at| at + 1);
        self.dice.iter().filter_map(|state| drawn_until(dice, state)).fold(kept, usize::max)
    }
}

/// The words that the queue has drawn: of its dice, then of those that it made of one of them when
/// it was built.
fn dice(run: &Run) -> Vec<Vec<String>> {
    let trail = Trail { built: format!("{:?}", run.built), dice: streams(run.after.queue.queue()) };
    let mut root = Rng::from_seed(SEED);
    let count = trail.drawn(&root);
    let mut all = vec![words(root.clone(), count)];
    for _ in 0..count.min(8) {
        let made = Rng::from_seed(root.bits());
        let count = trail.drawn(&made);
        all.extend((count > 0).then(|| words(made, count)));
    }
    assert!(trail.dice.len() <= all.len(), "{}: dice of unknown origin", run.config.name());
    all
}

/// Names and texts as a JSON object.
fn object(fields: impl IntoIterator<Item = (String, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

fn file(run: &Run, preset: &str) -> String {
    let link = run.scene.link();
    let limit = match link.limit {
        Size::Packets(most) => ("limit_packets", most),
        Size::Bytes(most) => ("limit_bytes", most),
    };
    let numbers = [("rate", link.rate.as_bps()), limit, ("mean_packet", link.mean_packet.get())];
    let numbers = numbers.map(|(name, value)| (name.into(), value.to_string()));
    let params = run.config.values().into_iter().map(|(p, value)| (p.name.into(), quoted(value)));
    let dice = dice(run).into_iter().map(|words| format!("[{}]", words.join(",")));
    let head = [
        ("format", "1".into()),
        ("queue", quoted(run.config.name())),
        ("preset", quoted(preset)),
        ("changed", format!("[{}]", run.changed.join(","))),
        ("params", object(params)),
        ("link", object(numbers)),
        ("seed", SEED.to_string()),
        ("dice", format!("[{}]", dice.collect::<Vec<_>>().join(","))),
    ];
    let mut text = object(head.map(|(name, value)| (name.into(), value))) + "\n";
    text.extend(run.after.lines.iter().map(String::as_str));
    let backlog = run.after.queue.backlog();
    let gauges = gauges(&run.after.queue);
    let gauges =
        gauges.iter().map(|Gauge { name, value, .. }| ((*name).into(), format!("{value:?}")));
    let waits = [("packets", backlog.packets as u64), ("bytes", backlog.bytes)];
    let waits = object(waits.map(|(name, value)| (name.into(), value.to_string())));
    text + &object([("waits".into(), waits), ("gauges".into(), object(gauges))]) + "\n"
}

#[test]
fn every_queue_has_vectors_that_show_what_it_does() {
    let mut missing = vec![];
    for row in catalog::QUEUES {
        let possible = possible(row.name);
        let mut shown = BTreeSet::new();
        for (preset, _) in (row.presets)() {
            let path = format!("vectors/{}-{preset}.jsonl", row.name);
            let kept = if bless::blessing() { None } else { std::fs::read_to_string(&path).ok() };
            let run = best(row, preset, &possible, kept.as_deref());
            let text = file(&run, preset);
            assert!(text.len() <= MOST_BYTES, "{path}: {} bytes", text.len());
            assert!(text.contains("\"dropped\""), "{path}: nothing is dropped");
            bless::assert_file(&path, &text);
            shown.extend(run.after.kinds);
        }
        let excused = |kind: &&String| !NOT_SHOWN.contains(&(row.name, kind.as_str()));
        let not: Vec<_> = possible.difference(&shown).filter(excused).cloned().collect();
        if !not.is_empty() {
            missing.push((row.name, not));
        }
    }
    assert!(missing.is_empty(), "vectors do not show {missing:?}");
}

/// No file is left of a queue or preset that is gone.
#[test]
fn there_are_no_other_files() {
    let names = |row: &'static Row| {
        (row.presets)().into_iter().map(|(preset, _)| format!("{}-{preset}.jsonl", row.name))
    };
    let known: BTreeSet<String> = catalog::QUEUES.iter().flat_map(names).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    // A new queue's files may just be written by the test above.
    let gone = files.filter(|name| name.ends_with(".jsonl") && !known.contains(name));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<String>::new());
}

/// A checker that knows only the page and the manual pages agrees, and sees a fate that is wrong.
#[test]
fn a_checker_in_another_language_agrees() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let check = |files: &[&Path]| {
        let script = vectors.join("check.py");
        let output = Command::new("python3").arg("-B").arg(script).args(files).output().ok()?;
        Some((output.status.success(), String::from_utf8(output.stdout).unwrap()))
    };
    let Some((agrees, said)) = check(&[]) else {
        // With nobody to hear it, it need not be said.
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no python3");
        return;
    };
    assert!(agrees && said.ends_with(" files agree\n"), "{said}");
    let text = std::fs::read_to_string(vectors.join("red-paper.jsonl")).unwrap();
    let wrong = std::env::temp_dir().join(format!("tidegate-{}-red.jsonl", std::process::id()));
    std::fs::write(&wrong, text.replacen("\"early\"", "\"forced\"", 1)).unwrap();
    let found = check(&[&wrong]);
    std::fs::remove_file(&wrong).unwrap();
    assert!(found.is_some_and(|(agrees, said)| !agrees && said.contains("early")));
}
