//! How many replications a case gets.
use tidegate_report::interval;

/// How many replications a case gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Seeds {
    /// So many.
    Fixed(u32),
    /// Until a figure is known well enough.
    Until(Until),
}

/// Replications until the interval of a figure is narrow enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// Half the width of the 95 % interval over the mean must be below this.
    pub relative: f64,
    /// The group whose figure it is.
    pub group: String,
    /// The column of its figure.
    pub column: String,
    /// At least so many replications.
    pub least: u32,
    /// At most so many.
    pub most: u32,
}

/// Fewer replications have no interval worth the name.
pub(super) const LEAST: u32 = 3;

impl Seeds {
    /// The most replications that a case may get.
    pub fn most(&self) -> u32 {
        match self {
            Seeds::Fixed(seeds) => *seeds,
            Seeds::Until(until) => until.most,
        }
    }

    /// How many replications are needed, as far as the figures `known` of the first ones tell;
    /// [`Seeds::Fixed`] needs no figures. It hangs on nothing but these figures and their order.
    pub(super) fn needed(&self, known: &[Option<f64>]) -> u32 {
        match self {
            Seeds::Fixed(seeds) => *seeds,
            Seeds::Until(until) => (until.least..until.most)
                .take_while(|&n| n as usize <= known.len())
                .find(|&n| until.met(&known[..n as usize]))
                .unwrap_or_else(|| until.most.min((known.len() as u32 + 1).max(until.least))),
        }
    }
}

impl Until {
    /// Whether these figures are enough.
    fn met(&self, figures: &[Option<f64>]) -> bool {
        let known: Vec<f64> = figures.iter().copied().flatten().collect();
        let Some(figure) = interval::mean(&known) else { return false };
        figure.ci95().is_some_and(|half| half <= self.relative * figure.mean().abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(relative: f64) -> Seeds {
        let (group, column) = ("tcp".into(), "goodput_bps".into());
        Seeds::Until(Until { relative, group, column, least: 3, most: 6 })
    }

    #[test]
    fn a_fixed_number_asks_for_nothing_else() {
        assert_eq!(Seeds::Fixed(7).needed(&[]), 7);
    }

    #[test]
    fn one_after_the_other_until_the_interval_is_narrow() {
        let seeds = until(0.05);
        assert_eq!(seeds.needed(&[]), 3);
        assert_eq!(seeds.needed(&[Some(1.0), Some(2.0)]), 3);
        // 1, 2, 3: mean 2, deviation 1, half width 4.303 · 1/√3 = 2.48.
        assert_eq!(seeds.needed(&[Some(1.0), Some(2.0), Some(3.0)]), 4);
        // 10, 10.1, 9.9: half width 4.303 · 0.1/√3 = 0.248 < 0.5.
        assert_eq!(seeds.needed(&[Some(10.0), Some(10.1), Some(9.9)]), 3);
        // What comes after does not undo it, so extending a study keeps what was decided.
        assert_eq!(seeds.needed(&[Some(10.0), Some(10.1), Some(9.9), Some(99.0)]), 3);
        assert_eq!(
            seeds.needed(&[Some(1.0), Some(9.0), Some(1.0), Some(9.0), Some(1.0), Some(9.0)]),
            6
        );
        assert_eq!(seeds.needed(&[None, None, None]), 4, "a figure that is not there is not known");
        assert_eq!(seeds.needed(&[None; 6]), 6);
    }
}
