//! What the papers work out by formula, worked out with the code that the queues run.
use std::str::FromStr;

use tidegate::parts::jackknife::{Frequencies, Jackknife};
use tidegate::parts::mincount::{Estimator, MinCount};
use tidegate::parts::rate::RateEstimator;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

use super::unit::NumberKind;

/// A closed form with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Closed {
    form: &'static ClosedForm,
    arguments: Vec<f64>,
}

/// A formula.
#[derive(Debug)]
struct ClosedForm {
    name: &'static str,
    /// Its arguments, in order.
    takes: &'static [&'static str],
    dimension: NumberKind,
    value: fn(&[f64]) -> f64,
}

impl PartialEq for ClosedForm {
    fn eq(&self, other: &ClosedForm) -> bool {
        self.name == other.name
    }
}

const FORMS: [ClosedForm; 14] = [
    // feng2001 eq. (1): all bins of a flow polluted by one of `floods`.
    ClosedForm {
        name: "misclassified",
        takes: &["levels", "bins", "floods"],
        dimension: NumberKind::Ratio,
        value: |a| misclassified(a[0], a[1], a[2]),
    },
    ClosedForm {
        name: "misclassified_flows",
        takes: &["levels", "bins", "floods", "flows"],
        dimension: NumberKind::Count,
        value: |a| misclassified(a[0], a[1], a[2]) * a[3],
    },
    // Bins of a level that hold one of the floods at least.
    ClosedForm {
        name: "polluted_bins",
        takes: &["bins", "floods"],
        dimension: NumberKind::Count,
        value: |a| a[0] * misclassified(1.0, a[0], a[1]),
    },
    // feng2001 Fig. 4: with so many bins in all, one level against the better of two and three.
    ClosedForm {
        name: "one_level_over_more",
        takes: &["bins", "floods"],
        dimension: NumberKind::Ratio,
        value: |a| {
            let levels = |levels: f64| misclassified(levels, a[0] / levels, a[1]);
            levels(1.0) / levels(2.0).min(levels(3.0))
        },
    },
    // chan2003 Table II from the frequencies of its Table I.
    ClosedForm {
        name: "jackknife_order",
        takes: &["order"],
        dimension: NumberKind::Count,
        value: |a| orders()[a[0] as usize],
    },
    ClosedForm {
        name: "jackknife",
        takes: &[],
        dimension: NumberKind::Count,
        value: |_| table_1().0.estimate(&table_1().1),
    },
    // The relative standard error of MINCOUNT with three minima a bucket, √(ψ'(3) / m), ψ'(3) =
    // π²/6 − 5/4.
    ClosedForm {
        name: "mincount_error",
        takes: &["buckets"],
        dimension: NumberKind::Ratio,
        value: |a| ((std::f64::consts::PI.powi(2) / 6.0 - 1.25) / a[0]).sqrt(),
    },
    ClosedForm {
        name: "mincount_bytes",
        takes: &["buckets", "minima"],
        dimension: NumberKind::Count,
        value: |a| MinCount::new(a[0] as u32, a[1] as u32, Estimator::Auto, 1).bytes() as f64,
    },
    // cho2001 Fig. 1, read from a queue that knows so many flows.
    ClosedForm {
        name: "bare_threshold",
        takes: &["flows"],
        dimension: NumberKind::Count,
        value: |a| bare_threshold(a[0] as u64),
    },
    // cho2001 eqs. (1) to (3): the packets from one loss to the next, if each is lost with the
    // same chance.
    ClosedForm {
        name: "gap_chance",
        takes: &["percent", "packets"],
        dimension: NumberKind::Ratio,
        value: |a| gap_chance(a[0] / 100.0, a[1]),
    },
    ClosedForm {
        name: "gap_mean",
        takes: &["percent"],
        dimension: NumberKind::Ratio,
        value: |a| gap_moments(a[0] / 100.0).0,
    },
    ClosedForm {
        name: "gap_sd",
        takes: &["percent"],
        dimension: NumberKind::Ratio,
        value: |a| gap_moments(a[0] / 100.0).1,
    },
    // Its eq. (9): what the new packet and the old rate weigh in the rate, so many times K after
    // the packet before.
    ClosedForm {
        name: "rate_fresh",
        takes: &["memories"],
        dimension: NumberKind::Ratio,
        value: |a| rate_weights(a[0]).0,
    },
    ClosedForm {
        name: "rate_kept",
        takes: &["memories"],
        dimension: NumberKind::Ratio,
        value: |a| rate_weights(a[0]).1,
    },
];

/// [1 − (1 − 1/B)^M]^L.
fn misclassified(levels: f64, bins: f64, floods: f64) -> f64 {
    libm::pow(1.0 - libm::pow(1.0 - 1.0 / bins, floods), levels)
}

/// The example of chan2003's Table I.
fn table_1() -> (Jackknife, Frequencies) {
    (Jackknife::new(18), Frequencies { seen: 76, once_to_five: [43, 16, 8, 6, 0] })
}

fn orders() -> [f64; 6] {
    let (jackknife, caught) = table_1();
    jackknife.orders(&caught)
}

/// (1 − p)^(n − 1) p.
fn gap_chance(p: f64, packets: f64) -> f64 {
    libm::pow(1.0 - p, packets - 1.0) * p
}

