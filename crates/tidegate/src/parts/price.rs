//! The link price of REM: how far supply and demand are apart, summed up over time (athuraliya2001).
//!
//! p(t) = max(0, p(t − 1) + γ (α (b − b*) + X − c)), with backlog b, target b*, input X and capacity c of one period, all
//! in one unit (mean packets); a packet is marked with probability m = 1 − φ^−p.
//!
//! ```
//! use tidegate::parts::price::Price;
//! let mut price = Price::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
//! price.arrived(12.0);
//! price.period(50.0);
//! assert!((price.get() - 0.005).abs() < 1e-12); // .001 (.1 (50 − 20) + 12 − 10)
//! ```

/// A price and what it is made of. Lengths are in mean packets.
#[derive(Clone, Debug)]
pub struct Price {
    alpha: f64,
    gamma: f64,
    /// ln φ.
    steepness: f64,
    target: f64,
    capacity: f64,
    weight: f64,
    price: f64,
    arrived: f64,
    input: f64,
    probability: f64,
}

impl Price {
    /// A price of zero. `target` is b*, `capacity` what the link sends in a period, both in mean packets; `weight` is
    /// that of the newest period in the input rate (1: no memory).
    pub fn new(alpha: f64, gamma: f64, phi: f64, target: f64, capacity: f64, weight: f64) -> Price {
        Price {
            alpha,
            gamma,
            steepness: libm::log(phi),
            target,
            capacity,
            weight,
            price: 0.0,
            arrived: 0.0,
            input: 0.0,
            probability: 0.0,
        }
    }

    /// p.
    pub fn get(&self) -> f64 {
        self.price
    }

    /// m = 1 − φ^−p.
    #[inline]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// 1 − φ^−d for some other price d.
    pub fn probability_of(&self, price: f64) -> f64 {
        -libm::expm1(-price * self.steepness)
    }

    /// Counts an arrival of this many mean packets.
    #[inline]
    pub fn arrived(&mut self, packets: f64) {
        self.arrived += packets;
    }

    /// α (b − b*) + X − c as the last period left it, for a backlog of `backlog` mean packets.
    pub fn mismatch(&self, backlog: f64) -> f64 {
        self.alpha * (backlog - self.target) + self.input - self.capacity
    }

    /// A period ends with `backlog` mean packets waiting.
    pub fn period(&mut self, backlog: f64) {
        self.input = (1.0 - self.weight) * self.input + self.weight * self.arrived;
        self.arrived = 0.0;
        self.price = (self.price + self.gamma * self.mismatch(backlog)).max(0.0);
        self.probability = self.probability_of(self.price);
    }

    /// `periods` more periods end without an arrival and with the same backlog: one by one while the input's memory
    /// fades, then (with that memory forgotten) in closed form, since the price moves by the same step each time.
    pub fn periods_without_arrivals(&mut self, periods: u64, backlog: f64) {
        let fading = periods.min(FADING);
        for _ in 0..fading {
            self.period(backlog);
        }
        let left = (periods - fading) as f64;
        if left > 0.0 {
            self.input = 0.0;
        }
        self.price = (self.price + left * self.gamma * self.mismatch(backlog)).max(0.0);
        self.probability = self.probability_of(self.price);
    }
}

/// After so many periods without arrivals the memory of the input is forgotten.
const FADING: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_probabilities() {
        let price = Price::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
        assert!((price.probability_of(100.0) - 0.095117).abs() < 1e-6);
        assert!((price.probability_of(1000.0) - 0.631936).abs() < 1e-6);
    }

    #[test]
    fn closed_form_is_the_steps() {
        for (weight, backlog) in [(1.0, 0.0), (1.0, 500.0), (0.5, 0.0), (0.5, 300.0)] {
            let mut stepped = Price::new(0.1, 0.01, 1.001, 20.0, 10.0, weight);
            stepped.arrived(5_000.0);
            stepped.period(100.0);
            let mut closed = stepped.clone();
            for _ in 0..500 {
                stepped.period(backlog);
            }
            closed.periods_without_arrivals(500, backlog);
            assert!(
                (stepped.get() - closed.get()).abs() < 1e-9 * stepped.get().max(1.0),
                "{} {}",
                stepped.get(),
                closed.get()
            );
        }
    }
}
