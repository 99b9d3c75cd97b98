//! On which side of two thresholds an average is, and when it comes out on another:
//! self-configuring RED's status (feng1999), which changes once per crossing. On a threshold
//! nothing changes.
//!
//! ```
//! use tidegate::parts::band::{Band, Crossed};
//! let mut band = Band::default();
//! let told = [2.0, 4.0, 11.0, 12.0, 8.0, 10.0, 12.0, 3.0].map(|avg| band.crossed(avg, 3.0, 10.0));
//! use Crossed::{Above, Below, Not};
//! assert_eq!(told, [Not, Not, Above, Not, Not, Not, Above, Not]);
//! assert_eq!(band.crossed(2.9, 3.0, 10.0), Below);
//! ```

/// Where the average was when it last was not on a threshold; below both at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Status {
    #[default]
    Below,
    Between,
    Above,
}

/// What an average has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossed {
    /// Nothing that matters.
    Not,
    /// It has fallen below the lower threshold.
    Below,
    /// It has risen above the upper one.
    Above,
}

impl Crossed {
    /// The same for a caller that asks each time anew, wherever the average was before.
    #[inline]
    pub fn lies(avg: f64, min: f64, max: f64) -> Crossed {
        match avg {
            _ if avg < min => Crossed::Below,
            _ if avg > max => Crossed::Above,
            _ => Crossed::Not,
        }
    }
}

impl Band {
    /// The average is `avg` now, the thresholds are `min` and `max`.
    #[inline]
    pub fn crossed(&mut self, avg: f64, min: f64, max: f64) -> Crossed {
        let (status, crossed) = if avg < min {
            (Status::Below, Crossed::Below)
        } else if avg > max {
            (Status::Above, Crossed::Above)
        } else if avg > min && avg < max {
            (Status::Between, Crossed::Not)
        } else {
            return Crossed::Not;
        };
        if core::mem::replace(&mut self.status, status) == status { Crossed::Not } else { crossed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_itself_is_between() {
        let lies = |avg| Crossed::lies(avg, 5.0, 15.0);
        assert_eq!([lies(5.0), lies(10.0), lies(15.0)], [Crossed::Not; 3]);
        assert_eq!((lies(4.9), lies(15.1)), (Crossed::Below, Crossed::Above));
    }
}
