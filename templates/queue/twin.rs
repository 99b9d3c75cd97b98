//! TEMPLATE read straight from its paper, in floats, written to be plainly right.

#[derive(Clone, Debug)]
pub struct NaiveTemplate {
    /// p.
    pub probability: f64,
}

impl NaiveTemplate {
    /// The probability with which an arriving packet that found room is marked or dropped.
    pub fn signal_probability(&self) -> f64 {
        self.probability
    }
}
