//! The link price of REM: how far supply and demand are apart, summed up over time
//! (athuraliya2001).
//!
//! p(t) = max(0, p(t − 1) + γ (α (b − b*) + X − c)), with backlog b, target b*, input X and
//! capacity c of one period, all in one unit (mean packets). A packet is marked with probability m
//! = 1 − φ^−p. Without rates the same step is γ (b(t) − (1 − α) b(t − 1) − α b*). What came in
//! beyond capacity is what the backlog grew by, as long as the queue neither runs empty nor refuses
//! anything.
//!
//! ```
//! use tidegate::parts::price::Price;
//! let mut price = Price::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
//! price.arrived(12.0);
//! price.period(50.0);
//! assert!((price.get() - 0.005).abs() < 1e-12); // .001 (.1 (50 − 20) + 12 − 10)
//! ```

use crate::choices;

choices! {
    /// From what the price's step is worked out.
    pub enum Form {
        /// Input and capacity, and the backlog of the moment.
        Rate = "rate",
        /// The backlog of the moment and that of the update before.
        Backlog = "backlog",
    }
}

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
    form: Form,
    price: f64,
    arrived: f64,
    input: f64,
    /// b of the update before.
    before: f64,
    probability: f64,
}

impl Price {
    /// A price of zero. `target` is b*, `capacity` what the link sends in a period, both in mean
    /// packets; `weight` is that of the newest period in the input rate (1: no memory).
    pub fn new(alpha: f64, gamma: f64, phi: f64, target: f64, capacity: f64, weight: f64) -> Price {
        Price {
            alpha,
            gamma,
            steepness: libm::log(phi),
            target,
            capacity,
            weight,
            form: Form::Rate,
            price: 0.0,
            arrived: 0.0,
            input: 0.0,
            before: 0.0,
            probability: 0.0,
        }
    }

    /// The same price in this form; [`new`](Price::new) has it in rates.
    pub fn in_form(self, form: Form) -> Price {
        Price { form, ..self }
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

    /// Whether `die`, uniform on 0 .. 1, is below 1 − φ^−d for some other price d. With x = d ln φ
    /// that lies between x − x² / 2 and x, so the power is seldom needed.
    #[inline]
    pub fn strikes(&self, die: f64, price: f64) -> bool {
        let x = price * self.steepness;
        // Far more than any rounding.
        const MARGIN: f64 = 1e-12;
        if die > x + MARGIN {
            false
        } else if die < x - 0.5 * x * x - MARGIN {
            true
        } else {
            die < self.probability_of(price)
        }
    }

    /// Counts an arrival of this many mean packets.
    #[inline]
    pub fn arrived(&mut self, packets: f64) {
        self.arrived += packets;
    }

    /// What γ multiplies, as the last period left it, for a backlog of `backlog` mean packets.
    pub fn mismatch(&self, backlog: f64) -> f64 {
        match self.form {
            Form::Rate => self.alpha * (backlog - self.target) + self.input - self.capacity,
            Form::Backlog => backlog - (1.0 - self.alpha) * self.before - self.alpha * self.target,
        }
    }

    /// A period ends with `backlog` mean packets waiting.
    pub fn period(&mut self, backlog: f64) {
        self.input = (1.0 - self.weight) * self.input + self.weight * self.arrived;
        self.arrived = 0.0;
        self.price = (self.price + self.gamma * self.mismatch(backlog)).max(0.0);
        self.before = backlog;
        self.probability = self.probability_of(self.price);
    }

    /// `periods` more periods end without an arrival and with the same backlog. They end one by one
    /// while the input's memory fades, then (with that memory forgotten) in closed form, since the
    /// price moves by the same step each time.
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

    /// Dice anywhere, and as near to the probability as they lie.
    #[test]
    fn a_die_strikes_as_by_the_power() {
        let price = Price::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
        let mut dice = crate::rng::Rng::from_seed(4);
        for _ in 0..100_000 {
            let d = libm::pow(10.0, dice.between(-14.0, 6.0));
            let p = price.probability_of(d);
            let apart = libm::pow(10.0, dice.between(-18.0, -8.0));
            for die in [dice.uniform(), p, p - apart, p + apart] {
                assert_eq!(price.strikes(die, d), die < p, "{die} {p}");
            }
        }
    }

    /// While the queue neither runs empty nor refuses, both forms count the same; they differ in
    /// the backlog that α weighs.
    #[test]
    fn both_forms_follow_a_queue_that_is_never_empty() {
        let mut rates = Price::new(0.1, 0.001, 1.001, 20.0, 10.0, 1.0);
        let mut backlogs = rates.clone().in_form(Form::Backlog);
        let mut backlog = 0.0;
        let mut weighed = 0.0;
        for arrived in [60.0, 12.0, 10.0, 14.0, 9.0] {
            let before = backlog;
            backlog += arrived - 10.0;
            weighed += 0.1 * (backlog - before);
            rates.arrived(arrived);
            rates.period(backlog);
            backlogs.period(backlog);
            assert!((rates.get() - backlogs.get() - 0.001 * weighed).abs() < 1e-12);
        }
        assert!(rates.get() > 0.05, "neither was cut off at 0");
    }

    /// A slow memory of the input fades step by step for 64 periods; where there are more, nothing
    /// is left of it.
    #[test]
    fn a_slow_memory_is_cut_short_after_64_periods() {
        let faded = |periods| 1000.0 * libm::pow(0.99, periods);
        for (periods, left) in
            [(1, 990.0), (63, faded(63.0)), (64, faded(64.0)), (65, 0.0), (1000, 0.0)]
        {
            let mut price = Price::new(0.1, 0.01, 1.001, 20.0, 10.0, 0.01);
            price.input = 1000.0;
            price.periods_without_arrivals(periods, 20.0);
            let input = price.mismatch(20.0) + 10.0;
            assert!((input - left).abs() < 1e-9, "{periods} periods: {input}");
        }
    }

    #[test]
    fn closed_form_is_the_steps() {
        let rate =
            [(1.0, 0.0), (1.0, 500.0), (0.5, 0.0), (0.5, 300.0)].map(|(w, b)| (w, b, Form::Rate));
        let backlog = [(1.0, 0.0, Form::Backlog), (1.0, 500.0, Form::Backlog)];
        for (weight, backlog, form) in rate.into_iter().chain(backlog) {
            let mut stepped = Price::new(0.1, 0.01, 1.001, 20.0, 10.0, weight).in_form(form);
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
