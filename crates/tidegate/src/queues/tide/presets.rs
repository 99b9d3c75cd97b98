//! Tide's parameters, what they are on a line, and the queue that is made of them.
use alloc::format;
use alloc::vec::Vec;

use super::factors::Factors;
use super::lines::{Express, TideLines};
use super::{MOST, ONE, RoundPace, RowCell, Tide, TideConstants, TideRule, scaled};
use crate::config::{ByClass, ConfigError};
use crate::entry::{Entry, Info, Preset};
use crate::packet::Asks;
use crate::parts::bins::{Bins, MAX_LEVELS};
use crate::parts::every::Every;
use crate::parts::isolation::Isolation;
use crate::policy::Signal;
use crate::qdisc::Link;
use crate::queues::codel::auto_mtu;
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

crate::params! {
    /// Tide's parameters. Defaults are those of a line of 10 Mbit/s.
    pub struct TideConfig {
        /// How long the FIFO is to be, as time to send it; two packets at least.
        aim: Span = Span::from_millis(15), "A", 0 ..= 60_000_000_000_u64;
        /// By how much above the aim the round would stand still, as time to send it; it slows no
        /// further than `slowest`.
        drain: Span = Span::from_millis(100), "D", 1_000 ..= 60_000_000_000_u64;
        /// How often flows are counted.
        interval: Span = Span::from_millis(10), "T", 1_000 ..= 10_000_000_000_u64;
        /// The time constant at which flows that went are forgotten.
        memory: Span = Span::from_millis(30), "tau", 1_000 ..= 60_000_000_000_u64;
        /// For how long a flow may send at twice the fair rate.
        horizon: Span = Span::from_millis(1000), "H", 0 ..= 60_000_000_000_u64;
        /// How fast the round turns above an empty FIFO, in fair rates.
        fastest: f64 = 1.3, "kappa+", 1.0 ..= 4.0;
        /// How fast the round turns at least, in fair rates.
        slowest: f64 = 0.3, "kappa-", 0.01 ..= 1.0;
        /// How many packets a flow is allowed besides.
        allowance: u32 = 4, "a", 1 ..= 1000;
        /// Below so many packets of virtual backlog no signal goes out, if the allowance is more.
        first: u32 = 24, "s0", 0 ..= 1000;
        /// By how many packets a virtual backlog grows at least from one signal to the next.
        step: u32 = 4, "g0", 1 ..= 1000;
        /// The longest usual packet.
        packet: Bytes = Bytes::new(1500), "L", 1 ..= 65_535;
        /// Rows of cells. A flow has a cell in each.
        rows: u32 = 4, "d", 1 ..= 8;
        /// Cells in each row.
        cells: u32 = 512, "w", 2 ..= 4096;
        /// Each class's flows' part of the line, in proportion.
        weights: ByClass<f64> = ByClass::all(1.0), "phi_i", 0.1 ..= 100.0;
        /// Which packets are one flow, and which hosts divide a share.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// Whether flows without a virtual backlog have a line of their own.
        express: Express = Express::On, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
    }
}

/// F of the specification, for 0 to `cells` taken cells.
fn flows_of(cells: u64) -> Vec<u32> {
    let mut flows = Vec::with_capacity(cells as usize + 1);
    let mut sum = 0;
    flows.push(sum);
    for taken in 0..cells {
        sum += (cells * ONE / (cells - taken)) as u32;
        flows.push(sum);
    }
    flows
}

/// The longest interval in which the round cannot turn so far that bids are misread.
fn interval(link: &Link, wanted: Span) -> Span {
    wanted.min(link.rate.time_to_send(Bytes::new(MOST / 2))).max(Span::from_nanos(1_000))
}

