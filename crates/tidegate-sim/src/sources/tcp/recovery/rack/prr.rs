//! Proportional rate reduction (RFC 9937): how the window falls to ssthresh during a recovery.

/// One reduction, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window before it (RecoverFS).
    prior: f64,
    /// How many segments have arrived since.
    delivered: u32,
    /// How many have been sent since.
    pub sent: u32,
}

/// What an acknowledgement says during a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckProgress {
    /// How many segments have arrived.
    pub news: u32,
    /// How many are found lost.
    pub lost: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub advanced: bool,
    /// How many segments are under way.
    pub pipe: u32,
}

impl Reduction {
    /// A reduction from `prior` begins.
    pub fn begin(prior: f64) -> Reduction {
        Reduction { prior, delivered: 0, sent: 0 }
    }

    /// The window on its way to `ssthresh` (RFC 9937 §6.2).
    pub fn window(&mut self, progress: &AckProgress, ssthresh: f64) -> f64 {
        let AckProgress { news, lost, advanced, pipe } = *progress;
        let pipe = pipe as f64;
        self.delivered += news;
        let (delivered, sent) = (self.delivered as f64, self.sent as f64);
        let more = if pipe > ssthresh {
            // The quotient of two whole numbers is rounded up; what is sent is whole.
            libm::ceil(delivered * ssthresh / self.prior) - sent
        } else {
            let bound = (delivered - sent).max(news as f64) + (advanced && lost == 0) as u32 as f64;
            bound.min(ssthresh - pipe)
        };
        // The first repair goes out whatever is under way.
        pipe + more.max((sent == 0.0) as u32 as f64)
    }
}
