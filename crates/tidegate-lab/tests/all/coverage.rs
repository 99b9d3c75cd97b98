//! Whether the printed intervals hold what they say: a 95 % interval must hold the truth in 93 to
//! 97 of 100 cases.
#![allow(
    clippy::disallowed_macros,
    reason = "a failing test shows every share, not the first alone"
)]

use crate::jobs;
use crate::jobs::documents;
use tidegate::Rng;
use tidegate_lab::{Job, stats};
use tidegate_report::{Document, Figure, interval};

/// Groups of synthetic data.
const GROUPS: usize = 10_000;

/// A normal value, from twelve uniform ones: its tails matter to no interval of 95 %.
fn normal(dice: &mut Rng) -> f64 {
    (0..12).map(|_| dice.uniform()).sum::<f64>() - 6.0
}

fn holds(figure: Figure, truth: f64) -> bool {
    (figure.mean() - truth).abs() <= figure.ci95().expect("an interval")
}

/// The part of `GROUPS` trials that came out well.
fn share(mut trial: impl FnMut() -> bool) -> f64 {
    (0..GROUPS).filter(|_| trial()).count() as f64 / GROUPS as f64
}

#[track_caller]
fn assert_covers(what: &str, share: f64) {
    println!("{what}: {:.1} %", share * 100.0);
    assert!((0.93..=0.97).contains(&share), "{what}: {:.2} %", share * 100.0);
}

#[test]
fn means_of_synthetic_data() {
    let mut dice = Rng::from_seed(1);
    for n in [2, 3, 5, 10, 20] {
        let of = |dice: &mut Rng| (0..n).map(|_| 7.0 + normal(dice)).collect::<Vec<_>>();
        assert_covers(
            &format!("mean of {n}"),
            share(|| holds(stats::figure(of(&mut dice)).unwrap(), 7.0)),
        );
    }
}

#[test]
fn differences_of_synthetic_data() {
    let mut dice = Rng::from_seed(2);
    for n in [5, 10, 20] {
        for common in [0.0, 0.3, 0.6, 0.9] {
            let (own, common): (f64, f64) = ((1.0f64 - common).sqrt(), f64::sqrt(common));
            let trial = || {
                let pair = |_| {
                    let (x, a, b) = (normal(&mut dice), normal(&mut dice), normal(&mut dice));
                    (common * x + own * a, common * x + own * b + 1.0)
                };
                let (a, b): (Vec<f64>, Vec<f64>) = (0..n).map(pair).unzip();
                holds(interval::difference(&a, &b, true).unwrap(), -1.0)
            };
            assert_covers(
                &format!("difference of {n}, correlation {:.1}", common * common),
                share(trial),
            );
        }
    }
    // Unequal spread and unequal numbers, which Welch's degrees of freedom are for.
    let trial = || {
        let a: Vec<f64> = (0..5).map(|_| 4.0 * normal(&mut dice)).collect();
        let b: Vec<f64> = (0..15).map(|_| normal(&mut dice)).collect();
        holds(interval::difference(&a, &b, false).unwrap(), 0.0)
    };
    assert_covers("difference of 5 and 15, spread 4 and 1", share(trial));
}

/// A Poisson number of mean `mean`, by multiplying uniform ones.
fn poisson(dice: &mut Rng, mean: f64) -> f64 {
    let (end, mut product, mut count) = ((-mean).exp(), dice.uniform(), 0.0);
    while product > end {
        product *= dice.uniform();
        count += 1.0;
    }
    count
}

/// What is said of rare losses, an interval, a bound or a bare count, is wrong in no more than 7 of
/// 100 cases. How often: where hardly any are seen no interval is printed, and 3/N bounds them in
/// more than 95.
#[test]
fn rare_events_of_synthetic_data() {
    const PACKETS: f64 = 10_000.0;
    let mut dice = Rng::from_seed(3);
    for mean in [0.02, 0.1, 0.3, 0.6, 1.0, 3.0, 10.0, 30.0] {
        for burst in [1.0, 8.0] {
            let (mut printed, mut bounds) = (0, 0);
            let well = share(|| {
                let lost: Vec<f64> =
                    (0..5).map(|_| burst * poisson(&mut dice, mean / burst) / PACKETS).collect();
                let figure = stats::rare(stats::figure(lost).unwrap());
                printed += usize::from(figure.ci95().is_some());
                bounds += usize::from(figure.mean() == 0.0);
                match figure.ci95() {
                    Some(_) => holds(figure, mean / PACKETS),
                    None => {
                        figure.mean() > 0.0 || burst > 1.0 || mean / PACKETS < 3.0 / (5.0 * PACKETS)
                    }
                }
            });
            println!(
                "{mean} lost of {PACKETS}, {burst} at once: {:.1} % well, {printed} intervals, \
                 {bounds} bounds",
                well * 100.0
            );
            assert!(well >= 0.93, "{mean} lost, {burst} at once: {well}");
        }
    }
}

