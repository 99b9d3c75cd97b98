//! What series look like: told apart by colour with any colour vision, and in grey by dashes and
//! marks.

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke<'a> {
    pub colour: &'a str,
    pub width: f64,
    /// Lengths of dashes and gaps; empty for a whole line.
    pub dash: &'static str,
}

impl<'a> Stroke<'a> {
    pub(super) fn thin(colour: &'a str, width: f64) -> Stroke<'a> {
        Stroke { colour, width, dash: "" }
    }
}

/// What stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Down,
    Plus,
}

impl Marker {
    /// The corners for a radius of one; of crosses the ends of strokes, pair by pair.
    pub(super) fn corners(self) -> &'static [(f64, f64)] {
        match self {
            Marker::Circle => &[],
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.25), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => &[(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)],
            Marker::Cross => &[(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)],
            Marker::Down => &[(0.0, 1.25), (1.1, -0.8), (-1.1, -0.8)],
            Marker::Plus => &[(-1.3, 0.0), (1.3, 0.0), (0.0, -1.3), (0.0, 1.3)],
        }
    }

    /// Whether it is strokes only.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Marker::Cross | Marker::Plus)
    }
}

/// Okabe and Ito's colours, and black.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000", "#56b4e9"];
const DASHES: [&str; 5] = ["", "4 1.6", "1 1.4", "5 1.5 1 1.5", "2.2 1.2"];
pub(super) const MARKERS: [Marker; 7] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Cross,
    Marker::Down,
    Marker::Plus,
];

/// How the series of a number looks. Thirty-five differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesStyle {
    pub colour: &'static str,
    pub dash: &'static str,
    pub marker: Marker,
}

/// A series as the legend has it.
#[derive(Clone, Debug)]
pub(super) struct LegendSeries {
    pub name: String,
    pub look: SeriesStyle,
}

/// Name and look of the series of a number. Where series are not told apart, it has no name.
pub(super) fn of_series(all: &[LegendSeries], number: usize) -> (&str, SeriesStyle) {
    all.get(number).map_or(("", SeriesStyle::of(number)), |series| (&series.name, series.look))
}

/// The most series of a plot.
pub(super) const MOST_SERIES: usize = COLOURS.len() * DASHES.len();

impl SeriesStyle {
    pub(super) fn of(number: usize) -> SeriesStyle {
        SeriesStyle {
            colour: COLOURS[number % COLOURS.len()],
            dash: DASHES[number % DASHES.len()],
            marker: MARKERS[number % MARKERS.len()],
        }
    }

    pub(super) fn line(self, width: f64) -> Stroke<'static> {
        Stroke { colour: self.colour, width, dash: self.dash }
    }

    pub(super) fn edge(self, width: f64) -> Stroke<'static> {
        Stroke::thin(self.colour, width)
    }
}

/// Viridis by Smith and van der Walt (CC0), at nine places: its lightness only rises.
const RAMP: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 45.0, 123.0],
    [59.0, 82.0, 139.0],
    [44.0, 114.0, 142.0],
    [33.0, 145.0, 140.0],
    [40.0, 174.0, 128.0],
    [94.0, 201.0, 98.0],
    [173.0, 220.0, 48.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a place from 0 to 1, and what can be read upon it.
pub(super) fn shade(place: f64) -> (String, &'static str) {
    let along = place.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let below = (along.floor() as usize).min(RAMP.len() - 2);
    let part = along - below as f64;
    let of = |k: usize| RAMP[below][k] + part * (RAMP[below + 1][k] - RAMP[below][k]);
    let [red, green, blue] = [of(0), of(1), of(2)].map(f64::round);
    let light = 0.299 * red + 0.587 * green + 0.114 * blue;
    let colour = format!("#{:02x}{:02x}{:02x}", red as u8, green as u8, blue as u8);
    (colour, if light > 120.0 { "#000" } else { "#fff" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_only_gets_lighter() {
        let light = |place: f64| {
            let (colour, _) = shade(place);
            let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
            0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5)
        };
        let steps: Vec<f64> = (0..=100).map(|n| light(f64::from(n) / 100.0)).collect();
        assert!(steps.windows(2).all(|two| two[0] < two[1]), "{steps:?}");
        assert_eq!(shade(f64::NEG_INFINITY).0, "#440154");
        assert_eq!(shade(1.0).0, "#fde725");
    }

    #[test]
    fn no_two_series_look_the_same() {
        let looks: Vec<(&str, &str)> = (0..MOST_SERIES)
            .map(|n| (SeriesStyle::of(n).colour, SeriesStyle::of(n).dash))
            .collect();
        for (n, look) in looks.iter().enumerate() {
            assert!(!looks[..n].contains(look), "{n}: {look:?}");
        }
    }
}
