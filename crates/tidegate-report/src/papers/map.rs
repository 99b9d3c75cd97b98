//! A map as SVG: queues against settings, a number and a colour in each cell.
use std::fmt::Write;

use crate::html::escape;

use super::HeatMap;

const CELL: (usize, usize) = (116, 22);
const LEFT: usize = 96;
const TOP: usize = 84;

/// The map as an SVG document; values from 0 (orange) to 1 (blue).
pub(super) fn svg(map: &HeatMap) -> String {
    let (width, height) =
        (LEFT + CELL.0 * map.columns.len() + 8, TOP + CELL.1 * map.rows.len() + 8);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect \
         width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"20\" font-size=\"15\">{}</text>\n",
        escape(&map.title)
    );
    for (column, name) in map.columns.iter().enumerate() {
        let x = LEFT + CELL.0 * column + CELL.0 / 2;
        for (line, words) in halves(name).into_iter().enumerate() {
            let y = TOP - 34 + 14 * line;
            let _ = writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"10\">{}</text>",
                escape(words)
            );
        }
    }
    for (row, (label, values)) in map.rows.iter().enumerate() {
        let y = TOP + CELL.1 * row;
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 6,
            y + 15,
            escape(label)
        );
        for (column, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let x = LEFT + CELL.0 * column;
            let (fill, ink) = colour(*value);
            let _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{value:.3}</text>",
                CELL.0 - 2,
                CELL.1 - 2,
                x + CELL.0 / 2 - 1,
                y + 15
            );
        }
    }
    text + "</svg>\n"
}

/// A heading in two lines at most, broken at a colon or a comma.
fn halves(name: &str) -> Vec<&str> {
    match name.split_once([':', ',']) {
        Some((first, second)) => vec![first, second.trim()],
        None => vec![name],
    }
}

/// From orange over white to blue, told apart with any colour vision, and the ink that can be read
/// on it.
fn colour(value: f64) -> (String, &'static str) {
    const ENDS: [[f64; 3]; 3] = [[213.0, 94.0, 0.0], [250.0, 248.0, 240.0], [0.0, 114.0, 178.0]];
    let at = 2.0 * value.clamp(0.0, 1.0);
    let (low, share) = if at < 1.0 { (0, at) } else { (1, at - 1.0) };
    let part = |i: usize| (ENDS[low][i] + share * (ENDS[low + 1][i] - ENDS[low][i])).round() as u8;
    let ink = if (0.3..0.85).contains(&value) { "#222" } else { "#fff" };
    (format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2)), ink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_every_cell_with_its_number() {
        let map = HeatMap {
            title: "Jain <all>".into(),
            columns: vec!["B5: 36 flows".into(), "C1".into()],
            rows: vec![
                ("red".into(), vec![Some(0.25), None]),
                ("sfb".into(), vec![Some(1.0), Some(0.5)]),
            ],
            ..HeatMap::default()
        };
        let text = svg(&map);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("Jain &lt;all&gt;") && text.contains(">36 flows<"), "{text}");
        assert!(
            [">0.250<", ">1.000<", ">0.500<"].iter().all(|number| text.contains(number)),
            "{text}"
        );
        assert_eq!(text.matches("<rect").count(), 4, "the ground and three cells");
        assert_eq!((colour(0.0).0, colour(1.0).0), ("#d55e00".into(), "#0072b2".into()));
    }
}
