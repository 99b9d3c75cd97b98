//! Packets that were passed over because their interface's link type cannot be read.
use core::fmt;

use crate::frame::UnsupportedLinkType;

/// Interfaces that are named; the packets of further ones are counted together.
const MOST_NAMED: usize = 32;

/// What was passed over in a capture, by interface. Its text is a clause without a full stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skips {
    named: Vec<Skipped>,
    packets: u64,
}

/// An interface whose packets are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Its number in its section of the file.
    pub interface: u32,
    /// What the file calls it, if it does.
    pub name: Option<String>,
    /// Its link type.
    pub link: UnsupportedLinkType,
    /// How many packets it has had so far.
    pub packets: u64,
}

impl Skips {
    /// How many packets were passed over.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The interfaces that they belong to, the first 32 of them.
    pub fn named(&self) -> &[Skipped] {
        &self.named
    }

    pub(super) fn count(&mut self, interface: u32, name: Option<&str>, link: UnsupportedLinkType) {
        self.packets += 1;
        let same =
            |s: &Skipped| s.interface == interface && s.link == link && s.name.as_deref() == name;
        match self.named.iter().position(same) {
            Some(known) => self.named[known].packets += 1,
            None if self.named.len() < MOST_NAMED => {
                self.named.push(Skipped {
                    interface,
                    name: name.map(Into::into),
                    link,
                    packets: 1,
                });
            }
            None => {}
        }
    }
}

/// `312 packets were skipped: interface 1 (mon0): link type 195 (IEEE 802.15.4), 312 packets`
impl fmt::Display for Skips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let was = if self.packets == 1 { "was" } else { "were" };
        write!(
            f,
            "{} packet{} {was} skipped, of link types that cannot be read: ",
            self.packets,
            plural(self.packets)
        )?;
        for (i, Skipped { interface, name, link, packets }) in self.named.iter().enumerate() {
            let comma = if i == 0 { "" } else { "; " };
            write!(f, "{comma}{packets} of interface {interface}")?;
            if let Some(name) = name {
                // Somebody else wrote the name; it must not move a terminal's cursor.
                write!(f, " (`{}`)", name.escape_debug())?;
            }
            write!(f, ", link type {}", link.0)?;
            if let Some(link) = link.name() {
                write!(f, " ({link})")?;
            }
        }
        let named: u64 = self.named.iter().map(|s| s.packets).sum();
        match self.packets - named {
            0 => Ok(()),
            rest => write!(f, "; {rest} of further interfaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_interfaces_are_counted_together() {
        let mut skips = Skips::default();
        for interface in 0..40 {
            skips.count(interface, Some("a\u{1b}[2J"), UnsupportedLinkType(195));
            skips.count(interface, Some("a\u{1b}[2J"), UnsupportedLinkType(195));
        }
        assert_eq!((skips.packets(), skips.named().len()), (80, MOST_NAMED));
        let text = skips.to_string();
        let expected = "80 packets were skipped, of link types that cannot be read: \
                        2 of interface 0 (`a\\u{1b}[2J`), link type 195 (IEEE 802.15.4); 2 of \
                        interface 1";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with("; 16 of further interfaces"), "{text}");
    }
}
