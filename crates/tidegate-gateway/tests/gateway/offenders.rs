//! Who becomes an offender and who ceases to be one, by told times.
use proptest::prelude::*;
use tidegate::{Rate, Rng, Span, Time};
use tidegate_gateway::watch::fair::{Sharing, fair};
use tidegate_gateway::watch::interval::{FlowSent, Interval};
use tidegate_gateway::watch::offenders::{Alarm, OffenderRules, Offenders, SUSPECTS};
use tidegate_packet::{Address, Ends, Flow, FlowKey};

/// In half a second it sends 62500 bytes.
const LINK: Rate = Rate::from_bps(1_000_000);
const CAPACITY: u64 = 62_500;

fn flow(number: u32) -> Flow {
    FlowKey::FiveTuple.flow(&Ends::simulated(0x0a00_0000 + number, 0x0a00_0101, 5000, 80))
}

/// One that loses all that it sends, in frames so long that it is never deaf.
fn sent(number: u32, bytes: u64) -> FlowSent {
    FlowSent { flow: flow(number), class: 0, bytes, longest: u32::MAX, lost: 1, lost_bytes: bytes }
}

/// Half a second in which so much arrived, of flows 1, 2, 3 …
fn interval(bytes: &[u64]) -> Interval {
    let flows: Vec<FlowSent> =
        (1..).zip(bytes).map(|(number, &bytes)| sent(number, bytes)).collect();
    Interval {
        span: Span::from_millis(500),
        arrived: bytes.iter().sum(),
        flows,
        ..Interval::default()
    }
}

/// Tells one interval after the other.
struct Told {
    offenders: Offenders,
    now: Time,
}

impl Told {
    fn new(rules: OffenderRules) -> Told {
        Told {
            offenders: Offenders::new(rules, Sharing::Flows),
            now: Time::from_nanos(7_000_000_000),
        }
    }

    fn hear(&mut self, interval: &Interval) -> Vec<String> {
        self.now += interval.span;
        let alarms = self.offenders.hear(self.now, LINK, interval.clone());
        alarms.iter().map(Alarm::to_string).collect()
    }

    fn are(&self) -> Vec<Flow> {
        let mut all: Vec<Flow> = self.offenders.offenders().map(|(flow, _, _)| flow).collect();
        all.sort();
        all
    }
}

#[test]
fn a_flood_is_told_of_once_when_it_has_lasted_and_once_when_it_has_ceased_for_long() {
    let mut told = Told::new(OffenderRules::default());
    let calm = interval(&[20_000, 20_000]);
    // Two users who want a third each, and a flood of three times the link.
    let flood = interval(&[20_000, 20_000, 187_500]);
    for _ in 0..3 {
        assert!(told.hear(&flood).is_empty());
    }
    assert!(told.hear(&calm).is_empty(), "it was interrupted and begins anew");
    for _ in 0..3 {
        assert!(told.hear(&flood).is_empty());
    }
    // 62500 bytes less what the two want is what the third might send.
    assert_eq!(
        told.hear(&flood),
        ["10.0.0.3:5000 -> 10.0.1.1:80 has become an offender: it sends 3.00 Mbit/s, 82 % of \
             what arrives and 8.3 times \
          its fair rate of 360 kbit/s"]
    );
    assert_eq!(told.are(), [flow(3)]);
    for _ in 0..20 {
        assert!(told.hear(&flood).is_empty(), "it is one already");
    }
    for _ in 0..9 {
        assert!(told.hear(&calm).is_empty());
    }
    assert!(told.hear(&flood).is_empty(), "it is one still");
    for _ in 0..9 {
        assert!(told.hear(&calm).is_empty());
    }
    // A frame was lost in each of the 21 intervals that it went on.
    assert_eq!(
        told.hear(&calm),
        ["10.0.0.3:5000 -> 10.0.1.1:80 is an offender no more, after 20 s; 21 of its frames \
             were dropped meanwhile"]
    );
    assert_eq!((told.are(), told.offenders.became()), (vec![], 1));
}

#[test]
fn between_the_two_thresholds_everything_stays_as_it_is() {
    let mut told =
        Told::new(OffenderRules { after: 1, clear_after: 1, ..OffenderRules::default() });
    // Two flows want a quarter each, so that half is left for the third.
    let third = |fair_shares: f64| interval(&[15_625, 15_625, (31_250.0 * fair_shares) as u64]);
    for between in [1.3, 1.45, 1.21] {
        told.hear(&third(between));
        assert_eq!(told.are(), []);
    }
    told.hear(&third(1.51));
    assert_eq!(told.are(), [flow(3)]);
    for between in [1.3, 1.45, 1.21, 9.0] {
        assert!(told.hear(&third(between)).is_empty());
    }
    told.hear(&third(1.19));
    assert_eq!(told.are(), []);
}

