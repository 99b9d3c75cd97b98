//! The price for offenders: it grows while there is a mismatch, and falls when it is gone.
use super::PurgeConfig;
use crate::qdisc::Link;

/// The least price, from which it grows.
const FLOOR: f64 = 1e-7;
/// The overload that counts most: eleven times the capacity.
const MOST_OVERLOAD: f64 = 10.0;

/// A price, and what its next step is made of.
#[derive(Clone, Debug)]
pub struct OffendersPrice {
    price: f64,
    /// Offered since the last update, in bytes, and what the link sends in that time.
    offered: u64,
    bytes_per_update: f64,
    seconds_per_update: f64,
    /// b*, in bytes.
    target: f64,
    alpha: f64,
    gain: f64,
    ceiling: f64,
}

impl OffendersPrice {
    pub fn new(config: &PurgeConfig, link: &Link) -> OffendersPrice {
        let seconds = config.price_interval.as_secs();
        OffendersPrice {
            price: FLOOR,
            offered: 0,
            bytes_per_update: link.rate.as_bps() as f64 / 8.0 * seconds,
            seconds_per_update: seconds,
            target: config.target.in_bytes(link.mean_packet) as f64,
            alpha: config.alpha,
            gain: config.gain,
            ceiling: config.ceiling,
        }
    }

    #[inline]
    pub fn get(&self) -> f64 {
        self.price
    }

    /// A packet of `len` bytes is offered.
    #[inline]
    pub fn offered(&mut self, len: u32) {
        self.offered += len as u64;
    }

    /// So many updates at once, with `backlog` bytes waiting. The first has all that was offered.
    pub fn updates(&mut self, updates: u64, backlog: u64) {
        let backlog = (backlog as f64 - self.target) / self.target;
        let offered = core::mem::take(&mut self.offered);
        self.grow(offered as f64, backlog, 1);
        if updates > 1 {
            self.grow(0.0, backlog, updates - 1);
        }
    }

    fn grow(&mut self, offered: f64, backlog: f64, updates: u64) {
        let overload =
            ((offered - self.bytes_per_update) / self.bytes_per_update).min(MOST_OVERLOAD);
        let seconds = updates as f64 * self.seconds_per_update;
        let growth = libm::exp(self.gain * (overload + self.alpha * backlog) * seconds);
        self.price = (self.price * growth).max(FLOOR).min(self.ceiling);
    }
}
