//! Somebody who knows the code but not the secret aims at users' places: how often he meets one,
//! and what users are left with.
//!
//! `make validate-adversary`, without root, a few minutes on one core. Prints the page that is kept
//! as validation/adversary.md; always the same, whatever the machine.
#![allow(clippy::disallowed_macros, reason = "a benchmark prints")]

#[path = "../tests/support/adversary.rs"]
mod adversary;

use adversary::{Aim, Attack, Kept, Mean, Target, hits, kept, mean};
use tidegate::catalog::AnyConfig;
use tidegate_gateway::path::rehash::Rehash;

/// Secrets under which flows are aimed, and how many under each.
const AIMED: (u64, usize) = (1000, 1000);
/// The same for one to whom the hash's key has leaked, who has to look for flows anew under each.
const LEAKED: (u64, usize) = (200, 50);
/// Secrets under which users are flooded.
const FLOODED: u64 = 12;
/// Student's t at 0.975 with 11 degrees of freedom.
const T: f64 = 2.201;

const PAGE: &str = "\
# The adversary

Written by `make validate-adversary`, with every queue that hashes flows to places, in its preset
`auto` and some others.
[The book](../docs/operate/security.md#floods-aimed-at-a-user) says what the adversary
may do, and what follows from it.

- DualPI2 hashes flows too, but its buckets bound no shares. HHF's counters only find flows above
  half of the line; all others share one place.
- Flows of `cake`, `afq`, `tide` and `sfb/auto` are not aimed here, since this bench cannot ask
  those queues which flows share a place. They are flooded at random and by watching.
- All other queues know flows by their whole keys, or do not know them.
- What floods leave users behind every queue is in [another table](attacks.md).
";

const AIMS: &str = "
## How often he meets a user

A million flows aim at one user, a thousand under each of a thousand secrets of the gate.
Each cell: of a million, how many share the user's queue, bin or class, with the 95 % interval.
Where places stand in sets of eight: its set. In SFB and SFRED: its bins on all levels.
All of it happens before the gate gives flows their first new keys.

- *Near*: the user's own addresses and ports, except for a few bits.
- *Guessed*: at most a thousand of a million flows, which share the user's place under a guessed
  secret.
- *Key*: the key of the flows' hash has leaked, the queue's dice have not. Fifty flows under each
  of two hundred secrets.
- *Secret*: both have leaked.

| queue | by chance | random | near | guessed | key | secret |
|---|---|---|---|---|---|---|";

const FLOODS: &str = "
## What users are left with

Eight users with a window like Reno's and 40 ms share 10 Mbit/s, 11 to 21 seconds without a flood.
Then sixteen flows flood the line with twice its rate for twenty seconds.
Each cell: per cent of the line that users get, with the 95 % interval over twelve secrets. A fair
share is 33 %.

These users are simpler than the simulator's CUBIC: compare cells of a row, and take shares from
[attacks.md](attacks.md).

- *Watched*: in the five seconds before, the adversary sends a packet of each of 1250 flows. He
  floods with those that were lost or waited longest. The worst user's figure is per cent of a
  fair share, over all twenty seconds.
- *Secret*: two flows against each user, chosen under the secret that holds when the gate starts.
- *By the gate*: it gives flows new keys before the queue, its default. The next row is the same
  queue with `rehash` off.
- *`ways=1`*: each flow has one place, where `auto` has sets of eight.
- A dash: the bench cannot tell which flows share a place.

| queue | places change | no flood | random: first second | all \
| guessed | watched: first second \
| all | last 5 s | the worst user | secret: all | last 5 s |
|---|---|---|---|---|---|---|---|---|---|---|---|";

fn main() {
    println!("{PAGE}{AIMS}");
    for (name, target, _) in targets().iter().filter(|(name, ..)| tells_places(name)) {
        let per_million = |aim, (secrets, each)| {
            let found = hits(target, aim, secrets, each, 1);
            let (n, p) = (found.of as f64, found.hits as f64 / found.of as f64);
            // None in n: below 3/n.
            match found.hits {
                0 => format!("below {:.0}", 3e6 / n),
                _ => format!("{:.0} ± {:.0}", 1e6 * p, 1.96e6 * (p * (1.0 - p) / n).sqrt()),
            }
        };
        let [random, near, guessed] =
            [Aim::Random, Aim::Near, Aim::Guess].map(|aim| per_million(aim, AIMED));
        let (key, all) = (per_million(Aim::HashKey, LEAKED), hits(target, Aim::Secret, 10, 10, 1));
        let by_chance = 1e6 / target.places;
        let all = 1e6 * all.hits as f64 / all.of as f64;
        println!("| {name} | {by_chance:.0} | {random} | {near} | {guessed} | {key} | {all:.0} |");
    }
    println!("{FLOODS}");
    for (name, target, changes) in targets() {
        if let Some(period) = target.rehash.period() {
            floods(&name, &target, &format!("by the gate, every {period}"));
        }
        floods(&name, &target.rehashed(Rehash::OFF), changes);
    }
}

/// A row of what users are left with.
fn floods(name: &str, target: &Target, changes: &str) {
    let under = |attack| Some(kept(target, attack, FLOODED, 1));
    let [none, random, watched] =
        [Attack::None, Attack::Chosen(Aim::Random), Attack::Watched].map(under);
    let [guessed, secret] = [Aim::Guess, Aim::Secret]
        .map(|aim| tells_places(name).then(|| under(Attack::Chosen(aim))).flatten());
    let [first, all, last, worst]: [fn(&Kept) -> f64; 4] =
        [|kept| kept.first, |kept| kept.whole, |kept| kept.last, |kept| kept.worst];
    let cells = [
        (&none, all),
        (&random, first),
        (&random, all),
        (&guessed, all),
        (&watched, first),
        (&watched, all),
        (&watched, last),
        (&watched, worst),
        (&secret, all),
        (&secret, last),
    ];
    let cells = cells.map(|(kept, part)| {
        let Some(kept) = kept else { return "–".into() };
        let Mean { mean, error } = mean(kept, part);
        format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * T * error)
    });
    println!("| {name} | {changes} | {} |", cells.join(" | "));
}

