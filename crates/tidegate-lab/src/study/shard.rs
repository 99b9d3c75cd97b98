//! A part of a study, for one machine of several.
use std::fmt;
use std::str::FromStr;

use tidegate::ConfigError;

/// Part `number` of `of`: every `of`-th case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: u32,
}

/// The most parts of a study.
const MOST: u32 = 100_000;

impl Shard {
    /// The whole.
    pub const WHOLE: Shard = Shard { number: 1, of: 1 };

    /// Whether it has the case of this index.
    pub fn has(self, case: usize) -> bool {
        case % self.of as usize == self.number as usize - 1
    }

    /// The name of its folder in a study's; none of the whole.
    pub fn folder(self) -> Option<String> {
        (self != Shard::WHOLE).then(|| format!("shard-{}-of-{}", self.number, self.of))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Shard, ConfigError> {
        let wrong = |why: &str| ConfigError::new("shard", text, why);
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        let shard = parts.ok_or_else(|| wrong("must be written I/N, as in 3/10"))?;
        if shard.of > MOST {
            return Err(wrong("must be at most one of 100000"));
        }
        if (1..=shard.of).contains(&shard.number) {
            Ok(shard)
        } else {
            Err(wrong("must be 1/N to N/N"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_one_shard() {
        let shards: Vec<Shard> = (1..=7).map(|i| format!("{i}/7").parse().unwrap()).collect();
        for case in 0..50 {
            assert_eq!(shards.iter().filter(|shard| shard.has(case)).count(), 1);
            assert!(Shard::WHOLE.has(case));
        }
        assert_eq!(shards[2].folder().as_deref(), Some("shard-3-of-7"));
        assert_eq!(Shard::WHOLE.folder(), None);
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in ["", "1", "0/3", "4/3", "a/b", "1/0", "-1/2", "1/200000"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
