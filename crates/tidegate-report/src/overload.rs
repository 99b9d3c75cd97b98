//! Links before a queue that cannot carry what is offered to them, so that less arrives at the
//! queue than a reader would think.
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::human;

/// A link without a queue of its own that fixed-rate sources offer more than it carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// Which: `link A->B`, or `access link` for those between the hosts of a group and the
    /// network.
    pub link: String,
    /// Its rate, in bit/s; of several access links that of the most overloaded.
    pub rate_bps: f64,
    /// What is offered to it when most is, in bit/s.
    pub offered_bps: f64,
    /// The groups that offer it.
    pub groups: Vec<String>,
}

/// What [`Overload::link`] is for the links between hosts and the network.
pub const ACCESS: &str = "access link";

/// `access link of group flood: 150 Mbit/s are offered and 100 Mbit/s carried; …`, without a full
/// stop.
impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bps| human::rate(Figure::exact(bps));
        let names: Vec<String> =
            self.groups.iter().map(|name| format!("`{}`", human::plain(name))).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        let (of, remedy) = match self.link.as_str() {
            ACCESS => ("of", "raise access_rate"),
            _ => ("on the way of", "raise its rate"),
        };
        write!(
            f,
            "{} {of} group{plural} {}: {} offered, {} carried; the rest never gets through. To \
             change that, {remedy}",
            human::plain(&self.link),
            names.join(", "),
            rate(self.offered_bps),
            rate(self.rate_bps)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overload(link: &str, groups: &[&str]) -> Overload {
        Overload {
            link: link.into(),
            rate_bps: 100e6,
            offered_bps: 150e6,
            groups: groups.iter().map(|name| (*name).into()).collect(),
        }
    }

    #[test]
    fn it_says_who_loses_where_and_what_would_help() {
        assert_eq!(
            overload(ACCESS, &["flood"]).to_string(),
            "access link of group `flood`: 150 Mbit/s offered, 100 Mbit/s carried; the rest never \
             gets through. To change that, raise access_rate"
        );
        assert_eq!(
            overload("link A->B", &["flood", "calls"]).to_string(),
            "link A->B on the way of groups `flood`, `calls`: 150 Mbit/s offered, 100 Mbit/s \
             carried; the rest never gets through. To change that, raise its rate"
        );
    }

    #[test]
    fn names_cannot_command_the_terminal_and_a_document_keeps_them() {
        let odd = overload("link \x1b[2J", &["a\nb"]);
        assert!(odd.to_string().chars().all(|c| !c.is_control()), "{odd}");
        let text = serde_json::to_string(&odd).unwrap();
        assert_eq!(serde_json::from_str::<Overload>(&text).unwrap(), odd);
    }
}
