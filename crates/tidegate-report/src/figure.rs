//! A measured number with its uncertainty.
use serde::{Deserialize, Serialize};

/// A mean over replications and the half-width of its 95 % interval. Always finite: what is no
/// number has no figure, and an `Option<Figure>` is written as `null` where a figure does not
/// apply.
///
/// ```
/// use tidegate_report::Figure;
/// let rate = Figure::new(4.2e6, Some(3e4)).unwrap();
/// assert_eq!((rate.mean(), rate.ci95()), (4.2e6, Some(3e4)));
/// assert_eq!(Figure::new(f64::NAN, None), None, "no figure rather than NaN");
/// let endless = Figure::new(1.0, Some(f64::INFINITY)).unwrap();
/// assert_eq!(endless.ci95(), None, "no interval rather than an endless one");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenFigure")]
pub struct Figure {
    mean: f64,
    ci95: Option<f64>,
}

/// A figure as it stands in a document, before it is checked. Both names must be there, so that a
/// misspelt one is found.
#[derive(Deserialize)]
struct WrittenFigure {
    mean: f64,
    #[serde(deserialize_with = "Option::deserialize")]
    ci95: Option<f64>,
}

impl Figure {
    /// The figure `mean ± ci95`. `None` if the mean is not finite; without interval if that is not
    /// finite or negative.
    pub fn new(mean: f64, ci95: Option<f64>) -> Option<Figure> {
        let ci95 = ci95.filter(|half| half.is_finite() && *half >= 0.0);
        mean.is_finite().then_some(Figure { mean, ci95 })
    }

    /// The figure of a single replication or an exact value: no interval. `None` if `mean` is not
    /// finite.
    pub fn exact(mean: f64) -> Option<Figure> {
        Figure::new(mean, None)
    }

    /// The mean, in the unit of the field that holds the figure.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Half the width of the 95 % interval of the mean; `None` for one replication.
    pub fn ci95(&self) -> Option<f64> {
        self.ci95
    }

    /// This figure divided by `base`, both mean and interval; `None` if that is no number.
    pub fn over(&self, base: f64) -> Option<Figure> {
        Figure::new(self.mean / base, self.ci95.map(|half| half / base.abs()))
    }
}

impl TryFrom<WrittenFigure> for Figure {
    type Error = &'static str;

    fn try_from(written: WrittenFigure) -> Result<Figure, Self::Error> {
        if written.ci95.is_some_and(|half| !half.is_finite() || half < 0.0) {
            return Err("ci95 must be null or a number not below 0");
        }
        Figure::new(written.mean, written.ci95).ok_or("mean must be finite")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// To the last bit, or what is read is not what was measured.
        #[test]
        fn a_figure_survives_its_text(mean in any::<f64>(), half in any::<Option<f64>>()) {
            let Some(figure) = Figure::new(mean, half) else {
                prop_assert!(!mean.is_finite());
                return Ok(());
            };
            prop_assert!(figure.ci95().is_none_or(|half| half.is_finite() && half >= 0.0));
            let kept = half.filter(|half| half.is_finite() && *half >= 0.0);
            prop_assert_eq!(figure.ci95(), kept);
            let text = serde_json::to_string(&figure).unwrap();
            let back: Figure = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.mean().to_bits(), figure.mean().to_bits(), "{}", text);
            prop_assert_eq!(back.ci95().map(f64::to_bits), figure.ci95().map(f64::to_bits));
        }

        #[test]
        fn over_a_number_divides_both(
            mean in -1e9..1e9f64,
            half in 0.0..1e9f64,
            base in -1e3..1e3f64,
        ) {
            prop_assume!(base.abs() > 1e-3);
            let over = Figure::new(mean, Some(half)).unwrap().over(base).unwrap();
            prop_assert!((over.mean() * base - mean).abs() <= mean.abs() * 1e-12);
            let width = over.ci95().unwrap();
            prop_assert!(width >= 0.0 && (width * base.abs() - half).abs() <= half * 1e-12);
        }
    }

    #[test]
    fn over_nothing_there_is_no_figure() {
        let figure = Figure::new(2.0, Some(0.5)).unwrap();
        assert_eq!(figure.over(0.0), None);
        assert_eq!(figure.over(f64::NAN), None);
        assert_eq!(Figure::exact(2.0).unwrap().over(4.0), Figure::exact(0.5));
        assert_eq!(Figure::new(0.0, Some(0.0)).unwrap().over(0.0), None, "0/0 is no number");
    }

    #[test]
    fn what_is_no_figure_is_refused_with_its_reason() {
        for (text, why) in [
            (r#"{"mean": 1.0, "ci95": -0.5}"#, "ci95 must be null or a number not below 0"),
            (r#"{"mean": 1.0}"#, "missing field `ci95`"),
            (r#"{"ci95": null}"#, "missing field `mean`"),
            (r#"{"mean": null, "ci95": null}"#, "invalid type: null"),
            (r#"{"mean": 1.0, "ci": 0.5}"#, "missing field `ci95`"),
            (r#"{"mean": "1", "ci95": null}"#, "invalid type: string"),
            (r#"{"mean": 1e999, "ci95": null}"#, "number out of range"),
            ("1.0", "invalid type: floating point"),
        ] {
            let error = serde_json::from_str::<Figure>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let null: Option<Figure> = serde_json::from_str("null").unwrap();
        assert_eq!(null, None);
    }
}