/// Mean and standard deviation of the gap, summed up as eqs. (2) and (3) are meant: of the rest
/// nothing is seen.
fn gap_moments(p: f64) -> (f64, f64) {
    let most = (40.0 / p.clamp(1e-4, 1.0)) as u64;
    let moment = |power: i32| {
        (1..=most).map(|n| libm::pow(n as f64, power as f64) * gap_chance(p, n as f64)).sum::<f64>()
    };
    let mean = moment(1);
    (mean, (moment(2) - mean * mean).max(0.0).sqrt())
}

/// As the estimator of the queues has it: a packet's own rate, and the rate before, `memories`
/// times K later.
fn rate_weights(memories: f64) -> (f64, f64) {
    let estimator = RateEstimator::new(Span::from_millis(1000));
    let gap = Span::from_secs(memories);
    (estimator.update(0.0, 1000, gap) * memories / 1000.0, estimator.update(1e9, 0, gap) / 1e9)
}

fn bare_threshold(flows: u64) -> f64 {
    let text = "the constants of the paper can be read";
    let size = |size: &str| size.parse().expect(text);
    let rate = "10 Mbit/s".parse().expect(text);
    let link = Link::new(rate, size("1000 kB"), "1000 B".parse().expect(text)).expect(text);
    let config = catalog::config("bare", Some("paper"), &link).expect(text);
    let mut queue = config.build(link, Rng::from_seed(1)).expect(text);
    for flow in 0..flows {
        queue.enqueue(Time::ZERO, Packet::new(flow, 40), &mut NullSink);
    }
    let mut of_a_flow = 0.0;
    queue.probe(&mut |gauge| {
        if gauge.name == "max_th" {
            of_a_flow = gauge.value;
        }
    });
    of_a_flow * flows as f64
}

impl Closed {
    pub fn dimension(&self) -> NumberKind {
        self.form.dimension
    }

    pub fn value(&self) -> f64 {
        (self.form.value)(&self.arguments)
    }
}

impl FromStr for Closed {
    type Err = String;

    fn from_str(text: &str) -> Result<Closed, String> {
        let known = FORMS.map(|form| form.name);
        let (name, inner) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let form = FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
            let near = crate::nearest::did_you_mean(name, &known).unwrap_or_default();
            format!("no such closed form; known are {}{near}", known.join(", "))
        })?;
        let wrong = || format!("must be written {}({})", form.name, form.takes.map_join());
        let parts: Vec<&str> =
            inner.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.len() != form.takes.len() {
            return Err(wrong());
        }
        let argument = |(part, name): (&&str, &&str)| {
            let number = part.strip_prefix(name)?.trim().parse::<f64>().ok()?;
            (number.fract() == 0.0 && (0.0..=1e6).contains(&number)).then_some(number)
        };
        let arguments: Option<Vec<f64>> = parts.iter().zip(form.takes).map(argument).collect();
        let arguments = arguments.ok_or_else(wrong)?;
        let whole_order = form.name != "jackknife_order" || arguments[0] <= 5.0;
        if whole_order {
            Ok(Closed { form, arguments })
        } else {
            Err("orders go from 0 to 5".into())
        }
    }
}

/// Names of arguments, each followed by a number.
trait MapJoin {
    fn map_join(&self) -> String;
}

impl MapJoin for &[&str] {
    fn map_join(&self) -> String {
        self.iter().map(|name| format!("{name} N")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        text.parse::<Closed>().unwrap().value()
    }

    #[test]
    fn golden_numbers() {
        for (form, golden) in [
            ("misclassified(levels 2, bins 23, floods 4)", 0.0265351),
            ("misclassified(levels 1, bins 46, floods 8)", 0.1612405),
            ("misclassified_flows(levels 2, bins 23, floods 8, flows 400)", 35.8219),
            ("polluted_bins(bins 23, floods 8)", 6.8829),
            ("one_level_over_more(bins 90, floods 24)", 1.362906),
            ("jackknife_order(order 3)", 158.4820),
            ("jackknife()", 142.2523),
            ("mincount_error(buckets 1024)", 0.0196387),
            ("bare_threshold(flows 9)", 72_000.0),
            ("bare_threshold(flows 20)", 103_225.806_5),
            ("bare_threshold(flows 68)", 272_000.0),
            ("gap_chance(percent 10, packets 3)", 0.081),
            ("gap_mean(percent 10)", 10.0),
            ("gap_sd(percent 10)", 9.486833),
            ("rate_fresh(memories 4)", 0.981684),
            ("rate_kept(memories 4)", 0.018316),
        ] {
            let ours = value(form);
            assert!((ours - golden).abs() <= 1e-4 * golden, "{form}: {ours} is not {golden}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        for text in [
            "misclassified(levels 2, bins 23)",
            "misclassified(bins 2, levels 23, floods 1)",
            "jackknife(1)",
        ] {
            assert!(text.parse::<Closed>().unwrap_err().contains("must be written"), "{text}");
        }
        assert!("jackknife_order(order 6)".parse::<Closed>().is_err());
        assert!("misclassified(levels 2.5, bins 1, floods 1)".parse::<Closed>().is_err());
    }
}
