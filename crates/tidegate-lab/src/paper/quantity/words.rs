//! How a quantity is written: from its words to what it is.
use tidegate_report::{Group, Metric};

use super::{
    EVER, Extreme, GridWindow, QuantityKind, RateKind, Reduce, Stat, Statistic, Who, WholeQuantity,
};

/// What quantities begin with, to name what may have been meant.
const KNOWN: [&str; 20] = [
    "throughput",
    "goodput",
    "active goodput",
    "loss",
    "offered",
    "loss ratio",
    "mark ratio",
    "jain",
    "class jain",
    "norm",
    "deviation from fair",
    "utilization",
    "nearly full",
    "delay",
    "drop gap cov",
    "rate cov",
    "least flow",
    "greatest flow",
    "flows of",
    "gauge",
];

/// The declared metrics of a group that are a ratio, and so need no unit.
fn declared() -> impl Iterator<Item = &'static Metric> {
    Group::METRICS.iter().filter(|metric| metric.shape == "ratio")
}

/// What to say of words that are no quantity.
fn unknown(body: &str) -> String {
    let declared: Vec<String> = declared().map(|metric| metric.name.replace('_', " ")).collect();
    let mut known: Vec<&str> = KNOWN.to_vec();
    known.extend(declared.iter().map(String::as_str).filter(|name| !KNOWN.contains(name)));
    let near = crate::nearest::did_you_mean(body, &known).unwrap_or_default();
    format!("no such quantity; they begin with {}{near}", known.join(" | "))
}

impl QuantityKind {
    pub(super) fn read(text: &str) -> Result<QuantityKind, String> {
        if let (Some((one, other)), true) = (text.split_once(" over "), text.contains("..")) {
            // A time stands behind something.
            let other = format!("loss ratio {other}");
            return match (GridWindow::split(one)?, GridWindow::split(&other)?) {
                (("loss ratio", Some(one)), (_, Some(other))) => {
                    Ok(QuantityKind::LossRatioChange(one, other))
                }
                _ => Err("only the loss ratio of a time can be over that of another".into()),
            };
        }
        let (body, window) = GridWindow::split(text)?;
        let words: Vec<&str> = body.split_whitespace().collect();
        if let Some(gauge) = QuantityKind::gauge(&words, window)? {
            return Ok(gauge);
        }
        match window {
            Some(window) => QuantityKind::of_time(&words, window),
            None => QuantityKind::of_run(&words, body),
        }
    }

    /// A gauge; none if the words are of something else.
    fn gauge(words: &[&str], window: Option<GridWindow>) -> Result<Option<QuantityKind>, String> {
        let (name, how) = match words {
            ["gauge", name, "mean"] => (name, Reduce::Mean),
            ["gauge", name, "rmse", truth] => {
                let truth = truth
                    .parse()
                    .map_err(|_| format!("`{truth}` must be the number that is true"))?;
                (name, Reduce::Rmse(truth))
            }
            _ => return Ok(None),
        };
        Ok(Some(QuantityKind::Gauge((*name).into(), how, window.unwrap_or(EVER))))
    }

    /// What is of a part of the run.
    fn of_time(words: &[&str], window: GridWindow) -> Result<QuantityKind, String> {
        match words {
            ["loss", "ratio"] => Ok(QuantityKind::LossRatioOver(window)),
            [rate @ ("throughput" | "loss"), who] => {
                Ok(QuantityKind::RateOver(RateKind::read(rate), Who::read(who), window))
            }
            _ => Err("only throughput, loss, loss ratio and gauge can be of a time".into()),
        }
    }

