//! Queue disciplines that keep fair shares when flows arrive that do not heed congestion.
//!
//! A queue here is a plain state machine: it reads no clock, opens no socket, and rolls only the
//! dice it was given. Its driver (a simulator, a gateway, a benchmark, your test) passes `now` and
//! the packets in. It receives every drop and every mark through a [`Sink`].
//!
//! ```
//! use tidegate::{catalog, Link, NullSink, Packet, Qdisc, Rng, Time};
//!
//! let link = Link::new("10 Mbit/s".parse()?, "200 kB".parse()?, "1000 B".parse()?)?;
//! let mut config = catalog::config("drop_tail", None, &link)?;
//! let mut queue = config.build(link, Rng::from_seed(1))?;
//! let now = Time::from_nanos(0);
//! queue.enqueue(now, Packet::new(0xf10, 1000), &mut NullSink);
//! assert_eq!(queue.backlog().packets, 1);
//! assert_eq!(queue.dequeue(now, &mut NullSink).unwrap().len, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start from [`Qdisc`] (what a queue is), [`policy`] (a rule for who may enter a FIFO),
//! [`catalog`] (every queue by name) and [`units`] (text in, text out).
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod ack;
pub mod bottleneck;
pub mod boxed;
pub mod catalog;
pub mod config;
#[doc(hidden)] // For the queues of the catalog.
pub mod entry;
pub mod packet;
#[doc(hidden)] // For the project's own crates, which examine the parts by themselves.
pub mod parts;
pub mod policy;
pub mod qdisc;
#[doc(hidden)] // For the twins in the tests, which compare with each. Users have the catalog.
pub mod queues;
pub mod rng;
pub mod units;
pub mod written;

pub use ack::Ack;
pub use bottleneck::Bottleneck;
pub use config::ConfigError;
pub use packet::{Asks, Ecn, Hosts, Packet};
pub use qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, NullSink, Qdisc, Sink};
pub use rng::{Rng, Seed};
pub use units::{Bytes, Prob, Rate, Size, Span, Time};

/// The examples of the book's page on the library and of the README, compiled and run with the
/// tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed/library.md")]
#[doc = include_str!("../README.md")]
struct Embed;

/// The template of a new queue, compiled and run with the tests.
#[cfg(test)]
#[path = "../../../templates/queue/queue.rs"]
mod template;

#[cfg(test)]
mod tests {
    use super::template::{Template, TemplateConfig};
    use crate::entry::Entry;
    use crate::{Bytes, Link, NullSink, Packet, Prob, Qdisc, Rate, Rng, Size, Time};

    /// Half of the packets are dropped, within six deviations.
    #[test]
    fn the_template_of_a_queue_works() {
        let rate = Rate::from_bps(10_000_000);
        let link = Link::new(rate, Size::Packets(1000), Bytes::new(1000)).unwrap();
        let config = TemplateConfig { probability: Prob::clip(0.5), ..Default::default() };
        let mut queue = Template::build(&config, link, Rng::from_seed(1)).unwrap();
        for _ in 0..1000 {
            queue.enqueue(Time::ZERO, Packet::new(7, 1000), &mut NullSink);
        }
        let held = queue.backlog().packets;
        assert!((405..596).contains(&held), "{held}");
    }
}
