//! A queue as users write it: `NAME[/PRESET][,param=value…]`.
//!
//! ```
//! use tidegate::{Link, written::Written};
//! let link = Link::new("10 Mbit/s".parse()?, "200 kB".parse()?, "1000 B".parse()?)?;
//! let config = Written::read("sfb/paper,bins=32")?.config(&link)?;
//! assert_eq!((config.name(), config.get("bins").as_deref()), ("sfb", Some("32")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::catalog::{self, AnyConfig};
use crate::config::ConfigError;
use crate::qdisc::Link;

/// Which queue, from which preset, with which parameters changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written<'t> {
    /// The queue's name.
    pub name: &'t str,
    /// The preset; [`catalog::DEFAULT_PRESET`] if none is named.
    pub preset: Option<&'t str>,
    /// Parameters and their values, in the order given.
    pub params: Vec<(&'t str, &'t str)>,
}

impl<'t> Written<'t> {
    /// Reads the text's form only; whether the queue and its parameters exist is the business of
    /// [`config`](Written::config), since bounds depend on the link.
    ///
    /// # Errors
    /// A text of another form, a parameter that is given twice.
    pub fn read(text: &'t str) -> Result<Written<'t>, ConfigError> {
        let wrong = |why: String| ConfigError::new("queue", text, why);
        let mut parts = text.split(',').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let (name, preset) = match head.split_once('/') {
            Some((name, preset)) => (name.trim(), Some(preset.trim())),
            None => (head, None),
        };
        if name.is_empty() || preset == Some("") {
            let form = "must be NAME[/PRESET][,param=value…], as in \"sfb/paper,bins=46\"";
            return Err(wrong(form.into()));
        }
        let mut params: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let (param, value) = part.split_once('=').unwrap_or((part, ""));
            let (param, value) = (param.trim(), value.trim());
            if param.is_empty() || value.is_empty() {
                return Err(wrong(format!("`{part}` must be written param=value")));
            }
            if params.iter().any(|(name, _)| *name == param) {
                return Err(wrong(format!("`{param}` is given twice")));
            }
            params.push((param, value));
        }
        Ok(Written { name, preset, params })
    }

    /// The parameters on `link`: the preset's, then each change in order.
    ///
    /// # Errors
    /// An unknown queue, preset or parameter, with the known ones; a value out of bounds.
    pub fn config(&self, link: &Link) -> Result<AnyConfig, ConfigError> {
        let mut config = catalog::config(self.name, self.preset, link)?;
        for (param, value) in &self.params {
            config.set(param, value)?;
        }
        Ok(config)
    }
}
