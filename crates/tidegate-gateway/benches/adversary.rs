//! Somebody who knows the code but not the secret aims at users' places: how often he meets one,
//! and what users are left with.
//!
//! `make validate-adversary`, without root, a few minutes on one core. Prints the page that is kept
//! as validation/adversary.md; always the same, whatever the machine.
#![allow(clippy::disallowed_macros, reason = "a benchmark prints")]

#[path = "../tests/support/adversary.rs"]
mod adversary;

use adversary::{Aim, Attack, Kept, Mean, Target, hits, kept, mean};
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

Written by `make validate-adversary`.
[The book](../docs/operate/security.md#floods-aimed-at-a-user) says what the adversary may do, and what follows from it.
";

const AIMS: &str = "
## How often he meets a user

A million flows aim at one user, a thousand under each of a thousand secrets of the gate.
Each cell: of a million, how many share the user's queue, bin or class, with the 95 % interval. In SFB and SFRED: its bins on all levels.
All of it happens before the gate gives flows their first new keys.

- *Near*: the user's own addresses and ports, except for a few bits.
- *Guessed*: a thousand of a million flows, which share the user's place under a guessed secret.
- *Key*: the key of the flows' hash has leaked, the queue's dice have not. Fifty flows under each of two hundred secrets.
- *Secret*: both have leaked.

| queue | by chance | random | near | guessed | key | secret |
|---|---|---|---|---|---|---|";

const FLOODS: &str = "
## What users are left with

Eight users with a window like Reno's and 40 ms share 10 Mbit/s, 11 to 21 seconds without a flood.
Then sixteen flows flood the line with twice its rate for twenty seconds.
Each cell: per cent of the line that users get, with the 95 % interval over twelve secrets.

- *Watched*: in the five seconds before, the adversary sends a packet of each of 1250 flows. He floods with those that were lost or waited longest.
- *Secret*: two flows against each user, chosen under the secret that holds when the gate starts.
- *By the gate*: it gives flows new keys before the queue, its default. The next row is the same queue with `rehash` off.

| queue | places change | no flood | random: first second | all | guessed | watched: first second | all | last 5 s | secret: all | last 5 s |
|---|---|---|---|---|---|---|---|---|---|---|";

fn main() {
    println!("{PAGE}{AIMS}");
    for (name, target, _) in targets() {
        let per_million = |aim, (secrets, each)| {
            let found = hits(&target, aim, secrets, each, 1);
            let (n, p) = (found.of as f64, found.hits as f64 / found.of as f64);
            format!("{:.0} ± {:.0}", 1e6 * p, 1.96e6 * (p * (1.0 - p) / n).sqrt())
        };
        let [random, near, guessed] =
            [Aim::Random, Aim::Near, Aim::Guess].map(|aim| per_million(aim, AIMED));
        let (key, all) = (per_million(Aim::HashKey, LEAKED), hits(&target, Aim::Secret, 10, 10, 1));
        let by_chance = 1e6 / target.places;
        let all = 1e6 * all.hits as f64 / all.of as f64;
        println!("| {name} | {by_chance:.0} | {random} | {near} | {guessed} | {key} | {all:.0} |");
    }
    println!("{FLOODS}");
    for (name, target, changes) in targets() {
        if let Some(period) = target.rehash.period() {
            floods(name, &target, &format!("by the gate, every {period}"));
        }
        floods(name, &target.rehashed(Rehash::OFF), changes);
    }
}

/// A row of what users are left with.
fn floods(name: &str, target: &Target, changes: &str) {
    let [none, random, guessed, watched, secret] = [
        Attack::None,
        Attack::Chosen(Aim::Random),
        Attack::Chosen(Aim::Guess),
        Attack::Watched,
        Attack::Chosen(Aim::Secret),
    ]
    .map(|attack| kept(target, attack, FLOODED, 1));
    let [first, all, last]: [fn(&Kept) -> f64; 3] =
        [|kept| kept.first, |kept| kept.whole, |kept| kept.last];
    let cells = [
        (&none, all),
        (&random, first),
        (&random, all),
        (&guessed, all),
        (&watched, first),
        (&watched, all),
        (&watched, last),
        (&secret, all),
        (&secret, last),
    ];
    let cells = cells.map(|(kept, part)| {
        let Mean { mean, error } = mean(kept, part);
        format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * T * error)
    });
    println!("| {name} | {changes} | {} |", cells.join(" | "));
}

/// Every queue that hashes flows to places, and those of them whose hash can change: what to call
/// it, and how often.
fn targets() -> Vec<(&'static str, Target, &'static str)> {
    let auto = |name: &str, places| Target::new(name, "auto", &[], places);
    let sfb = |preset: &str| Target::new("sfb", preset, &[], 23.0 * 23.0);
    let sfq = |perturb| Target::new("sfq", "auto", &[("perturb", perturb)], 1024.0);
    vec![
        ("fq_codel/auto", auto("fq_codel", 1024.0), "never"),
        ("drr/auto", auto("drr", 1024.0), "never"),
        ("wfq/auto", auto("wfq", 1024.0), "never"),
        ("ewfq/auto", auto("ewfq", 1024.0), "never"),
        ("sfq_red/auto", auto("sfq_red", 1024.0), "never"),
        ("sfq/paper", Target::new("sfq", "paper", &[], 1024.0), "never"),
        ("sfq/auto", sfq("10 s"), "every 10 s"),
        ("sfq/auto,perturb=1 s", sfq("1 s"), "every second"),
        ("sfred/paper", Target::new("sfred", "paper", &[], 23.0 * 23.0), "never"),
        ("sfb/paper", sfb("paper"), "never"),
        ("sfb/moving", sfb("moving"), "every 2 s"),
        ("sfb/double", sfb("double"), "every 2 s"),
    ]
}
