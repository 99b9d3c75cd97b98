//! What our figure says of a printed one.
use std::fmt;
use std::str::FromStr;

use tidegate_report::Figure;
use tidegate_report::interval::{self, Estimate};

/// What a paper says of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// This number.
    Number(f64),
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Less than so many times the same quantity of another queue: `< rem`, `< 0.6 of red`, `< care
    /// @ UDP load 5 %`.
    Less(f64, Other),
    /// More than so many times the same quantity of another queue.
    More(f64, Other),
}

/// What a claim of an order compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The label of the queue.
    pub queue: String,
    /// The setting of the same experiment, if it is not the claim's own.
    pub setting: Option<String>,
}

/// How near to a number is near enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// This share of the printed number: `10 %`.
    Share(f64),
    /// So much in the unit of the number: `0.005`.
    Much(f64),
}

/// What our figure says of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// Ours agrees.
    Holds,
    /// Ours does not agree as run, but does under this reading of the text, which something else
    /// contradicts.
    HoldsUnder(String),
    /// Ours does not agree.
    Differs,
    /// Ours agrees, but a parameter was chosen so that it does, which proves nothing.
    Fitted,
    /// A parameter was chosen so that ours agree, and it does not here.
    FittedNotMet,
    /// Nothing can be said: why not.
    Unchecked(String),
}

impl ClaimVerdict {
    /// Its first words, the same for all of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::HoldsUnder(_) => "holds under a reading",
            ClaimVerdict::Differs => "differs",
            ClaimVerdict::Fitted => "fitted",
            ClaimVerdict::FittedNotMet => "fitted, not met",
            ClaimVerdict::Unchecked(_) => "cannot be checked",
        }
    }

    /// Whether ours does not agree as run.
    pub fn is_apart(&self) -> bool {
        matches!(
            self,
            ClaimVerdict::HoldsUnder(_) | ClaimVerdict::Differs | ClaimVerdict::FittedNotMet
        )
    }

    /// The same for a number on which a parameter was chosen.
    pub fn of_a_target(self) -> ClaimVerdict {
        match self {
            ClaimVerdict::Holds => ClaimVerdict::Fitted,
            ClaimVerdict::Differs => ClaimVerdict::FittedNotMet,
            other => other,
        }
    }
}

impl fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimVerdict::HoldsUnder(reading) => write!(f, "holds under {reading}"),
            ClaimVerdict::Unchecked(why) => write!(f, "{}: {why}", self.kind()),
            _ => f.write_str(self.kind()),
        }
    }
}

impl Printed {
    /// What it compares with.
    pub fn other(&self) -> Option<&Other> {
        match self {
            Printed::Less(_, other) | Printed::More(_, other) => Some(other),
            _ => None,
        }
    }

    /// The printed number, if there is one.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Printed::Number(n) | Printed::AtMost(n) | Printed::AtLeast(n) => Some(n),
            _ => None,
        }
    }

    /// What `ours` says of it, and `theirs` where it compares with another queue, each the mean of
    /// so many `replications`. An order holds if the 95 % interval of the difference (Welch's) lies
    /// on its side of zero, and differs if it lies on the other. Single replications leave it
    /// undecided.
    pub fn judge(
        &self,
        (ours, replications): (Figure, usize),
        theirs: Option<(Figure, usize)>,
        within: Option<Tolerance>,
    ) -> ClaimVerdict {
        let said = |yes: bool| if yes { ClaimVerdict::Holds } else { ClaimVerdict::Differs };
        let near = |n: f64| match within {
            Some(Tolerance::Share(share)) => share * n.abs(),
            Some(Tolerance::Much(much)) => much,
            None => 0.0,
        };
        // What was read from decimals is compared with a hair of room for their rounding.
        let room = |n: f64| near(n) + 1e-9 * n.abs();
        match self {
            Printed::Number(n) => said((ours.mean() - n).abs() <= room(*n)),
            Printed::AtMost(n) => said(ours.mean() - n <= room(*n)),
            Printed::AtLeast(n) => said(n - ours.mean() <= room(*n)),
            Printed::Less(factor, _) | Printed::More(factor, _) => {
                let Some((theirs, of_theirs)) = theirs else {
                    return ClaimVerdict::Unchecked("the other queue has no figure".into());
                };
                let both = Estimate::from_figure(ours, replications)
                    .zip(Estimate::from_figure(theirs, of_theirs));
                let Some((a, b)) = both else {
                    return ClaimVerdict::Unchecked(
                        "one replication says nothing of an order".into(),
                    );
                };
                let more = interval::welch(a, b.times(*factor));
                if interval::differ(more) != Some(true) {
                    return ClaimVerdict::Unchecked(
                        "the interval of the difference holds zero".into(),
                    );
                }
                let ahead =
                    if matches!(self, Printed::More(..)) { more.mean() } else { -more.mean() };
                said(ahead > 0.0)
            }
        }
    }
}

impl FromStr for Printed {
    type Err = String;

