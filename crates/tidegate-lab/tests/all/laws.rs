//! Distributions as text: each refusal in its words, and means by hand.
use tidegate::config::Value;
use tidegate::{Bytes, Span};
use tidegate_lab::scenario::{Drawn, DrawnUnit, Start};

use crate::refusals::{changed, refused_there};

/// The text that is refused and why, of each of `cases`.
#[track_caller]
fn refused<U: DrawnUnit>(cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, place, why)| match Drawn::<U>::read(text) {
            Ok(drawn) => Some(format!("{text} is read as {}", drawn.write())),
            Err(error) if (error.text.as_str(), error.why.as_str()) == (*place, *why) => None,
            Err(error) => Some(format!("{text}: {error}\nis not `{place}`: {why}")),
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn ranges_that_cannot_be() {
    let form = "a range is written LEAST..MOST, LEAST.. or ..MOST";
    let back = "the range ends before it begins";
    let never = "the distribution hardly ever lies in that range";
    let constant = "a range is for a distribution";
    refused::<Span>(&[
        ("exponential(1 s) in 2 s", "exponential(1 s) in 2 s", form),
        ("exponential(1 s) in 2 s-3 s", "exponential(1 s) in 2 s-3 s", form),
        ("exponential(1 s) in 2 s..1 s", "exponential(1 s) in 2 s..1 s", back),
        ("exponential(1 s) in 2 s..2000 ms", "exponential(1 s) in 2 s..2000 ms", back),
        ("exponential(1 s) in ..0 s", "exponential(1 s) in ..0 s", back),
        ("uniform(0 s, 1 s) in 2 s..3 s", "uniform(0 s, 1 s) in 2 s..3 s", never),
        ("pareto(2, 10 s) in ..1 s", "pareto(2, 10 s) in ..1 s", never),
        ("normal(1 s, 1 ms) in 2 s..", "normal(1 s, 1 ms) in 2 s..", never),
        // e^-21 is less than 1e-9, e^-20 is more.
        ("exponential(1 s) in 21 s..", "exponential(1 s) in 21 s..", never),
        ("1 s in ..2 s", "1 s in ..2 s", constant),
        ("exponential(1 s) in 2 s..x", "x", "does not begin with a number"),
        ("exponential(1 s) in 2..3 s", "2", "a time needs a unit, as in \"50 ms\""),
        ("exponential(1 s) in -2 s..", "-2 s", "a time cannot be negative"),
    ]);
    assert!(Drawn::<Span>::read("exponential(1 s) in 20 s..").is_ok());
    let why = "the range begins at 2 s, after its end, 1 s";
    refused::<Span>(&[("uniform(2 s, 1 s)", "uniform(2 s, 1 s)", why)]);
    let why = "the range begins at 2 kB, after its end, 1.999 kB";
    refused::<Bytes>(&[("uniform(2 kB, 1999 B)", "uniform(2 kB, 1999 B)", why)]);
    assert!(Drawn::<Bytes>::read("uniform(2 kB, 2000 B)").is_ok());
}

#[test]
fn what_can_be_negative_needs_a_range() {
    let why = |what: &str, text: &str| {
        format!("such a {what} can be negative: add a range, as in \"{text} in LEAST..\"")
    };
    let (time, size) = ("normal(10 ms, 5 ms)", "normal(10 kB, 5 kB)");
    refused::<Span>(&[
        (time, time, &why("time", time)),
        (&format!("exponential({time})"), time, &why("time", time)),
        (&format!("mix(0.5, 1 s, {time})"), time, &why("time", time)),
    ]);
    refused::<Bytes>(&[(size, size, &why("size", size))]);
    // Any range makes sense of it, also one that leaves out nothing but what is below zero.
    for text in ["normal(10 ms, 5 ms) in 0 s..", "mix(0.5, 1 s, normal(1 s, 1 s) in ..9 s)"] {
        assert!(Drawn::<Span>::read(text).is_ok(), "{text}");
    }
}

#[test]
fn distributions_are_written_as_they_are() {
    let forms = [
        ("uniform", "uniform(LEAST, MOST)"),
        ("exponential", "exponential(MEAN)"),
        ("pareto", "pareto(SHAPE, LEAST)"),
        ("lognormal", "lognormal(MEDIAN, SIGMA)"),
        ("loglogistic", "loglogistic(MEDIAN, SHAPE)"),
        ("normal", "normal(MEAN, DEVIATION) in LEAST..MOST"),
        ("mix", "mix(PROBABILITY, ONE, OTHER)"),
    ];
    for (name, form) in forms {
        let text = format!("{name}(1 s, 1 s, 1 s, 1 s)");
        refused::<Span>(&[(&text, &text, &format!("is written {form}"))]);
    }
    let known = forms.map(|form| form.1).join(", ");
    let no_such = format!("no such distribution; there are {known}");
    let bracket = "a distribution ends with a bracket, as in \"uniform(0 s, 1 s)\"";
    refused::<Span>(&[
        ("gauss(1 s, 1 s)", "gauss(1 s, 1 s)", &no_such),
        (
            "exponentail(1 s)",
            "exponentail(1 s)",
            &format!("{no_such}; did you mean `exponential`?"),
        ),
        ("uniform(0 s, 1 s", "uniform(0 s, 1 s", bracket),
        ("uniform(0 s, 1 s) s", "uniform(0 s, 1 s) s", bracket),
        ("exponential(1 s) in 1 s.. in 2 s..", "exponential(1 s) in 1 s..", bracket),
        ("uniform()", "uniform()", "is written uniform(LEAST, MOST)"),
        ("exponential()", "", "a number is missing"),
    ]);
}

#[test]
fn numbers_of_a_distribution_have_bounds() {
    let out = |form: &str| format!("must lie in 0.01 to 100; a distribution is written {form}");
    let pareto = "pareto(SHAPE, LEAST)";
    refused::<Span>(&[
        ("pareto(0.009, 1 s)", "0.009", &out(pareto)),
        ("pareto(100.1, 1 s)", "100.1", &out(pareto)),
        ("pareto(-1, 1 s)", "-1", &out(pareto)),
        ("lognormal(1 s, 0)", "0", &out("lognormal(MEDIAN, SIGMA)")),
        ("loglogistic(1 s, 1000)", "1000", &out("loglogistic(MEDIAN, SHAPE)")),
        (
            "pareto(1 s, 2)",
            "1 s",
            &format!(
                "this is a pure number, without a unit such as `s`; a distribution is written \
                 {pareto}"
            ),
        ),
        (
            "lognormal(1 s, wide)",
            "wide",
            "does not begin with a number; a distribution is written lognormal(MEDIAN, SIGMA)",
        ),
        ("mix(1.5, 1 s, 2 s)", "1.5", "a probability lies in 0 to 1"),
        ("mix(-0.1, 1 s, 2 s)", "-0.1", "a probability lies in 0 to 1"),
        ("mix(1 s, 1 s, 2 s)", "1 s", "a probability is written \"0.04\" or \"4 %\""),
    ]);
    for text in ["pareto(0.01, 1 s)", "pareto(100, 1 s)", "mix(0, 1 s, 2 s)", "mix(1, 1 s, 2 s)"] {
        assert_eq!(Drawn::<Span>::read(text).unwrap().write(), text);
    }
    assert_eq!(Drawn::<Span>::read("mix(4 %, 1 s, 2 s)").unwrap().write(), "mix(0.04, 1 s, 2 s)");
}

#[test]
fn a_scale_is_above_zero() {
    let why = |form: &str| format!("a distribution's scale must be above zero: {form}");
    let mean = why("exponential(MEAN)");
    refused::<Span>(&[
        ("exponential(0 s)", "exponential(0 s)", &mean),
        // To the nearest nanosecond there is none.
        ("exponential(0.4 ns)", "exponential(0.4 ns)", &mean),
        ("pareto(2, 0 s)", "pareto(2, 0 s)", &why("pareto(SHAPE, LEAST)")),
        ("lognormal(0 s, 1)", "lognormal(0 s, 1)", &why("lognormal(MEDIAN, SIGMA)")),
        ("loglogistic(0 s, 1)", "loglogistic(0 s, 1)", &why("loglogistic(MEDIAN, SHAPE)")),
        ("exponential(exponential(1 s))", "exponential(exponential(1 s))", &mean),
        ("exponential(uniform(0 s, 1 s))", "exponential(uniform(0 s, 1 s))", &mean),
        ("exponential(mix(0.5, 1 s, 0 s))", "exponential(mix(0.5, 1 s, 0 s))", &mean),
    ]);
    for fine in ["exponential(1 ns)", "exponential(exponential(1 s) in 1 ns..)"] {
        assert!(Drawn::<Span>::read(fine).is_ok(), "{fine}");
    }
}

#[test]
fn four_distributions_stand_in_one_another() {
    let nested = |depth: usize| format!("{}1 ms{}", "pareto(2, ".repeat(depth), ")".repeat(depth));
    let four = Drawn::<Span>::read(&nested(4)).unwrap();
    assert_eq!(four.write(), nested(4));
    let why = "too many distributions in one another";
    // The innermost is the one too many.
    refused::<Span>(&[
        (&nested(5), "pareto(2, 1 ms)", why),
        (
            "mix(0.5, 1 s, mix(0.5, 1 s, mix(0.5, 1 s, mix(0.5, 1 s, exponential(2 s)))))",
            "exponential(2 s)",
            why,
        ),
    ]);
    // Of a long one, the message shows 60 characters.
    let long = format!("{}1 s{}", "exponential(".repeat(9), ")".repeat(9));
    let told = Drawn::<Span>::read(&long).unwrap_err();
    assert_eq!((told.text.chars().count(), told.why.as_str()), (60, why));
}

#[test]
fn lists_have_values_of_one_kind() {
    let many = vec!["1 s"; 1025].join(":");
    refused::<Span>(&[
        (&many, &many[..60], "has 1025 values; at most 1024 can be"),
        ("1 s:", "", "a number is missing"),
        ("1 s:2 kB", "2 kB", "`kB` is not a unit of a time; use s, ms, us, ns, min, h"),
        ("1 s:exponential(1 s)", "exponential(1 s)", "does not begin with a number"),
    ]);
    let most = vec!["1 s"; 1024].join(":");
    assert_eq!(Drawn::<Span>::read(&most).unwrap().write(), most);
    let sizes = Drawn::<Bytes>::read(" 1 kB : 2000 B:1 MiB").unwrap();
    assert_eq!(sizes.write(), "1 kB:2 kB:1.048576 MB");
}

#[test]
fn starts_follow_one_another_by_times_alone() {
    let told = |text: &str| Start::read(text).unwrap_err();
    let negative = "such a time can be negative";
    assert!(told("every(normal(1 s, 1 s))").why.starts_with(negative));
    assert_eq!(told("every()").why, "a number is missing");
    assert!(told("every(every(1 s))").why.starts_with("no such distribution; there are "));
    assert!(told("every(1 s").why.starts_with("a distribution ends with a bracket"));
    let range = |text: &str| Start::read(text).unwrap().range();
    let secs = Span::from_secs;
    assert_eq!(range("uniform(1 s, 3 s)"), (secs(1.0), Some(secs(3.0))));
    assert_eq!(range("5 s:2 s:3 s"), (secs(2.0), Some(secs(5.0))));
    assert_eq!(range("exponential(1 s) in 2 s.."), (secs(2.0), None));
    assert_eq!(range("exponential(1 s) in 2 s..9 s"), (secs(2.0), Some(secs(9.0))));
    assert_eq!(range("pareto(2, pareto(3, 4 s))"), (secs(4.0), None));
    assert_eq!(range("mix(0.5, 1 s, uniform(2 s, 8 s))"), (secs(1.0), Some(secs(8.0))));
    // How many come after the first is not known here, and so not when the last comes.
    assert_eq!(range("every(2 s)"), (secs(2.0), None));
}

#[test]
fn a_scenario_names_the_place_of_a_distribution() {
    let base = "[network]\nrate = \"1 Mbit/s\"\nlimit = \"9 packets\"\n[[group]]\nname = \
                \"g\"\nsource = \"cbr\"\nrate = \"1 kbit/s\"\nstart = \"1 s\"\n";
    let start = "start = \"1 s\"";
    assert_eq!(changed(base, start, start), base);
    refused_there(
        base,
        &[
            (
                start,
                "start = \"«uniform(2 s, 1 s)»\"",
                "group.g.start = uniform(2 s, 1 s): the range begins at 2 s, after its end, 1 s",
            ),
            // What is refused may be a part of what stands there.
            (
                start,
                "start = \"«every(exponential(0 s))»\"",
                "group.g.start = exponential(0 s): a distribution's scale must be above zero: \
                 exponential(MEAN)",
            ),
            (
                start,
                "start = \"«uniform(0 s, 2000000 s)»\"",
                "group.g.start = uniform(0 ns, 2000000 s): must lie in 0 ns to 1000000 s",
            ),
        ],
    );
}
