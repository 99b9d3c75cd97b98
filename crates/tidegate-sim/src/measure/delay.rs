//! A delay over many packets.
use tidegate::Span;

use crate::measure::spread::Spread;

/// A delay over many packets: mean, population standard deviation and three percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Delay {
    /// The mean; `None` if there was no packet.
    pub mean: Option<Span>,
    /// The standard deviation; likewise.
    pub sd: Option<Span>,
    /// The median; `None` if there was no packet or none was kept.
    pub p50: Option<Span>,
    /// The 95th percentile; likewise.
    pub p95: Option<Span>,
    /// The 99th percentile; likewise.
    pub p99: Option<Span>,
}

impl Delay {
    /// Of the delays in `all`, in nanoseconds, whose percentiles `quantile` knows.
    pub(crate) fn of(all: &Spread, quantile: impl Fn(f64) -> Option<Span>) -> Delay {
        Delay {
            mean: (all.count > 0).then(|| Span::from_nanos((all.sum / all.count as u128) as u64)),
            sd: all.deviation().map(|sd| Span::from_nanos((sd + 0.5) as u64)),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    }
}
