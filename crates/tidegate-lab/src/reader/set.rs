//! One value changed from the command line.
use std::str::FromStr;

use tidegate::ConfigError;

/// An override from the command line: `run.duration=5 s`, `group.flood.rate=45 Mbit/s`,
/// `queue.min=20 packets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The field's path; a group by its name, a link by its number from 1.
    pub path: String,
    /// The value: bare text, or TOML for a list or a table; empty to take the key away.
    pub value: String,
}

impl FromStr for Override {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Override, ConfigError> {
        let wrong = || {
            ConfigError::new("--set", text, "must be written path=value, as in run.duration=5 s")
        };
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let (path, value) = (path.trim(), value.trim());
        if path.is_empty() {
            Err(wrong())
        } else {
            Ok(Override { path: path.into(), value: value.into() })
        }
    }
}
