//! An attack that is on for a part of the time: how long a queue takes to find and to forget it.
use tidegate::{Seed, Span};
use tidegate_report::{Series, SeriesQuantity};

use crate::layout::SeedPlan;
use crate::scenario::Scenario;

use super::book::Roles;

/// Users have their share again, or use the line again, from this part of it on.
const ENOUGH: f64 = 0.8;
/// For so long they must.
const STEADY: f64 = 1.0;

/// What is fair while the attack is on and while it is off, in bit/s, by group of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AttackFairRates {
    /// With everybody.
    pub during: Vec<f64>,
    /// Without the attackers, who then have 0.
    pub without: Vec<f64>,
}

impl AttackFairRates {
    pub fn of(scenario: &Scenario, roles: &Roles) -> AttackFairRates {
        let during = shares(scenario, roles);
        let mut rest = scenario.clone();
        rest.groups.retain(|group| !roles.attackers.contains(&group.name));
        let mut left = shares(&rest, roles).into_iter();
        let without = scenario.groups.iter().map(|group| {
            let attacks = roles.attackers.contains(&group.name);
            if attacks { 0.0 } else { left.next().unwrap_or_default() }
        });
        AttackFairRates { during, without: without.collect() }
    }
}

/// The fair share of each group, in bit/s, the attackers counted as the roles say.
pub(super) fn shares(scenario: &Scenario, roles: &Roles) -> Vec<f64> {
    let plan = SeedPlan::new(scenario, Seed::new(scenario.run.seed));
    let attacks = |group: usize| roles.attackers.contains(&scenario.groups[group].name);
    let keys = plan.users(|flow| attacks(flow.group as usize));
    let weight = |group: usize| match roles.count_as {
        Some(users) if attacks(group) => users as f64 / keys.max(1) as f64,
        _ => 1.0,
    };
    let mut of_group = vec![0.0; scenario.groups.len()];
    for (flow, share) in plan.flows.iter().zip(plan.shares_by(scenario, weight)) {
        of_group[flow.group as usize] += share;
    }
    of_group
}

/// As how many users the attackers count.
pub(super) fn counted(scenario: &Scenario, roles: &Roles) -> usize {
    if let Some(users) = roles.count_as {
        return users as usize;
    }
    let plan = SeedPlan::new(scenario, Seed::new(scenario.run.seed));
    plan.users(|flow| roles.attackers.contains(&scenario.groups[flow.group as usize].name))
}

/// When the attack is on, from the start of the run: the period that all attackers have in common.
///
/// # Errors
/// It has no such period, or not enough time in it, before or after it.
pub(super) fn period(scenario: &Scenario, roles: &Roles) -> Result<(Span, Span), String> {
    let groups = scenario.groups.iter().filter(|group| roles.attackers.contains(&group.name));
    let mut periods = groups.map(|group| group.active.times());
    let first = periods.next().unwrap_or_default();
    let [(from, to)] = first[..] else {
        return Err("each attacker needs one period in `active`, as in [\"10 s..25 s\"]".into());
    };
    if periods.any(|other| other != first) {
        return Err("all attackers must be active at the same time".into());
    }
    let [from, to] = [from, to].map(|time| Span::from_nanos(time.as_nanos()));
    let second = Span::from_millis(1000);
    let (warmup, end) = (scenario.run.warmup, scenario.run.duration);
    if from < warmup || to < from + second || to.max(from) + second > end {
        return Err(format!(
            "the attackers' period must begin after the warm-up ({warmup}), last a second or more, \
             and end a second or more before the run does ({end})"
        ));
    }
    Ok((from, to))
}

/// What users together receive, and what would be fair.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttackCourse<'c> {
    /// The length of a step in seconds.
    pub step: f64,
    /// Received in each step, in bit/s.
    pub rates: &'c [f64],
}

impl AttackCourse<'_> {
    /// Seconds from `from` until users receive at least [`ENOUGH`] of `fair` for [`STEADY`]: to
    /// the begin of the first such second that ends by `to`. Without one, all the time to `to`.
    fn until(self, (from, to): (f64, f64), fair: f64) -> f64 {
        let place = |at: f64| (at / self.step).round() as usize;
        let (first, last) = (place(from), place(to).min(self.rates.len()));
        let steps = place(STEADY).max(1);
        let whole = self.rates.get(first..last).unwrap_or_default();
        let enough =
            |window: &[f64]| window.iter().sum::<f64>() >= ENOUGH * fair * window.len() as f64;
        match whole.windows(steps).position(enough) {
            Some(at) => at as f64 * self.step,
            None => to - from,
        }
    }
}

/// The times to detect and to recover, in seconds, of a replication in which each group received
/// what `series` says.
pub(super) fn times(
    scenario: &Scenario,
    roles: &Roles,
    fair: &AttackFairRates,
    series: &Series,
) -> Option<(f64, f64)> {
    let (from, to) = period(scenario, roles).ok()?;
    let ours = |name: &str| roles.users.iter().any(|user| user == name);
    let mut rates = vec![0.0; series.time_s.len()];
    let lines = series.lines.iter().filter(|line| line.what == SeriesQuantity::Throughput);
    for line in lines.filter(|line| ours(&line.name)) {
        for (sum, value) in rates.iter_mut().zip(&line.values) {
            *sum += value.unwrap_or_default();
        }
    }
    let of = |shares: &[f64]| -> f64 {
        let groups = scenario.groups.iter().zip(shares);
        groups.filter(|(group, _)| ours(&group.name)).map(|(_, share)| share).sum()
    };
    let course = AttackCourse { step: scenario.run.series.as_secs(), rates: &rates };
    let [from, to, end] = [from, to, scenario.run.duration].map(Span::as_secs);
    Some((course.until((from, to), of(&fair.during)), course.until((to, end), of(&fair.without))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten readings a second.
    fn until(rates: &[f64], from: f64, to: f64, fair: f64) -> f64 {
        let got = AttackCourse { step: 0.1, rates }.until((from, to), fair);
        (got * 1e6).round() / 1e6
    }

    #[test]
    fn times_by_hand() {
        // Two seconds of the whole, then 1.5 s of nothing, then the whole again.
        let mut rates = vec![10.0; 20];
        rates.extend([0.0; 15]);
        rates.extend([10.0; 25]);
        // A second with two readings of nothing still has 80 % of the whole: it begins 1.3 s in.
        assert_eq!(until(&rates, 2.0, 6.0, 10.0), 1.3);
        // All of the whole is asked of nobody who has a share of 12.5: 80 % of it are 10.
        assert_eq!(until(&rates, 2.0, 6.0, 12.5), 1.5);
        assert_eq!(until(&rates, 2.0, 6.0, 12.6), 4.0, "never within it: all of the time");
        assert_eq!(until(&rates, 0.0, 6.0, 10.0), 0.0, "they never lost it");
        assert_eq!(until(&rates, 2.0, 4.0, 10.0), 2.0, "the second must end before the attack");
    }
}
