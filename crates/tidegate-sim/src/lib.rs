//! A fast, deterministic packet simulator around [`tidegate::Qdisc`]. It knows nothing of files,
//! clocks or threads.
//!
//! Describe a [`Network`] (nodes, links, flows), say for how long ([`Plan`]), and [`simulate`] it.
//! The same seed gives the same [`Outcome`], bit for bit. Every flow has its own random stream, so
//! adding a flow changes no other flow's draws.
//!
//! ```
//! use tidegate::{Link, Rate, Seed, Span, Time, catalog};
//! use tidegate_sim::{Cbr, Flow, Network, Plan, Source, Tcp, simulate};
//!
//! let (rate, delay): (Rate, Span) = ("10 Mbit/s".parse()?, "20 ms".parse()?);
//! let link = Link::new(rate, "50 packets".parse()?, "1000 B".parse()?)?;
//! let seed = Seed::new(1);
//! let queue = catalog::config("drop_tail", None, &link)?.build(link, seed.stream("queue a->b"))?;
//!
//! let mut network = Network::new();
//! let (a, b) = (network.node("a"), network.node("b"));
//! network.queue("a->b", (a, b), rate, delay, queue);
//! network.link("b->a", b, a, rate, delay);
//! let (tcp, flood) = (network.group("tcp"), network.group("flood"));
//! let (class, start, stop) = (0, Time::ZERO, Time::MAX);
//! let flow =
//!     |group, key, source| Flow { group, from: a, to: b, key, class, start, stop, source };
//! network.flow(flow(tcp, 1, Source::Tcp(Tcp::new_reno())));
//! network.flow(flow(flood, 2, Source::Cbr(Cbr::new("8 Mbit/s".parse()?, "1000 B".parse()?))));
//!
//! let plan = Plan { warmup: Time::ZERO + Span::from_secs(1.0), ..Plan::until("11 s".parse()?) };
//! let outcome = simulate(network, &plan, seed)?;
//! let got = |g: usize| outcome.groups[g].counters.delivered.rate(plan.window());
//! assert!(got(1) > 7e6 && got(0) > 1e6 && got(0) + got(1) < 10.1e6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A queue is any [`Qdisc`](tidegate::Qdisc); the default is any of the catalog. To show progress
//! or to stop early, run a [`Simulation`] in steps. The module `engine` explains how it works and
//! why few events suffice. The types of an [`Outcome`] say what is counted, and over which time.
#![forbid(unsafe_code)]

mod endpoint;
mod engine;
mod event;
mod measure;
mod net;
mod reference;
pub mod sources;

pub use engine::{Simulation, simulate};
pub use measure::delay::Delay;
pub use measure::histogram::Histogram;
pub use measure::observers::{GroupObserved, LOSS_EVENT, Observed, STARVED};
pub use measure::outcome::{
    Completions, Count, Counters, FlowOutcome, GaugeSeries, GroupOutcome, LinkOutcome, Outcome,
    QueueSeries,
};
pub use measure::plan::{Delays, Plan};
pub use measure::spread::Spread;
#[doc(hidden)]
pub use measure::trace::Trace;
pub use net::forge::{Forge, ForgedKeys};
pub use net::ids::{FlowId, GroupId, LinkId, NodeId};
pub use net::medium::{Bleach, Jitter, Loss, MOST_JITTER, Medium, Reorder};
pub use net::network::{FairShare, Flow, LinkSpec, MOST, Network};
#[doc(hidden)]
pub use reference::simulate_by_packet;
pub use sources::{Cbr, Following, OnOff, Oscillating, Source, Tcp, Tfrc};

/// The example of the README, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
