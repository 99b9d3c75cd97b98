//! A figure as SVG.
use plotters::prelude::*;

use super::{Chart, ChartLine};

const SIZE: (u32, u32) = (760, 460);
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

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The figure as an SVG document: ours as lines with whiskers, what is printed as crosses of the same colour.
pub fn svg(chart: &Chart) -> String {
    let mut text = String::new();
    // Drawing into a string cannot fail.
    if let Err(error) = draw(chart, &mut text) {
        return format!("<!-- {error} -->");
    }
    text
}

fn draw(chart: &Chart, text: &mut String) -> Drawn {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    let drawn = |error: DrawingAreaErrorKind<_>| match error {
        DrawingAreaErrorKind::BackendError(_) => DrawingAreaErrorKind::LayoutError,
        DrawingAreaErrorKind::SharingError => DrawingAreaErrorKind::SharingError,
        DrawingAreaErrorKind::LayoutError => DrawingAreaErrorKind::LayoutError,
    };
    plot(chart, &area).map_err(drawn)?;
    area.present().map_err(drawn)
}

fn plot<B: DrawingBackend>(
    chart: &Chart,
    area: &DrawingArea<B, plotters::coord::Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    area.fill(&WHITE)?;
    let (x, y) = (range(chart, |p| (p.x, p.x), None), range(chart, |p| (p.y - p.half(), p.y + p.half()), Some(0.0)));
    let mut plane = ChartBuilder::on(area)
        .caption(&chart.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    plane
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 228, 232))
        .x_desc(&chart.x)
        .y_desc(&chart.y)
        .label_style(("sans-serif", 13))
        .draw()?;
    let names = names(chart);
    for line in &chart.lines {
        let colour = COLOURS[names.iter().position(|name| **name == line.name).unwrap_or(0) % COLOURS.len()];
        let points = || line.points.iter().map(|p| (p.x, p.y));
        if line.printed {
            plane.draw_series(points().map(|at| Cross::new(at, 5, colour.stroke_width(2))))?;
            continue;
        }
        plane
            .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        if line.points.len() <= DOTS {
            plane.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
        }
        let whiskers = line.points.iter().filter(|p| p.ci95.is_some_and(|half| half > 0.0));
        plane
            .draw_series(whiskers.map(|p| {
                ErrorBar::new_vertical(p.x, p.y - p.half(), p.y, p.y + p.half(), colour.stroke_width(1), 6)
            }))?;
    }
    plane
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 205, 210))
        .label_font(("sans-serif", 13))
        .draw()
}

impl super::Point {
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

/// The least and greatest of all points, with a margin; `reach` is within it.
fn range(chart: &Chart, ends: impl Fn(&super::Point) -> (f64, f64), reach: Option<f64>) -> (f64, f64) {
    let points = chart.lines.iter().flat_map(|line| &line.points).map(ends);
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = points.fold(start, |(low, high), (a, b)| (low.min(a), high.max(b)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    // Half a range of nothing would be none at all.
    let margin = if high > low { 0.04 * (high - low) } else { 0.5 };
    match reach {
        Some(reach) if low >= reach => (reach, high + margin),
        _ => (low - margin, high + margin),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;

    #[test]
    fn a_figure_is_a_picture_with_its_words() {
        let points = vec![Point { x: 1.0, y: 2.0, ci95: Some(0.1) }, Point { x: 2.0, y: 3.0, ci95: None }];
        let ours = ChartLine { name: "red & co".into(), printed: false, points: points.clone() };
        let theirs = ChartLine { printed: true, ..ours.clone() };
        let chart = Chart { title: "Two <points>".into(), lines: vec![ours, theirs], ..Chart::default() };
        let text = svg(&chart);
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("Two &lt;points&gt;") && text.contains("red &amp; co"), "{text}");
        assert!(!svg(&Chart::default()).contains("NaN"));
        let one = Chart { lines: vec![ChartLine { points: vec![Point::default()], ..ChartLine::default() }], ..chart };
        assert!(!svg(&one).contains("NaN"));
    }
}
