//! Whose packets an offender's seem to be.
use tidegate::config::Value;
use tidegate::units::UnitError;

/// The flow that a source's packets seem to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    /// Its own.
    Off,
    /// Another one each time, with a source address that nobody else has.
    Random,
    /// Another one each time: a connection of its own host that was not there before.
    Ports,
    /// One of so many with made-up source addresses.
    Of(u32),
    /// One of the users'.
    Victims,
    /// One that the watched queue puts to a user's: its secret has leaked.
    Colliding,
}

/// The most made-up flows of one group.
const MOST: u32 = 1_000_000;
/// The words beside a number.
const WORDS: [(&str, Forge); 5] = [
    ("off", Forge::Off),
    ("random", Forge::Random),
    ("ports", Forge::Ports),
    ("victims", Forge::Victims),
    ("colliding", Forge::Colliding),
];

impl Value for Forge {
    const KIND: &'static str = "whole number, `off`, `random`, `ports`, `victims` or `colliding`";

    fn read(text: &str) -> Result<Self, UnitError> {
        if let Some(word) = WORDS.iter().find(|word| word.0 == text) {
            return Ok(word.1);
        }
        match text.parse::<u32>() {
            Ok(number) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(Forge::Of(number)),
            _ => Err(UnitError {
                text: text.chars().take(60).collect(),
                why: format!("must be {}", Forge::KIND),
            }),
        }
    }

    fn write(&self) -> String {
        match self {
            Forge::Of(number) => number.to_string(),
            word => WORDS.iter().find(|known| known.1 == *word).map_or("", |known| known.0).into(),
        }
    }

    fn magnitude(&self) -> f64 {
        match self {
            Forge::Of(number) => *number as f64,
            _ => 1.0,
        }
    }

    fn write_bound(magnitude: f64) -> String {
        if magnitude < 1.5 {
            "off, random, ports, victims, colliding, 1".into()
        } else {
            MOST.to_string()
        }
    }
}
