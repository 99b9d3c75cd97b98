//! The figures of a cell, by their names.
use std::fmt;
use std::str::FromStr;

use tidegate_report::diff::LINK;

use crate::nearest::did_you_mean;
use crate::study;

/// A figure of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellFigure {
    /// The part of his fair share that the worst user gets.
    Worst,
    /// How many users get less than a tenth of theirs.
    Starved,
    /// What all users get of their fair shares together.
    Share,
    /// How long light traffic waits in the queue: the 99th percentile, in ms.
    Wait,
    /// How well the line is used.
    Utilization,
    /// Seconds from the attack's begin until users have their fair share.
    Detect,
    /// Seconds from the attack's end until users use the line.
    Recover,
    /// A column of the groups' table: of a role, of a group, or of the watched link.
    Column {
        /// `users`, `light`, `attack`, `link`, or a group.
        of: String,
        /// The column; of a link, without what it begins with in the table.
        column: String,
    },
    /// A column of one role over that of another.
    Over {
        /// As of a column.
        of: String,
        /// As of a column.
        column: String,
        /// The other role.
        over: String,
    },
}

/// Between a column and the other role.
const OVER: &str = " over ";

/// The figures that have names of their own.
const NAMED: [(&str, CellFigure); 7] = [
    ("worst", CellFigure::Worst),
    ("starved", CellFigure::Starved),
    ("share", CellFigure::Share),
    ("light wait", CellFigure::Wait),
    ("utilization", CellFigure::Utilization),
    ("detect", CellFigure::Detect),
    ("recover", CellFigure::Recover),
];

/// The role of the watched link.
pub(super) const OF_LINK: &str = "link";
/// What a column may be of, besides a group.
const ROLES: [&str; 4] = ["users", "light", "attack", OF_LINK];

impl CellFigure {
    /// All that have names of their own: what a suite that judges tells.
    pub fn named() -> Vec<CellFigure> {
        NAMED.iter().map(|(_, figure)| figure.clone()).collect()
    }

    /// The unit of its values; empty for a pure number.
    pub fn unit(&self) -> String {
        match self {
            CellFigure::Worst
            | CellFigure::Share
            | CellFigure::Utilization
            | CellFigure::Over { .. } => "".into(),
            CellFigure::Starved => "users".into(),
            CellFigure::Wait => "ms".into(),
            CellFigure::Detect | CellFigure::Recover => "s".into(),
            CellFigure::Column { of, column } => unit(&stored(of, column)).unwrap_or_default(),
        }
    }

    /// The groups that it names, besides the roles.
    pub(super) fn roles(&self) -> Vec<&str> {
        let names = match self {
            CellFigure::Column { of, .. } => vec![of.as_str()],
            CellFigure::Over { of, over, .. } => vec![of.as_str(), over],
            _ => vec![],
        };
        names.into_iter().filter(|name| !ROLES.contains(name)).collect()
    }

    /// Its name as words, without its unit.
    pub fn heading(&self) -> String {
        let without = |text: String| text.replace("_bps", "").replace("_ms", "").replace('_', " ");
        without(self.to_string())
    }

    /// Its name as that of a column.
    pub fn column(&self) -> String {
        let unit = self.unit();
        let name = self.to_string().replace(' ', "_");
        match self {
            CellFigure::Column { .. } | CellFigure::Starved => name,
            _ if unit.is_empty() => name,
            _ => format!("{name}_{unit}"),
        }
    }
}

impl fmt::Display for CellFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellFigure::Column { of, column } => write!(f, "{of} {column}"),
            CellFigure::Over { of, column, over } => write!(f, "{of} {column}{OVER}{over}"),
            named => {
                let known = NAMED.iter().find(|(_, figure)| figure == named);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for CellFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<CellFigure, String> {
        if let Some((_, figure)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(figure.clone());
        }
        if let Some((one, over)) = text.split_once(OVER) {
            return match one.parse()? {
                CellFigure::Column { of, column } => {
                    Ok(CellFigure::Over { of, column, over: over.into() })
                }
                _ => Err(format!("`{one}` is no column of groups, and only those have ratios")),
            };
        }
        let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        let Some((of, column)) = text.split_once(' ') else {
            let near = did_you_mean(text, &names).unwrap_or_default();
            return Err(format!(
                "`{text}` is no figure; those are {}, or ROLE COLUMN as in \"users goodput_bps\" \
                 or \"link utilization\"{near}",
                names.join(", ")
            ));
        };
        let name = stored(of, column);
        if unit(&name).is_some() {
            return Ok(CellFigure::Column { of: of.into(), column: column.into() });
        }
        let all = study::figures();
        let known: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
        let near = did_you_mean(&name, &known).unwrap_or_default();
        Err(format!("`{column}` is no column of groups that has figures{near}"))
    }
}

/// What the groups' table calls the column of a role.
pub(super) fn stored(of: &str, column: &str) -> String {
    if of == OF_LINK { format!("{LINK}{column}") } else { column.into() }
}

/// The unit of a column of the groups' table; none if it has no such figures.
fn unit(column: &str) -> Option<String> {
    study::figures().into_iter().find(|known| known.name == column).map(|known| known.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_text_out() {
        for text in [
            "worst",
            "light wait",
            "users goodput_bps",
            "link utilization",
            "bulk jain",
            "b goodput_bps over a",
        ] {
            assert_eq!(text.parse::<CellFigure>().unwrap().to_string(), text);
        }
        let figure: CellFigure = "link queue_delay_ms_p99".parse().unwrap();
        assert_eq!(
            (figure.unit().as_str(), figure.column().as_str()),
            ("ms", "link_queue_delay_ms_p99")
        );
        assert_eq!(figure.heading(), "link queue delay p99");
        assert_eq!(CellFigure::Wait.column(), "light_wait_ms");
    }

    #[test]
    fn what_is_no_figure_brings_the_nearest() {
        let refused = |text: &str| text.parse::<CellFigure>().unwrap_err();
        assert!(refused("wurst").ends_with("did you mean `worst`?"), "{}", refused("wurst"));
        assert!(refused("users goodput").ends_with("did you mean `goodput_bps`?"));
        assert!(refused("users group").contains("no column"));
    }
}
