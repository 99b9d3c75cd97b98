//! A figure as SVG.
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::{Chart, ChartLine, FigurePoint};

/// Of the picture without its key.
const SIZE: (u32, u32) = (760, 446);
/// Height of a row of the key.
const ROW: u32 = 18;
/// Between the picture's edge and what is drawn.
const MARGIN: u32 = 12;
/// Height of the title with the room around it.
const TITLE: u32 = 36;
/// Width of a character of the key, nearly.
const CHARACTER: u32 = 7;
/// Width of the key's sample of a line with the gaps around it.
const SAMPLE: u32 = 40;
/// Most labels on an axis.
const LABELS: usize = 10;
/// Okabe and Ito's colours, told apart with any colour vision.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(138, 122, 0),
];
/// More points than this are a line without dots.
const DOTS: usize = 60;

type Plane<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type DrawResult = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The figure as an SVG document: ours as lines with whiskers, what is printed as crosses of the
/// same colour.
pub fn svg(chart: &Chart) -> String {
    let mut text = String::new();
    // Drawing into a string cannot fail.
    if let Err(error) = draw(chart, &mut text) {
        return format!("<!-- {error} -->");
    }
    text
}

fn draw(chart: &Chart, text: &mut String) -> DrawResult {
    let rows = key(&names(chart));
    let size = (SIZE.0, SIZE.1 + ROW * rows.len() as u32);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    let drawn = |error: DrawingAreaErrorKind<_>| match error {
        DrawingAreaErrorKind::BackendError(_) => DrawingAreaErrorKind::LayoutError,
        DrawingAreaErrorKind::SharingError => DrawingAreaErrorKind::SharingError,
        DrawingAreaErrorKind::LayoutError => DrawingAreaErrorKind::LayoutError,
    };
    plot(chart, &rows, &area).map_err(drawn)?;
    area.present().map_err(drawn)
}

fn plot<B: DrawingBackend>(
    chart: &Chart,
    rows: &[Vec<KeyEntry>],
    area: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    area.titled(&chart.title, ("sans-serif", 18))?;
    let (head, body) = area.split_vertically(TITLE + ROW * rows.len() as u32);
    draw_key(rows, &head)?;
    let x = DrawnAxis::of(chart, |p| p.x, |_| 0.0, None);
    let y = DrawnAxis::of(chart, |p| p.y, FigurePoint::half, Some(0.0));
    let mut plane = ChartBuilder::on(&body)
        .margin(MARGIN)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x.low..x.high, y.low..y.high)?;
    plane
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 228, 232))
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .x_labels(x.labels())
        .y_labels(y.labels())
        .x_label_formatter(&|at| x.label(*at))
        .y_label_formatter(&|at| y.label(*at))
        .label_style(("sans-serif", 13))
        .draw()?;
    let names = names(chart);
    for line in &chart.lines {
        let colour = colour(names.iter().position(|name| **name == line.name).unwrap_or(0));
        draw_line(&mut plane, line, colour, chart.apart)?;
    }
    Ok(())
}

/// Draws the key into the picture's `head`.
fn draw_key<B: DrawingBackend>(
    rows: &[Vec<KeyEntry>],
    head: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    for (row, entries) in rows.iter().enumerate() {
        let y = (TITLE + ROW * row as u32 + ROW / 2) as i32;
        for entry in entries {
            let (x, colour) = (entry.x as i32, colour(entry.number));
            head.draw(&PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)))?;
            head.draw(&Text::new(entry.name.clone(), (x + 24, y - 7), ("sans-serif", 13)))?;
        }
    }
    Ok(())
}

