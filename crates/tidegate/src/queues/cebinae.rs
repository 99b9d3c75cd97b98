#![doc = include_str!("cebinae.md")]
mod cache;

use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::bins::FlowBins;
use crate::parts::lines::Lines;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Rate, Size, Span, Time};
use cache::FlowCache;

choices! {
    /// How the two queues share the buffer.
    pub enum BufferSplit {
        /// Each may take all of it.
        Shared = "shared",
        /// Each has half.
        Halves = "halves",
    }
}

crate::params! {
    /// Cebinae's parameters.
    pub struct CebinaeConfig {
        /// How long a round lasts: after each, the queues change places.
        round: Span = Span::from_nanos(67_108_864), "dT", 1_000 ..= 10_000_000_000_u64;
        /// Rounds between two looks at the port and the flows.
        rounds: u32 = 1, "P", 1 ..= 1_000;
        /// Grain of the filter's clock.
        tick: Span = Span::from_nanos(1), "vdT", 1 ..= 1_000_000_000_u64;
        /// How long before its end a round's rates are worked out.
        lead: Span = Span::from_micros(100), "L", 0 ..= 1_000_000_000_u64;
        /// What the top flows lose of what they sent.
        tax: Prob = Prob::clip(0.01), "τ", 0.0 ..= 1.0;
        /// The port is saturated if it sends more than all but this part.
        port_margin: Prob = Prob::clip(0.01), "δp", 0.0 ..= 1.0;
        /// A flow is at the top if it sends more than all but this part of what the largest sends.
        flow_margin: Prob = Prob::clip(0.01), "δf", 0.0 ..= 1.0;
        /// Nobody is taxed if all but the top sent less than this part of what the port did.
        alone: Prob = Prob::clip(0.0), "", 0.0 ..= 1.0;
        /// Stages of the flow cache.
        stages: u32 = 2, "", 1 ..= 8;
        /// Slots in each stage.
        slots: u32 = 2048, "", 1 ..= 1_048_576;
        /// Bytes of each packet that the flow cache leaves out.
        uncounted: Bytes = Bytes::new(0), "", 0 ..= 65_535;
        /// How the two queues share the buffer.
        buffer: BufferSplit = BufferSplit::Shared, "", 0 ..= 0;
    }
}

/// A group of flows before the filter.
#[derive(Clone, Copy, Debug)]
struct FlowGroup {
    /// Bytes that came since the round began, those dropped included.
    passed: u64,
    /// Its rate in the round that runs, and in the next.
    rates: [Rate; 2],
    /// What these are worth in a round.
    budgets: [u64; 2],
    /// The rate of the round after the next.
    coming: Rate,
}

/// Which of the two queues a packet may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueTurn {
    Head,
    Tail,
    Neither,
}

impl FlowGroup {
    fn new(rate: Rate, round: Span) -> FlowGroup {
        let budget = rate.bytes_in(round).get();
        FlowGroup { passed: 0, rates: [rate; 2], budgets: [budget; 2], coming: rate }
    }

    /// The round is over: the next begins with what came beyond its rate.
    fn rotate(&mut self, round: Span) {
        self.passed = self.passed.saturating_sub(self.budgets[0]);
        self.rates = [self.rates[1], self.coming];
        self.budgets = [self.budgets[1], self.coming.bytes_in(round).get()];
    }

    /// A packet of `len` bytes comes when the round has lasted for `elapsed`.
    #[inline]
    fn filter(&mut self, len: u32, elapsed: Span, round: Span) -> QueueTurn {
        let [head, tail] = self.budgets;
        let turn = if self.passed <= head {
            QueueTurn::Head
        } else if self.passed - head <= tail {
            QueueTurn::Tail
        } else {
            QueueTurn::Neither
        };
        // What the group did not send by now is lost to it.
        let earned = match elapsed.as_nanos().checked_sub(round.as_nanos()) {
            None => self.rates[0].bytes_in(elapsed).get(),
            Some(over) => head + self.rates[1].bytes_in(Span::from_nanos(over)).get(),
        };
        self.passed = self.passed.max(earned).saturating_add(len as u64);
        turn
    }
}

/// What falls due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DueStep {
    Rotate,
    Reconfigure,
}

/// Cebinae (yu2022): the largest flows of a saturated port pay a tax.
#[derive(Clone, Debug)]
pub struct Cebinae {
    lines: Lines,
    backlog: Backlog,
    /// The queue whose turn it is.
    head: usize,
    /// The queue that is served first.
    first: usize,
    top: FlowGroup,
    bottom: FlowGroup,
    cache: FlowCache,
    port_bytes: u64,
    /// The port is saturated if it sends more bits than this.
    could: u64,
    step: DueStep,
    due: Time,
    base: Time,
    round_time: Time,
    counter: u32,
    /// The limit of one queue, if each has its own.
    half: Option<Link>,
    link: Link,
    config: CebinaeConfig,
}

