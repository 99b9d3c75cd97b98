#![doc = include_str!("fq_pie.md")]
use super::codel::auto_frame;
use super::pie::{self, PieConfig, verdict};
use crate::config::ConfigError;
use crate::entry::{Entry, FOREVER, HashTable, Info, Linux, Preset, WAYS, auto_buckets};
use crate::packet::{Asks, Ecn, Packet};
use crate::parts::every::Every;
use crate::parts::host_shares::HostShares;
use crate::parts::isolation::Isolation;
use crate::parts::longest::{By, Longest};
use crate::parts::new_and_old::NewAndOld;
use crate::parts::pie_law::{Cap, Decay, Derandomize, PieControl, PieLaw};
use crate::parts::round_robin::Overflow;
use crate::parts::spread::HashWays;
use crate::policy::{Signal, Verdict};
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Prob, Span, Time};

crate::params! {
    /// FQ-PIE's parameters. Defaults are those of tc-fq_pie(8).
    pub struct FqPieConfig: PieConfig {
        /// How many queues flows are hashed to.
        flows: u32 = 1024, "", 1 ..= 65536;
        /// A flow goes to any of so many places that its hash deals it, where nobody waits if there
        /// is one.
        ways: u32 = 1, "", 1 ..= 16;
        /// Which packets are one flow, and which hosts divide a share.
        isolation: Isolation = Isolation::Flows, "", 0 ..= 0;
        /// How many bytes a queue may send before the next one's turn.
        quantum: Bytes = Bytes::new(1514), "", 256 ..= 1_000_000_000;
        /// Who goes when there is no room.
        overflow: Overflow = Overflow::Arrival, "", 0 ..= 0;
        /// The delay aimed at, in every queue.
        target: Span = Span::from_millis(15);
        tupdate: Span = Span::from_millis(15);
        max_burst: Span = Span::from_millis(150);
        alpha: f64 = 0.125;
        beta: f64 = 1.25;
        /// Below this probability ECN-capable packets are marked; from it on they are dropped, too.
        ecn_prob: Prob = Prob::clip(0.1), "mark_ecnth", 0.0 ..= 1.0;
        derandomize: Derandomize = Derandomize::On;
        cap: Cap = Cap::On;
        decay: Decay = Decay::Idle;
        /// The most that the probability can be; above 1 it remembers how long the delay was too
        /// long.
        ceiling: f64 = 256.0, "", 1.0 ..= 256.0;
        ecn: Signal = Signal::Drop;
    }
}

/// Fair queueing by hashed flow, a PIE in every queue (ramakrishnan2019).
#[derive(Clone, Debug)]
pub struct FqPie {
    held: Longest,
    turns: NewAndOld<QueueControl>,
    law: PieLaw,
    every: Every,
    /// Updates that have fallen due.
    due: u64,
    link: Link,
    quantum: i64,
    overflow: Overflow,
    ecn: Signal,
    ecn_prob: f64,
    places: HashWays,
    isolation: Isolation,
    dice: Rng,
}

/// The PIE of one queue. What it goes by changes only when a packet comes or goes, so its updates
/// can wait until then.
#[derive(Clone, Debug)]
struct QueueControl {
    control: PieControl,
    /// Updates that it has made.
    made: u64,
}

impl QueueControl {
    #[inline]
    fn catch_up(&mut self, law: &PieLaw, due: u64) {
        if self.made != due {
            self.control.updates(law, due - self.made);
            self.made = due;
        }
    }
}

impl FqPie {
    /// Which queue the packets of this flow join, or of what `isolation` puts in its place.
    #[inline]
    pub fn queue_of(&self, key: u64) -> usize {
        self.places.of(key, |queue| self.turns.is_active(queue))
    }

    /// What waits in `queue`, of those from 0 to `flows` - 1.
    ///
    /// # Panics
    /// When there is no such queue.
    pub fn queue_backlog(&self, queue: usize) -> Backlog {
        self.held.of(queue)
    }

    /// How many packets there are places for: as many as ever waited at once, and one for the
    /// arrival.
    pub fn places(&self) -> usize {
        self.held.places()
    }

    /// The PIE of `queue`, after the updates that have fallen due.
    ///
    /// # Panics
    /// When there is no such queue.
    pub fn control(&self, queue: usize) -> PieControl {
        let mut line = self.turns.state(queue).clone();
        line.catch_up(&self.law, self.due);
        line.control
    }

    /// The dice as they lie: compared before and after a call, they tell a test what was rolled.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    #[inline]
    fn tick(&mut self, now: Time) {
        if now >= self.every.due() {
            let overdue = self.every.overdue(now);
            self.due += overdue;
            self.every.skip(overdue);
        }
    }

    /// What the PIE of `queue` says of `pkt` (§4.1 of pan2017). Marks it if that is the verdict.
    #[inline]
    fn judge<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        queue: usize,
        pkt: &mut Packet,
        out: &mut S,
    ) -> Result<(), DropReason> {
        let waits = self.held.of(queue).bytes;
        let line = self.turns.state_mut(queue);
        line.catch_up(&self.law, self.due);
        if !line.control.is_due(&self.law, waits, &mut self.dice) {
            return Ok(());
        }
        line.control.signalled();
        match verdict(self.ecn, pkt, line.control.probability(), self.ecn_prob) {
            Verdict::Mark(why) => {
                pkt.ecn = Ecn::Ce;
                out.marked(now, pkt, why);
                Ok(())
            }
            _ => Err(DropReason::Early),
        }
    }

    /// A packet of the longest queue goes. Its PIE counts that as a signal.
    #[cold]
    fn make_room<S: Sink + ?Sized>(&mut self, now: Time, arrival: usize, out: &mut S) {
        let longest = self.held.longest_or(arrival);
        let tail = self.overflow == Overflow::LongestTail;
        if let Some((victim, why)) = self.held.evict(longest, arrival, tail) {
            let emptied = self.held.of(longest).packets == 0;
            let line = self.turns.state_mut(longest);
            line.catch_up(&self.law, self.due);
            line.control.signalled();
            if emptied {
                line.control.left(None);
            }
            out.dropped(now, &victim, why);
        }
    }
}

