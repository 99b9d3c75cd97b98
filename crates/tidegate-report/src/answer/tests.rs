use super::*;
use crate::Unsettled;

fn group(name: &str, share: f64, conduct: Option<Conduct>) -> Group {
    Group {
        name: name.into(),
        throughput_bps: Figure::exact(share * 1e6),
        fair_share_bps: Figure::exact(1e6),
        conduct,
        ..Group::default()
    }
}

fn document(label: &str, tcp: f64, flood: f64) -> Document {
    let groups = vec![
        group("tcp", tcp, Some(Conduct::Responsive)),
        group("flood", flood, Some(Conduct::Unresponsive)),
    ];
    Document { label: label.into(), groups, ..Document::default() }
}

/// By hand: 0.5 and 0.9 of what was fair in each seed are 0.7, though what is fair differs tenfold.
#[test]
fn a_share_of_what_differs_is_taken_seed_by_seed() {
    let mut users = group("users", 5.0, None);
    users.fair_share_bps = Figure::new(5.5e6, Some(4.5e6));
    users.share_by_seed = vec![0.5, 0.9];
    assert!((share(&users).unwrap().mean() - 0.7).abs() < 1e-12);
    users.fair_share_bps = Figure::new(5e6, Some(0.0));
    assert_eq!(share(&users).unwrap().mean(), 1.0);
}

#[test]
fn the_best_queue_comes_first() {
    let (tail, sfb) = (document("drop_tail", 0.03, 28.4), document("sfb", 0.97, 0.4));
    assert_eq!(
        answer(&[&tail, &sfb]),
        "sfb: tcp gets 97 % of its fair share, flood is held to 400 kbit/s; \
         drop_tail: tcp gets 3 %, flood takes 28.4 Mbit/s, 28 times its fair share"
    );
}

#[test]
fn of_many_queues_the_best_and_the_worst() {
    let many: Vec<Document> =
        (1..=6).map(|i| document(&format!("q{i}"), i as f64 / 10.0, 1.0)).collect();
    let text = answer(&many.iter().collect::<Vec<_>>());
    assert!(text.starts_with("best of all, q6: tcp gets 60 %"), "{text}");
    assert!(text.contains("; worst, q1: tcp gets 10 %"), "{text}");
}

#[test]
fn where_conduct_is_unknown_the_queue_nearest_to_fair_comes_first() {
    let unknown = |label: &str, a: f64, b: f64| {
        let groups = vec![group("tcp", a, None), group("udp", b, None)];
        Document { label: label.into(), groups, ..Document::default() }
    };
    let (tail, sfb) = (unknown("drop_tail", 0.67, 2.6), unknown("sfb", 0.67, 0.52));
    let text = answer(&[&tail, &sfb]);
    assert!(text.starts_with("sfb: tcp gets 67 % of its fair share, udp gets 52 %; "), "{text}");
}

#[test]
fn who_asks_for_no_more_than_is_fair_is_not_held_back_but_served_or_starved() {
    let mut call = group("voip", 0.4, Some(Conduct::Unresponsive));
    call.offered_bps = Figure::exact(1e6);
    let starved =
        Document { label: "red".into(), groups: vec![call.clone()], ..Document::default() };
    assert_eq!(answer(&[&starved]), "red: voip gets 40 % of its fair share");
    call.offered_bps = Figure::exact(9e6);
    let held = Document { label: "red".into(), groups: vec![call], ..Document::default() };
    assert_eq!(answer(&[&held]), "red: voip is held to 400 kbit/s");
}

#[test]
fn without_a_fair_share_only_rates() {
    let group =
        Group { name: "udp".into(), throughput_bps: Figure::exact(2e6), ..Group::default() };
    let document = Document { label: "red".into(), groups: vec![group], ..Document::default() };
    assert_eq!(answer(&[&document]), "red: udp gets 2.00 Mbit/s");
    assert_eq!(answer(&[]), "");
}

fn with_interval(label: &str, tcp: f64, half: f64) -> Document {
    let mut document = document(label, tcp, 20.0);
    document.groups[0].throughput_bps = Figure::new(tcp * 1e6, Some(half * 1e6));
    document.seeds = vec![1, 2, 3, 4, 5];
    document
}

/// A result whose users have these shares, one for each seed.
fn by_seed(label: &str, shares: &[f64]) -> Document {
    let mut document = document(label, 1.0, 20.0);
    let figure = interval::mean(shares).unwrap();
    document.groups[0].throughput_bps =
        Figure::new(figure.mean() * 1e6, figure.ci95().map(|half| half * 1e6));
    document.groups[0].share_by_seed = shares.to_vec();
    document.seeds = (1..=shares.len() as u64).collect();
    document
}

