//! What the paper works out in advance of bins and unresponsive flows.

/// The probability that a responsive flow shares a bin with one of `offenders` unresponsive flows
/// on each of `levels` levels of `bins` bins. It is taken for one of them then: (1 − (1 −
/// 1/B)^M)^L, feng2001 eq. (1). No bins, no protection: 1.
///
/// ```
/// use tidegate::queues::sfb::misclassification;
/// assert!((400.0 * misclassification(2, 23, 8) - 35.8).abs() < 0.05);
/// ```
pub fn misclassification(levels: u32, bins: u32, offenders: u32) -> f64 {
    if bins == 0 {
        return 1.0;
    }
    libm::pow(polluted_bins(bins, offenders) / bins as f64, levels as f64)
}

/// How many of a level's `bins` bins are expected to hold at least one of `offenders` unresponsive
/// flows: B (1 − (1 − 1/B)^M), feng2001 §III-C.
pub fn polluted_bins(bins: u32, offenders: u32) -> f64 {
    if bins == 0 {
        return 0.0;
    }
    let bins = bins as f64;
    bins * (1.0 - libm::pow(1.0 - 1.0 / bins, offenders as f64))
}
