//! How values spread over seeds: boxes or single points.
use super::axis::{PlotAxis, usable};
use super::canvas::{Canvas, Rect};
use super::extents::Extents;
use super::factor::Factor;
use super::frame::PanelFrame;
use super::select::{Panel, Selection};
use super::style::{LegendSeries, SeriesStyle, Stroke, of_series};
use super::{PlotKind, Scale};
use crate::tidy::Column;

/// The spreads of a panel.
pub(super) struct SpreadPanel {
    places: Vec<SpreadPlace>,
    /// Of how many places beside each other at a level.
    slots: usize,
    scale: Scale,
    kind: PlotKind,
}

struct SpreadPlace {
    level: usize,
    series: usize,
    slot: usize,
    /// Rising.
    values: Vec<f64>,
    /// In the order of the table.
    in_order: Vec<f64>,
}

/// What a box is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quartiles {
    /// First quartile, median, third quartile.
    pub box_: [f64; 3],
    /// The least and the greatest value within 1.5 times the box's height of it.
    pub whiskers: [f64; 2],
}

impl Quartiles {
    /// Of `values`, rising and at least one; between two values in proportion (type 7 of Hyndman
    /// and Fan, as in R and NumPy).
    pub(super) fn of(values: &[f64]) -> Quartiles {
        let at = |part: f64| {
            let place = part * (values.len() - 1) as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            values[below] + (place - below as f64) * (values[above] - values[below])
        };
        let box_ = [at(0.25), at(0.5), at(0.75)];
        let far = 1.5 * (box_[2] - box_[0]);
        let inside =
            || values.iter().copied().filter(|v| (box_[0] - far..=box_[2] + far).contains(v));
        let least = inside().next().unwrap_or(box_[0]);
        let most = inside().next_back().unwrap_or(box_[2]);
        Quartiles { box_, whiskers: [least, most] }
    }
}

impl SpreadPanel {
    /// Of a panel's rows: `y` at each level of `x`.
    pub(super) fn of(selection: &Selection, panel: &Panel, x: &Factor, y: &Column) -> SpreadPanel {
        let mut found: std::collections::BTreeMap<(usize, usize), Vec<f64>> = Default::default();
        for &row in &panel.rows {
            let value = y.number(row).filter(|value| usable(*value));
            if let (Some(level), Some(value)) = (x.level(row), value) {
                found.entry((level, selection.series(row))).or_default().push(value);
            }
        }
        let by_itself = selection.colour.as_ref().is_none_or(|c| c.column.name == x.column.name);
        let series = selection.colour.as_ref().map_or(1, |colour| colour.levels.len());
        let places = found.into_iter().map(|((level, series), in_order)| {
            let mut values = in_order.clone();
            values.sort_by(f64::total_cmp);
            SpreadPlace {
                level,
                series,
                slot: if by_itself { 0 } else { series },
                values,
                in_order,
            }
        });
        SpreadPanel {
            places: places.collect(),
            slots: if by_itself { 1 } else { series },
            scale: selection.plot.y_scale,
            kind: selection.plot.kind,
        }
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        for place in &self.places {
            for &value in &place.values {
                if self.scale.holds(value) {
                    extents.y.add(value);
                    extents.drawn += 1;
                } else {
                    extents.not_positive += 1;
                }
            }
            extents.single += usize::from(place.values.len() == 1);
        }
    }

    /// Draws it within `frame`.
    pub(super) fn draw(&self, frame: &PanelFrame, names: &[LegendSeries], canvas: &mut Canvas) {
        for place in &self.places {
            let (name, look) = of_series(names, place.series);
            canvas.open("series", name);
            let slot = self.slot(place, frame);
            match self.kind {
                PlotKind::Box => self.draw_box(place, look, slot, frame, canvas),
                _ => self.draw_points(place, look, slot, frame, canvas),
            }
            canvas.close();
        }
    }

    /// Where a place has its middle, and how wide it is, on the paper.
    fn slot(&self, place: &SpreadPlace, frame: &PanelFrame) -> (f64, f64) {
        let PlotAxis::Levels(levels) = frame.x else { return (frame.rect.x, 0.0) };
        let level = frame.rect.width / levels.len().max(1) as f64;
        let slot = 0.8 * level / self.slots as f64;
        let offset = (place.slot as f64 + 0.5) * slot - 0.4 * level;
        (frame.rect.x + (place.level as f64 + 0.5) * level + offset, slot)
    }