/// Parameters from the line alone, by the rule of the specification.
fn from_the_line(link: &Link) -> TideConfig {
    let packet = auto_mtu(link);
    let packets = |n: u64| link.rate.time_to_send(Bytes::new(n * packet.get()));
    let at_most = |span: Span, most: u64| span.min(Span::from_nanos(most));
    let limit = link.rate.time_to_send(Bytes::new(link.limit.in_bytes(link.mean_packet)));
    let a_third = limit.as_nanos() / 3;
    let aim = at_most(Span::from_millis(15).max(packets(3)), a_third.min(60_000_000_000));
    let beyond = limit.as_nanos().saturating_sub(aim.as_nanos());
    let seven_tenths = Span::from_nanos((beyond as u128 * 7 / 10) as u64);
    let drain = Span::from_millis(100).max(packets(24)).min(seven_tenths).max(aim);
    TideConfig {
        aim,
        drain: at_most(drain, 60_000_000_000).max(Span::from_nanos(1_000)),
        interval: at_most(interval(link, Span::from_millis(10).max(packets(2))), 10_000_000_000),
        memory: at_most(Span::from_millis(30).max(packets(8)), 60_000_000_000),
        packet,
        ..TideConfig::default()
    }
}

impl Entry for Tide {
    type Config = TideConfig;
    const INFO: Info = Info {
        title: "a fair queue kept as arithmetic, before a short FIFO and an express line; our own",
        paper: "tidegate",
        manual: include_str!("../tide.md"),
    };
    const PRESETS: &'static [Preset<TideConfig>] = &[
        Preset {
            name: "paper",
            doc: "a line of 10 Mbit/s, whatever the line is",
            config: |link| {
                let usual = TideConfig::default();
                TideConfig { interval: interval(link, usual.interval), ..usual }
            },
        },
        Preset {
            name: "auto",
            doc: "from the line, by the specification's rule",
            config: from_the_line,
        },
    ];

    fn build(config: &TideConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let mut cells = Bins::new(config.rows as usize, config.cells);
        cells.rekey(&mut dice);
        let first_row = config.cells as usize;
        let factors = Factors::new(&config.weights, config.isolation, first_row, &mut dice);
        let packet = config.packet.get();
        let bytes = |span| link.rate.bytes_in(span).get().min(MOST);
        let (aim, drain) = (bytes(config.aim).max(2 * packet), bytes(config.drain).max(packet));
        let fastest = (config.fastest * ONE as f64) as u64;
        let sends = link.rate.bytes_in(config.interval).get();
        if scaled(sends, fastest, 16) > MOST {
            return Err(ConfigError::new(
                "interval",
                config.interval,
                format!(
                    "must be so short that {} sends at most {MOST} B in it, times `fastest`",
                    link.rate
                ),
            ));
        }
        let line = ((link.rate.as_bps() as u128) << 40) / 8_000_000_000;
        let mut rule = TideRule {
            cells,
            flows_of: flows_of(config.cells as u64),
            pace: RoundPace {
                aim,
                fastest,
                slowest: (config.slowest * ONE as f64) as u64,
                below: ((fastest - ONE) << 32) / aim,
                above: (1 << 48) / drain,
            },
            passes: Every::new(config.interval),
            last: Time::ZERO,
            round: 0,
            flows: ONE,
            fair: 0,
            allowed: 0,
            factors,
            set: TideConstants {
                line: line as u64,
                horizon: config.horizon.as_nanos(),
                allowance: config.allowance as u64 * packet,
                first: config.first * packet as u32,
                step: config.step * packet as u32,
                forgets: (config.interval.as_nanos() * ONE / config.memory.as_nanos().max(1))
                    .clamp(1, ONE),
                ecn: config.ecn,
            },
        };
        rule.share();
        Ok(Tide { rule, lines: TideLines::new(config.express, config.rows, config.cells), link })
    }

    fn state_bytes(config: &TideConfig, _: &Link) -> u64 {
        let cells = config.rows.min(MAX_LEVELS as u32) as u64 * config.cells as u64;
        let table = config.cells as u64 + 1;
        let cell = core::mem::size_of::<RowCell>() as u64;
        let factors = Factors::bytes(&config.weights, config.isolation, u64::from(config.cells));
        let lines = TideLines::bytes(config.express, config.rows, config.cells);
        core::mem::size_of::<Tide>() as u64 + cells * cell + table * 4 + factors + lines
    }

    fn asks(config: &TideConfig) -> Asks {
        config.isolation.asks()
    }
}
