//! Plots: what is drawn is read back from the SVG and held against numbers worked out by hand.
mod bounds;
mod kinds;
mod odd;
mod seen;
mod split;
mod table;

use tidegate_report::plot::{Picture, Plot, draw};
use tidegate_report::tidy::Tidy;

/// Draws what must be possible.
fn drawn(plot: &Plot, table: &Tidy) -> Picture {
    draw(plot, table).unwrap_or_else(|refused| panic!("{refused}"))
}

/// Draws what must not be possible; says why it is not.
fn refused(plot: &Plot, table: &Tidy) -> String {
    draw(plot, table).expect_err("this cannot be drawn").to_string()
}

/// Numbers that agree as well as a picture of two decimals of a point allows.
#[track_caller]
fn close(ours: f64, theirs: f64, digits: f64) {
    assert!((ours - theirs).abs() <= digits, "{ours} is not {theirs}");
}
