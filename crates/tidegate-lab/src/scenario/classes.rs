//! The classes of a group's packets, as text: `2`, or several in a list.
use tidegate::config::{SEPARATOR, Value};
use tidegate::units::UnitError;

/// One class for all flows, or several dealt out to them in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes(Vec<u32>);

/// The most in a list.
const MOST: usize = 1024;

impl Classes {
    /// All flows in `class`.
    pub fn one(class: u16) -> Classes {
        Classes(vec![class.into()])
    }

    /// The classes as they were given.
    pub fn given(&self) -> &[u32] {
        &self.0
    }

    /// The class of a group's flow `index`.
    pub fn of(&self, index: usize) -> u16 {
        self.0[index % self.0.len()] as u16
    }
}

impl Value for Classes {
    const KIND: &'static str = "whole number or list of them";

    fn read(text: &str) -> Result<Self, UnitError> {
        let entries: Vec<&str> = text.split(SEPARATOR).collect();
        if entries.len() > MOST {
            let why = format!("has {} values; at most {MOST} can be", entries.len());
            return Err(UnitError { text: text.chars().take(60).collect(), why });
        }
        entries.iter().map(|entry| u32::read(entry.trim())).collect::<Result<_, _>>().map(Classes)
    }

    fn write(&self) -> String {
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(SEPARATOR)
    }

    fn magnitude(&self) -> f64 {
        self.extent().1
    }

    fn extent(&self) -> (f64, f64) {
        let (least, most) = (self.0.iter().min(), self.0.iter().max());
        (least.map_or(0.0, |&least| least as f64), most.map_or(0.0, |&most| most as f64))
    }

    fn write_bound(magnitude: f64) -> String {
        (magnitude as u64).to_string()
    }
}
