//! What users get: now, by the capture, and behind each queue, by the simulator.
use serde::Serialize;
use tidegate_report::{Document, Figure, Group};

use super::judge::{CongestedSenders, Spot};
use super::rebuild::fair_rates;
use super::senders::{GroupConduct, Senders};
use crate::spec::QueueSpec;
use crate::stats::{figure, mean};

/// What users get behind one queue. Shares are of what max-min fairness would give them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Promise {
    /// The queue, or `now` for what the capture shows.
    pub queue: String,
    /// What the user with least gets of a fair share.
    pub worst: Option<Figure>,
    /// What users get together of their fair shares.
    pub users: Option<Figure>,
    /// What a user gets in the mean, in bit/s.
    pub user_bps: Option<Figure>,
    /// What floods get of the link, 0 to 1.
    pub flood: Option<Figure>,
    /// How long packets wait: 95 in 100 no longer, in ms. Of `now`, what they wait in the mean.
    pub wait_ms: Option<Figure>,
    /// How long a transfer takes that ends: 95 in 100 no longer, in ms.
    pub transfer_ms: Option<Figure>,
    /// What each group got of the link, 0 to 1, by its name, in the order of the senders.
    pub groups: Vec<(String, Option<Figure>)>,
}

/// A user is a sender that a flood could harm.
fn is_user(group: &Senders) -> bool {
    group.goes_on() || group.conduct == GroupConduct::Thin
}

/// What users get now, as far as the capture shows it.
pub(super) fn now(judgement: &CongestedSenders<'_>, senders: &[Senders], capacity: f64) -> Promise {
    let fair = fair_rates(senders, capacity);
    // What of a steady sender's packets came through shows behind the queue only.
    let seen = |group: &Senders| group.goes_on() || judgement.spot == Spot::Behind;
    let users: Vec<(&Senders, f64)> =
        senders.iter().zip(fair).filter(|(g, _)| is_user(g) && seen(g)).collect();
    let got: f64 = users.iter().flat_map(|(g, _)| &g.each).sum();
    let due: f64 = users.iter().map(|(g, fair)| f64::from(g.count) * fair).sum();
    let count: f64 = users.iter().map(|(g, _)| f64::from(g.count)).sum();
    let least = users.iter().filter_map(|(g, fair)| Some(g.each.first()? / fair));
    let worst = least.fold(f64::INFINITY, f64::min);
    let rates = group_rates(judgement, senders, capacity);
    let transfers = senders.iter().filter(|g| g.conduct == GroupConduct::Short);
    let took: Vec<f64> = transfers.flat_map(|g| g.took_ms.iter().copied()).collect();
    let waits: Vec<f64> = judgement
        .flows
        .iter()
        .filter_map(|j| j.flow.conversation.round_trips.wait())
        .map(|wait| wait.as_secs() * 1e3)
        .collect();
    Promise {
        queue: "now".into(),
        worst: Figure::exact(worst),
        users: Figure::exact(got / due),
        user_bps: Figure::exact(got / count),
        flood: flood(senders, &rates).and_then(|rate| Figure::exact(rate / capacity)),
        wait_ms: mean(&waits).and_then(Figure::exact),
        transfer_ms: quantile(took, 0.95).and_then(Figure::exact),
        groups: named(senders, rates.into_iter().map(|r| Figure::exact(r? / capacity))),
    }
}

/// What each group got, in bit/s, where that shows. Before the queue a flood's rate is what it
/// asked for: it got what others left.
fn group_rates(
    judgement: &CongestedSenders<'_>,
    senders: &[Senders],
    capacity: f64,
) -> Vec<Option<f64>> {
    let asked = |group: &Senders| group.demand().unwrap_or(0.0) * f64::from(group.count);
    let got = |group: &Senders| match group.conduct {
        GroupConduct::Short => None,
        _ => Some(group.each.iter().sum::<f64>()),
    };
    let reacting = senders.iter().filter(|g| g.responsive()).filter_map(got).sum::<f64>();
    let all_asked: f64 = senders.iter().map(asked).sum();
    let left = (capacity - reacting).max(0.0).min(all_asked);
    let rate = |group: &Senders| {
        if group.responsive() || judgement.spot == Spot::Behind {
            got(group)
        } else {
            Some(left * asked(group) / all_asked)
        }
    };
    senders.iter().map(rate).collect()
}

