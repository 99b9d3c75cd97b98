//! Values of a group that have texts of their own: periods, classes, forged flows, amounts of data.
use proptest::prelude::*;
use tidegate::config::Value;
use tidegate::{Span, Time};
use tidegate_lab::scenario::{Classes, Data, FileName, FlowKeyParam, Forge, Periods};

/// What is refused and why, of a text that is no `V`.
#[track_caller]
fn refused<V: Value + std::fmt::Debug>(text: &str) -> (String, String) {
    let error = V::read(text).unwrap_err();
    (error.text, error.why)
}

fn pair(text: &str, why: &str) -> (String, String) {
    (text.into(), why.into())
}

#[test]
fn periods_follow_one_another() {
    let form = "a period is written FROM..TO, as in \"10 s..30 s\", or FROM..";
    let back = "the period ends before it begins";
    let before = "begins before the one before it is over, which ";
    for (text, place, why) in [
        ("10 s", "10 s", form.to_string()),
        ("10 s-20 s", "10 s-20 s", form.into()),
        ("", "", form.into()),
        ("1 s..2 s:", "", form.into()),
        ("2 s..1 s", "2 s..1 s", back.into()),
        ("2 s..2000 ms", "2 s..2000 ms", back.into()),
        ("..1 s", "", "a number is missing".into()),
        ("1 s..2", "2", "a time needs a unit, as in \"50 ms\"".into()),
        ("1 s..5 s:4 s..6 s", "4 s..6 s", format!("{before}ends at 5 s")),
        ("1 s..5 s:0 s..6 s", "0 s..6 s", format!("{before}ends at 5 s")),
        ("1 s..:4 s..6 s", "4 s..6 s", format!("{before}has no end")),
    ] {
        assert_eq!(refused::<Periods>(text), pair(place, &why), "{text}");
    }
    // One may begin where the other ends.
    let two = Periods::read(" 1 s..5 s : 5 s.. ").unwrap();
    assert_eq!((two.write(), two.count()), ("1 s..5 s:5 s..".into(), 2));
    let many = |n: u64| {
        let all: Vec<String> = (0..n).map(|i| format!("{i} ms..{} ms", i + 1)).collect();
        all.join(":")
    };
    assert_eq!(Periods::read(&many(1000)).unwrap().count(), 1000);
    assert_eq!(refused::<Periods>(&many(1001)), pair("", "has 1001 periods; at most 1000 can be"));
}

#[test]
fn times_in_periods_by_hand() {
    let secs = Span::from_secs;
    let total = |text: &str, end: f64| Periods::read(text).unwrap().total(secs(end)).as_secs();
    for (end, wanted) in [(0.0, 0.0), (1.0, 0.0), (1.5, 0.5), (2.0, 1.0), (4.0, 1.0), (9.0, 5.0)] {
        assert_eq!(total("1 s..2 s:5 s..", end), wanted, "{end}");
    }
    assert_eq!(total("1 s..2 s:5 s..6 s", 1e6), 2.0);
    let times = Periods::read("1 s..2 s:5 s..").unwrap().times();
    let at = |seconds| Time::ZERO + secs(seconds);
    assert_eq!(times, [(at(1.0), at(2.0)), (at(5.0), Time::MAX)]);
    let none = Periods::default();
    assert!(none.is_empty() && none.total(secs(9.0)) == Span::ZERO && none.times().is_empty());
}

#[test]
fn classes_are_dealt_out_in_turn() {
    let classes = Classes::read("3: 0 :65535").unwrap();
    assert_eq!([0, 1, 2, 3, 7].map(|flow| classes.of(flow)), [3, 0, 65_535, 3, 0]);
    assert_eq!((classes.given(), classes.write()), (&[3, 0, 65_535][..], "3:0:65535".into()));
    assert_eq!(classes.extent(), (0.0, 65_535.0));
    assert_eq!(Classes::one(7).of(99), 7);
    let whole = "must be a whole number";
    for (text, place, why) in [
        ("1:x", "x", "does not begin with a number"),
        ("1.5", "1.5", whole),
        ("1:-1", "-1", whole),
        ("1:", "", "a number is missing"),
        ("1 packet", "1 packet", "this is a pure number, without a unit such as `packet`"),
    ] {
        assert_eq!(refused::<Classes>(text), pair(place, why), "{text}");
    }
    let many = |n: usize| vec!["1"; n].join(":");
    assert_eq!(Classes::read(&many(1024)).unwrap().given().len(), 1024);
    let told = refused::<Classes>(&many(1025));
    assert_eq!(told, pair(&many(1025)[..60], "has 1025 values; at most 1024 can be"));
}

