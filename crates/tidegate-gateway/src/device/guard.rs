//! The promise to the kernel that somebody forwards the frames, on which the gateway's failing open
//! rests.
//!
//! While the promise holds, a program in the kernel keeps its hands off the frames that arrive;
//! when it has lapsed, the program forwards them itself. Here is only what the pump and the gate
//! must ask; who keeps the promise is a [`Guard`].
use tidegate::Span;

/// How often the promise is renewed, at the least.
pub const BEAT: Span = Span::from_millis(50);

/// What had become of the promise when it was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromiseState {
    /// It held all the time.
    Kept,
    /// It had lapsed: frames that wait to be received now may have been forwarded by the kernel
    /// already.
    Lapsed,
}

/// Keeps the promise.
pub trait Guard {
    /// Renews the promise from the moment of the call on; what had become of it until it was
    /// renewed. Reads a clock: a thread that was stopped on the way here must not renew by the time
    /// before that. Called once every [`BEAT`] or so, and whenever it is not [ours](Guard::ours).
    fn beat(&mut self) -> PromiseState;

    /// Whether the promise holds at the moment of the call, so that all frames that arrived before
    /// it are ours alone to forward. Reads a clock: called after frames were counted and before
    /// they are received.
    fn ours(&mut self) -> bool;

    /// Gives the promise up: from here on nothing that arrives is ours.
    fn leave(&mut self);
}

/// There is no program in the kernel: every frame is ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn beat(&mut self) -> PromiseState {
        PromiseState::Kept
    }

    #[inline]
    fn ours(&mut self) -> bool {
        true
    }

    fn leave(&mut self) {}
}
