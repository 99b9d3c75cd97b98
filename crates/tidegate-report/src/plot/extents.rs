//! What shapes have in common: how far they reach, and what they are called.
use super::axis::Extent;

/// How far the shapes of all panels reach, and what of them cannot be shown.
#[derive(Default)]
pub(super) struct Extents {
    pub x: Extent,
    pub y: Extent,
    pub z: Extent,
    /// How many values a logarithmic axis has no place for.
    pub not_positive: usize,
    /// How many places have too few seeds for what the kind shows.
    pub single: usize,
    /// How many values are drawn.
    pub drawn: usize,
}
