//! What arrives behind links that carry too little, over drawn chains: as it is derived, so it is
//! in a run.
use proptest::prelude::*;
use tidegate_lab::{Job, Scenario, check};

use crate::jobs::{documents, job, scenario};

/// A group of a chain: the node where its flows begin, their number and the rate of each in kbit/s.
type Entry = (usize, u32, u32);

/// A chain of plain links of these rates in kbit/s, with a queue at its end that drops nothing.
fn chain(links: &[u32], entries: &[Entry]) -> Scenario {
    let line = |(at, rate): (usize, &u32)| {
        format!("[[link]]\nfrom = \"n{at}\"\nto = \"n{}\"\nrate = \"{rate} kbit/s\"\n", at + 1)
    };
    let links: String = links.iter().enumerate().map(line).chain([end(links.len())]).collect();
    let last = links.matches("[[link]]").count();
    let group = |(index, (from, count, rate)): (usize, &Entry)| {
        format!(
            "[[group]]\nname = \"g{index}\"\nsource = \"cbr\"\nstart = \"0 s\"\ncount = \
             {count}\nrate = \"{rate} kbit/s\"\njitter = 0.1\nfrom = \"n{from}\"\nto = \"n{last}\"\n"
        )
    };
    let groups: String = entries.iter().enumerate().map(group).collect();
    scenario(&format!(
        "[run]\nduration = \"6 s\"\nwarmup = \"2 s\"\nseeds = 1\n[network]\nkind = \
         \"graph\"\n{links}{groups}"
    ))
}

/// The queue behind all others, which is faster than they are.
fn end(from: usize) -> String {
    format!(
        "[[link]]\nfrom = \"n{from}\"\nto = \"n{}\"\nrate = \"1 Gbit/s\"\nlimit = \"1000 \
         packets\"\n",
        from + 1
    )
}

/// What arrives of each group, in bit/s.
fn arrives(scenario: &Scenario) -> Vec<f64> {
    let groups = check(scenario, &[]).unwrap().groups;
    groups.iter().map(|group| group.arrives.unwrap().as_bps() as f64).collect()
}

/// Links and where flows come to them.
fn drawn() -> impl Strategy<Value = (Vec<u32>, Vec<Entry>)> {
    prop::collection::vec(2_000u32..10_000, 1..5).prop_flat_map(|links| {
        let entry = (0..links.len(), 1u32..4, 300u32..6_000);
        (Just(links), prop::collection::vec(entry, 1..4))
    })
}

/// The least of the links that a flow from `from` crosses, in bit/s.
fn narrowest(links: &[u32], from: usize) -> f64 {
    links[from..].iter().copied().min().map_or(f64::INFINITY, |rate| f64::from(rate) * 1e3)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_run_delivers_what_is_derived((links, entries) in drawn()) {
        let scenario = chain(&links, &entries);
        let derived = arrives(&scenario);
        let job = Job { threads: Some(1), ..job(scenario, &["drop_tail"]) };
        let document = documents(&job).remove(0);
        let all: f64 = derived.iter().sum();
        for (group, wanted) in document.groups.iter().zip(&derived) {
            let got = group.throughput_bps.unwrap().mean();
            // Packets that are on their way at either end, a lot drawn at a full queue: a hundredth
            // of all. Jitter of a tenth: the slowest flow sends 150 packets, with a deviation of
            // .7.
            prop_assert!((got - wanted).abs() < 0.01 * all + 0.03 * wanted, "{got} {wanted}");
        }
    }

    #[test]
    fn no_link_carries_more_than_it_can((links, entries) in drawn()) {
        let derived = arrives(&chain(&links, &entries));
        for (at, rate) in links.iter().enumerate() {
            let over = entries.iter().zip(&derived).filter(|((from, ..), _)| *from <= at);
            let carried: f64 = over.map(|(_, rate)| rate).sum();
            let most = f64::from(*rate) * 1e3 * (1.0 + 1e-6) + 9.0;
            prop_assert!(carried <= most, "{carried} over {rate}");
        }
        for ((from, count, rate), got) in entries.iter().zip(&derived) {
            let offered = f64::from(count * rate) * 1e3;
            prop_assert!(*got <= offered.min(narrowest(&links, *from)) * (1.0 + 1e-6) + 1.0);
        }
    }

    /// Alone on its way, a flow has what the narrowest link carries.
    #[test]
    fn one_flow_has_the_narrowest_link((links, entries) in drawn()) {
        let (from, _, rate) = entries[0];
        let scenario = chain(&links, &[(from, 1, rate)]);
        let wanted = (f64::from(rate) * 1e3).min(narrowest(&links, from));
        let got = arrives(&scenario)[0];
        prop_assert!((got - wanted).abs() <= 1.0 + wanted * 1e-9, "{got} is not {wanted}");
        // A warning for each link that is narrower than all before it.
        let mut narrow = f64::from(rate) * 1e3;
        let mut expected = vec![];
        for (at, link) in links.iter().enumerate().skip(from) {
            let carries = f64::from(*link) * 1e3;
            if carries < narrow * (1.0 - 1e-5) {
                expected.push((format!("link n{at}->n{}", at + 1), carries, narrow));
                narrow = carries;
            }
        }
        let overloads = check(&scenario, &[]).unwrap().overloads;
        prop_assert_eq!(overloads.len(), expected.len());
        for (overload, (link, rate, offered)) in overloads.iter().zip(&expected) {
            prop_assert_eq!((&overload.link, overload.rate_bps), (link, *rate));
            prop_assert!((overload.offered_bps / offered - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn what_merges_shares_by_what_comes() {
    // 4 Mbit/s of one and 2 of the other over 3: two thirds and one.
    let scenario = chain(&[3_000], &[(0, 2, 2_000), (0, 1, 2_000)]);
    assert_eq!(arrives(&scenario), [2e6, 1e6]);
    // The first is cut to 2 Mbit/s before the second, of 2, comes to a link of 3.
    let scenario = chain(&[2_000, 3_000], &[(0, 1, 4_000), (1, 1, 2_000)]);
    assert_eq!(arrives(&scenario), [1.5e6, 1.5e6]);
    let overloads = check(&scenario, &[]).unwrap().overloads;
    let tell = |o: &tidegate_report::Overload| (o.link.clone(), o.offered_bps, o.groups.len());
    let told: Vec<_> = overloads.iter().map(tell).collect();
    assert_eq!(told, [("link n0->n1".into(), 4e6, 1), ("link n1->n2".into(), 4e6, 2)]);
}
