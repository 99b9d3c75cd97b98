//! What each flow offers to the gateway and what its receiver gets, counted on the two wires.
//!
//! Frames are counted where they come in to the gateway and where they reach the server, and the
//! two counts are paired. So loss and delay are those of the gateway, whatever it says of itself.
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use tidegate::{Ecn, Span, Time};
use tidegate_packet::{Address, Frame, LinkType, Transport};

use super::rig::{ARRIVALS, Rig, SERVER, WEST};
use super::tap::{SeenFrame, Tap, now, plug};
use super::traffic::DemoFlow;

/// How long to leave frames with the kernel.
const NAP: Duration = Duration::from_millis(2);
/// A frame that has not come out after this long is lost: longer than any queue here can hold it.
const LOST_AFTER: Span = Span::from_millis(3000);
/// The grid of what happened over time.
pub const GRID: Span = Span::from_millis(100);

/// One flow's account. Of the measured time, unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowAccount {
    /// Frames that came in to the gateway.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// How many of them reached the server, if later.
    pub delivered: u64,
    /// How many of those were marked on the way.
    pub marked: u64,
    /// How long those took from one wire to the other.
    pub took: Vec<Span>,
    /// Bytes that reached the server in the measured time.
    pub received_bytes: u64,
    /// Bytes that reached the server in each piece of the grid, from the beginning.
    pub received_over_time: Vec<u64>,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireReading {
    /// Of each flow, by its place.
    pub flows: Vec<FlowAccount>,
    /// The sum of the times that frames took, and how many, in each piece of the grid.
    pub took_over_time: Vec<(Span, u64)>,
    /// Frames that went by uncounted. Not none: the figures are too small.
    pub uncounted: u64,
}

/// A meter at work.
pub struct WireMeter {
    shared: Arc<MeterShared>,
    thread: Option<JoinHandle<io::Result<WireReading>>>,
}

#[derive(Default)]
struct MeterShared {
    stop: AtomicBool,
    /// The measured time, by the tap's clock in nanoseconds; zero: not yet.
    from: AtomicU64,
    to: AtomicU64,
    /// Which flows, by their places, have reached the server with something.
    begun: Box<[AtomicBool]>,
}

impl MeterShared {
    fn of(flows: usize) -> Arc<MeterShared> {
        Arc::new(MeterShared {
            begun: (0..flows).map(|_| AtomicBool::default()).collect(),
            ..MeterShared::default()
        })
    }
}

impl WireMeter {
    /// Begins to count `flows` flows on the wires of `rig`.
    ///
    /// # Errors
    /// A wire cannot be tapped.
    pub fn start(rig: &Rig, flows: usize) -> io::Result<WireMeter> {
        let entry = rig.gateway.inside(|| plug(WEST))??;
        let exit = rig.server.inside(|| plug(ARRIVALS))??;
        let shared = MeterShared::of(flows);
        let count = DemoCounter::new(flows, shared.clone());
        let thread = std::thread::Builder::new()
            .name("meter".into())
            .spawn(move || count.run(Tap::new(entry), Tap::new(exit)))?;
        Ok(WireMeter { shared, thread: Some(thread) })
    }

    /// Whether something of `flow` has reached the server.
    pub fn has_begun(&self, flow: DemoFlow) -> bool {
        self.shared.begun[usize::from(flow.index)].load(SeqCst)
    }

    /// Measures from now on, for `time`.
    pub fn measure(&self, time: Span) {
        let from = now();
        self.shared.to.store((from + time).as_nanos(), SeqCst);
        self.shared.from.store(from.as_nanos(), SeqCst);
    }

    /// Ends, and says what was counted.
    ///
    /// # Errors
    /// An interface was gone in between.
    pub fn finish(mut self) -> io::Result<WireReading> {
        self.shared.stop.store(true, SeqCst);
        let thread = self.thread.take().expect("it ends once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for WireMeter {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
    }
}

/// A frame on its way through the gateway.
struct FrameInside {
    at: Time,
    flow: usize,
    measured: bool,
}

struct DemoCounter {
    shared: Arc<MeterShared>,
    begun_at: Time,
    reading: WireReading,
    inside: HashMap<u64, FrameInside>,
    line: VecDeque<(Time, u64)>,
}

impl DemoCounter {
    fn new(flows: usize, shared: Arc<MeterShared>) -> DemoCounter {
        let reading =
            WireReading { flows: vec![FlowAccount::default(); flows], ..WireReading::default() };
        DemoCounter {
            shared,
            begun_at: now(),
            reading,
            inside: HashMap::new(),
            line: VecDeque::new(),
        }
    }

    fn run(mut self, mut entry: Tap, mut exit: Tap) -> io::Result<WireReading> {
        while !self.shared.stop.load(SeqCst) {
            // First where they come in: what comes out while we look was seen there before.
            entry.drain(&mut |seen| self.entered(&seen))?;
            exit.drain(&mut |seen| self.left(&seen))?;
            self.forget();
            std::thread::sleep(NAP);
        }
        self.reading.uncounted = u64::from(entry.lost()) + u64::from(exit.lost());
        Ok(self.reading)
    }