#[test]
fn who_has_the_link_for_itself_or_shares_it_evenly_is_no_offender_though_a_third_is_lost() {
    let mut told = Told::new(OffenderRules { after: 1, ..OffenderRules::default() });
    for arrived in
        [&[62_500][..], &[65_000], &[90_000], &[60_000, 500, 4000], &[45_000; 2], &[1_800; 50]]
    {
        assert!(told.hear(&interval(arrived)).is_empty(), "{arrived:?}");
    }
    // One of twice the link's rate that has it for itself is: it loses half of what it sends.
    assert_eq!(told.hear(&interval(&[125_000])).len(), 1);
}

#[test]
fn what_is_not_judged_leaves_less_for_the_others() {
    let mut told = Told::new(OffenderRules { after: 1, ..OffenderRules::default() });
    let mut calm = interval(&[40_000, 10_000]);
    assert!(told.hear(&calm).is_empty());
    assert_eq!(told.offenders.fair_rate(), None);
    calm.allowed = 42_500;
    told.hear(&calm);
    // 20000 bytes are left: half for each.
    assert_eq!(told.offenders.fair_rate(), Some(160_000.0));
    assert_eq!(told.are(), [flow(1)]);
}

#[test]
fn of_what_is_not_seen_less_counts_for_becoming_one_and_more_for_ceasing() {
    let rules = OffenderRules { after: 1, clear_after: 1, ..OffenderRules::default() };
    let mut told = Told::new(rules);
    let seen = |bytes: u64, unseen: u64| Interval {
        unseen,
        arrived: 200_000,
        ..interval(&[bytes, 30_000, 30_000])
    };
    // Small flows fill the link by themselves: the fair rate is what may have gone unseen.
    told.hear(&seen(29_000, 20_000));
    assert_eq!(told.offenders.fair_rate(), Some(320_000.0));
    assert_eq!(told.are(), []);
    told.hear(&seen(30_001, 20_000));
    assert_eq!(told.are(), [flow(1)]);
    told.hear(&seen(5000, 20_000));
    assert_eq!(told.are(), [flow(1)], "it may have sent 25000");
    told.hear(&seen(3000, 20_000));
    assert_eq!(told.are(), []);
}

#[test]
fn there_is_room_for_the_largest_only_and_whoever_is_one_keeps_its_place() {
    let mut told =
        Told::new(OffenderRules { after: 1, clear_after: 3, ..OffenderRules::default() });
    let many: Vec<u64> = (0..SUSPECTS as u64 + 50).map(|number| 10_000 + number).collect();
    assert_eq!(told.hear(&interval(&many)).len(), SUSPECTS);
    let first: Vec<Flow> = (51..=SUSPECTS as u32 + 50).map(flow).collect();
    assert_eq!(told.are(), first);
    let larger: Vec<u64> = many.iter().rev().copied().collect();
    assert!(told.hear(&interval(&larger)).is_empty());
    assert_eq!(told.are(), first);
    for _ in 0..2 {
        assert!(told.hear(&interval(&[1000])).is_empty());
    }
    assert_eq!(told.hear(&interval(&[1000])).len(), SUSPECTS);
}

#[test]
fn a_late_end_of_an_interval_changes_no_verdict() {
    let mut told = Told::new(OffenderRules { after: 2, ..OffenderRules::default() });
    for factor in [1, 7] {
        let all = [20_000 * factor, 20_000 * factor, 187_500 * factor];
        told.hear(&Interval { span: Span::from_millis(500 * factor), ..interval(&all) });
        assert_eq!(told.offenders.fair_rate(), Some(360_000.0));
    }
    assert_eq!(told.are(), [flow(3)]);
}

#[test]
fn other_rules_hold_from_the_next_interval_on() {
    let mut told = Told::new(OffenderRules::default());
    let flood = interval(&[20_000, 20_000, 187_500]);
    told.hear(&flood);
    told.offenders.goes_by(
        OffenderRules { after: 2, clear_after: 2, ..OffenderRules::default() },
        Sharing::Flows,
    );
    assert_eq!(told.hear(&flood).len(), 1);
    told.offenders
        .goes_by(OffenderRules { clear_after: 1, ..OffenderRules::default() }, Sharing::Flows);
    assert_eq!(told.hear(&interval(&[1])).len(), 1);
    let wrong = OffenderRules { factor: 1.1, ..OffenderRules::default() };
    assert!(
        wrong
            .consistent()
            .unwrap_err()
            .to_string()
            .contains("clear_factor = 1.2: must be at most the factor, 1.1")
    );
}