impl Qdisc for FqPie {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        self.tick(now);
        pkt.arrived = now;
        let queue = self.places.take(self.isolation.key(&pkt), |queue| self.turns.is_active(queue));
        // Where others make room, a packet is refused that would not fit an empty buffer.
        let before =
            if self.overflow == Overflow::Arrival { self.held.all() } else { Backlog::default() };
        if !self.link.has_room(before, pkt.len) {
            self.turns.state_mut(queue).control.signalled();
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        if let Err(why) = self.judge(now, queue, &mut pkt, out) {
            return out.dropped(now, &pkt, why);
        }
        self.held.push(queue, pkt);
        self.turns.activate(queue, self.quantum, &pkt);
        while self.held.is_over(&self.link) {
            self.make_room(now, queue, out);
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, _: &mut S) -> Option<Packet> {
        self.tick(now);
        let (held, law, due) = (&mut self.held, &self.law, self.due);
        self.turns.next(
            |_| self.quantum,
            |queue, line| {
                let pkt = held.pop(queue)?;
                line.catch_up(law, due);
                let waits = held.of(queue).packets > 0;
                line.control.left(waits.then(|| now.since(pkt.arrived)));
                Some(pkt)
            },
        )
    }

    fn advance(&mut self, now: Time) {
        self.tick(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.held.all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let (new, old) = self.turns.listed();
        see(Gauge { name: "new_flows", unit: "", value: new as f64 });
        see(Gauge { name: "old_flows", unit: "", value: old as f64 });
        let (longest, bytes) = self.held.longest();
        see(Gauge { name: "fattest", unit: "B", value: bytes as f64 });
        let control = self.control(longest);
        see(Gauge { name: "p", unit: "", value: control.probability() });
        see(Gauge { name: "delay", unit: "s", value: control.delay() });
    }
}

/// `auto`: the target as PIE's `auto`, and what protects users: the longest queue makes room.
fn auto(link: &Link) -> FqPieConfig {
    let PieConfig { target, max_burst, .. } = pie::auto(link);
    FqPieConfig {
        flows: auto_buckets(link),
        ways: WAYS,
        quantum: auto_frame(link),
        overflow: Overflow::LongestHead,
        target,
        max_burst,
        ecn: Signal::Mark,
        ..FqPieConfig::default()
    }
}

impl Entry for FqPie {
    type Config = FqPieConfig;
    const INFO: Info = Info {
        title: "fair queueing by hashed flow, sparse flows first, PIE in every queue",
        paper: "ramakrishnan2019",
        manual: include_str!("fq_pie.md"),
    };
    const LINUX: Option<Linux> = Some(Linux {
        tc: "fq_pie limit {limit:packets} flows {flows} target {target:us} tupdate {tupdate:us} \
             alpha {alpha:16ths} beta {beta:16ths} quantum {quantum:bytes}{ecn}{ecn_prob:percent}",
        preset: "paper",
        differs: "Linux hashes flows by its own function. `auto` is none of Linux's: it has sets \
             of places, and where there is no room the longest queue loses its head. Linux \
             drops what comes, and many floods fill its buffer. Its timer goes by ticks: a kernel \
             with 250 a second updates every 20 ms where 15 are set.",
        whole: true,
    });
    const PRESETS: &'static [Preset<FqPieConfig>] = &[
        Preset {
            name: "paper",
            doc: "the defaults of tc-fq_pie(8)",
            config: |_| FqPieConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "target as PIE's auto, marks, the longest queue makes room, queues by the rate \
                 in sets of eight",
            config: auto,
        },
    ];

    fn build(config: &FqPieConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        let law = PieLaw { ceiling: config.ceiling, ..config.base().law(link.mean_packet.get()) };
        let flows = config.flows as usize;
        let places = HashWays::new(config.flows, config.ways, &mut dice);
        let hosts = HostShares::new(config.isolation.divide(), config.flows, &mut dice);
        Ok(FqPie {
            held: Longest::new(flows, By::Bytes),
            turns: NewAndOld::new(flows, QueueControl { control: PieControl::new(&law), made: 0 })
                .with_hosts(hosts),
            every: Every::new(law.tupdate),
            law,
            due: 0,
            link,
            quantum: config.quantum.get() as i64,
            overflow: config.overflow,
            ecn: config.ecn,
            ecn_prob: config.ecn_prob.get(),
            places,
            isolation: config.isolation,
            dice,
        })
    }

    fn state_bytes(config: &FqPieConfig, link: &Link) -> u64 {
        let flows = config.flows as u64;
        let lists = Longest::bytes(flows, link.most_packets() + 1)
            + NewAndOld::<QueueControl>::bytes(flows);
        core::mem::size_of::<FqPie>() as u64
            + lists
            + HashWays::bytes(config.flows, config.ways)
            + HostShares::bytes(config.isolation.divide(), config.flows)
    }

    fn asks(config: &FqPieConfig) -> Asks {
        config.isolation.asks()
    }

    fn bucket_lifetime(_: &FqPieConfig) -> Option<Span> {
        Some(FOREVER)
    }

    fn hash_table(config: &FqPieConfig) -> Option<HashTable> {
        Some(HashTable { buckets: config.flows, ways: config.ways })
    }
}