    fn measured(&self, at: Time) -> bool {
        let (from, to) = (self.shared.from.load(SeqCst), self.shared.to.load(SeqCst));
        from > 0 && (from..to).contains(&at.as_nanos())
    }

    fn entered(&mut self, seen: &SeenFrame<'_>) {
        let Some((flow, _)) = self.flow(seen) else { return };
        let measured = self.measured(seen.at);
        if measured {
            let account = &mut self.reading.flows[flow];
            account.offered += 1;
            account.offered_bytes += u64::from(seen.len);
        }
        let key = key(seen.bytes);
        self.inside.insert(key, FrameInside { at: seen.at, flow, measured });
        self.line.push_back((seen.at, key));
    }

    fn left(&mut self, seen: &SeenFrame<'_>) {
        let Some((flow, ecn)) = self.flow(seen) else { return };
        let piece = (seen.at.since(self.begun_at).as_nanos() / GRID.as_nanos()) as usize;
        let measured = self.measured(seen.at);
        let account = &mut self.reading.flows[flow];
        if account.received_over_time.is_empty() {
            self.shared.begun[flow].store(true, SeqCst);
        }
        *at(&mut account.received_over_time, piece) += u64::from(seen.len);
        if measured {
            account.received_bytes += u64::from(seen.len);
        }
        let Some(inside) = self.inside.remove(&key(seen.bytes)) else { return };
        let took = seen.at.since(inside.at);
        let sum = at(&mut self.reading.took_over_time, piece);
        *sum = (sum.0 + took, sum.1 + 1);
        if inside.measured {
            let account = &mut self.reading.flows[inside.flow];
            account.delivered += 1;
            account.marked += u64::from(ecn == Ecn::Ce);
            account.took.push(took);
        }
    }

    /// The flow of a frame that goes to the server, and its ECN codepoint.
    fn flow(&self, seen: &SeenFrame<'_>) -> Option<(usize, Ecn)> {
        let frame = Frame::parse(LinkType::Ethernet, seen.bytes, seen.len);
        match (frame.ends.destination, frame.ends.transport) {
            (Address::V4(to), Transport::Ports { destination, .. }) if to == SERVER.octets() => {
                Some((DemoFlow::at_port(destination, self.reading.flows.len())?, frame.ecn))
            }
            _ => None,
        }
    }

    /// Forgets frames that will not come out any more.
    fn forget(&mut self) {
        let time = now();
        while let Some(&(at, key)) = self.line.front()
            && time.since(at) > LOST_AFTER
        {
            self.line.pop_front();
            if self.inside.get(&key).is_some_and(|inside| inside.at == at) {
                self.inside.remove(&key);
            }
        }
    }
}

/// The element `index` of `list`, made if it is not there yet.
fn at<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// What tells an IPv4 frame from all others that are under way: its length and number, and
/// everything from its addresses on; not what a mark changes.
fn key(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in [16..20, 26..bytes.len()] {
        hasher.write(bytes.get(part).unwrap_or_default());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::rig::client;

    /// A datagram of flow 0, the `number`th.
    fn frame(number: u16, ecn: u8) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[12..16].copy_from_slice(&[0x08, 0x00, 0x45, ecn]);
        bytes[16..18].copy_from_slice(&46u16.to_be_bytes());
        bytes[18..20].copy_from_slice(&number.to_be_bytes());
        bytes[23] = 17;
        bytes[24] = ecn; // a checksum that goes with it
        bytes[26..30].copy_from_slice(&client(0).octets());
        bytes[30..34].copy_from_slice(&SERVER.octets());
        bytes[36..38].copy_from_slice(&5201u16.to_be_bytes());
        bytes
    }

    #[test]
    fn frames_are_paired_though_they_were_marked() {
        let shared = MeterShared::of(1);
        let mut count = DemoCounter::new(1, shared.clone());
        let start = count.begun_at;
        shared.from.store(start.as_nanos(), SeqCst);
        shared.to.store(start.as_nanos() + 1_000_000_000, SeqCst);
        let at = |ms: u64, take: &mut dyn FnMut(SeenFrame<'_>), number: u16, ecn| {
            take(SeenFrame {
                at: start + Span::from_millis(ms),
                bytes: &frame(number, ecn),
                len: 60,
            });
        };
        for number in 0..4 {
            at(10 * u64::from(number), &mut |seen| count.entered(&seen), number, 2);
        }
        for (ms, number, ecn) in [(100, 0, 2), (110, 1, 3), (1010, 3, 2)] {
            at(ms, &mut |seen| count.left(&seen), number, ecn);
        }
        let expected = FlowAccount {
            offered: 4,
            offered_bytes: 240,
            delivered: 3,
            marked: 1,
            took: [100, 100, 980].map(Span::from_millis).to_vec(),
            received_bytes: 120,
            received_over_time: vec![0, 120, 0, 0, 0, 0, 0, 0, 0, 0, 60],
        };
        assert_eq!(count.reading.flows, [expected]);
        assert!(shared.begun[0].load(SeqCst));
    }
}
