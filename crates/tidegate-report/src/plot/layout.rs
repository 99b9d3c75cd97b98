//! Where title, legend, panels and labels stand on the paper.
use super::axis::OVERHANG;
use super::canvas::{MM, Rect};
use super::legend::ROW;
use super::{Plot, PlotRefused};

/// What needs room around the panels, in the font's size.
pub(super) struct RoomNeeds {
    /// Levels of each facet; empty for one panel.
    pub facets: Vec<usize>,
    /// Rows of the legend.
    pub legend: usize,
    /// The widest text beside the vertical axes.
    pub left: f64,
    /// The height of the texts below the horizontal axes.
    pub below: f64,
    /// The width of a bar of shades with its texts; none without one.
    pub bar: Option<f64>,
    /// The least height of a panel that is fit for what is in it.
    pub tall: f64,
}

/// The places.
pub(super) struct Layout {
    pub size: (f64, f64),
    pub font: f64,
    pub columns: usize,
    /// A panel each, row by row.
    pub panels: Vec<Rect>,
    /// Baseline of the title.
    pub title: f64,
    /// Upper left corner of the legend.
    pub legend: (f64, f64),
    /// All panels together.
    pub grid: Rect,
    /// The bar of shades.
    pub bar: Option<Rect>,
}

/// Free at the paper's edges.
const EDGE: f64 = 2.5;
/// From the panel's edge to the texts beside it: tick and gap.
pub(super) const TICKS: f64 = 3.5;
/// A panel in a row of several has at least this width, in the font's size.
const NARROW: f64 = 9.5;
/// The least panel that shows anything, in mm.
const LEAST_MM: f64 = 8.0;
/// Bounds of a panel's height where the plot's is not told, in mm.
const HEIGHTS_MM: (f64, f64) = (20.0, 62.0);

/// Room of a label along an axis.
const LABEL: f64 = 1.45;
/// Room of a heading.
const HEAD: f64 = 1.35;

impl Layout {
    /// For a plot that needs this.
    pub(super) fn of(plot: &Plot, needs: &RoomNeeds) -> Result<Layout, PlotRefused> {
        let font = plot.font_size_pt;
        let width = plot.width_mm * MM;
        let title = if plot.title.is_some() { 1.7 } else { 0.0 };
        let legend = if needs.legend > 0 { needs.legend as f64 * ROW + 0.3 } else { 0.0 };
        let two = needs.facets.len() == 2;
        let left = EDGE + TICKS + (LABEL + needs.left) * font;
        let right = EDGE
            + needs.bar.map_or(OVERHANG * font, |bar| (1.0 + bar) * font)
            + if two { HEAD * font } else { 0.0 };
        let free = width - left - right;
        let (gap, head) = (2.0 * OVERHANG * font, heads(needs) * font);
        let (columns, rows) = grid(&needs.facets, (free + gap) / (NARROW * font + gap));
        let wide = (free - gap * (columns - 1) as f64) / columns as f64;

        let top = EDGE + (title + legend) * font + head.max(0.4 * font);
        let bottom = EDGE + TICKS + (needs.below + LABEL) * font;
        let gap_down = if two || head == 0.0 { 0.9 * font } else { head + 0.3 * font };
        let gaps = gap_down * (rows - 1) as f64;
        let tall = match plot.height_mm {
            Some(height) => (height * MM - top - bottom - gaps) / rows as f64,
            None => {
                let fit = (0.72 * wide).clamp(HEIGHTS_MM.0 * MM, HEIGHTS_MM.1 * MM);
                fit.max(needs.tall * font)
            }
        };
        enough(plot, (wide, tall), (columns, rows))?;
        let place = |k: usize| Rect {
            x: left + (k % columns) as f64 * (wide + gap),
            y: top + (k / columns) as f64 * (tall + gap_down),
            width: wide,
            height: tall,
        };
        let height = top + rows as f64 * tall + gaps + bottom;
        let grid = Rect { x: left, y: top, width: free, height: rows as f64 * tall + gaps };
        let beside = grid.right() + font + if two { HEAD * font } else { 0.0 };
        Ok(Layout {
            size: (width, plot.height_mm.map_or(height, |height| height * MM)),
            font,
            columns,
            panels: (0..needs.facets.iter().product::<usize>().max(1)).map(place).collect(),
            title: EDGE + font,
            legend: (EDGE, EDGE + title * font),
            grid,
            bar: needs.bar.map(|_| Rect { x: beside, width: 0.9 * font, ..grid }),
        })
    }

    /// How wide a panel is, in the font's size.
    pub(super) fn wide(&self) -> f64 {
        self.panels.first().map_or(0.0, |panel| panel.width) / self.font
    }

    /// How tall a panel is, in the font's size.
    pub(super) fn tall(&self) -> f64 {
        self.panels.first().map_or(0.0, |panel| panel.height) / self.font
    }
}

/// The width of a legend in the font's size.
pub(super) fn legend_width(plot: &Plot) -> f64 {
    (plot.width_mm * MM - 2.0 * EDGE) / plot.font_size_pt
}

fn heads(needs: &RoomNeeds) -> f64 {
    if needs.facets.is_empty() { 0.0 } else { HEAD }
}

/// Columns and rows of the panels; of one facet at most so many side by side.
fn grid(facets: &[usize], most: f64) -> (usize, usize) {
    match *facets {
        [] => (1, 1),
        [across] => {
            let most = (most.max(1.0) as usize).min(across);
            let rows = across.div_ceil(most);
            (across.div_ceil(rows), rows)
        }
        [across, down, ..] => (across, down),
    }
}