/// Replications of the real scenario: 150 groups of five.
const REPLICATIONS: usize = 750;
const SEEDS: usize = 5;

/// Four users of TCP and one that heeds nothing on two megabits a second.
const REAL: &str = r#"
[run]
duration = "12 s"
warmup = "4 s"
seeds = 1
[network]
kind = "dumbbell"
rate = "2 Mbit/s"
delay = "10 ms"
limit = "40 packets"
mean_packet = "1000 B"
[[group]]
name = "users"
count = 4
source = "newreno"
access_delay = ["1 ms", "5 ms", "10 ms", "20 ms"]
[[group]]
name = "flood"
source = "cbr"
rate = "800 kbit/s"
jitter = 0.5
"#;

fn replications(queue: &str) -> Vec<Document> {
    let scenario = jobs::scenario(REAL);
    let one = |seed: usize| {
        let mut scenario = scenario.clone();
        scenario.run.seed = 1 + seed as u64;
        documents(&Job { threads: Some(1), ..jobs::job(scenario, &[queue]) }).remove(0)
    };
    // Two halves side by side: a pool within a pool would take the stack of both.
    let half = REPLICATIONS / 2;
    std::thread::scope(|scope| {
        let second = scope.spawn(|| (half..REPLICATIONS).map(one).collect::<Vec<_>>());
        let mut all: Vec<Document> = (0..half).map(one).collect();
        all.extend(second.join().expect("the replications end"));
        all
    })
}

/// How a document makes a figure of its seeds' values.
type Make = fn(&[f64]) -> Option<Figure>;
type Pick = fn(&Document) -> Option<Figure>;

fn plain(values: &[f64]) -> Option<Figure> {
    stats::figure(values.iter().copied())
}

fn rare(values: &[f64]) -> Option<Figure> {
    plain(values).map(stats::rare)
}

fn skewed(values: &[f64]) -> Option<Figure> {
    stats::skewed(values.iter().copied().map(Some))
}

fn worst(values: &[f64]) -> Option<Figure> {
    skewed(values).map(stats::rare)
}

fn part(values: &[f64]) -> Option<Figure> {
    plain(values).map(stats::part)
}

fn jain(values: &[f64]) -> Option<Figure> {
    skewed(values).map(stats::part)
}

/// The figures, and how they are made.
const FIGURES: [(&str, Make, Pick); 16] = [
    ("throughput", plain, |d| d.groups[0].throughput_bps),
    ("goodput", plain, |d| d.groups[0].goodput_bps),
    ("flood's throughput", plain, |d| d.groups[1].throughput_bps),
    ("loss", rare, |d| d.groups[0].loss_ratio),
    ("flood's loss", rare, |d| d.groups[1].loss_ratio),
    ("queue", skewed, |d| d.aggregate.queue_packets),
    ("delay mean", skewed, |d| d.aggregate.queue_delay_ms.mean),
    ("delay p95", skewed, |d| d.aggregate.queue_delay_ms.p95),
    ("delay p99", skewed, |d| d.aggregate.queue_delay_ms.p99),
    ("worst user", worst, |d| d.groups[0].worst_share),
    ("Jain", jain, |d| d.aggregate.jain),
    ("utilization", part, |d| d.aggregate.utilization),
    ("delay p50", skewed, |d| d.aggregate.queue_delay_ms.p50),
    ("RTT p50", skewed, |d| d.groups[0].rtt_ms.p50),
    ("one way p50", skewed, |d| d.groups[0].one_way_ms.p50),
    ("one way p95", skewed, |d| d.groups[0].one_way_ms.p95),
];

/// How many intervals were printed, and how many of them held the truth.
#[derive(Clone, Copy, Default)]
struct Score {
    printed: usize,
    held: usize,
}

impl Score {
    /// Counts the interval that `make` prints of `group`, if it prints one.
    fn count(&mut self, figure: Option<Figure>, truth: f64) {
        let Some(figure) = figure.filter(|f| f.ci95().is_some()) else { return };
        self.printed += 1;
        self.held += usize::from(holds(figure, truth));
    }

