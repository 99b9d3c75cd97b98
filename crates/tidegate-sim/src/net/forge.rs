//! Flow keys that a sender's packets bear in place of its own: forged addresses.
use std::sync::Arc;

use tidegate::rng::mix;
use tidegate::{ConfigError, Span};

use super::flight::Body;

/// The flow keys that queues see of a flow's packets, in place of its own. Meters go on counting
/// the flow itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Forge {
    /// Where each comes from.
    pub keys: ForgedKeys,
    /// How long one is kept; zero for another one with each packet.
    pub keep: Span,
}

/// Where forged flow keys come from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ForgedKeys {
    /// Each is new: none comes twice. It is another host's.
    Fresh,
    /// Each is new: none comes twice. They are flows of one host, the sender's own.
    FreshOfOneHost,
    /// Each is one of these, drawn anew; at least one.
    Among(Arc<[u64]>),
}

impl Forge {
    /// Checks that it has keys.
    ///
    /// # Errors
    /// There is none to draw from.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match &self.keys {
            ForgedKeys::Among(keys) if keys.is_empty() => {
                Err(ConfigError::new("keys", 0, "must be at least one"))
            }
            _ => Ok(()),
        }
    }
}

/// The forger of one flow. A key is worked out of the packet, so that every queue on the way sees
/// the same one and nothing need be kept.
#[derive(Clone, Debug)]
pub(crate) struct Forger {
    keys: ForgedKeys,
    keep: u64,
    /// A number of the flow's own.
    secret: u64,
}

impl Forger {
    pub fn new(forge: &Forge, secret: u64) -> Forger {
        Forger { keys: forge.keys.clone(), keep: forge.keep.as_nanos(), secret }
    }

    /// Whether other hosts than the sender seem to send.
    pub fn feigns_hosts(&self) -> bool {
        !matches!(self.keys, ForgedKeys::FreshOfOneHost)
    }

    /// The key that the packet `body` bears.
    pub fn key(&self, body: &Body) -> u64 {
        let turn = body.born.checked_div(self.keep).unwrap_or(body.seq() as u64);
        // A bijection of the turn: what is fresh never comes twice.
        let drawn = mix(self.secret ^ turn);
        match &self.keys {
            ForgedKeys::Fresh | ForgedKeys::FreshOfOneHost => drawn,
            ForgedKeys::Among(keys) => keys[((drawn as u128 * keys.len() as u128) >> 64) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn keys(forge: Forge, count: u32) -> Vec<u64> {
        let forger = Forger::new(&forge, 7);
        let body = |i: u32| Body::new(i as u64 * 1_000_000, i, 1000, 0, 0);
        (0..count).map(|i| forger.key(&body(i))).collect()
    }

    #[test]
    fn fresh_keys_never_come_twice() {
        for kind in [ForgedKeys::Fresh, ForgedKeys::FreshOfOneHost] {
            let all = keys(Forge { keys: kind, keep: Span::ZERO }, 100_000);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 100_000);
        }
    }

    /// A packet a millisecond: a key lasts for ten packets, and each is one of four, as likely as
    /// any other.
    #[test]
    fn a_key_is_kept_for_its_time_and_drawn_evenly() {
        let pool = [10, 20, 30, 40];
        let keep = Span::from_millis(10);
        let all = keys(Forge { keys: ForgedKeys::Among(pool.into()), keep }, 400_000);
        assert!(all.chunks(10).all(|ten| ten.iter().all(|key| *key == ten[0])));
        for key in pool {
            let drawn = all.iter().step_by(10).filter(|drawn| **drawn == key).count() as f64;
            // Five standard deviations of 40,000 draws.
            assert!((drawn - 10_000.0).abs() < 5.0 * (40_000.0 * 0.25 * 0.75f64).sqrt(), "{drawn}");
        }
    }

    #[test]
    fn what_can_draw_nothing_is_refused() {
        let forge = Forge { keys: ForgedKeys::Among([].into()), keep: Span::ZERO };
        assert_eq!(forge.check().unwrap_err().field, "keys");
    }
}
