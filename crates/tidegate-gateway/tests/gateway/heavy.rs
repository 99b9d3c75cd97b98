//! The flows that send most, in a table of fixed size, beside a list of all flows without any
//! bound.
use std::collections::BTreeMap;

use proptest::prelude::*;
use tidegate::Rng;
use tidegate_gateway::watch::heavy::{Heavy, MOST};
use tidegate_packet::Ends;

fn ends(hash: u64) -> Ends {
    Ends::simulated(hash as u32, (hash >> 32) as u32, 1, 2)
}

/// The twin: a counter for each flow.
#[derive(Default)]
struct Exact(BTreeMap<u64, u64>);

/// The table and its twin, told the same.
#[derive(Default)]
struct Both {
    heavy: Heavy,
    exact: Exact,
}

impl Both {
    fn arrived(&mut self, hash: u64, len: u32) {
        self.heavy.arrived(hash, len, 0, &ends(hash));
        *self.exact.0.entry(hash).or_default() += u64::from(len);
    }

    /// What the table promises.
    fn hold(&self) {
        let (heavy, exact) = (&self.heavy, &self.exact.0);
        let all: u64 = exact.values().sum();
        assert_eq!(heavy.all(), all);
        assert!(heavy.unseen() <= all / (MOST as u64 / 2), "{} of {all}", heavy.unseen());
        let told: BTreeMap<u64, u64> =
            heavy.flows().iter().map(|flow| (flow.hash, flow.bytes)).collect();
        assert!(told.len() <= MOST && told.len() == heavy.flows().len(), "each flow once");
        for (hash, &came) in exact {
            let told = told.get(hash).copied().unwrap_or(0);
            assert!(
                told <= came && came <= told + heavy.unseen(),
                "{told} of {came}, unseen {}",
                heavy.unseen()
            );
        }
        assert!(told.keys().all(|hash| exact.contains_key(hash)));
        assert!(
            heavy.flows().iter().all(|flow| flow.ends == ends(flow.hash)),
            "a flow has another's name"
        );
    }
}

#[test]
fn few_flows_are_told_exactly() {
    let (mut both, mut dice) = (Both::default(), Rng::from_seed(1));
    for _ in 0..50_000 {
        // all of them begin at the same place of the table
        let flow = dice.below(MOST as u64) << 32 | 7;
        both.arrived(flow, 60 + dice.below(1455) as u32);
    }
    assert_eq!((both.heavy.unseen(), both.heavy.flows().len()), (0, MOST));
    both.hold();
}

/// Ten flows that send a fiftieth each, among senders of a single frame each.
#[test]
fn who_sends_a_fiftieth_is_told_however_many_senders_are_forged() {
    let (mut both, mut dice) = (Both::default(), Rng::from_seed(2));
    for number in 0..200_000 {
        let heavy = dice.below(50);
        both.arrived(if heavy < 10 { heavy } else { dice.bits() | 1 << 63 }, 60 + number % 1000);
    }
    both.hold();
    for flow in 0..10 {
        let told = both.heavy.flows().iter().find(|told| told.hash == flow).expect("it is told");
        assert!(told.bytes + both.heavy.unseen() >= both.heavy.all() / 55, "{told:?}");
    }
}

#[test]
fn losses_of_a_flow_are_counted_as_long_as_it_is_told() {
    let mut heavy = Heavy::new();
    for number in 0..1000 {
        heavy.arrived(1, 1000, 0, &ends(1));
        if number % 4 == 0 {
            heavy.lost(1, 1000);
            heavy.lost(2, 1000);
        }
    }
    let told: Vec<_> = heavy
        .flows()
        .iter()
        .map(|flow| (flow.hash, flow.bytes, flow.lost, flow.lost_bytes))
        .collect();
    assert_eq!(told, [(1, 1_000_000, 250, 250_000)], "a loss makes no flow");
    heavy.clear();
    assert_eq!((heavy.flows().len(), heavy.all(), heavy.unseen()), (0, 0, 0));
    heavy.arrived(3, 0, 0, &ends(3));
    assert_eq!(heavy.flows().len(), 1, "a frame without bytes is one, too");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Any number of flows, of any lengths, a few of them larger: the bound holds at every moment.
    #[test]
    fn never_more_is_told_than_came_and_never_much_less(
        seed: u64,
        flows in 1_u64..5000,
        skew in 1_u32..6,
        frames in 1_usize..3000,
    ) {
        let (mut both, mut dice) = (Both::default(), Rng::from_seed(seed));
        for number in 0..frames {
            let uniform = dice.below(1 << 32) as f64 / 2_f64.powi(32);
            let flow = (flows as f64 * uniform.powi(skew as i32)) as u64;
            both.arrived(flow.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1 + dice.below(9000) as u32);
            if number % 311 == 0 {
                both.hold();
            }
        }
        both.hold();
    }
}