/// Whether the bench can ask the queue which flows share a place.
fn tells_places(name: &str) -> bool {
    !["cake/auto", "afq/auto", "tide/auto", "sfb/auto"].contains(&name)
}

/// Every queue that hashes flows to places, and those of them whose hash can change: what to call
/// it, and how often.
fn targets() -> Vec<(String, Target, &'static str)> {
    let row = |name: &str, preset: &str, settings: &[(&str, &str)], changes| {
        let mut target = Target::new(name, preset, settings, 1.0);
        target.places = places(&target.config);
        let settings = settings.iter().map(|(param, value)| format!(",{param}={value}"));
        (format!("{name}/{preset}{}", settings.collect::<String>()), target, changes)
    };
    let single: &[(&str, &str)] = &[("ways", "1")];
    let mut rows: Vec<_> = ["fq_codel", "fq_pie", "cake", "drr", "wfq", "ewfq"]
        .map(|name| row(name, "auto", &[], "never"))
        .into();
    rows.extend(["fq_codel", "drr"].map(|name| row(name, "auto", single, "never")));
    rows.extend([
        row("sfq_red", "auto", &[], "never"),
        row("sfq", "paper", &[], "never"),
        row("sfq", "auto", &[], "every 10 s"),
        row("sfq", "auto", &[("perturb", "1 s")], "every second"),
        row("afq", "auto", &[], "never"),
        row("bc_pqp", "auto", &[], "never"),
        row("tide", "auto", &[], "never"),
        row("sfred", "paper", &[], "never"),
        row("sfred", "auto", &[], "never"),
        row("sfb", "paper", &[], "never"),
        row("sfb", "moving", &[], "every 2 s"),
        row("sfb", "double", &[], "every 2 s"),
        row("sfb", "auto", &[], "every 5 s"),
    ]);
    rows
}

/// One flow in so many shares the place of another: of places in sets, the set; of bins in levels,
/// a bin on each.
fn places(config: &AnyConfig) -> f64 {
    if let Some(table) = config.hash_table() {
        return f64::from(table.buckets / table.ways);
    }
    let number = |param| config.get(param).and_then(|text| text.parse::<f64>().ok());
    number("bins").unwrap_or(1.0).powf(number("levels").unwrap_or(1.0))
}