impl Cebinae {
    /// The slots of the flow cache that `flow` may take, one in each stage.
    pub fn slots_of(&self, flow: u64) -> FlowBins {
        self.cache.slots_of(flow)
    }

    /// Does what has fallen due by `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if now >= self.due {
            self.work(now);
        }
    }

    #[cold]
    fn work(&mut self, now: Time) {
        // After so many silent steps the rates are those of an idle port in all rounds.
        let settled = 4 * (self.config.rounds as u64 + 4);
        if now.since(self.due).as_nanos() / self.config.round.as_nanos() > settled {
            (0..settled).for_each(|_| self.make_step());
            self.skip(now);
        }
        while now >= self.due && self.due != Time::MAX {
            self.make_step();
        }
    }

    /// Leaves out the whole rounds until `now`, in which nothing happens but that bytes are taken
    /// off and queues change places.
    fn skip(&mut self, now: Time) {
        let round = self.config.round.as_nanos();
        let rounds = now.since(self.due).as_nanos() / round;
        for group in [&mut self.top, &mut self.bottom] {
            group.passed = group.passed.saturating_sub(group.budgets[0].saturating_mul(rounds));
        }
        (self.due, self.base) = (self.due + times(round, rounds), self.base + times(round, rounds));
        self.head ^= (rounds & 1) as usize;
        self.first ^= (rounds & 1) as usize;
        self.counter = ((self.counter as u64 + rounds) % self.config.rounds as u64) as u32;
    }

    fn make_step(&mut self) {
        let CebinaeConfig { round, lead, .. } = self.config;
        match self.step {
            DueStep::Rotate => {
                for group in [&mut self.top, &mut self.bottom] {
                    group.rotate(round);
                }
                self.base += round;
                self.head ^= 1;
                self.step = DueStep::Reconfigure;
                self.due += Span::from_nanos(round.as_nanos() - lead.as_nanos());
            }
            DueStep::Reconfigure => {
                self.first = self.head ^ 1;
                self.counter += 1;
                if self.counter.is_multiple_of(self.config.rounds) {
                    self.counter = 0;
                    self.recompute();
                }
                self.step = DueStep::Rotate;
                self.due += lead;
            }
        }
    }

    /// Who is at the top, and what both groups may send.
    fn recompute(&mut self) {
        let rate = self.link.rate.as_bps();
        let saturated = self.port_bytes * 8 > self.could;
        let top = if saturated { self.tax() } else { None };
        if top.is_none() {
            self.cache.clear();
        }
        self.port_bytes = 0;
        self.top.coming = Rate::from_bps(top.unwrap_or(0));
        self.bottom.coming = Rate::from_bps(rate - top.unwrap_or(0));
    }

    /// What the top may send, in bit/s, unless nobody else is there.
    fn tax(&mut self) -> Option<u64> {
        let sent = self.cache.close(self.config.flow_margin.get());
        if sent as f64 > self.port_bytes as f64 * (1.0 - self.config.alone.get()) {
            return None;
        }
        let keeps = 1.0 - self.config.tax.get();
        let taxed = (sent as f64 * keeps) as u64;
        let period = self.config.round.as_nanos() as u128 * self.config.rounds as u128;
        let top = (taxed as u128 * 8_000_000_000 / period) as u64;
        Some(top.min((self.link.rate.as_bps() as f64 * keeps) as u64))
    }

    /// Whether a packet of `len` bytes may join `line`.
    #[inline]
    fn has_room(&self, line: usize, len: u32) -> bool {
        self.link.has_room(self.backlog, len)
            && self.half.is_none_or(|half| half.has_room(self.lines.backlog(line), len))
    }
}

/// `rounds` times `nanos`.
fn times(nanos: u64, rounds: u64) -> Span {
    Span::from_nanos(nanos.saturating_mul(rounds))
}

