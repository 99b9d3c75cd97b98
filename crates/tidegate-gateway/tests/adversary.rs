//! Somebody who knows the code but not the secret aims at a user's place in a queue, and does no
//! better than by chance. `make validate-adversary` has the figures.
#[path = "support/adversary.rs"]
mod adversary;

use adversary::{Aim, Attack, Hits, Kept, Target, hits, kept, mean};
use tidegate_gateway::path::rehash::Rehash;

/// Standard deviations beyond which chance is once in a million.
const DEVIATIONS: f64 = 4.9;
/// Standard errors of a 99 % interval: Student's t at 0.995 with 22 degrees of freedom.
const INTERVAL: f64 = 2.819;

/// Places of their own and not in sets: there whose place is known can be harmed.
const SINGLE: [(&str, &str); 1] = [("ways", "1")];

/// Every queue that hashes flows to places, with how many there are, or how many sets of eight.
fn targets() -> Vec<Target> {
    let mut all: Vec<Target> = ["fq_codel", "fq_pie", "drr", "wfq", "ewfq"]
        .map(|name| Target::new(name, "auto", &[], 1024.0 / 8.0))
        .into();
    all.push(Target::new("sfq", "auto", &[("bins", "1024")], 1024.0));
    all.push(Target::new("sfq_red", "paper", &[], 46.0));
    all.extend(["sfb", "sfred"].map(|name| Target::new(name, "paper", &[], 23.0 * 23.0)));
    all
}

#[test]
fn whoever_does_not_know_the_secret_meets_a_user_by_chance() {
    for target in targets() {
        for aim in [Aim::Random, Aim::Near, Aim::Guess] {
            let found = hits(&target, aim, 100, 400, 1);
            assert!(found.of >= 30_000, "{}, {aim:?}: {found:?}", target.config.name());
            let off = found.deviations(target.places);
            assert!(
                off.abs() < DEVIATIONS,
                "{}, {aim:?}: {found:?}, {off} deviations",
                target.config.name()
            );
        }
    }
}

/// Nor does one to whom the key of the flows' hash has leaked, or who has found flows out before a
/// reload, which keeps that key and draws other dice.
#[test]
fn other_dice_deal_flows_anew() {
    for target in targets() {
        let found = hits(&target, Aim::HashKey, 60, 40, 1);
        let off = found.deviations(target.places);
        assert!(
            found.of >= 2_000 && off.abs() < DEVIATIONS,
            "{}: {found:?}, {off}",
            target.config.name()
        );
    }
}

/// So that the test above can fail: with the secret every flow that was chosen meets the user, and
/// the same check says so.
#[test]
fn whoever_knows_the_secret_meets_whom_he_wants() {
    for target in targets() {
        let found = hits(&target, Aim::Secret, 2, 5, 1);
        assert_eq!((found.hits, found.of), (10, 10), "{}", target.config.name());
        assert!(
            found.deviations(target.places) > 2.0 * DEVIATIONS,
            "{}: {found:?}",
            target.config.name()
        );
    }
    let none = Hits { hits: 0, of: 100_000 };
    assert!(none.deviations(1024.0) < -DEVIATIONS, "nor may it be too few");
}

/// What users keep while sixteen flows flood the line twice over. Flows that were chosen under a
/// wrong secret do no more harm than any. Those chosen under the right one leave next to nothing.
#[test]
fn flows_chosen_without_the_secret_harm_users_no_more_than_others() {
    for (target, least) in [
        (Target::new("fq_codel", "auto", &SINGLE, 1024.0), 0.2),
        (Target::new("drr", "auto", &SINGLE, 1024.0), 0.2),
        (
            Target::new(
                "sfb",
                "double",
                &[("bins", "11"), ("penalty_rate", "35555 bit/s")],
                11.0 * 11.0,
            ),
            0.05,
        ),
    ] {
        let under = |attack| mean(&kept(&target, attack, 12, 2), |kept| kept.whole);
        let [alone, random, guess] =
            [Attack::None, Attack::Chosen(Aim::Random), Attack::Chosen(Aim::Guess)].map(under);
        let name = target.config.name();
        assert!(
            alone.mean > 0.9 && random.mean > least && random.mean < 0.9,
            "{name}: {alone:?} {random:?}"
        );
        let error = random.error.hypot(guess.error);
        assert!(
            (random.mean - guess.mean).abs() < DEVIATIONS * error.max(0.005),
            "{name}: {random:?} {guess:?}"
        );
        if name != "sfb" {
            let fixed = target.rehashed(Rehash::OFF);
            let secret = mean(&kept(&fixed, Attack::Chosen(Aim::Secret), 12, 2), |kept| kept.whole);
            assert!(secret.mean < 0.3 * random.mean, "{name}: {random:?} {secret:?}");
        }
    }
}

/// What users keep under a flood of flows that were chosen by watching. Where the gate gives flows
/// new keys, as it usually does, they keep what they keep under any flood. That holds in the
/// flood's first second and in all of it. Without new keys they keep much less, except behind
/// SFQ-RED, which forgets with the keys who floods.
#[test]
fn who_watches_his_own_packets_harms_users_no_more_than_others() {
    let parts: [fn(&Kept) -> f64; 2] = [|kept| kept.first, |kept| kept.whole];
    let single =
        ["fq_codel", "drr", "wfq", "ewfq"].map(|name| Target::new(name, "auto", &SINGLE, 1024.0));
    let others =
        [Target::new("sfq_red", "auto", &[], 1024.0), Target::new("sfq", "paper", &[], 1024.0)];
    for target in single.into_iter().chain(others) {
        let name = target.config.name();
        assert_ne!(target.rehash, Rehash::OFF, "{name}");
        let [random, watched] = [Attack::Chosen(Aim::Random), Attack::Watched]
            .map(|attack| kept(&target, attack, 12, 3));
        for (part, limit) in parts.into_iter().zip([0.03, 0.01]) {
            let (random, watched) = (mean(&random, part), mean(&watched, part));
            let error = random.error.hypot(watched.error);
            assert!(error < limit, "{name}: {random:?} {watched:?}");
            assert!(
                (random.mean - watched.mean).abs() < INTERVAL * error,
                "{name}: {random:?} {watched:?}"
            );
        }
        let fixed = kept(&target.clone().rehashed(Rehash::OFF), Attack::Watched, 12, 3);
        let [fixed, random] = [&fixed, &random].map(|all| mean(all, parts[1]));
        let harmed = fixed.mean + INTERVAL * fixed.error.hypot(random.error) < random.mean;
        // SFQ-RED forgets with the keys who floods, so that new keys win nothing
        // (validation/adversary.md).
        assert_eq!(harmed, name != "sfq_red", "{name}: {fixed:?} {random:?}");
    }
}

/// With places in sets he gains nothing by it, even where flows keep their keys for good: he would
/// have to fill all places of a set.
#[test]
fn who_watches_sets_of_places_gains_nothing() {
    for name in ["fq_codel", "drr"] {
        let target = Target::new(name, "auto", &[], 1024.0 / 8.0).rehashed(Rehash::OFF);
        let [random, watched] = [Attack::Chosen(Aim::Random), Attack::Watched]
            .map(|attack| mean(&kept(&target, attack, 12, 3), |kept| kept.whole));
        assert!(watched.mean > 0.95 * random.mean, "{name}: {random:?} {watched:?}");
    }
}
