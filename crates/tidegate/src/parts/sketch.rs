//! Counters in several arrays; a flow has one in each. The least of them is the nearest to what the
//! flow's own would be, and never below it (estan2002 §3.2; a count-min sketch).
//!
//! With the conservative update of estan2002 §3.3.2 a counter rises no further than what one of its
//! flows can have caused.
//!
//! ```
//! use tidegate::{Rng, parts::sketch::Sketch};
//! let mut sketch = Sketch::new(4, 1024, &mut Rng::from_seed(1));
//! for flow in [7, 8, 7] {
//!     let counters = sketch.of(flow);
//!     let sent = sketch.least(&counters) + 1000;
//!     sketch.raise(&counters, sent);
//! }
//! assert_eq!(sketch.least(&sketch.of(7)), 2000);
//! ```
use crate::parts::bins::{Bins, FlowBins};
use crate::rng::Rng;

/// Counters of 8 bytes.
#[derive(Clone, Debug)]
pub struct Sketch {
    counters: Bins<u64>,
}

impl Sketch {
    /// `arrays` arrays of `length` counters, all 0, with hash functions drawn from `dice`.
    pub fn new(arrays: u32, length: u32, dice: &mut Rng) -> Sketch {
        let mut counters = Bins::new(arrays as usize, length);
        counters.rekey(dice);
        Sketch { counters }
    }

    /// What a sketch takes, in bytes.
    pub const fn bytes(arrays: u32, length: u32) -> u64 {
        arrays as u64 * length as u64 * core::mem::size_of::<u64>() as u64
    }

    /// The counters of `flow`.
    #[inline]
    pub fn of(&self, flow: u64) -> FlowBins {
        self.counters.places(flow)
    }

    /// The numbers of the counters of `flow` among all counters, one in each array.
    pub fn numbers_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.counters.numbers_of(flow)
    }

    /// The least of a flow's counters.
    #[inline]
    pub fn least(&self, flow: &FlowBins) -> u64 {
        let arrays = 0..self.counters.levels();
        arrays.map(|array| self.counters[flow.on(array)]).min().unwrap_or(0)
    }

    /// Each of a flow's counters is `to` at least.
    #[inline]
    pub fn raise(&mut self, flow: &FlowBins, to: u64) {
        for array in 0..self.counters.levels() {
            let counter = &mut self.counters[flow.on(array)];
            *counter = (*counter).max(to);
        }
    }

    /// All counters are 0 again.
    pub fn clear(&mut self) {
        self.counters.clear();
    }
}
