//! Meters beside the counters. Each is one struct, which watches what it needs of the packets and
//! yields figures of flows and groups. To add one, write it here and list it in `observers!`. Give
//! its figures a place in [`Observed`] or [`GroupObserved`]. No other file of the simulator
//! changes; docs/contribute/metric.md goes through it.
use tidegate::Span;

use crate::measure::plan::Plan;
use crate::net::network::Network;

/// How long a congestion event of a group lasts: a usual round trip. It begins with a drop of one
/// of the group's data packets while no other is on; it is counted for each queue by itself.
pub const LOSS_EVENT: Span = Span::from_millis(100);

/// A flow starves while it gets less than this part of its fair share.
pub const STARVED: f64 = 0.1;

/// A data packet at a moment of the measured time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// The time in nanoseconds.
    pub at: u64,
    pub flow: u32,
    pub group: u32,
    /// Its length in bytes on the wire.
    #[allow(dead_code, reason = "no meter of today needs it")]
    pub len: u32,
}

/// What a meter can watch: all data packets, within the measured time. Events of one flow or of one
/// queue come in the order of time, those of different ones in any order.
pub(crate) trait Observer {
    /// The meter for `network`, which runs as `plan` says. Allocates all that it needs.
    fn new<Q>(network: &Network<Q>, plan: &Plan) -> Self;

    /// The sender sends it.
    #[inline(always)]
    fn sent(&mut self, _packet: Sighting) {}

    /// It reaches the receiver and is `_new` bytes of goodput.
    #[inline(always)]
    fn delivered(&mut self, _packet: Sighting, _new: u64) {}

    /// The queue of `_link` drops it.
    #[inline(always)]
    fn dropped(&mut self, _packet: Sighting, _link: u32) {}

    /// The queue of `_link` marks it.
    #[inline(always)]
    fn marked(&mut self, _packet: Sighting, _link: u32) {}

    /// A [rate window](Plan::rate_window) of `_flow` is over, in which it received `_bytes`, `_new`
    /// of them goodput. Windows in which it received nothing are not reported.
    #[inline(always)]
    fn window(&mut self, _flow: u32, _bytes: u64, _new: u64) {}
}

/// Lists the meters, and passes to each what happens.
macro_rules! observers {
    ($($name:ident: $meter:ident,)*) => {
        /// All of them.
        #[derive(Clone, Debug)]
        pub(crate) struct Observers {
            $($name: $meter,)*
        }

        impl Observer for Observers {
            fn new<Q>(network: &Network<Q>, plan: &Plan) -> Observers {
                Observers { $($name: $meter::new(network, plan),)* }
            }

            #[inline(always)]
            fn sent(&mut self, packet: Sighting) {
                $(self.$name.sent(packet);)*
            }

            #[inline(always)]
            fn delivered(&mut self, packet: Sighting, new: u64) {
                $(self.$name.delivered(packet, new);)*
            }

            #[inline(always)]
            fn dropped(&mut self, packet: Sighting, link: u32) {
                $(self.$name.dropped(packet, link);)*
            }

            #[inline(always)]
            fn marked(&mut self, packet: Sighting, link: u32) {
                $(self.$name.marked(packet, link);)*
            }

            #[inline(always)]
            fn window(&mut self, flow: u32, bytes: u64, new: u64) {
                $(self.$name.window(flow, bytes, new);)*
            }
        }
    };
}

observers! {
    loss_events: LossEvents,
    starvation: Starvation,
}

/// What they yield of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Observed {
    /// The [congestion events](LOSS_EVENT) of its group in which it lost a packet.
    pub loss_events: u32,
    /// In how many whole [rate windows](Plan::rate_window) it [starved](STARVED); `None` if its
    /// [fair share](Network::fair_shares) is not known, or if it may be silent by itself.
    pub starved: Option<u64>,
}

/// What they yield of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GroupObserved {
    /// Its [congestion events](LOSS_EVENT), over all queues.
    pub loss_events: u64,
}

impl Observers {
    /// The figures of `flow`, which had so many whole rate windows.
    pub fn of_flow(&self, flow: usize, windows: u64) -> Observed {
        Observed {
            loss_events: self.loss_events.lost[flow],
            starved: self.starvation.of_flow(flow, windows),
        }
    }

    /// The figures of `group`.
    pub fn of_group(&self, group: usize) -> GroupObserved {
        let number = |latest: &LossEvent| latest.number as u64;
        let each_link = self.loss_events.latest.iter().skip(group).step_by(self.loss_events.groups);
        GroupObserved { loss_events: each_link.map(number).sum() }
    }
}

/// Which flows lose in which congestion events of their group.
#[derive(Clone, Debug)]
struct LossEvents {
    groups: usize,
    /// The latest event by link and group.
    latest: Vec<LossEvent>,
    /// By link, which event was the latest in which each flow lost; empty where no queue is.
    lost_in: Vec<Vec<u32>>,
    /// In how many events each flow lost.
    lost: Vec<u32>,
}

/// A congestion event.
#[derive(Clone, Copy, Debug, Default)]
struct LossEvent {
    until: u64,
    /// From 1; 0 if there was none.
    number: u32,
}

impl Observer for LossEvents {
    fn new<Q>(network: &Network<Q>, _: &Plan) -> LossEvents {
        let (groups, flows) = (network.groups.len(), network.flows.len());
        let of = |queue: &Option<Q>| vec![0; if queue.is_some() { flows } else { 0 }];
        LossEvents {
            groups,
            latest: vec![LossEvent::default(); groups * network.links.len()],
            lost_in: network.links.iter().map(|link| of(&link.queue)).collect(),
            lost: vec![0; flows],
        }
    }

    #[inline]
    fn dropped(&mut self, packet: Sighting, link: u32) {
        let (flow, link) = (packet.flow as usize, link as usize);
        let event = &mut self.latest[link * self.groups + packet.group as usize];
        if event.number == 0 || packet.at >= event.until {
            event.number += 1;
            event.until = packet.at + LOSS_EVENT.as_nanos();
        }
        if std::mem::replace(&mut self.lost_in[link][flow], event.number) != event.number {
            self.lost[flow] += 1;
        }
    }
}

/// The rate windows in which flows starve.
#[derive(Clone, Debug)]
struct Starvation {
    flows: Vec<Fed>,
}

/// How often one flow did not starve.
#[derive(Clone, Copy, Debug)]
struct Fed {
    /// With fewer bytes of goodput in a window it starves; of zero it never does.
    least: f32,
    windows: u32,
}

impl Observer for Starvation {
    fn new<Q>(network: &Network<Q>, plan: &Plan) -> Starvation {
        let window = plan.rate_window.unwrap_or_default().as_secs();
        let flow = |flow: usize| {
            let share = network.fair_shares.get(flow).filter(|share| share.throughout);
            let least = share.map_or(0.0, |share| STARVED * share.rate / 8.0 * window);
            Fed { least: least as f32, windows: 0 }
        };
        Starvation { flows: (0..network.flows.len()).map(flow).collect() }
    }

    #[inline]
    fn window(&mut self, flow: u32, _: u64, new: u64) {
        let flow = &mut self.flows[flow as usize];
        flow.windows += u32::from(new as f32 >= flow.least);
    }
}

impl Starvation {
    fn of_flow(&self, flow: usize, windows: u64) -> Option<u64> {
        let fed = self.flows[flow];
        (fed.least > 0.0).then(|| windows.saturating_sub(fed.windows as u64))
    }
}
