//! An SVG document of a stated size. Coordinates are points, 1/72 inch, from the upper left.
//!
//! Written by hand: plotters rounds to whole pixels, spells a dashed line out dash by dash and
//! knows no facets with common axes.
use std::fmt::Write;

use super::style::{Marker, Stroke};
use crate::html::escape;

/// Points in a millimetre.
pub(super) const MM: f64 = 72.0 / 25.4;

/// A place on the paper.
pub(super) type At = (f64, f64);

/// A rectangle on the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// So much larger on all sides.
    pub(super) fn grown(self, by: f64) -> Rect {
        let (width, height) = (self.width + 2.0 * by, self.height + 2.0 * by);
        Rect { x: self.x - by, y: self.y - by, width, height }
    }
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub anchor: Anchor,
    /// Clockwise, in degrees.
    pub turn: f64,
    pub bold: bool,
    pub colour: &'static str,
}

impl TextStyle {
    pub(super) fn at(anchor: Anchor) -> TextStyle {
        TextStyle { anchor, turn: 0.0, bold: false, colour: "#222" }
    }
}

/// A picture that is being written.
pub(super) struct Canvas {
    text: String,
    clips: usize,
}

impl Canvas {
    /// An empty picture of so many points, with its font.
    pub(super) fn new((width, height): (f64, f64), font: &str, size: f64) -> Canvas {
        let mut text = String::new();
        let [wide, tall] = [width, height].map(short);
        let [wide_mm, tall_mm] = [width / MM, height / MM].map(short);
        let (font, size) = (escape(font), short(size));
        let _ = writeln!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide_mm}mm\" \
             height=\"{tall_mm}mm\" viewBox=\"0 0 {wide} {tall}\" font-family=\"{font}\" \
             font-size=\"{size}\">\n<rect width=\"{wide}\" height=\"{tall}\" fill=\"#fff\"/>"
        );
        Canvas { text, clips: 0 }
    }

    /// The whole document.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    /// Begins a group of marks that belong to `name`.
    pub(super) fn open(&mut self, class: &str, name: &str) {
        let _ = write!(self.text, "<g class=\"{class}\" aria-label=\"{}\">", escape(name));
    }

    /// Begins a group that shows nothing outside `inside`.
    pub(super) fn open_clipped(&mut self, inside: Rect) {
        self.clips += 1;
        let number = self.clips;
        let _ = write!(self.text, "<clipPath id=\"c{number}\">");
        self.rectangle(inside, "#000", None);
        let _ = write!(self.text, "</clipPath>\n<g clip-path=\"url(#c{number})\">");
    }

    /// Ends the group that was begun last.
    pub(super) fn close(&mut self) {
        self.text.push_str("</g>\n");
    }

    /// A line through `points`.
    pub(super) fn line(&mut self, points: &[At], stroke: Stroke) {
        if points.len() > 1 {
            let path = path_of(points);
            let _ = write!(self.text, "<path d=\"{path}\" fill=\"none\"{}/>", stroke_of(stroke));
        }
    }

    /// Lines between two points each, as one.
    pub(super) fn lines(&mut self, pairs: &[[At; 2]], stroke: Stroke) {
        let path: String = pairs.iter().map(|pair| path_of(pair)).collect();
        let _ = write!(self.text, "<path d=\"{path}\" fill=\"none\"{}/>", stroke_of(stroke));
    }

    /// The area within `points`.
    pub(super) fn area(&mut self, points: &[At], colour: &str, opacity: f64) {
        let path = path_of(points);
        let _ = write!(
            self.text,
            "<path d=\"{path}Z\" fill=\"{colour}\" fill-opacity=\"{}\"/>",
            short(opacity)
        );
    }

    /// A rectangle.
    pub(super) fn rectangle(&mut self, r: Rect, fill: &str, edge: Option<Stroke>) {
        let [x, y, width, height] = [r.x, r.y, r.width, r.height].map(short);
        let edge = edge.map(stroke_of).unwrap_or_default();
        let _ = write!(
            self.text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{edge}/>"
        );
    }

    /// An ellipse around `at`, with its half-axes; the first is turned clockwise by so many
    /// degrees.
    pub(super) fn ellipse(&mut self, at: At, half: At, turn: f64, fill: &str, edge: Stroke) {
        let [x, y, a, b, turn] = [at.0, at.1, half.0, half.1, turn].map(short);
        let _ = write!(
            self.text,
            "<ellipse cx=\"{x}\" cy=\"{y}\" rx=\"{a}\" ry=\"{b}\" \
             transform=\"rotate({turn} {x} {y})\" fill=\"{fill}\" fill-opacity=\"0.12\"{}/>",
            stroke_of(edge)
        );
    }

    /// A mark of this radius.
    pub(super) fn marker(&mut self, marker: Marker, (x, y): At, radius: f64, colour: &str) {
        if marker == Marker::Circle {
            let [x, y, radius] = [x, y, radius].map(short);
            let _ = write!(
                self.text,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{colour}\"/>"
            );
            return;
        }
        let corners: Vec<At> =
            marker.corners().iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
        let mut path = path_of(&corners);
        if marker.is_open() {
            path = corners.chunks(2).map(path_of).collect();
            let stroke = Stroke::thin(colour, radius * 0.55);
            let _ = write!(self.text, "<path d=\"{path}\" fill=\"none\"{}/>", stroke_of(stroke));
        } else {
            let _ = write!(self.text, "<path d=\"{path}Z\" fill=\"{colour}\"/>");
        }
    }

    /// A text on its baseline.
    pub(super) fn words(&mut self, (x, y): At, text: &str, words: TextStyle) {
        let [x, y] = [x, y].map(short);
        let anchor = match words.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = if words.turn == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {x} {y})\"", short(words.turn))
        };
        let bold = if words.bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{anchor}{bold}{turn}>{}</text>",
            words.colour,
            escape(text)
        );
    }
}

