//! A queue as users write it: `NAME[/PRESET][,param=value…][ as LABEL]`.
//!
//! ```
//! use tidegate_lab::QueueSpec;
//! let spec: QueueSpec = "drop_tail/paper as plain FIFO".parse()?;
//! assert_eq!((spec.name.as_str(), spec.label().as_str()), ("drop_tail", "plain FIFO"));
//! assert_eq!(spec.to_string(), "drop_tail/paper as plain FIFO");
//! # Ok::<(), tidegate::ConfigError>(())
//! ```
use std::fmt;
use std::str::FromStr;

use tidegate::catalog::{self, AnyConfig};
use tidegate::written::Written;
use tidegate::{ConfigError, Link, Rng};

use crate::foreign::Foreign;
use crate::label::check_label;
use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem, Problems};

/// What is wrong with the second queue of a label.
pub(crate) const SAME_LABEL: &str =
    "another queue is called that too; give each its own, as in \"red as RED 1\"";
/// What is wrong with a queue that is not in the catalog where only those can be.
const NOT_HERE: &str = "is not in the catalog; such queues can only be simulated";

/// Which queue, from which preset, with which parameters changed, and what to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// The queue's name in the catalog.
    pub name: String,
    /// The preset; [`catalog::DEFAULT_PRESET`] if none is named.
    pub preset: Option<String>,
    /// Parameters set on top of the preset, in the order given, as text.
    pub params: Vec<(String, String)>,
    /// What tables and charts call it, if not its own text.
    pub label: Option<String>,
    /// The queue itself, if it is not in the catalog. It has no preset and no text.
    pub foreign: Option<Foreign>,
}

impl QueueSpec {
    /// The queue `name` fitted to its line ([`catalog::DEFAULT_PRESET`]).
    pub fn named(name: impl Into<String>) -> QueueSpec {
        QueueSpec {
            name: name.into(),
            preset: None,
            params: Vec::new(),
            label: None,
            foreign: None,
        }
    }

    /// A queue that is not in the catalog.
    pub fn foreign(foreign: Foreign) -> QueueSpec {
        QueueSpec { foreign: Some(foreign.clone()), ..QueueSpec::named(foreign.name()) }
    }

    /// What to call it: the label, or else the text without one.
    pub fn label(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.text())
    }

    /// Checks that no two queues of `specs` are called the same: a reader could not tell their
    /// results apart.
    ///
    /// # Errors
    /// The label that two of them have.
    pub fn distinct(specs: &[QueueSpec]) -> Result<(), (&QueueSpec, ConfigError)> {
        match twice(specs) {
            None => Ok(()),
            Some(again) => {
                Err((&specs[again], ConfigError::new("label", specs[again].label(), SAME_LABEL)))
            }
        }
    }

    /// The name of the preset that holds for it; empty for a queue that is not in the catalog.
    pub fn preset(&self) -> &str {
        let default = || catalog::find(&self.name).map(|_| catalog::DEFAULT_PRESET);
        self.preset.as_deref().or_else(default).unwrap_or_default()
    }

    /// Its parameters on `link`: the preset's, then each change in order.
    ///
    /// # Errors
    /// Names what is unknown (with the nearest known word), or the value that breaks a bound. A
    /// queue that is not in the catalog has no such parameters.
    pub fn resolve(&self, link: &Link) -> Result<AnyConfig, ConfigError> {
        if let Some(foreign) = &self.foreign {
            return Err(ConfigError::new("queue", foreign.name(), NOT_HERE));
        }
        let suggest = |mut error: ConfigError, word: &str, known: &[&str]| {
            if let Some(near) = did_you_mean(word, known) {
                error.why += &near;
            }
            error
        };
        let mut config =
            catalog::config(&self.name, self.preset.as_deref(), link).map_err(|error| {
                let queues: Vec<_> = catalog::QUEUES.iter().map(|row| row.name).collect();
                let presets: Vec<_> = catalog::find(&self.name)
                    .map_or(vec![], |row| (row.presets)().iter().map(|p| p.0).collect());
                let known = if error.field == "queue" { queues } else { presets };
                let word = error.value.clone();
                suggest(error, &word, &known)
            })?;
        let known: Vec<_> = config.row().params.iter().map(|p| p.name).collect();
        for (param, value) in &self.params {
            config.set(param, value).map_err(|error| {
                if known.contains(&param.as_str()) { error } else { suggest(error, param, &known) }
            })?;
        }
        Ok(config)
    }

    /// The parameters of `spec` on `link`, if it exists and can be built there.
    ///
    /// # Errors
    /// As [`QueueSpec::resolve`], and what only building finds, such as two parameters that do not
    /// go
    /// together.
    pub(crate) fn possible(&self, link: &Link) -> Result<AnyConfig, ConfigError> {
        let config = self.resolve(link)?;
        config.build(*link, Rng::from_seed(0)).map(|_| config)
    }

    /// A queue that was refused, as a problem of the command line rather than of a file.
    pub(crate) fn refused(&self, error: ConfigError) -> Problems {
        // Where the name itself is wrong, the problem says it.
        let place = if error.field == "queue" {
            "the command line".into()
        } else {
            format!("queue {self}")
        };
        let place = Place::File(place);
        Problems::one(Problem { place, field: error.field, value: error.value, why: error.why })
    }

    /// The text without the label.
    fn text(&self) -> String {
        let preset = self.preset.iter().map(|p| format!("/{p}"));
        let params = self.params.iter().map(|(name, value)| format!(",{name}={value}"));
        self.name.clone() + &preset.chain(params).collect::<String>()
    }
}

