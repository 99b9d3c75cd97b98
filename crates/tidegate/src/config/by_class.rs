//! A value for each class of packets, as one parameter.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Text, Value};
use crate::units::{Bytes, UnitError};

/// What stands between two values in a text.
pub const SEPARATOR: &str = ":";

/// The most values in one list.
const MOST: usize = 1024;

/// Values dealt out by class: the first is class 0's, the second class 1's, and the last one that
/// is given holds for all further classes. As text, with colons between them.
///
/// ```
/// use tidegate::config::{ByClass, Value};
/// let weights: ByClass<f64> = ByClass::read("2:1.5:1").unwrap();
/// assert_eq!([0, 1, 2, 3].map(|class| weights.of(class)), [2.0, 1.5, 1.0, 1.0]);
/// assert_eq!(weights.write(), "2:1.5:1");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ByClass<T> {
    /// At least one.
    values: Vec<T>,
}

/// A type that can be given by class.
pub trait Element: Value + Copy {
    /// What kind of text a list of it takes: its own kind and `by class`.
    const KIND_BY_CLASS: &'static str;
}

impl Element for f64 {
    const KIND_BY_CLASS: &'static str = "number by class";
}

impl<T: Copy> ByClass<T> {
    /// The same for all classes.
    pub fn all(value: T) -> ByClass<T> {
        ByClass { values: vec![value] }
    }

    /// These in turn, and the last one for all further classes.
    ///
    /// # Panics
    /// When there is none.
    pub fn each(values: &[T]) -> ByClass<T> {
        assert!(!values.is_empty(), "a value for class 0");
        ByClass { values: values.to_vec() }
    }

    /// The values as they were given.
    pub fn given(&self) -> &[T] {
        &self.values
    }

    /// The value of `class`.
    pub fn of(&self, class: usize) -> T {
        self.values[class.min(self.values.len() - 1)]
    }
}

impl ByClass<f64> {
    /// What `class` is served in a turn where one of weight 1 is served `quantum`: whole bytes, one
    /// at least.
    pub(crate) fn quantum(&self, class: usize, quantum: Bytes) -> u64 {
        (quantum.get() as f64 * self.of(class) + 0.5).max(1.0) as u64
    }
}

impl<T: Element> Value for ByClass<T> {
    const KIND: &'static str = T::KIND_BY_CLASS;

    fn read(text: &str) -> Result<Self, UnitError> {
        let entries = text.split(SEPARATOR).count();
        if entries > MOST {
            let why = format!(
                "has {entries} values; at most {MOST} can be, and the last holds for all further \
                 classes"
            );
            return Err(UnitError { text: text.chars().take(20).collect(), why });
        }
        let values = text
            .split(SEPARATOR)
            .map(|entry| T::read(entry.trim()))
            .collect::<Result<Vec<T>, _>>()?;
        Ok(ByClass { values })
    }

    fn write(&self) -> Text {
        self.values.iter().map(T::write).collect::<Vec<String>>().join(SEPARATOR)
    }

    fn magnitude(&self) -> f64 {
        self.extent().1
    }

    fn extent(&self) -> (f64, f64) {
        let extents = self.values.iter().map(T::extent);
        extents.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), (low, high)| {
            (least.min(low), most.max(high))
        })
    }

    fn write_bound(magnitude: f64) -> Text {
        T::write_bound(magnitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Params;

    crate::params! {
        /// A parameter by class.
        pub struct Toy {
            /// How much.
            weights: ByClass<f64> = ByClass::all(1.0), "w_i", 0.5 ..= 4.0;
        }
    }

    #[test]
    fn every_value_has_its_bounds() {
        let mut toy = Toy::default();
        for text in ["0.4:1", "1:0.4", "1:5:1", "5"] {
            let error = toy.set("weights", text).unwrap_err();
            assert_eq!(
                (error.field.as_str(), error.why.as_str()),
                ("weights", "must lie in 0.5 to 4"),
                "{text}"
            );
        }
        for text in ["", "1::2", "1:", "1,2", "1:two"] {
            assert!(toy.set("weights", text).is_err(), "{text}");
        }
        let long = ["1"; MOST + 1].join(SEPARATOR);
        assert!(toy.set("weights", &long).unwrap_err().why.contains("at most 1024"));
        assert_eq!(toy, Toy::default());
        toy.set("weights", " 4 : 0.5").unwrap();
        assert_eq!(toy.get("weights").unwrap(), "4:0.5");
    }
}