/// A number with two decimals at most.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn path_of(points: &[At]) -> String {
    let mut path = String::new();
    let mut last: Option<[String; 2]> = None;
    for &(x, y) in points {
        let [x, y] = [x, y].map(short);
        let _ = match &last {
            None => write!(path, "M{x} {y}"),
            Some([before, _]) if *before == x => write!(path, "V{y}"),
            Some([_, before]) if *before == y => write!(path, "H{x}"),
            Some(_) => write!(path, "L{x} {y}"),
        };
        last = Some([x, y]);
    }
    path
}

fn stroke_of(stroke: Stroke) -> String {
    let mut text =
        format!(" stroke=\"{}\" stroke-width=\"{}\"", stroke.colour, short(stroke.width));
    if !stroke.dash.is_empty() {
        let _ = write!(text, " stroke-dasharray=\"{}\"", stroke.dash);
    }
    text
}

/// About how wide a text is, in its font's size. The same on every machine and rather too wide than
/// too narrow: letters as of a wide sans serif.
pub(super) fn width_of(text: &str) -> f64 {
    let wide = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.41,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        c if c.is_uppercase() => 0.7,
        c if c.is_ascii() => 0.63,
        c if ('\u{2e80}'..'\u{ffdc}').contains(&c) => 1.0,
        _ => 0.7,
    };
    text.chars().map(wide).sum()
}

