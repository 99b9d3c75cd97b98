//! A link that several streams of one port enter.

/// Most branches of a merge point: who is first of them is found by looking at all.
pub(crate) const BRANCHES: usize = 8;

/// A link that several streams enter. All of them come out of the same port, over links that are
/// fed in order and as fast as the port's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergePoint {
    /// The link.
    pub link: u32,
    /// The port.
    pub port: u32,
    /// How long it takes along each branch, transmission times aside: no two the same.
    pub lengths: Vec<u64>,
}