impl Qdisc for Cebinae {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        self.catch_up(now);
        pkt.arrived = now;
        if now.since(self.round_time) >= self.config.tick {
            self.round_time = now;
        }
        let elapsed = self.round_time.since(self.base);
        let group = if self.cache.is_top(pkt.flow) { &mut self.top } else { &mut self.bottom };
        let line = match group.filter(pkt.len, elapsed, self.config.round) {
            QueueTurn::Head => self.head,
            QueueTurn::Tail => self.head ^ 1,
            QueueTurn::Neither => return out.dropped(now, &pkt, DropReason::Unfair),
        };
        if !self.has_room(line, pkt.len) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        pkt.tag = line as u32;
        self.backlog.add(pkt.len);
        self.lines.push(line, pkt);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        self.catch_up(now);
        let pkt = self.lines.pop(self.first).or_else(|| self.lines.pop(self.first ^ 1))?;
        self.backlog.remove(pkt.len);
        self.port_bytes += pkt.len as u64;
        let counts = (pkt.len as u64).saturating_sub(self.config.uncounted.get());
        self.cache.count(pkt.flow, counts);
        Some(pkt)
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let mut show = |name, unit, value| see(Gauge { name, unit, value });
        show("top_flows", "", self.cache.top() as f64);
        show("top_rate", "bit/s", self.top.coming.as_bps() as f64);
        show("top_passed", "B", self.top.passed as f64);
        show("bottom_passed", "B", self.bottom.passed as f64);
        show("behind", "B", self.lines.backlog(self.first ^ 1).bytes as f64);
    }
}

/// The least power of two, in nanoseconds, in which so many full buffers leave.
fn drains(link: &Link, buffers: u64) -> Span {
    let full = Bytes::new(link.limit.in_bytes(link.mean_packet).saturating_mul(buffers));
    let least = link.rate.time_to_send(full).as_nanos().clamp(1 << 20, 1 << 33);
    Span::from_nanos(least.next_power_of_two())
}

fn paper(link: &Link) -> CebinaeConfig {
    CebinaeConfig { round: drains(link, 1), ..CebinaeConfig::default() }
}

/// Rounds of two buffers, rates that last for a usual round trip at least, and no tax on who is
/// alone.
fn auto(link: &Link) -> CebinaeConfig {
    let round = drains(link, 2);
    let rounds = TARGET_RTT.as_nanos().div_ceil(round.as_nanos()) as u32;
    CebinaeConfig { round, rounds, alone: Prob::clip(0.05), ..CebinaeConfig::default() }
}

impl Entry for Cebinae {
    type Config = CebinaeConfig;
    const INFO: Info = Info {
        title: "taxes the largest flows of a saturated port: two queues that take turns, and a \
                leaky-bucket filter for two groups of flows",
        paper: "yu2022",
        manual: include_str!("cebinae.md"),
    };
    const PRESETS: &'static [Preset<CebinaeConfig>] = &[
        Preset {
            name: "paper",
            doc: "margins and tax of 1 %, and rounds in which the buffer drains",
            config: paper,
        },
        Preset {
            name: "ns3",
            doc: "the same with the count of the authors' ns-3 model, which leaves out IP headers",
            config: |link| CebinaeConfig { uncounted: Bytes::new(20), ..paper(link) },
        },
        Preset {
            name: "auto",
            doc: "rounds in which two buffers drain, rates for 100 ms at least, and no tax on \
                  who is nearly alone",
            config: auto,
        },
    ];

    fn build(config: &CebinaeConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let CebinaeConfig { round, rounds, tick, lead, .. } = *config;
        if tick.as_nanos() + lead.as_nanos() >= round.as_nanos() {
            return Err(ConfigError::new("lead", lead, "must, with tick, be below the round"));
        }
        let period = round.as_nanos() * rounds as u64;
        let could = link.rate.as_bps() as f64 * (period as f64 / 1e9);
        let half = |link: Link| match link.limit {
            Size::Packets(most) => Link { limit: Size::Packets((most / 2).max(1)), ..link },
            Size::Bytes(most) => Link { limit: Size::Bytes(most / 2), ..link },
        };
        Ok(Cebinae {
            lines: Lines::new(2),
            backlog: Backlog::default(),
            head: 0,
            first: 1,
            top: FlowGroup::new(Rate::from_bps(0), round),
            bottom: FlowGroup::new(link.rate, round),
            cache: FlowCache::new(config.stages, config.slots, &mut dice),
            port_bytes: 0,
            could: (could * (1.0 - config.port_margin.get())) as u64,
            step: DueStep::Rotate,
            due: Time::ZERO
                + Span::from_nanos(round.as_nanos() + tick.as_nanos() + lead.as_nanos()),
            base: Time::ZERO,
            round_time: Time::ZERO,
            counter: 1,
            half: (config.buffer == BufferSplit::Halves).then(|| half(link)),
            link,
            config: config.clone(),
        })
    }

    fn state_bytes(config: &CebinaeConfig, link: &Link) -> u64 {
        let cache = FlowCache::bytes(config.stages, config.slots);
        core::mem::size_of::<Cebinae>() as u64 + cache + Lines::bytes(2, link.most_packets() + 1)
    }
}
