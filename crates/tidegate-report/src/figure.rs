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
/// assert_eq!(Figure::new(1.0, Some(f64::INFINITY)).unwrap().ci95(), None, "no interval rather than an endless one");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Figure {
    mean: f64,
    ci95: Option<f64>,
}

/// A figure as it stands in a document, before it is checked. Both names must be there, so that a
/// misspelt one is found.
#[derive(Deserialize)]
struct Written {
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

impl TryFrom<Written> for Figure {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Figure, Self::Error> {
        if written.ci95.is_some_and(|half| !half.is_finite() || half < 0.0) {
            return Err("ci95 must be null or a number not below 0");
        }
        Figure::new(written.mean, written.ci95).ok_or("mean must be finite")
    }
}