    fn share(self) -> f64 {
        self.held as f64 / self.printed.max(1) as f64
    }
}

/// The bounds of what a 95 % interval may hold, over all queues.
const LEAST: f64 = 0.93;
const MOST: f64 = 0.97;

/// What comes of 10,000 groups of five drawn from the values of all replications, which tells the
/// coverage to a fifth of a per cent. The truth is the mean of all.
fn drawn(values: &[f64], make: Make, dice: &mut Rng) -> Score {
    let truth = stats::mean(values).unwrap();
    let mut score = Score::default();
    for _ in 0..GROUPS {
        let group = [(); SEEDS].map(|()| values[(dice.uniform() * values.len() as f64) as usize]);
        score.count(make(&group), truth);
    }
    score
}

/// The values of one figure in all replications.
fn values(all: &[Document], pick: Pick) -> Vec<f64> {
    all.iter().filter_map(|d| pick(d).map(|f| f.mean())).collect()
}

const BEHIND: [&str; 5] = ["red/auto", "fq_codel", "drop_tail", "sfb/auto", "codel"];

/// Each of the 150 groups of five by itself, and groups drawn from the same replications. Then the
/// differences of two queues, red and fq_codel.
#[test]
fn figures_and_differences_of_a_real_scenario() {
    let mut dice = Rng::from_seed(4);
    let queues = BEHIND.map(|queue| (queue, replications(queue)));
    assert_differences([&queues[0].1, &queues[1].1], &mut Rng::from_seed(5));
    for (what, make, pick) in FIGURES {
        let (mut apart, mut every) = (Score::default(), Score::default());
        for (queue, all) in &queues {
            let values = values(all, pick);
            let truth = stats::mean(&values).unwrap();
            values.chunks_exact(SEEDS).for_each(|group| apart.count(make(group), truth));
            let own = drawn(&values, make, &mut dice);
            every.printed += own.printed;
            every.held += own.held;
            println!("{queue} {what}: {:.1} % of {} intervals", own.share() * 100.0, own.printed);
        }
        println!(
            "{what}: {:.1} % drawn, {:.1} % of {} apart",
            every.share() * 100.0,
            apart.share() * 100.0,
            apart.printed
        );
        if every.printed < GROUPS {
            continue; // so near to its end that hardly an interval is printed
        }
        let share = every.share();
        assert!((LEAST..=MOST).contains(&share), "{what}: {:.2} % hold", share * 100.0);
        // Three deviations of so few groups, beside the bounds.
        let chance = 3.0 * (0.05 * 0.95 / apart.printed as f64).sqrt();
        let share = apart.share();
        assert!(
            (LEAST - chance..=MOST + chance).contains(&share),
            "{what}: {:.2} % hold",
            share * 100.0
        );
    }
}

/// What `diff` says of two queues on the same seeds: their difference, paired where that helps.
fn assert_differences([one, other]: [&[Document]; 2], dice: &mut Rng) {
    let [one, other] = [one, other].map(|all| values(all, |d| d.groups[0].throughput_bps));
    let truth = stats::mean(&one).unwrap() - stats::mean(&other).unwrap();
    let mut drawn = || (dice.uniform() * one.len() as f64) as usize;
    for paired in [true, false] {
        let trial = || {
            let seeds = [(); SEEDS].map(|()| drawn());
            let others = seeds.map(|seed| other[if paired { seed } else { drawn() }]);
            let ours = seeds.map(|seed| one[seed]);
            holds(interval::difference(&ours, &others, paired).unwrap(), truth)
        };
        assert_covers(&format!("difference of queues, paired: {paired}"), share(trial));
    }
}

/// Where runs fall in two kinds, one of them seldom, five of them miss it. The report and
/// LIMITATIONS.md say so, by these figures.
#[test]
fn few_seeds_miss_a_seldom_kind_of_run() {
    let mut dice = Rng::from_seed(4);
    let median: (Make, Pick) = (skewed, |d| d.aggregate.queue_delay_ms.p50);
    let loss: (Make, Pick) = (rare, |d| d.groups[0].loss_ratio);
    for (queue, (make, pick), told) in
        [("tide", median, 0.31), ("pie", median, 0.62), ("drr", loss, 0.84)]
    {
        let share = drawn(&values(&replications(queue), pick), make, &mut dice).share();
        assert!((share - told).abs() < 0.02, "{queue}: {:.1} % hold", share * 100.0);
    }
}