#[test]
fn the_difference_decides_not_the_overlap() {
    // The intervals overlap: .50 ± .020 and .53 ± .020. The difference is .03 ± .023.
    let (a, b) = (with_interval("a", 0.50, 0.02), with_interval("b", 0.53, 0.02));
    assert!(!answer(&[&a, &b]).contains("distinguishable"), "{}", answer(&[&a, &b]));
    let near = with_interval("c", 0.52, 0.02);
    assert!(
        answer(&[&a, &near]).contains("(not distinguishable from c)"),
        "{}",
        answer(&[&a, &near])
    );
    // Pair by pair b is ahead in every seed; by themselves the two spread too far.
    let shares = [0.3, 0.4, 0.5, 0.6, 0.7];
    let ahead = shares.map(|s| s + 0.01 + s / 100.0);
    let (a, mut b) = (by_seed("a", &shares), by_seed("b", &ahead));
    assert!(!answer(&[&a, &b]).contains("distinguishable"), "{}", answer(&[&a, &b]));
    b.seeds = vec![6, 7, 8, 9, 10];
    assert!(answer(&[&a, &b]).contains("distinguishable"), "other seeds are no pairs");
}

#[test]
fn responsive_flows_go_by_goodput_and_the_worst_user_is_named() {
    let mut document = document("sfb", 0.9, 0.4);
    document.groups[0].goodput_bps = Figure::exact(0.6e6);
    document.groups[0].count = 20;
    document.groups[0].worst_share = Figure::exact(0.01);
    document.groups[0].starved = Figure::exact(1.8);
    let said = "sfb: tcp gets 60 % of its fair share (worst user 1 %, 1.8 of 20 starved), \
         flood is held to 400 kbit/s";
    assert_eq!(answer(&[&document]), said);
    let told = caveats(&[&document]);
    assert_eq!(told, ["tcp: goodput is only 67 % of throughput, the rest was received twice."]);
}

#[test]
fn a_short_warmup_is_told() {
    let unsettled =
        |warmup_s| Unsettled { group: "tcp".into(), early_bps: 108.0, late_bps: 100.0, warmup_s };
    let of = |u: Unsettled| {
        caveats(&[&Document { unsettled: vec![u], ..Document::default() }]).remove(0)
    };
    let begin = "tcp: not steady, in the first quarter 8 % higher than in the second half; ";
    assert_eq!(of(unsettled(Some(20.0))), format!("{begin}a run.warmup of 20 s would do."));
    assert!(of(unsettled(None)).starts_with(&format!("{begin}it does not settle within this run")));
}

#[test]
fn where_intervals_overlap_no_rank_is_claimed() {
    let all = [
        ("red", 0.0187, 0.0027),
        ("blue", 0.0161, 0.0060),
        ("sfb", 0.91, 0.02),
        ("drop_tail", 0.0005, 0.0001),
    ];
    let all = all.map(|(label, share, half)| with_interval(label, share, half));
    let texts: Vec<String> =
        clauses(&all.iter().collect::<Vec<_>>()).into_iter().map(|c| c.text).collect();
    let tied: Vec<bool> = texts.iter().map(|text| text.contains("not distinguishable")).collect();
    assert_eq!(tied, [false, false, true, false], "{texts:?}");
    assert!(
        texts[2].starts_with("tcp gets 1.6 % (not distinguishable from red), flood takes "),
        "{}",
        texts[2]
    );
    let one_seed = [document("red", 0.018, 20.0), document("blue", 0.018, 20.0)];
    assert!(
        !answer(&[&one_seed[0], &one_seed[1]]).contains("distinguishable"),
        "without intervals nothing is known"
    );
}

#[test]
fn the_best_of_many_says_who_may_be_as_good() {
    let many: Vec<Document> =
        (1..=6).map(|i| with_interval(&format!("q{i}"), 0.5 + i as f64 / 100.0, 0.01)).collect();
    let text = answer(&many.iter().collect::<Vec<_>>());
    let best = "best of all, q6: tcp gets 56 % of its fair share (not distinguishable from \
         q5), flood takes ";
    assert!(text.starts_with(best), "{text}");
    assert!(text.contains("worst, q1: tcp gets 51 % (not distinguishable from q2), "), "{text}");
}

#[test]
fn groups_named_in_the_plural() {
    let users =
        vec![group("users", 0.9, None), group("calls", 0.8, None), group("bursts", 3.0, None)];
    let document = Document { label: "red".into(), groups: users, ..Document::default() };
    let said = "red: users get 90 % of their fair share, calls get 80 %, bursts take 3.00 \
         Mbit/s, 3.0 times their fair share";
    assert_eq!(answer(&[&document]), said);
    assert!(["users", "web users", "voip_calls", "Users"].into_iter().all(plural));
    assert!(
        !["tcp", "https", "dns", "bus", "s", "", "access", "QUICs", "DNS"].into_iter().any(plural)
    );
}

#[test]
fn a_label_cannot_command_the_terminal() {
    assert!(!answer(&[&document("\x1b[2J", 1.0, 1.0)]).contains('\x1b'));
}

#[test]
fn verdicts_begin_where_they_say() {
    for (share, verdict) in [
        (0.0, Standing::Starved),
        (0.499, Standing::Starved),
        (0.5, Standing::Short),
        (0.799, Standing::Short),
        (0.8, Standing::Fair),
        (1.5, Standing::Fair),
        (1.501, Standing::Greedy),
        (f64::NAN, Standing::Greedy),
    ] {
        assert_eq!(Standing::of(share), verdict, "{share}");
    }
}

