//! How long before a departure a sleep must end, which this machine teaches.
//!
//! A sleep ends late: by some microseconds on hardware, by 30 to 100 on a virtual machine within a
//! virtual machine, where that changes from hour to hour. A thread that wakes too early looks at
//! the clock for nothing, and one that wakes too late sends late. So the margin grows by [`UP`]
//! when a sleep has ended so late that hardly anything of it was left. Else it shrinks by [`DOWN`].
//! It settles where one sleep in a thousand ends too late.
//!
//! ```
//! use tidegate::Span;
//! use tidegate_gateway::run::wakes::{LEAST, Wakes};
//!
//! let mut wakes = Wakes::default();
//! assert_eq!(wakes.margin(), LEAST);
//! wakes.woke(Span::from_micros(90));
//! assert!(wakes.margin() > LEAST);
//! ```
use tidegate::Span;

/// The least margin.
pub const LEAST: Span = Span::from_micros(60);
/// The greatest: a machine whose sleeps end later than that now and then is not helped by a thread
/// that hardly sleeps.
pub const MOST: Span = Span::from_micros(250);
/// What is to be left of the margin when a sleep has ended.
const LEFT: Span = Span::from_micros(5);
/// By how much the margin grows.
const UP: Span = Span::from_micros(10);
/// By how much it shrinks: a thousandth.
const DOWN: Span = Span::from_nanos(UP.as_nanos() / 1000);

/// How late sleeps end.
#[derive(Clone, Debug)]
pub struct Wakes {
    margin: Span,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes { margin: LEAST }
    }
}

impl Wakes {
    /// How long before a departure a sleep is to end.
    pub const fn margin(&self) -> Span {
        self.margin
    }

    /// A sleep has ended `late`.
    pub fn woke(&mut self, late: Span) {
        self.margin = if late + LEFT > self.margin {
            (self.margin + UP).min(MOST)
        } else {
            (self.margin - DOWN).max(LEAST)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The margin after sleeps that end late by 20 us, but one in `every` by `late` us.
    fn settled(every: u64, late: u64) -> Span {
        let mut wakes = Wakes::default();
        for number in 1..200_000 {
            wakes.woke(Span::from_micros(if number % every == 0 { late } else { 20 }));
        }
        wakes.margin()
    }

    #[test]
    fn the_margin_covers_what_is_late_more_often_than_once_in_a_thousand() {
        let covers = settled(300, 120);
        assert!(covers >= Span::from_micros(122) && covers <= Span::from_micros(135), "{covers}");
        assert!(settled(3000, 120) <= LEAST + UP, "too seldom to wait for it awake");
    }

    #[test]
    fn the_margin_has_bounds() {
        assert_eq!(settled(1, 5), LEAST);
        assert_eq!(settled(1, 5000), MOST);
    }
}