    fn from_str(text: &str) -> Result<Printed, String> {
        const FORMS: &str = "must be a number, `<= N`, `>= N`, `< QUEUE`, `> QUEUE`, or `< N of \
                             QUEUE`, `> N of QUEUE`, with ` @ SETTING` behind the queue if it is \
                             another's";
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite()).ok_or(FORMS);
        if let Some(rest) = text.strip_prefix("<=") {
            return Ok(Printed::AtMost(number(rest)?));
        }
        if let Some(rest) = text.strip_prefix(">=") {
            return Ok(Printed::AtLeast(number(rest)?));
        }
        let (order, rest): (fn(f64, Other) -> Printed, &str) =
            match (text.strip_prefix('<'), text.strip_prefix('>')) {
                (Some(rest), _) => (Printed::Less, rest.trim()),
                (_, Some(rest)) => (Printed::More, rest.trim()),
                _ => return Ok(Printed::Number(number(text)?)),
            };
        let (factor, label) = match rest.split_once(" of ") {
            Some((factor, label)) => (number(factor)?, label.trim()),
            None => (1.0, rest),
        };
        let (queue, setting) = match label.split_once(" @ ") {
            Some((queue, setting)) => (queue.trim(), Some(setting.trim().to_string())),
            None => (label, None),
        };
        if queue.is_empty() || queue.parse::<f64>().is_ok() {
            return Err(FORMS.into());
        }
        Ok(order(factor, Other { queue: queue.into(), setting }))
    }
}

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Tolerance, String> {
        let wrong = || {
            "must be a share of the printed number, as in 10 %, or a number in its unit".to_string()
        };
        let (number, share) = match text.strip_suffix('%') {
            Some(number) => (number.trim(), true),
            None => (text, false),
        };
        let number =
            number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).ok_or_else(wrong)?;
        Ok(if share { Tolerance::Share(number / 100.0) } else { Tolerance::Much(number) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(printed: &str, ours: (f64, f64), theirs: (f64, f64), within: &str) -> String {
        let printed: Printed = printed.parse().unwrap();
        let figure = |(mean, ci): (f64, f64)| Figure::new(mean, Some(ci)).unwrap();
        printed.judge((figure(ours), 5), Some((figure(theirs), 5)), within.parse().ok()).to_string()
    }

    #[test]
    fn numbers_and_bounds() {
        for (printed, ours, within, verdict) in [
            ("0.16", 0.17, "10 %", "holds"),
            ("0.16", 0.18, "10 %", "differs"),
            ("98.6", 95.6, "3", "holds"),
            ("98.6", 95.59, "3", "differs"),
            ("<= 1", 1.1, "10 %", "holds"),
            ("<= 1", 0.2, "10 %", "holds"),
            ("<= 1", 1.11, "10 %", "differs"),
            (">= 0.99", 0.98, "0", "differs"),
            (">= 0.99", 0.999, "0", "holds"),
        ] {
            assert_eq!(
                judge(printed, (ours, 0.1), (0.0, 0.0), within),
                verdict,
                "{printed} {ours}"
            );
        }
    }

    #[test]
    fn orders_need_a_difference_whose_interval_leaves_out_zero() {
        assert_eq!(judge("> black", (8.6, 0.1), (5.3, 0.1), ""), "holds");
        assert_eq!(judge("< black", (8.6, 0.1), (5.3, 0.1), ""), "differs");
        assert_eq!(
            judge("> black", (5.4, 0.1), (5.3, 0.1), ""),
            "cannot be checked: the interval of the difference holds zero"
        );
        // .15 ± .12: the intervals meet, and yet the two differ.
        assert_eq!(judge("> black", (5.45, 0.1), (5.3, 0.1), ""), "holds");
        assert_eq!(judge("< 0.6 of red", (5.0, 0.1), (10.0, 1.0), ""), "holds");
        assert_eq!(
            judge("< 0.6 of red", (5.8, 0.1), (10.0, 1.0), ""),
            "cannot be checked: the interval of the difference holds zero"
        );
        assert_eq!(judge("< 2 of red @ few flows", (5.0, 0.1), (10.0, 1.0), ""), "holds");
        let alone = Figure::exact(1.0).unwrap();
        let verdict = "> red".parse::<Printed>().unwrap().judge((alone, 1), Some((alone, 1)), None);
        assert_eq!(verdict.kind(), "cannot be checked");
    }

    #[test]
    fn a_target_never_holds() {
        let all = [ClaimVerdict::Holds, ClaimVerdict::Differs, ClaimVerdict::Unchecked("x".into())]
            .map(ClaimVerdict::of_a_target);
        assert_eq!(all.map(|v| v.kind()), ["fitted", "fitted, not met", "cannot be checked"]);
    }

    #[test]
    fn an_order_may_be_of_two_settings() {
        let other = |queue: &str, setting: Option<&str>| Other {
            queue: queue.into(),
            setting: setting.map(String::from),
        };
        assert_eq!("< 0.6 of red".parse(), Ok(Printed::Less(0.6, other("red", None))));
        assert_eq!(
            "> T 50 @ load 5 %".parse(),
            Ok(Printed::More(1.0, other("T 50", Some("load 5 %"))))
        );
    }

    #[test]
    fn what_is_no_claim() {
        for text in ["", "about 3", "< ", "> 3", "<= x", "nan", "< x of red", "< 2 @ few flows"] {
            assert!(text.parse::<Printed>().unwrap_err().contains("must be"), "{text}");
        }
        assert!("ten".parse::<Tolerance>().is_err() && "-1".parse::<Tolerance>().is_err());
    }
}