#[test]
fn lists_of_names_are_as_one_says_them() {
    let all = ["a", "b", "c", "d", "e"];
    let said = ["", "a", "a and b", "a, b and c", "a, b and 2 others", "a, b and 3 others"];
    for (n, said) in said.into_iter().enumerate() {
        assert_eq!(listed(&all[..n]), said);
    }
}

#[test]
fn a_share_is_unknown_where_either_side_is() {
    let whole = group("tcp", 0.5, None);
    assert_eq!(share(&whole).unwrap().mean(), 0.5);
    assert_eq!(share(&Group { fair_share_bps: None, ..whole.clone() }), None);
    assert_eq!(share(&Group { throughput_bps: None, ..whole.clone() }), None);
    assert_eq!(share(&Group { fair_share_bps: Figure::exact(0.0), ..whole.clone() }), None);
    // Of a single user nobody is the worst.
    let mut several = Group { count: 5, worst_share: Figure::exact(0.2), ..whole };
    assert_eq!(worst(&several), None, "how many are starved is not known");
    several.starved = Figure::exact(0.0);
    assert!(worst(&several).is_some());
    several.user_count = Some(1);
    assert_eq!(worst(&several), None, "five connections of one user");
}

/// What asks for no more than its share, give or take a twentieth, offends nobody.
#[test]
fn who_offends_asks_for_more_than_is_fair_and_heeds_nothing() {
    let asks = |offered: f64, conduct| {
        let mut group = group("udp", 1.0, conduct);
        group.offered_bps = Figure::exact(offered);
        offends(&group)
    };
    let heedless = Some(Conduct::Unresponsive);
    assert!(asks(1.06e6, heedless) && !asks(1.04e6, heedless));
    assert!(!asks(9e6, Some(Conduct::Responsive)) && !asks(9e6, None));
    assert!(offends(&group("udp", 1.0, heedless)), "what it asks for is not known");
}

/// Of many groups the sentences name those farthest from their share, and always the one that
/// decides.
#[test]
fn of_many_groups_three_are_spelt_out() {
    let shares = [("a", 1.0), ("b", 0.9), ("c", 3.0), ("d", 0.2), ("e", 1.1), ("f", 2.0)];
    let groups = shares.map(|(name, share)| group(name, share, None)).to_vec();
    let document = Document { label: "red".into(), groups, ..Document::default() };
    let text = answer(&[&document]);
    let told = "red: d gets 20 % of its fair share, c takes 3.00 Mbit/s, 3.0 times its fair share, \
                f takes 2.00 Mbit/s, 2.0 times its fair share";
    assert_eq!(text, told);
    let none = Document { label: "red".into(), ..Document::default() };
    assert_eq!(answer(&[&none]), "red: no group of flows");
}

#[test]
fn times_have_two_digits_or_are_whole() {
    let said = [1.51, 2.0, 9.94, 9.96, 28.4, 120.0].map(times);
    assert_eq!(said, ["1.5", "2.0", "9.9", "10", "28", "120"]);
}

/// Each caveat says whose it is where there are several results.
#[test]
fn caveats_are_told_of_their_queue() {
    let mut a = document("a", 0.9, 0.4);
    a.groups[0].goodput_bps = Figure::exact(0.5e6);
    let unsettled =
        Unsettled { group: "tcp".into(), early_bps: 90.0, late_bps: 100.0, warmup_s: Some(2.5) };
    let b = Document { label: "b\u{7}".into(), unsettled: vec![unsettled], ..Document::default() };
    let told = caveats(&[&a, &b]);
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("a: tcp: goodput is only 56 % of throughput"), "{told:?}");
    assert!(
        told[1].starts_with("b·: tcp: not steady, in the first quarter 10 % lower"),
        "{told:?}"
    );
    assert!(told[1].ends_with("a run.warmup of 2.5 s would do."), "{told:?}");
    assert_eq!(caveats(&[]), Vec::<String>::new());
}

#[test]
fn few_seeds_and_rare_losses_are_said_where_there_are_some() {
    let with = |seeds: u64| Document { seeds: (0..seeds).collect(), ..Document::default() };
    for (seeds, few) in [(0, false), (1, false), (2, true), (19, true), (20, false)] {
        assert_eq!(few_seeds(&[&with(seeds)]), few, "{seeds}");
    }
    let mut rare = document("a", 0.9, 0.4);
    rare.groups[0].loss_ratio = Figure::exact(1e-4);
    assert!(!too_rare(&rare), "of no seeds there are no intervals");
    rare.seeds = vec![1, 2];
    assert!(too_rare(&rare));
    rare.groups[0].loss_ratio = Figure::exact(0.0);
    assert!(!too_rare(&rare), "what never happened is bounded, not rare");
    rare.groups[0].loss_ratio = Figure::new(1e-4, Some(1e-5));
    assert!(!too_rare(&rare));
    assert!(!goodput_exceeds(&rare));
    rare.groups[1].goodput_bps = Figure::exact(9e9);
    assert!(goodput_exceeds(&rare));
}