impl fmt::Display for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        match &self.label {
            Some(label) => write!(f, " as {label}"),
            None => Ok(()),
        }
    }
}

impl FromStr for QueueSpec {
    type Err = ConfigError;

    /// Reads the text's form only; whether the queue and its parameters exist is
    /// [`QueueSpec::resolve`]'s business, since bounds depend on the link.
    fn from_str(text: &str) -> Result<QueueSpec, ConfigError> {
        let wrong = |why: String| ConfigError::new("queue", text, why);
        let (body, label) = match text.split_once(" as ") {
            Some((body, label)) => (body, Some(check_label(label.trim()).map_err(wrong)?)),
            None => (text, None),
        };
        let Written { name, preset, params, .. } =
            Written::read(body).map_err(|error| ConfigError { value: text.into(), ..error })?;
        let params = params.iter().map(|(param, value)| (param.to_string(), value.to_string()));
        Ok(QueueSpec {
            preset: preset.map(Into::into),
            params: params.collect(),
            label,
            ..QueueSpec::named(name)
        })
    }
}

/// The first of `specs` that is called what one before it is called: its index.
pub(crate) fn twice(specs: &[QueueSpec]) -> Option<usize> {
    let labels: Vec<String> = specs.iter().map(QueueSpec::label).collect();
    (0..labels.len()).find(|&i| labels[..i].contains(&labels[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        Link::new(
            "10 Mbit/s".parse().unwrap(),
            "100 packets".parse().unwrap(),
            "1000 B".parse().unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn text_in_text_out() {
        for text in [
            "drop_tail",
            "red/paper",
            "red,min=20 packets,max=60 packets",
            "sfb/paper,bins=46 as SFB 2×46",
        ] {
            assert_eq!(text.parse::<QueueSpec>().unwrap().to_string(), text);
        }
        let spec: QueueSpec = " red / paper , min = 20 packets  as  mine ".parse().unwrap();
        assert_eq!(spec.to_string(), "red/paper,min=20 packets as mine");
        assert_eq!(spec.label(), "mine");
    }

    #[test]
    fn forms_that_are_no_queue() {
        for text in [
            "",
            "/paper",
            "red/",
            "red,min",
            "red,=3",
            "red,min=",
            "red,a=1,a=2",
            "red as ",
            "red,,",
        ] {
            let error = text.parse::<QueueSpec>().expect_err(text);
            assert_eq!(error.field, "queue", "{text}");
            assert_eq!(error.value, text);
        }
    }

    #[test]
    fn queues_have_different_labels() {
        let specs = |texts: &[&str]| -> Vec<QueueSpec> {
            texts.iter().map(|t| t.parse().unwrap()).collect()
        };
        for texts in [&["red", "red/auto", "red/auto as auto"][..], &["sfb", "sfb as again"], &[]] {
            assert_eq!(QueueSpec::distinct(&specs(texts)), Ok(()), "{texts:?}");
        }
        let two = specs(&["sfb", "red as a", "blue as a"]);
        let (spec, error) = QueueSpec::distinct(&two).unwrap_err();
        assert_eq!((spec, error.field.as_str(), error.value.as_str()), (&two[2], "label", "a"));
        assert!(
            QueueSpec::distinct(&specs(&["sfb", "sfb"])).is_err(),
            "nor could two of the same be told apart"
        );
    }

    #[test]
    fn unknown_words_bring_the_nearest_known() {
        let refuse = |text: &str| text.parse::<QueueSpec>().unwrap().resolve(&link()).unwrap_err();
        assert!(
            refuse("droptail").why.ends_with("did you mean `drop_tail`?"),
            "{}",
            refuse("droptail")
        );
        assert!(refuse("drop_tail/papr").why.ends_with("did you mean `paper`?"));
        assert_eq!(refuse("drop_tail,x=1").field, "x");
    }
}