    /// What is of the whole run; `body` is its words in one text.
    fn of_run(words: &[&str], body: &str) -> Result<QuantityKind, String> {
        let what = match words {
            ["loss", "ratio", who] => Self::LossRatio(Who::read(who)),
            ["mark", "ratio", who] => Self::MarkRatio(Who::read(who)),
            [rate @ ("throughput" | "goodput" | "loss" | "offered"), who] => {
                Self::Rate(RateKind::read(rate), Who::read(who))
            }
            [rate @ ("throughput" | "goodput"), one, "over", other] => {
                Self::Ratio(RateKind::read(rate), (*one).into(), (*other).into())
            }
            ["jain", who] => Self::Jain(Who::read(who)),
            ["class", "jain", rate @ ("throughput" | "goodput")] => {
                Self::ClassJain(RateKind::read(rate))
            }
            ["active", "goodput", who] => Self::Rate(RateKind::ActiveGoodput, Who::read(who)),
            ["class", "jain", "active", "goodput"] => Self::ClassJain(RateKind::ActiveGoodput),
            ["norm", "of", groups @ .., "n", n] if !groups.is_empty() => {
                let n = n
                    .parse()
                    .ok()
                    .filter(|n: &f64| *n >= 1.0)
                    .ok_or("n must be a number of flows")?;
                Self::NormOf(groups.iter().map(|g| g.to_string()).collect(), Some(n))
            }
            ["norm", "of", groups @ ..] if !groups.is_empty() => {
                Self::NormOf(groups.iter().map(|g| g.to_string()).collect(), None)
            }
            ["norm"] => Self::Whole(WholeQuantity::Norm),
            ["deviation", "from", "fair"] => Self::Whole(WholeQuantity::Deviation),
            ["utilization"] => Self::Whole(WholeQuantity::Utilization),
            ["nearly", "full"] => Self::Whole(WholeQuantity::NearlyFull),
            ["delay", stat] => Self::Delay(Stat::read(stat).ok_or_else(|| unknown(body))?),
            ["drop", "gap", "cov", who] => Self::DropGapCov(Who::read(who)),
            ["rate", "cov", "mean", group] => Self::RateCov(Statistic::Mean, (*group).into()),
            ["rate", "cov", "sd", group] => Self::RateCov(Statistic::Sd, (*group).into()),
            ["least", "flow", group] => Self::End(Extreme::Least, (*group).into()),
            ["greatest", "flow", group] => Self::End(Extreme::Greatest, (*group).into()),
            ["flows", "of", group, "below", share, "%"] => {
                let share: f64 =
                    share.parse().map_err(|_| format!("`{share}` must be a number of per cent"))?;
                Self::Below((*group).into(), share / 100.0)
            }
            [name @ .., group] => {
                let name = name.join("_");
                let metric =
                    declared().find(|metric| metric.name == name).ok_or_else(|| unknown(body))?;
                Self::Declared(metric, (*group).into())
            }
            _ => return Err(unknown(body)),
        };
        Ok(what)
    }
}

impl Who {
    fn read(word: &str) -> Who {
        if word == "total" { Who::All } else { Who::Group(word.into()) }
    }
}

impl RateKind {
    /// `word` is one of the four.
    fn read(word: &str) -> RateKind {
        match word {
            "goodput" => RateKind::Goodput,
            "loss" => RateKind::Loss,
            "offered" => RateKind::Offered,
            _ => RateKind::Throughput,
        }
    }
}

impl Stat {
    fn read(word: &str) -> Option<Stat> {
        match word {
            "mean" => Some(Stat::Mean),
            "sd" => Some(Stat::Sd),
            "p50" => Some(Stat::P50),
            "p95" => Some(Stat::P95),
            "p99" => Some(Stat::P99),
            _ => None,
        }
    }
}

impl GridWindow {
    /// `text` without the `10 s..30 s` at its end, and that.
    fn split(text: &str) -> Result<(&str, Option<GridWindow>), String> {
        let Some((before, after)) = text.split_once("..") else { return Ok((text, None)) };
        let wrong = || "a time must be written as in 10 s..30 s, rising".to_string();
        let before = before.trim_end().strip_suffix('s').ok_or_else(wrong)?.trim_end();
        let (body, from) = before.rsplit_once(' ').ok_or_else(wrong)?;
        let to = after.trim().strip_suffix('s').ok_or_else(wrong)?.trim_end();
        let number = |text: &str| {
            text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).ok_or_else(wrong)
        };
        let window = GridWindow { from: number(from)?, to: number(to)? };
        if window.from < window.to { Ok((body, Some(window))) } else { Err(wrong()) }
    }
}
