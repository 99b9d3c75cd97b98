//! Loss events and the intervals between them (RFC 5348 §5).

/// The number of closed intervals that count.
const N: usize = 8;
/// Their weights (RFC 5348 §5.4).
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The least discount factor of old intervals (§5.5).
const LEAST_DISCOUNT: f64 = 0.5;

/// The loss intervals of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The closed intervals, the youngest first, in packets.
    closed: [f64; N],
    /// The permanent discount factor of each.
    discounts: [f64; N],
    /// How many there are.
    count: usize,
    /// The first packet lost in the youngest event, and the time of that loss.
    event: Option<(u32, f64)>,
}

impl History {
    /// Adds the loss of packet `seq` at `at`, in seconds. Returns whether it begins a new event.
    /// The interval before the first event is `first`, not what was sent (§6.3.1).
    pub fn lost(&mut self, seq: u32, at: f64, rtt: f64, first: impl FnOnce() -> f64) -> bool {
        let interval = match self.event {
            // Losses within a round trip of an event's first loss belong to that event.
            Some((_, begin)) if at <= begin + rtt => return false,
            Some((begin, _)) => seq.wrapping_sub(begin) as f64,
            None => first(),
        };
        let discount =
            self.event.map_or(1.0, |(begin, _)| self.discount(seq.wrapping_sub(begin) as f64));
        self.discounts.iter_mut().for_each(|d| *d *= discount);
        self.closed.rotate_right(1);
        self.discounts.rotate_right(1);
        (self.closed[0], self.discounts[0]) = (interval, 1.0);
        self.count = (self.count + 1).min(N);
        self.event = Some((seq, at));
        true
    }

    /// The loss event rate, given the next packet expected; 0 before the first event.
    pub fn loss_event_rate(&self, next: u32) -> f64 {
        let Some((begin, _)) = self.event else { return 0.0 };
        let open = next.wrapping_sub(begin) as f64;
        let mean = self.mean(open, self.discount(open));
        1.0 / mean.max(1.0)
    }

    /// The discount of the closed intervals by an open one much longer than the mean.
    fn discount(&self, open: f64) -> f64 {
        let (sum, weights) = self.sums(WEIGHTS);
        let mean = sum / weights;
        if open > 2.0 * mean { (2.0 * mean / open).max(LEAST_DISCOUNT) } else { 1.0 }
    }

    /// The weighted mean, with or without the open interval, whichever is greater.
    fn mean(&self, open: f64, discount: f64) -> f64 {
        let (sum, weights) = self.sums(WEIGHTS);
        let shifted =
            std::array::from_fn(|i| WEIGHTS.get(i + 1).copied().unwrap_or(0.0) * discount);
        let (rest, others) = self.sums(shifted);
        ((open * WEIGHTS[0] + rest) / (WEIGHTS[0] + others)).max(sum / weights)
    }

    /// The weighted and discounted sum of the closed intervals, and the sum of the weights.
    fn sums(&self, weights: [f64; N]) -> (f64, f64) {
        (0..self.count).fold((0.0, 0.0), |(sum, total), i| {
            let weight = weights[i] * self.discounts[i];
            (sum + self.closed[i] * weight, total + weight)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(closed: [f64; N]) -> History {
        History { closed, discounts: [1.0; N], count: N, event: Some((1000, 0.0)) }
    }

    #[test]
    fn the_mean_s_golden_numbers() {
        // spec: I = 50, 100, 200, 100, 80, 60, 120, 40, 90 make sums of 606 and 634, and so a mean
        // of 105.667.
        let history = history([100.0, 200.0, 100.0, 80.0, 60.0, 120.0, 40.0, 90.0]);
        let (sum, weights) = history.sums(WEIGHTS);
        assert!((sum - 634.0).abs() < 1e-9 && (weights - 6.0).abs() < 1e-12);
        assert!((history.loss_event_rate(1050) - 0.0094637).abs() < 5e-8);
        // Once the open interval counts for more, it does.
        assert!(history.loss_event_rate(1200) < 0.0094637);
    }

    #[test]
    fn a_long_open_interval_discounts_the_others() {
        let history = history([100.0; N]);
        // Without: (400 + 5 · 100 · …) / 6 with the eighth weight gone: (400 + 500) / 6 = 150.
        // Discounted by 200 / 400.
        let expected = (400.0 + 500.0 * 0.5) / (1.0 + 5.0 * 0.5);
        assert!((1.0 / history.loss_event_rate(1400) - expected).abs() < 1e-9);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut history = History::default();
        assert_eq!(history.loss_event_rate(10), 0.0);
        assert!(history.lost(20, 1.0, 0.1, || 50.0));
        assert!(!history.lost(25, 1.05, 0.1, || 1.0) && !history.lost(30, 1.1, 0.1, || 1.0));
        assert!((history.loss_event_rate(31) - 1.0 / 50.0).abs() < 1e-12);
        assert!(history.lost(60, 1.2, 0.1, || 1.0));
        // Closed: 40 and 50.
        assert!((history.loss_event_rate(61) - 1.0 / 45.0).abs() < 1e-12);
    }
}