/// Draws a line with its whiskers, or what is printed as crosses; only dots where points stand
/// `apart`.
fn draw_line<B: DrawingBackend>(
    plane: &mut Plane<'_, B>,
    line: &ChartLine,
    colour: RGBColor,
    apart: bool,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let points = || line.points.iter().map(|p| (p.x, p.y));
    if line.printed {
        plane.draw_series(points().map(|at| Cross::new(at, 5, colour.stroke_width(2))))?;
        return Ok(());
    }
    let few = line.points.len() <= DOTS;
    if !apart {
        plane
            .draw_series(LineSeries::new(points(), colour.stroke_width(if few { 2 } else { 1 })))?;
    }
    if few || apart {
        plane.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    let whiskers = line.points.iter().filter(|p| p.ci95.is_some_and(|half| half > 0.0));
    plane.draw_series(whiskers.map(|p| {
        ErrorBar::new_vertical(p.x, p.y - p.half(), p.y, p.y + p.half(), colour.stroke_width(1), 6)
    }))?;
    Ok(())
}

fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// A name in the key: which of the lines it is of, and where it begins.
struct KeyEntry {
    name: String,
    number: usize,
    x: u32,
}

/// The key in rows: above the plot, where it hides nothing.
fn key(names: &[&String]) -> Vec<Vec<KeyEntry>> {
    let mut rows: Vec<Vec<KeyEntry>> = vec![];
    let mut x = SIZE.0;
    for (number, name) in names.iter().enumerate() {
        let width = SAMPLE + CHARACTER * name.chars().count() as u32;
        if x + width > SIZE.0 - MARGIN {
            rows.push(vec![]);
            x = 2 * MARGIN;
        }
        if let Some(row) = rows.last_mut() {
            row.push(KeyEntry { name: (*name).clone(), number, x });
        }
        x += width;
    }
    rows
}

impl FigurePoint {
    fn half(&self) -> f64 {
        self.ci95.unwrap_or(0.0)
    }
}

fn names(chart: &Chart) -> Vec<&String> {
    let mut names: Vec<&String> = vec![];
    for ChartLine { name, .. } in &chart.lines {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What of an axis is drawn.
struct DrawnAxis {
    low: f64,
    high: f64,
    /// Whether all that stands on it are whole numbers.
    whole: bool,
}

impl DrawnAxis {
    /// The least and greatest of all points, a margin of a twentieth around them; it begins at
    /// `reach` if nothing is less.
    fn of(
        chart: &Chart,
        at: impl Fn(&FigurePoint) -> f64,
        half: impl Fn(&FigurePoint) -> f64,
        reach: Option<f64>,
    ) -> DrawnAxis {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let ends = points().map(|p| (at(p) - half(p), at(p) + half(p)));
        let (low, high) = ends.fold(start, |(low, high), (a, b)| (low.min(a), high.max(b)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let begin = reach.filter(|reach| low >= *reach);
        let length = high - begin.unwrap_or(low);
        // A twentieth of nothing would be none at all.
        let margin = if length > 0.0 { 0.05 * length } else { 0.5 };
        let whole = points().all(|p| at(p).fract() == 0.0 && half(p) == 0.0);
        DrawnAxis { low: begin.unwrap_or(low - margin), high: high + margin, whole }
    }

    /// The most labels that it has: of whole numbers, no more than there are.
    fn labels(&self) -> usize {
        let numbers = self.high.floor() - self.low.ceil() + 1.0;
        if self.whole && numbers < LABELS as f64 { numbers as usize } else { LABELS }
    }

    /// A number beside a line of the grid, with no more digits than it needs; none between whole
    /// numbers.
    fn label(&self, at: f64) -> String {
        let near = 1e-6 * (self.high - self.low);
        if (at - at.round()).abs() < near {
            return format!("{}", at.round() + 0.0);
        }
        if self.whole {
            String::new()
        } else {
            format!("{}", format!("{at:.9e}").parse().unwrap_or(at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> Chart {
        let points = points.iter().map(|&(x, y)| FigurePoint { x, y, ci95: None }).collect();
        Chart {
            lines: vec![ChartLine { name: "red".into(), printed: false, points }],
            ..Chart::default()
        }
    }

    /// The numbers on the axes of a picture.
    fn labels(svg: &str) -> Vec<&str> {
        let text = |line: &&str| !line.starts_with('<') && line.parse::<f64>().is_ok();
        svg.lines().filter(text).collect()
    }

    #[test]
    fn an_axis_of_whole_numbers_has_no_others() {
        let picture = svg(&chart(&[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]));
        assert_eq!(labels(&picture), ["0", "1", "2", "3", "0", "1", "2"], "{picture}");
        let picture = svg(&chart(&[(0.0, 0.0), (30.5, 0.45)]));
        assert!(labels(&picture).contains(&"10") && labels(&picture).contains(&"0.1"), "{picture}");
        assert!(labels(&picture).iter().all(|n| !n.ends_with(".0")), "{picture}");
    }

    #[test]
    fn a_twentieth_of_the_height_is_free() {
        let chart = chart(&[(0.0, 90.0), (1.0, 100.0)]);
        let axis = DrawnAxis::of(&chart, |p| p.y, FigurePoint::half, Some(0.0));
        assert_eq!((axis.low, axis.high), (0.0, 105.0));
    }

    #[test]
    fn points_apart_are_not_joined() {
        let joined = chart(&[(0.0, 1.0), (1.0, 3.0)]);
        let apart = Chart { apart: true, ..joined.clone() };
        let (joined, apart) = (svg(&joined), svg(&apart));
        assert!(
            joined.contains("stroke-width=\"2\"") && !apart.contains("stroke-width=\"2\""),
            "{apart}"
        );
        assert_eq!((joined.matches("<circle").count(), apart.matches("<circle").count()), (2, 2));
    }

    #[test]
    fn a_long_key_takes_more_rows_above_the_plot() {
        let names: Vec<String> = (0..26).map(|n| format!("a queue {n}")).collect();
        let rows = key(&names.iter().collect::<Vec<_>>());
        assert!(rows.len() > 2 && rows.iter().map(Vec::len).sum::<usize>() == names.len());
        let ends = rows.iter().flatten().map(|e| e.x + SAMPLE + CHARACTER * e.name.len() as u32);
        assert!(ends.max().unwrap() <= SIZE.0);
    }

    #[test]
    fn a_figure_is_a_picture_with_its_words() {
        let points = vec![
            FigurePoint { x: 1.0, y: 2.0, ci95: Some(0.1) },
            FigurePoint { x: 2.0, y: 3.0, ci95: None },
        ];
        let ours = ChartLine { name: "red & co".into(), printed: false, points: points.clone() };
        let theirs = ChartLine { printed: true, ..ours.clone() };
        let chart =
            Chart { title: "Two <points>".into(), lines: vec![ours, theirs], ..Chart::default() };
        let text = svg(&chart);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("Two &lt;points&gt;") && text.contains("red &amp; co"), "{text}");
        assert!(!svg(&Chart::default()).contains("NaN"));
        let one = Chart {
            lines: vec![ChartLine { points: vec![FigurePoint::default()], ..ChartLine::default() }],
            ..chart
        };
        assert!(!svg(&one).contains("NaN"));
    }
}