    fn draw_box(
        &self,
        of: &SpreadPlace,
        look: SeriesStyle,
        (middle, slot): (f64, f64),
        frame: &PanelFrame,
        canvas: &mut Canvas,
    ) {
        let Quartiles { box_, whiskers } = Quartiles::of(&of.values);
        let height = |value: f64| frame.at(0.0, value).1;
        let half = (0.38 * slot).min(1.6 * frame.font);
        let edge = look.edge(0.7);
        let [first, median, third] = box_.map(height);
        for (from, to) in [(first, height(whiskers[0])), (third, height(whiskers[1]))] {
            canvas.line(&[(middle, from), (middle, to)], edge);
            canvas.line(&[(middle - half / 2.0, to), (middle + half / 2.0, to)], edge);
        }
        let rect = Rect { x: middle - half, y: third, width: 2.0 * half, height: first - third };
        canvas.rectangle(rect, "#fff", Some(edge));
        canvas.line(
            &[(middle - half, median), (middle + half, median)],
            Stroke::thin(look.colour, 1.4),
        );
        // The mean's marker tells series apart in grey.
        let mean = of.values.iter().sum::<f64>() / of.values.len() as f64;
        if self.scale.holds(mean) {
            canvas.marker(look.marker, (middle, height(mean)), 0.2 * frame.font, look.colour);
        }
        let outside = |v: &&f64| **v < whiskers[0] || **v > whiskers[1];
        for value in of.values.iter().filter(outside).filter(|v| self.scale.holds(**v)) {
            let at = (middle, height(*value));
            canvas.ellipse(at, (0.16 * frame.font, 0.16 * frame.font), 0.0, "none", edge);
        }
    }

    fn draw_points(
        &self,
        of: &SpreadPlace,
        look: SeriesStyle,
        (middle, slot): (f64, f64),
        frame: &PanelFrame,
        canvas: &mut Canvas,
    ) {
        let half = (0.4 * slot).min(2.0 * frame.font);
        for (n, value) in of.in_order.iter().enumerate().filter(|(_, v)| self.scale.holds(**v)) {
            // Even and the same on every machine: steps of the golden section.
            let aside = ((n as f64 + 0.5) * 0.618_033_988_75).fract() - 0.5;
            let (_, y) = frame.at(0.0, *value);
            canvas.marker(
                look.marker,
                (middle + aside * 1.5 * half, y),
                0.2 * frame.font,
                look.colour,
            );
        }
        let median = Quartiles::of(&of.values).box_[1];
        if self.scale.holds(median) {
            let (_, y) = frame.at(0.0, median);
            canvas.line(&[(middle - half, y), (middle + half, y)], Stroke::thin("#222", 0.8));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_lie_between_neighbours() {
        let of = Quartiles::of(&[1.0, 2.0, 3.0, 5.0]);
        assert_eq!(of.box_, [1.75, 2.5, 3.5]);
        assert_eq!(of.whiskers, [1.0, 5.0]);
        assert_eq!(Quartiles::of(&[7.0]), Quartiles { box_: [7.0; 3], whiskers: [7.0; 2] });
        // 3.5 ± 1.5 · 1.75 leaves 9 out on top.
        assert_eq!(Quartiles::of(&[1.0, 2.0, 3.0, 4.0, 9.0]).whiskers, [1.0, 4.0]);
    }

    proptest! {
        #[test]
        fn a_box_is_in_order_and_its_whiskers_are_values(
            mut values in prop::collection::vec(-1e3..1e3f64, 1..40),
        ) {
            values.sort_by(f64::total_cmp);
            let Quartiles { box_: [first, median, third], whiskers: [least, most] } =
                Quartiles::of(&values);
            prop_assert!(first <= median && median <= third);
            prop_assert!(values.contains(&least) && values.contains(&most) && least <= most);
            let far = 1.5 * (third - first);
            for value in &values {
                let inside = *value >= first - far && *value <= third + far;
                prop_assert_eq!(inside, (least..=most).contains(value), "{}", value);
            }
            let below = |bound: f64| values.iter().filter(|value| **value <= bound).count() as f64;
            let half = values.len() as f64 / 2.0;
            prop_assert!(below(median) >= half, "half of all lie below the median");
            prop_assert!(below(third) >= half && below(first) <= below(third));
        }
    }
}
