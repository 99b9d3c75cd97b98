//! Delays as results have them.
use tidegate::Span;
use tidegate_sim::Delay;

/// Mean, standard deviation, median, 95th and 99th percentile of a delay.
pub(crate) type DelayNumbers = [Option<f64>; 5];

/// `delay` in milliseconds.
pub(super) fn delays(delay: Delay) -> DelayNumbers {
    [delay.mean, delay.sd, delay.p50, delay.p95, delay.p99].map(milli)
}

/// Milliseconds, the unit of delays in results.
pub(super) fn milli(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_millis)
}
