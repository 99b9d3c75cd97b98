//! Which queues are tried, and which of them is advised.
use tidegate_report::Figure;

use super::promise::Promise;
use crate::spec::QueueSpec;

/// The queues that are tried if nobody names others: what is there now, the five systems, and what
/// Linux has. Of queues that do equally well, the first is advised, so they stand by their cost.
pub const QUEUES: [&str; 11] =
    ["drop_tail", "sfb", "purge", "care", "fq_codel", "drr", "sfq", "ewfq", "bare", "pie", "cake"];

/// Scores that differ by less are equal: users notice nothing of it.
const EQUAL: f64 = 0.05;
/// Waits that differ by less than this factor are equal.
const AS_SHORT: f64 = 1.3;
/// Waits that are shorter than this many ms are short.
const SHORT_MS: f64 = 5.0;

/// The usual queues, each as its preset `auto` fits it to the link.
pub fn usual() -> Vec<QueueSpec> {
    QUEUES.iter().map(|name| QueueSpec::named(*name)).collect()
}

/// The advised one of `promises`, by its place; `may` says which can be advised. None if none of
/// them tells of users.
///
/// First, who does best by users: by the worst, by all together, and by how long transfers take.
/// Of equals, behind whom packets wait least; of equals again, the first.
pub(super) fn best(promises: &[Promise], may: impl Fn(usize) -> bool) -> Option<usize> {
    let candidates: Vec<usize> = (0..promises.len()).filter(|&i| may(i)).collect();
    let scores: Vec<(usize, f64)> =
        candidates.iter().filter_map(|&i| Some((i, score(&promises[i], promises)?))).collect();
    let most = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let equal: Vec<usize> =
        scores.iter().filter(|(_, score)| *score > most - EQUAL).map(|(i, _)| *i).collect();
    let wait = |i: usize| promises[i].wait_ms.map_or(f64::INFINITY, |f| f.mean().max(SHORT_MS));
    let least = equal.iter().map(|&i| wait(i)).fold(f64::INFINITY, f64::min);
    equal.into_iter().find(|&i| wait(i) <= least * AS_SHORT)
}

/// How well a queue does by users, 0 to 1.
fn score(promise: &Promise, all: &[Promise]) -> Option<f64> {
    let capped = |figure: Option<Figure>| figure.map(|f| f.mean().clamp(0.0, 1.0));
    let fastest = all.iter().filter_map(|p| p.transfer_ms).map(|f| f.mean());
    let fastest = fastest.fold(f64::INFINITY, f64::min);
    let transfers = fastest.is_finite().then(|| {
        // No transfer came to its end behind this queue.
        promise.transfer_ms.map_or(0.0, |f| fastest / f.mean().max(fastest).max(1e-9))
    });
    let parts: Vec<f64> =
        [capped(promise.worst), capped(promise.users), transfers].into_iter().flatten().collect();
    crate::stats::mean(&parts)
}

/// Whether `advised` is worth the trouble beside `present`: users get more, or wait less.
pub(super) fn helps(advised: &Promise, present: &Promise) -> bool {
    let both = [advised.clone(), present.clone()];
    let gain = score(advised, &both).unwrap_or(0.0) - score(present, &both).unwrap_or(0.0);
    let wait = |promise: &Promise| promise.wait_ms.map_or(0.0, |f| f.mean().max(SHORT_MS));
    gain > EQUAL || wait(advised) * AS_SHORT < wait(present)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(worst: f64, users: f64, wait: f64) -> Promise {
        let [worst, users, wait_ms] = [worst, users, wait].map(Figure::exact);
        Promise { worst, users, wait_ms, ..Promise::default() }
    }

    #[test]
    fn users_first_then_the_wait_then_the_order() {
        let all = [
            promise(0.0, 0.1, 100.0),
            promise(0.9, 0.95, 80.0),
            promise(0.92, 0.97, 12.0),
            promise(0.93, 0.97, 10.0),
            promise(0.6, 1.0, 1.0),
        ];
        assert_eq!(best(&all, |_| true), Some(2));
        assert_eq!(best(&all, |i| i < 2), Some(1));
        assert_eq!(best(&all[..1], |_| true), Some(0));
        assert_eq!(best(&[Promise::default()], |_| true), None);
        assert!(helps(&all[2], &all[0]));
        assert!(helps(&all[2], &all[1]), "packets wait less");
        assert!(!helps(&all[2], &all[3]));
    }

    #[test]
    fn a_queue_behind_which_nothing_comes_to_its_end_is_no_good() {
        let with = |ms: Option<f64>| Promise {
            transfer_ms: ms.and_then(Figure::exact),
            ..promise(0.9, 0.9, 10.0)
        };
        assert_eq!(best(&[with(None), with(Some(900.0)), with(Some(100.0))], |_| true), Some(2));
    }
}