#[test]
fn forged_flows_are_words_or_a_number() {
    for (text, forge) in [
        ("off", Forge::Off),
        ("random", Forge::Random),
        ("ports", Forge::Ports),
        ("victims", Forge::Victims),
        ("colliding", Forge::Colliding),
        ("12", Forge::Of(12)),
    ] {
        assert_eq!(Forge::read(text), Ok(forge));
        assert_eq!(forge.write(), text);
    }
    let why = "must be whole number, `off`, `random`, `ports`, `victims` or `colliding`";
    for text in ["users", "1.5", "-1", "+1", "Off", "99999999999", ""] {
        assert_eq!(refused::<Forge>(text), pair(text, why), "{text}");
    }
    let long = "x".repeat(70);
    assert_eq!(refused::<Forge>(&long).0.len(), 60);
}

#[test]
fn data_end_or_do_not() {
    assert_eq!(Data::read("endless"), Ok(Data::Endless));
    assert_eq!(Data::Endless.write(), "endless");
    assert_eq!(Data::read("1 MB:2000 B").unwrap().write(), "1 MB:2 kB");
    assert_eq!(Data::read("uniform(1 kB, 3 kB)").unwrap().extent(), (1000.0, 3000.0));
    assert!(refused::<Data>("Endless").1.starts_with("does not begin with a number"));
    assert_eq!(refused::<Data>("5").1, "an amount of data needs a unit, as in \"200 kB\"");
}

#[test]
fn files_and_keys_have_names() {
    let why = "must be the name of a file";
    assert_eq!(refused::<FileName>(""), pair("", why));
    assert_eq!(refused::<FileName>("a\0b"), pair("", why));
    assert_eq!(FileName::read("a b.pcap").unwrap().write(), "a b.pcap");
    for text in
        ["five-tuple", "source", "destination", "pair", "source-prefix/0", "source-prefix/128"]
    {
        assert_eq!(FlowKeyParam::read(text).unwrap().write(), text);
    }
    for text in ["source-prefix/129", "source-prefix/", "source-prefix", "Pair", ""] {
        assert!(FlowKeyParam::read(text).is_err(), "{text}");
    }
}

/// Periods in order, the last of them with or without an end.
fn periods() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec((0u64..1_000_000_000, 1u64..1_000_000_000), 1..12);
    (pieces, any::<bool>()).prop_map(|(pieces, ends)| {
        let mut at = 0;
        let mut texts = vec![];
        for (gap, length) in pieces {
            let [from, to] = [at + gap, at + gap + length].map(Span::from_nanos);
            texts.push(format!("{from}..{to}"));
            at = to.as_nanos();
        }
        if !ends && let Some(last) = texts.last_mut() {
            last.truncate(last.find("..").unwrap() + 2);
        }
        texts.join(":")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn periods_are_written_as_they_are_read(text in periods()) {
        prop_assert_eq!(Periods::read(&text).unwrap().write(), text);
    }

    /// The time in them grows with the end, never faster than it, and is the sum of their lengths.
    #[test]
    fn the_time_in_periods_grows_with_the_end(text in periods(), a: u32, b: u32) {
        let periods = Periods::read(&text).unwrap();
        let [a, b] = [a.min(b), a.max(b)].map(|n| Span::from_nanos(4 * n as u64));
        let [early, late] = [a, b].map(|end| periods.total(end));
        prop_assert!(early <= late && late - early <= b - a);
        let lengths = periods.times().into_iter().map(|(from, to)| {
            let end = Time::ZERO + b;
            to.min(end).since(from.min(end)).as_nanos()
        });
        prop_assert_eq!(late.as_nanos(), lengths.sum::<u64>());
    }

    #[test]
    fn classes_are_written_as_they_are_read(classes in prop::collection::vec(0u32..65_536, 1..20)) {
        let text = classes.iter().map(u32::to_string).collect::<Vec<_>>().join(":");
        let read = Classes::read(&text).unwrap();
        prop_assert_eq!(read.given(), &classes[..]);
        prop_assert_eq!(read.write(), text);
        for flow in 0..40 {
            prop_assert_eq!(u32::from(read.of(flow)), classes[flow % classes.len()]);
        }
    }

    #[test]
    fn no_text_of_a_value_makes_it_panic(text in "[0-9a-z.: /-]{0,30}") {
        let _ = (Periods::read(&text), Classes::read(&text), Forge::read(&text));
        let _ = (Data::read(&text), FileName::read(&text), FlowKeyParam::read(&text));
    }
}