/// `text` cut to this width, in its font's size.
pub(super) fn fitted(text: &str, width: f64) -> String {
    if width_of(text) <= width {
        return text.into();
    }
    let mut cut: String = text.into();
    while !cut.is_empty() && width_of(&cut) + 0.98 > width {
        cut.pop();
    }
    cut.trim_end().to_string() + "…"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plot::style::MARKERS;

    /// A path's points, read back by hand: moves, lines, and lines along one axis.
    fn read(path: &str) -> Vec<[String; 2]> {
        let mut points: Vec<[String; 2]> = vec![];
        let starts: Vec<usize> = path.match_indices(['M', 'L', 'H', 'V']).map(|m| m.0).collect();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(path.len());
            let rest = path[start + 1..end].to_string();
            let last = points.last().cloned();
            points.push(match (&path[*start..=*start], last) {
                ("H", Some([_, y])) => [rest, y],
                ("V", Some([x, _])) => [x, rest],
                _ => {
                    let (x, y) = rest.split_once(' ').expect("two numbers");
                    [x.into(), y.into()]
                }
            });
        }
        points
    }

    proptest! {
        #[test]
        fn a_number_has_two_decimals_at_most(number in -1e6..1e6f64) {
            let text = short(number);
            let back: f64 = text.parse().unwrap();
            prop_assert!((back - number).abs() <= 0.005 + 1e-9, "{number}: {text}");
            let decimals = text.split_once('.').map_or("1", |(_, decimals)| decimals);
            prop_assert!(decimals.len() < 3 && !decimals.ends_with('0'), "{text}");
            prop_assert!(text != "-0" && !text.ends_with('.'));
        }

        #[test]
        fn a_path_leads_through_its_points(
            points in prop::collection::vec((0..4i32, 0..4i32), 2..12),
            step in 0.01..40.0f64,
        ) {
            let at: Vec<At> =
                points.iter().map(|(x, y)| (f64::from(*x) * step, f64::from(*y) * step)).collect();
            let wanted: Vec<[String; 2]> = at.iter().map(|(x, y)| [short(*x), short(*y)]).collect();
            prop_assert_eq!(read(&path_of(&at)), wanted);
        }

        #[test]
        fn what_is_fitted_is_no_wider_than_its_room(
            text in "[ -~äß漢]{0,60}",
            room in 1.0..40.0f64,
        ) {
            let cut = fitted(&text, room);
            prop_assert!(width_of(&cut) <= room, "{cut} is {} wide, not {room}", width_of(&cut));
            match cut.strip_suffix('…') {
                Some(begin) => {
                    prop_assert!(text.starts_with(begin), "{text}: {cut}");
                    prop_assert!(width_of(&text) > room, "{text} had room");
                }
                None => prop_assert_eq!(cut, text),
            }
        }

        #[test]
        fn two_texts_are_as_wide_as_both(one in "\\PC{0,20}", other in "\\PC{0,20}") {
            let both = width_of(&format!("{one}{other}"));
            prop_assert!((both - width_of(&one) - width_of(&other)).abs() < 1e-9);
            prop_assert!(width_of(&one) >= 0.33 * one.chars().count() as f64 - 1e-9);
        }
    }

    #[test]
    fn nothing_is_written_of_a_line_without_a_second_point() {
        let mut canvas = Canvas::new((72.0, 36.0), "sans", 7.0);
        let empty = canvas.text.clone();
        canvas.line(&[(1.0, 1.0)], Stroke::thin("#000", 1.0));
        canvas.line(&[], Stroke::thin("#000", 1.0));
        assert_eq!(canvas.text, empty);
        canvas.line(&[(1.0, 1.0), (1.0, 5.0), (4.0, 5.0)], Stroke::thin("#000", 1.0));
        assert!(canvas.finish().contains("d=\"M1 1V5H4\""));
    }

    #[test]
    fn marks_are_as_large_as_their_radius_and_centred() {
        // A circle is no path.
        for marker in MARKERS.into_iter().filter(|marker| !matches!(marker, Marker::Circle)) {
            let mut canvas = Canvas::new((72.0, 36.0), "sans", 7.0);
            canvas.marker(marker, (20.0, 10.0), 2.0, "#000");
            let svg = canvas.finish();
            let path = svg.split("d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            let points = read(path.trim_end_matches('Z'));
            let of = |k: usize| points.iter().map(move |p| p[k].parse::<f64>().unwrap());
            for (k, middle) in [(0, 20.0), (1, 10.0)] {
                let (least, most) = (of(k).fold(f64::MAX, f64::min), of(k).fold(0.0, f64::max));
                assert!(most - middle <= 2.8 && middle - least <= 2.8, "{marker:?}: {points:?}");
                assert!(most > middle + 1.5 && least < middle - 1.5, "{marker:?}: {points:?}");
            }
            assert_eq!(svg.contains("fill=\"none\""), marker.is_open(), "{marker:?}");
        }
    }

    #[test]
    fn each_clip_has_a_name_of_its_own() {
        let mut canvas = Canvas::new((72.0, 36.0), "a \"b\"", 7.0);
        let rect = Rect { x: 1.0, y: 2.0, width: 3.0, height: 4.0 };
        for _ in 0..2 {
            canvas.open_clipped(rect);
            canvas.close();
        }
        let svg = canvas.finish();
        for said in ["id=\"c1\"", "id=\"c2\"", "url(#c1)", "url(#c2)", "a &quot;b&quot;"] {
            assert_eq!(svg.matches(said).count(), 1, "{said}: {svg}");
        }
        let document = roxmltree::Document::parse(&svg).expect("it is XML");
        assert_eq!(document.root_element().attribute("width"), Some("25.4mm"), "72 points");
        assert_eq!((rect.right(), rect.bottom()), (4.0, 6.0));
        assert_eq!(rect.grown(1.0), Rect { x: 0.0, y: 1.0, width: 5.0, height: 6.0 });
    }
}
