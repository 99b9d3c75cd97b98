//! REM read straight from athuraliya2001 (its price equation stands as eq. (1) of the Purge paper),
//! in floats.
//!
//! Everything is counted in mean packets, as its authors' simulator does. Written to be plainly
//! right: the driver says when a period ends and how much waits; the twin keeps the price.

#[derive(Clone, Debug)]
pub struct NaiveRem {
    pub alpha: f64,
    pub gamma: f64,
    pub phi: f64,
    /// b*, in mean packets.
    pub target: f64,
    /// Capacity of one period, in mean packets.
    pub capacity: f64,
    /// Weight of the newest period in the input rate; 1 keeps no memory.
    pub weight: f64,
    pub price: f64,
    /// Arrived in this period, in mean packets.
    pub arrived: f64,
    pub input: f64,
    /// b at the last update, in mean packets.
    pub backlog: f64,
}

impl NaiveRem {
    pub fn new(
        alpha: f64,
        gamma: f64,
        phi: f64,
        target: f64,
        capacity: f64,
        weight: f64,
    ) -> NaiveRem {
        NaiveRem {
            alpha,
            gamma,
            phi,
            target,
            capacity,
            weight,
            price: 0.0,
            arrived: 0.0,
            input: 0.0,
            backlog: 0.0,
        }
    }

    /// The period ends with `backlog` mean packets waiting.
    pub fn period(&mut self, backlog: f64) {
        self.input = (1.0 - self.weight) * self.input + self.weight * self.arrived;
        self.arrived = 0.0;
        let mismatch = self.alpha * (backlog - self.target) + self.input - self.capacity;
        self.price = (self.price + self.gamma * mismatch).max(0.0);
    }

    /// The same in the form without rates: what was taken in beyond capacity is what the backlog
    /// grew by.
    pub fn period_by_backlog(&mut self, backlog: f64) {
        let mismatch = backlog - (1.0 - self.alpha) * self.backlog - self.alpha * self.target;
        self.price = (self.price + self.gamma * mismatch).max(0.0);
        self.backlog = backlog;
    }

    /// The probability with which a packet is marked now.
    pub fn mark_probability(&self) -> f64 {
        1.0 - libm::pow(self.phi, -self.price)
    }
}
