//! An exponentially weighted moving average: RED's `avg`.
//!
//! ```
//! use tidegate::parts::ewma::Ewma;
//! let mut avg = Ewma::new(0.5);
//! avg.update(8.0);
//! assert_eq!(avg.get(), 4.0);
//! avg.decay(2); // two updates with 0
//! assert_eq!(avg.get(), 1.0);
//! ```

/// An average that forgets: each update moves it by `weight` of the way to the new value. Starts at
/// 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ewma {
    value: f64,
    weight: f64,
}

impl Ewma {
    /// An average at 0 that gives a new value the weight `weight`, in 0 to 1.
    pub const fn new(weight: f64) -> Ewma {
        Ewma { value: 0.0, weight }
    }

    /// The average.
    #[inline]
    pub const fn get(&self) -> f64 {
        self.value
    }

    /// avg ← avg + w (x − avg).
    #[inline]
    pub fn update(&mut self, x: f64) {
        self.value += self.weight * (x - self.value);
    }

    /// `steps` updates with 0 at once.
    pub fn decay(&mut self, steps: u64) {
        self.value = self.decayed(steps);
    }

    /// What [`decay`](Ewma::decay) would leave: avg (1 − w)^steps, by squaring, so that it takes at
    /// most 64 squarings and only multiplications.
    pub fn decayed(&self, mut steps: u64) -> f64 {
        let (mut value, mut factor) = (self.value, 1.0 - self.weight);
        while steps > 0 {
            if steps & 1 == 1 {
                value *= factor;
            }
            factor *= factor;
            steps >>= 1;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_so_many_updates_with_nothing() {
        for steps in [0, 1, 2, 3, 7, 125, 1000] {
            let (mut fast, mut slow) = (Ewma::new(0.002), Ewma::new(0.002));
            fast.value = 10.0;
            slow.value = 10.0;
            fast.decay(steps);
            (0..steps).for_each(|_| slow.update(0.0));
            assert!((fast.get() / slow.get() - 1.0).abs() < 1e-12, "{steps}: {fast:?} {slow:?}");
        }
    }

    #[test]
    fn any_number_of_steps() {
        let mut avg = Ewma::new(1e-9);
        avg.update(1e9);
        avg.decay(u64::MAX);
        assert_eq!(avg.get(), 0.0);
        let mut all = Ewma::new(1.0);
        all.update(3.0);
        assert_eq!(all.get(), 3.0);
        all.decay(1);
        assert_eq!(all.get(), 0.0);
    }
}
