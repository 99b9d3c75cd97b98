//! Max-min fair rates over several links.

/// What one flow asks for: the links it crosses, by their place, and the most that it can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowDemand<'p> {
    /// Links crossed.
    pub path: &'p [u32],
    /// Greatest rate it can use; infinite for one that takes all it gets.
    pub demand: f64,
    /// Its part of a fair unit: 1, or 1/n for one of n connections that are one flow to the queue.
    pub weight: f64,
}

/// The max-min fair rates of `claims` over links of `capacity`: no rate can grow without another,
/// no greater one (per weight), falling. Found by filling all flows evenly and stopping each at its
/// demand or at its first full link.
pub fn max_min(capacity: &[f64], claims: &[FlowDemand<'_>]) -> Vec<f64> {
    let mut left = capacity.to_vec();
    // Open flows on each link, and their weights together.
    let mut users = vec![0u32; capacity.len()];
    let mut weight = vec![0.0; capacity.len()];
    for claim in claims {
        for &link in claim.path {
            users[link as usize] += 1;
            weight[link as usize] += claim.weight;
        }
    }
    let mut rates = vec![0.0; claims.len()];
    let mut open: Vec<usize> = (0..claims.len()).collect();
    while !open.is_empty() {
        // How far the open flows can rise: to the level at which the tightest link is full, or the
        // least demand is met.
        let full = |link: usize| left[link].max(0.0) / weight[link];
        let met = |claim: &FlowDemand<'_>| claim.demand / claim.weight;
        let links = (0..left.len()).filter(|&l| users[l] > 0).map(full);
        let level =
            links.chain(open.iter().map(|&i| met(&claims[i]))).fold(f64::INFINITY, f64::min);
        // Rounding must not keep a full link open for ever.
        let most = level * (1.0 + 1e-12);
        let tight: Vec<bool> = (0..left.len()).map(|l| users[l] > 0 && full(l) <= most).collect();
        let done = |i: &usize| {
            met(&claims[*i]) <= most || claims[*i].path.iter().any(|&l| tight[l as usize])
        };
        let (closed, rest): (Vec<usize>, Vec<usize>) = open.into_iter().partition(done);
        if closed.is_empty() {
            break; // nothing limits what is left: infinite demands over no links
        }
        for i in closed {
            rates[i] = level * claims[i].weight;
            for &link in claims[i].path {
                left[link as usize] -= rates[i];
                users[link as usize] -= 1;
                weight[link as usize] -= claims[i].weight;
            }
        }
        open = rest;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, digits: f64) {
        assert!((a - b).abs() <= digits, "{a} is not {b}");
    }

    #[test]
    fn fair_shares() {
        let inf = f64::INFINITY;
        let share = |capacity: &[f64], claims: &[(&[u32], f64)]| {
            let claims: Vec<_> = claims
                .iter()
                .map(|&(path, demand)| FlowDemand { path, demand, weight: 1.0 })
                .collect();
            max_min(capacity, &claims)
        };
        // 10 Mbit/s, 35 that take all and one of .1 Mbit/s: .2829 each (the table of CARE's first
        // experiment).
        let mut claims: Vec<(&[u32], f64)> = vec![(&[0], inf); 35];
        claims.push((&[0], 0.1));
        let rates = share(&[10.0], &claims);
        close(rates[0], 0.282857, 5e-7);
        close(rates[35], 0.1, 1e-12);
        // The classical line of two links: one flow over both, one over each.
        assert_eq!(
            share(&[1.0, 2.0], &[(&[0, 1], inf), (&[0], inf), (&[1], inf)]),
            [0.5, 0.5, 1.5]
        );
        assert_eq!(share(&[10.0], &[(&[0], 2.0), (&[0], 20.0)]), [2.0, 8.0]);
        assert_eq!(
            share(&[10.0], &[(&[0], 2.0), (&[0], 3.0)]),
            [2.0, 3.0],
            "demand below capacity is met"
        );
        let claim = |weight| FlowDemand { path: &[0], demand: inf, weight };
        assert_eq!(
            max_min(&[9.0], &[claim(1.0), claim(1.0), claim(0.5), claim(0.5)]),
            [3.0, 3.0, 1.5, 1.5]
        );
        assert_eq!(share(&[], &[(&[], 3.0)]), [3.0]);
        assert_eq!(share(&[1.0], &[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn fair_shares_are_feasible_and_leave_nothing(
            capacity in prop::collection::vec(1.0f64..100.0, 1..6),
            flows in prop::collection::vec(
                (prop::collection::btree_set(0u32..6, 1..4), 0.1f64..80.0), 1..20),
        ) {
            let links = capacity.len() as u32;
            let paths: Vec<Vec<u32>> = flows.iter().map(|(p, _)| {
                let path: std::collections::BTreeSet<u32> = p.iter().map(|l| l % links).collect();
                path.into_iter().collect()
            }).collect();
            let claims: Vec<FlowDemand> = paths.iter().zip(&flows)
                .map(|(p, f)| FlowDemand { path: p, demand: f.1, weight: 1.0 }).collect();
            let rates = max_min(&capacity, &claims);
            let on = |l: u32| {
                rates.iter().zip(&paths).filter(move |(_, p)| p.contains(&l)).map(|(r, _)| *r)
            };
            let load = |l: u32| on(l).sum::<f64>();
            for l in 0..links {
                prop_assert!(load(l) <= capacity[l as usize] * (1.0 + 1e-9));
            }
            for (i, claim) in claims.iter().enumerate() {
                let met = rates[i] >= claim.demand * (1.0 - 1e-9);
                // Otherwise it is one of the greatest on a link that is full.
                let bound = claim.path.iter().any(|&l| {
                    let greatest = on(l).fold(0.0, f64::max);
                    load(l) >= capacity[l as usize] * (1.0 - 1e-9)
                        && rates[i] >= greatest * (1.0 - 1e-9)
                });
                prop_assert!(met || bound, "{i}: {rates:?}");
            }
        }
    }
}