fn flood(senders: &[Senders], rates: &[Option<f64>]) -> Option<f64> {
    let floods = senders.iter().zip(rates).filter(|(g, _)| g.conduct == GroupConduct::Flood);
    let all: Vec<f64> = floods.filter_map(|(_, rate)| *rate).collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

fn named(
    senders: &[Senders],
    figures: impl Iterator<Item = Option<Figure>>,
) -> Vec<(String, Option<Figure>)> {
    senders.iter().map(|group| group.name.clone()).zip(figures).collect()
}

fn quantile(mut values: Vec<f64>, q: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(((values.len() as f64 * q) as usize).min(values.len().saturating_sub(1))).copied()
}

/// What users get behind `spec`, of whose simulation `document` tells.
pub(super) fn simulated(
    spec: &QueueSpec,
    document: &Document,
    senders: &[Senders],
    capacity: f64,
) -> Promise {
    let fair = fair_rates(senders, capacity);
    let mut all: Vec<(&Senders, &Group, f64)> = vec![];
    for ((group, result), fair) in senders.iter().zip(&document.groups).zip(fair) {
        all.push((group, result, fair));
    }
    let users: Vec<_> = all.iter().filter(|(g, ..)| is_user(g)).copied().collect();
    let of_kind = |conduct| all.iter().filter(move |(g, ..)| g.conduct == conduct);
    let due: f64 = users.iter().map(|(g, _, fair)| f64::from(g.count) * fair).sum();
    let count: f64 = users.iter().map(|(g, ..)| f64::from(g.count)).sum();
    let got = by_seed(&users);
    let floods: Vec<_> = of_kind(GroupConduct::Flood).copied().collect();
    let transfers =
        of_kind(GroupConduct::Short).filter_map(|(_, result, _)| result.completion_ms.p95);
    Promise {
        queue: spec.label(),
        worst: users.iter().filter_map(worst).min_by(|a, b| a.mean().total_cmp(&b.mean())),
        users: figure(got.iter().map(|rate| rate / due)),
        user_bps: figure(got.iter().map(|rate| rate / count)),
        flood: figure(by_seed(&floods).iter().map(|rate| rate / capacity)),
        wait_ms: document.aggregate.queue_delay_ms.p95,
        transfer_ms: transfers.max_by(|a, b| a.mean().total_cmp(&b.mean())),
        groups: named(senders, all.iter().map(|(_, r, _)| r.throughput_bps?.over(capacity))),
    }
}

/// What groups received together with each seed, in bit/s.
fn by_seed(groups: &[(&Senders, &Group, f64)]) -> Vec<f64> {
    let mut sums: Vec<f64> = vec![];
    for (_, result, _) in groups {
        let Some(fair) = result.fair_share_bps else { continue };
        sums.resize(sums.len().max(result.share_by_seed.len()), 0.0);
        for (sum, share) in sums.iter_mut().zip(&result.share_by_seed) {
            *sum += share * fair.mean();
        }
    }
    sums
}

/// What the worst of a group gets of its fair rate. The simulator's own fair shares know nothing of
/// what transfers ask for.
fn worst(&(group, result, fair): &(&Senders, &Group, f64)) -> Option<Figure> {
    let theirs = result.fair_share_bps?.mean() / f64::from(group.count.max(1));
    let share = match result.worst_share {
        Some(share) if group.responsive() => share,
        // Packets that heed nothing are told by what arrives of them.
        _ => result.per_flow.min?.over(theirs)?,
    };
    share.over(fair / theirs)
}
