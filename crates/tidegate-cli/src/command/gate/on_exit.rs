//! What is left between the interfaces when a gate has stopped.

/// What the wire does when the gate has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OnExit {
    /// The kernel goes on forwarding, unmanaged
    Open,
    /// Nothing is forwarded; everything is as it was before
    Close,
}
