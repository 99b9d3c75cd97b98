//! One standard deviation of two quantities over seeds, as RFC 7928 (§ 2.7) has it of delay and
//! goodput.
use super::Scale;
use super::axis::{Numbers, PlotAxis, usable};
use super::canvas::{At, Canvas};
use super::extents::Extents;
use super::frame::PanelFrame;
use super::select::{Panel, Selection};
use super::style::{LegendSeries, of_series};
use crate::tidy::Column;

/// The ellipses of a panel.
pub(super) struct Ellipses {
    ellipses: Vec<(usize, SeedEllipse)>,
    scales: (Scale, Scale),
    not_positive: usize,
}

/// Two quantities over seeds, in the axes' even measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeedEllipse {
    pub mean: [f64; 2],
    /// Variance of the first, covariance, variance of the second; none of one seed.
    pub covariance: Option<[f64; 3]>,
}

impl SeedEllipse {
    /// Of pairs, at least one.
    pub(super) fn of(pairs: &[[f64; 2]]) -> SeedEllipse {
        let n = pairs.len() as f64;
        let mean = [0, 1].map(|k| pairs.iter().map(|pair| pair[k]).sum::<f64>() / n);
        let of = |a: usize, b: usize| {
            let products = pairs.iter().map(|pair| (pair[a] - mean[a]) * (pair[b] - mean[b]));
            products.sum::<f64>() / (n - 1.0)
        };
        let covariance = (pairs.len() > 1).then(|| [of(0, 0), of(0, 1), of(1, 1)]);
        SeedEllipse { mean, covariance }
    }
}

/// The half-axes of the ellipse of one standard deviation, the longer first, and the direction of
/// that one: an angle from the first coordinate towards the second, in degrees.
pub(super) fn axes_of([a, both, b]: [f64; 3]) -> (At, f64) {
    let middle = (a + b) / 2.0;
    let apart = ((a - b) / 2.0).hypot(both);
    let half = ((middle + apart).max(0.0).sqrt(), (middle - apart).max(0.0).sqrt());
    (half, (2.0 * both).atan2(a - b).to_degrees() / 2.0)
}

impl Ellipses {
    /// Of a panel's rows: `y` over `x`.
    pub(super) fn of(selection: &Selection, panel: &Panel, x: &Column, y: &Column) -> Ellipses {
        let scales = (selection.plot.x_scale, selection.plot.y_scale);
        let pair = |row: usize| Some([x.number(row)?, y.number(row)?]);
        let finite = |pair: &[f64; 2]| pair.iter().all(|value| usable(*value));
        let seeds = selection.by_seed(
            &panel.rows,
            |row| Some(selection.series(row)),
            |row| pair(row).filter(finite),
        );
        let mut not_positive = 0;
        let mut ellipses = vec![];
        for (series, pairs) in seeds {
            let held: Vec<[f64; 2]> = pairs
                .iter()
                .filter(|[x, y]| scales.0.holds(*x) && scales.1.holds(*y))
                .map(|[x, y]| [scales.0.even(*x), scales.1.even(*y)])
                .collect();
            not_positive += pairs.len() - held.len();
            if !held.is_empty() {
                ellipses.push((series, SeedEllipse::of(&held)));
            }
        }
        Ellipses { ellipses, scales, not_positive }
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        extents.not_positive += self.not_positive;
        for (_, SeedEllipse { mean, covariance }) in &self.ellipses {
            extents.drawn += 1;
            extents.single += usize::from(covariance.is_none());
            let [a, _, b] = covariance.unwrap_or_default().map(|v| v.max(0.0).sqrt());
            for side in [-1.0, 1.0] {
                extents.x.add(self.scales.0.back(mean[0] + side * a));
                extents.y.add(self.scales.1.back(mean[1] + side * b));
            }
        }
    }

    /// Draws it within `frame`.
    pub(super) fn draw(&self, frame: &PanelFrame, names: &[LegendSeries], canvas: &mut Canvas) {
        let (PlotAxis::Numbers(x), PlotAxis::Numbers(y)) = (frame.x, frame.y) else { return };
        for (series, spread) in self.ellipses.iter().rev() {
            let (name, look) = of_series(names, *series);
            canvas.open("series", name);
            let at = frame.at_places(x.even_place(spread.mean[0]), y.even_place(spread.mean[1]));
            if let Some(covariance) = spread.covariance {
                let (half, turn) = axes_of(on_paper(covariance, frame, x, y));
                canvas.ellipse(at, half, turn, look.colour, look.line(0.9));
            }
            canvas.marker(look.marker, at, 0.24 * frame.font, look.colour);
            canvas.close();
        }
    }
}

/// A covariance in points of the paper, whose second coordinate grows downwards.
fn on_paper([a, both, b]: [f64; 3], frame: &PanelFrame, x: &Numbers, y: &Numbers) -> [f64; 3] {
    let (across, down) = (x.stretch() * frame.rect.width, -y.stretch() * frame.rect.height);
    [a * across * across, both * across * down, b * down * down]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_covariance_by_hand() {
        let spread = SeedEllipse::of(&[[1.0, 5.0], [2.0, 3.0], [3.0, 1.0]]);
        assert_eq!(spread.mean, [2.0, 3.0]);
        assert_eq!(spread.covariance, Some([1.0, -2.0, 4.0]));
        assert_eq!(SeedEllipse::of(&[[1.0, 2.0]]).covariance, None, "of one seed there is none");
        // All on one line: the shorter half-axis is none, the longer √5 along (−1, 2).
        let ((long, short), turn) = axes_of([1.0, -2.0, 4.0]);
        assert!((long - 5f64.sqrt()).abs() < 1e-12 && short < 1e-7, "{long} {short}");
        assert!((turn.to_radians().tan() + 2.0).abs() < 1e-9, "{turn}");
    }

    proptest! {
        /// The half-axes squared are the eigenvalues: their sum is the trace, their product the
        /// determinant, and the direction is an eigenvector.
        #[test]
        fn half_axes_are_the_covariances_own(
            pairs in prop::collection::vec([-5.0..5.0f64, -5.0..5.0f64], 3..12),
        ) {
            let [a, both, b] = SeedEllipse::of(&pairs).covariance.unwrap();
            let ((long, short), turn) = axes_of([a, both, b]);
            let [long, short] = [long * long, short * short];
            prop_assert!(long >= short);
            prop_assert!((long + short - a - b).abs() < 1e-9);
            prop_assert!((long * short - (a * b - both * both)).abs() < 1e-8);
            let (y, x) = turn.to_radians().sin_cos();
            prop_assert!((a * x + both * y - long * x).abs() < 1e-8);
            prop_assert!((both * x + b * y - long * y).abs() < 1e-8);
        }
    }
}