#[test]
fn whoever_the_flow_key_names_is_named() {
    let client = Address::V4([192, 0, 2, 7]);
    let mut offenders =
        Offenders::new(OffenderRules { after: 1, ..OffenderRules::default() }, Sharing::Flows);
    let flows = vec![FlowSent { flow: Flow::Source(client), ..sent(1, 1_000_000) }];
    let flood = Interval { flows, arrived: 1_000_000, ..interval(&[]) };
    let alarms = offenders.hear(Time::ZERO, LINK, flood);
    assert!(
        alarms[0]
            .to_string()
            .starts_with("192.0.2.7 has become an offender: it sends 16.0 Mbit/s, 100 % of")
    );
}

#[test]
fn who_loses_nothing_of_what_exceeds_is_not_named_and_who_loses_half_of_it_is() {
    let mut told =
        Told::new(OffenderRules { after: 1, clear_after: 1, ..OffenderRules::default() });
    // The queue holds the flood below its share, and a user takes the rest: 50000 bytes of 62500.
    let flood = FlowSent { lost_bytes: 112_500, ..sent(2, 125_000) };
    let user = |lost_bytes| FlowSent { lost_bytes, ..sent(1, 50_000) };
    let both = |lost_bytes| Interval {
        arrived: 175_000,
        flows: vec![user(lost_bytes), flood],
        ..interval(&[])
    };
    assert_eq!(told.hear(&both(500)).len(), 1);
    assert_eq!((told.are(), told.offenders.fair_rate()), (vec![flow(2)], Some(500_000.0)));
    told.hear(&both(9_374));
    assert_eq!(told.are(), [flow(2)]);
    told.hear(&both(9_375));
    assert_eq!(told.are(), [flow(1), flow(2)]);
    told.hear(&both(9_374));
    assert_eq!(told.are(), [flow(2)], "it has ceased to lose it");
}

#[test]
fn a_flood_hardly_faster_than_the_link_is_named_when_it_loses_and_goes_on_as_tcp_would_not() {
    // 1.1 times the link, of which all but a tenth passes; a user has been silenced by it.
    let deaf = FlowSent { longest: 1500, lost_bytes: 6_875, ..sent(1, 68_750) };
    let user = FlowSent { longest: 1500, ..sent(2, 1_500) };
    let waits = |ms, deaf| Interval {
        arrived: 70_250,
        wait: Span::from_millis(ms),
        flows: vec![deaf, user],
        ..interval(&[])
    };
    let mut told = Told::new(OffenderRules::default());
    for _ in 0..7 {
        assert!(told.hear(&waits(100, deaf)).is_empty());
    }
    // Twice as many intervals as for one beyond the factor.
    assert_eq!(told.hear(&waits(100, deaf)).len(), 1);
    assert_eq!(told.are(), [flow(1)]);
    for (why, interval) in [
        // TCP that loses a tenth sends 1.77 segments a round trip (RFC 5348); 45.8 in half a
        // second are three times that in 58 ms.
        ("so near TCP would go on", waits(55, deaf)),
        ("it loses hardly anything", waits(100, FlowSent { lost_bytes: 3_400, ..deaf })),
        (
            "one of its frames is all that a round trip sees",
            waits(100, FlowSent { longest: 9000, ..deaf }),
        ),
    ] {
        let mut told = Told::new(OffenderRules { after: 1, ..OffenderRules::default() });
        for _ in 0..20 {
            assert!(told.hear(&interval).is_empty(), "{why}");
        }
    }
    let mut told = Told::new(OffenderRules { after: 1, ..OffenderRules::default() });
    told.hear(&waits(60, deaf));
    assert_eq!(told.hear(&waits(60, deaf)).len(), 1);
}

#[test]
fn classes_have_their_parts_by_weight_and_flows_share_those() {
    let of = |class, number, bytes| FlowSent { class, ..sent(number, bytes) };
    let all = |flows: Vec<FlowSent>| Interval {
        arrived: flows.iter().map(|sent| sent.bytes).sum(),
        flows,
        ..interval(&[])
    };
    let weights = vec![4.0, 1.0, 5.0];
    // 62500 bytes: the third class wants less than its half, so the others share 50000 as four to
    // one.
    let flows = vec![of(0, 1, 90_000), of(1, 2, 9_000), of(1, 3, 4_000), of(2, 4, 12_500)];
    let told = |sharing| {
        let mut sorted = all(flows.clone());
        sorted.flows.sort_by_key(|sent| std::cmp::Reverse(sent.bytes));
        let fair = fair(&sorted, CAPACITY, &sharing).unwrap();
        flows.iter().map(|sent| fair.of(sent)).collect::<Vec<_>>()
    };
    assert_eq!(
        told(Sharing::Classes(weights.clone())),
        [40_000.0, 6_000.0, 6_000.0, f64::INFINITY]
    );
    // By flows: only the first wants more than its weight gives it, and has what the others leave.
    assert_eq!(told(Sharing::Weighted(weights)), [37_000.0, 9_250.0, 9_250.0, 46_250.0]);
    assert_eq!(told(Sharing::Flows), [37_000.0; 4]);
    // A customer of weight 4 of 5 takes 16 of 20.
    let mut offenders = Offenders::new(
        OffenderRules { after: 1, ..OffenderRules::default() },
        Sharing::Classes(vec![4.0, 1.0]),
    );
    let customers = all(vec![of(0, 1, 50_000), of(1, 2, 40_000)]);
    let alarms = offenders.hear(Time::ZERO, LINK, customers);
    assert_eq!(alarms.len(), 1);
    assert!(
        matches!(alarms[0], Alarm::Became { flow: named, .. } if named == flow(2)),
        "{alarms:?}"
    );
}