fn enough(
    plot: &Plot,
    size: (f64, f64),
    (columns, rows): (usize, usize),
) -> Result<(), PlotRefused> {
    let (wide, tall) = (size.0 / MM, size.1 / MM);
    let said = |which: &str, many: usize, each: f64| {
        format!(
            "is too small for {columns} × {rows} panels and what stands beside them: each would be \
             {:.0} mm {which}, and {LEAST_MM:.0} mm are needed; {}",
            each.max(0.0),
            if many > 1 { "enlarge it or draw fewer panels" } else { "enlarge it" }
        )
    };
    if wide < LEAST_MM {
        let why = said("wide", columns, wide);
        return Err(PlotRefused::new("width", &format!("{} mm", plot.width_mm), why));
    }
    match plot.height_mm {
        Some(height) if tall < LEAST_MM => {
            let why = said("high", rows, tall);
            Err(PlotRefused::new("height", &format!("{height} mm"), why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plot::PlotKind;

    fn needs(facets: Vec<usize>, legend: usize, bar: bool) -> RoomNeeds {
        let bar = bar.then_some(5.0);
        RoomNeeds { facets, legend, left: 3.0, below: 1.0, bar, tall: 0.0 }
    }

    fn any_facets() -> impl Strategy<Value = Vec<usize>> {
        prop_oneof![
            Just(vec![]),
            (1..14usize).prop_map(|across| vec![across]),
            (1..5usize, 1..5usize).prop_map(|(across, down)| vec![across, down]),
        ]
    }

    proptest! {
        /// Where there is room, panels are alike, stand in rows, and cover nothing else.
        #[test]
        fn panels_stand_apart_within_the_paper(
            facets in any_facets(),
            legend in 0..4usize,
            (bar, titled) in any::<(bool, bool)>(),
            (width_mm, font_size_pt) in (60.0..300.0f64, 5.0..12.0f64),
            height_mm in prop::option::of(60.0..300.0f64),
        ) {
            let title = titled.then(|| "t".to_string());
            let own = Plot::new("p", PlotKind::Lines);
            let plot = Plot { width_mm, height_mm, font_size_pt, title, ..own };
            let Ok(layout) = Layout::of(&plot, &needs(facets.clone(), legend, bar)) else {
                return Ok(());
            };
            prop_assert_eq!(layout.panels.len(), facets.iter().product::<usize>().max(1));
            let first = layout.panels[0];
            prop_assert!((layout.size.0 - width_mm * MM).abs() < 1e-9);
            prop_assert!(height_mm.is_none_or(|mm| (layout.size.1 - mm * MM).abs() < 1e-9));
            let top = layout.legend.1 + legend as f64 * ROW * layout.font;
            for (n, panel) in layout.panels.iter().enumerate() {
                prop_assert!((panel.width - first.width).abs() < 1e-9);
                prop_assert!((panel.height - first.height).abs() < 1e-9);
                prop_assert!(panel.x >= layout.grid.x - 1e-9 && panel.y >= top, "{panel:?} {top}");
                prop_assert!(panel.right() <= layout.grid.right() + 1e-6, "{panel:?}");
                prop_assert!(panel.bottom() <= layout.grid.bottom() + 1e-6, "{panel:?}");
                for other in &layout.panels[..n] {
                    let beside = other.right() < panel.x || panel.right() < other.x;
                    let below = other.bottom() < panel.y || panel.bottom() < other.y;
                    prop_assert!(beside || below, "{other:?} and {panel:?} overlap");
                }
            }
            let beside = layout.size.0 - layout.grid.right();
            prop_assert!(beside >= OVERHANG * layout.font, "a tick's text has no room: {beside}");
            prop_assert!(layout.grid.bottom() < layout.size.1);
            if let Some(bar) = layout.bar {
                prop_assert!(bar.x > layout.grid.right() && bar.right() < layout.size.0, "{bar:?}");
            }
            prop_assert_eq!(layout.bar.is_some(), bar);
            prop_assert!((layout.wide() - first.width / font_size_pt).abs() < 1e-9);
            prop_assert!((layout.tall() - first.height / font_size_pt).abs() < 1e-9);
        }
    }

    #[test]
    fn rows_of_panels_are_filled_evenly() {
        for (facets, most, columns, rows) in [
            (&[][..], 9.0, 1, 1),
            (&[3], 9.0, 3, 1),
            (&[4], 3.7, 2, 2),
            (&[7], 4.0, 4, 2),
            (&[9], 4.0, 3, 3),
            (&[5], 0.2, 1, 5),
            (&[3, 2], 1.0, 3, 2),
        ] {
            assert_eq!(grid(facets, most), (columns, rows), "{facets:?} {most}");
        }
    }

    #[test]
    fn what_is_too_small_says_which_side_and_what_to_do() {
        let narrow = Plot { width_mm: 20.0, font_size_pt: 12.0, ..Plot::new("p", PlotKind::Lines) };
        let refused = Layout::of(&narrow, &needs(vec![3, 1], 0, false)).err().unwrap();
        assert_eq!((refused.field.as_str(), refused.value.as_str()), ("width", "20 mm"));
        assert!(refused.why.contains("3 × 1 panels") && refused.why.ends_with("draw fewer panels"));
        let flat = Plot { height_mm: Some(20.0), font_size_pt: 12.0, width_mm: 200.0, ..narrow };
        let refused = Layout::of(&flat, &needs(vec![], 2, false)).err().unwrap();
        assert_eq!(refused.field, "height");
        assert!(refused.why.ends_with("8 mm are needed; enlarge it"), "{}", refused.why);
        let own = Plot { height_mm: None, ..flat };
        assert!(Layout::of(&own, &needs(vec![], 2, false)).is_ok(), "its own height is enough");
    }
}