#[test]
fn what_small_flows_of_a_class_send_is_taken_from_its_part() {
    let flows = vec![FlowSent { class: 1, ..sent(1, 40_000) }];
    let of = Interval { arrived: 100_000, classes: vec![50_000, 50_000], flows, ..interval(&[]) };
    let level = fair(&of, CAPACITY, &Sharing::Classes(vec![1.0, 1.0])).unwrap();
    assert_eq!(level.of(&of.flows[0]), 31_250.0 - 10_000.0);
}

/// The twin: what is fair, by halving.
fn fair_by_halving(bytes: &[u64], small: u64, capacity: u64) -> f64 {
    let (mut low, mut high) = (0.0, *bytes.iter().max().unwrap() as f64);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        let takes: f64 = bytes.iter().map(|&one| f64::min(one as f64, middle)).sum();
        if takes + small as f64 > capacity as f64 { high = middle } else { low = middle }
    }
    low
}

proptest! {
    #[test]
    fn the_fair_rate_fills_the_link(
        mut bytes in prop::collection::vec(1_u64..1_000_000, 1..50),
        small in 0_u64..2_000_000,
        part in 0.01_f64..1.2,
        unseen in 0_u64..1000,
    ) {
        bytes.sort_unstable_by(|one, other| other.cmp(one));
        let told: u64 = bytes.iter().sum();
        let arrived = told + small;
        let capacity = (arrived as f64 * part) as u64;
        let of = Interval { arrived, unseen, ..interval(&bytes) };
        match fair(&of, capacity, &Sharing::Flows).map(|fair| fair.least()) {
            None => prop_assert!(arrived <= capacity),
            Some(level) => {
                prop_assert!(arrived > capacity);
                let twin = fair_by_halving(&bytes, small, capacity).max(unseen as f64);
                prop_assert!((level - twin).abs() < 1e-6 * twin + 1e-3, "{} and {}", level, twin);
            }
        }
    }

    /// Whatever is sent, a flow becomes an offender only after it exceeded the factor so often in a
    /// row. It ceases to be one only after it stayed below the other so often. Each is reported in
    /// turn.
    #[test]
    fn nobody_becomes_one_or_ceases_to_be_one_at_once(
        seed: u64, after in 1_u32..6, clear_after in 1_u32..6,
    ) {
        let rules = OffenderRules { after, clear_after, ..OffenderRules::default() };
        let (factor, clear) = (rules.factor, rules.clear_factor);
        let mut offenders = Offenders::new(rules, Sharing::Flows);
        let mut dice = Rng::from_seed(seed);
        let (mut above, mut below, mut is) = ([0; 6], [0; 6], [false; 6]);
        for number in 1..200 {
            let mut any = |_| {
                let most = 1 << (8 + dice.below(11));
                dice.below(most)
            };
            let bytes: Vec<u64> = (0..6).map(&mut any).collect();
            let heard = interval(&bytes);
            let now = Time::from_nanos(number * 500_000_000);
            let alarms = offenders.hear(now, LINK, heard.clone());
            let mut sorted = heard;
            sorted.flows.sort_by_key(|sent| std::cmp::Reverse(sent.bytes));
            let fair = fair(&sorted, CAPACITY, &Sharing::Flows).map(|fair| fair.least());
            for at in 0..6 {
                let times = fair.map_or(0.0, |fair| bytes[at] as f64 / fair);
                above[at] = if times > factor { above[at] + 1 } else { 0 };
                below[at] = if times < clear { below[at] + 1 } else { 0 };
                let own = flow(at as u32 + 1);
                for alarm in &alarms {
                    match alarm {
                        Alarm::Became { flow, .. } if *flow == own => {
                            prop_assert!(!is[at] && above[at] >= after);
                            (is[at], below[at]) = (true, 0);
                        }
                        Alarm::Ceased { flow, .. } if *flow == own => {
                            prop_assert!(is[at] && below[at] >= clear_after);
                            is[at] = false;
                        }
                        _ => {}
                    }
                }
                prop_assert!(is[at] || above[at] < after, "nobody is spared who went on so long");
            }
        }
    }
}
