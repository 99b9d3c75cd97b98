//! A capture, read once: who talks to whom, and what each sends when.
use std::collections::BTreeMap;
use std::path::Path;

use tidegate::{Span, Time};
use tidegate_packet::{
    Address, Capture, CaptureError, CapturedPacket, Ends, Frame, LinkType, Skips,
};

use super::AdviseError;
use super::conversation::{Conversation, DirectedFlow, SentWay, TimeGrid, place_of};
use super::sides::{SenderPlace, Sides};
use crate::replication::{Progress, Watch};

/// Conversations that are kept apart; packets of later ones are counted together.
pub const CONVERSATIONS: usize = 1 << 16;
/// Cells of all conversations together. When they are used up, every two become one.
const CELLS: usize = 1 << 22;
/// The finest stretch of time that is looked at.
const STEP: Span = Span::from_millis(100);
/// Stretches of a capture; a longer one has longer stretches.
const STEPS: u32 = 1 << 12;
/// Packets between two looks at whether to give up.
const LOOK_EVERY: u64 = 4096;
/// No wire carries longer frames: these were put together by a network card or a driver.
const JUMBO: u32 = 9_300;

/// What a capture shows.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) conversations: Vec<Conversation>,
    pub(super) sides: Sides,
    pub(super) grid: TimeGrid,
    /// When the last packet passed, counted from the first.
    pub(super) last: Time,
    pub(super) packets: u64,
    /// Packets of conversations that there was no room for.
    pub(super) others: SentWay,
    /// How many of its frames were longer than any on a wire.
    pub(super) merged: u64,
    pub(super) backward: u64,
    pub(super) skipped: Skips,
    pub(super) damage: Option<CaptureError>,
    by_ends: BTreeMap<Ends, u32>,
    cells: usize,
}

impl Survey {
    /// Reads the capture at `path`, up to where it is damaged.
    ///
    /// # Errors
    /// It cannot be read at all, or holds no packet; `watch` gave up.
    pub(super) fn read(path: &Path, watch: &dyn Watch) -> Result<Survey, AdviseError> {
        let mut capture = Capture::open(path).map_err(AdviseError::Capture)?;
        let length = std::fs::metadata(path).map_or(0, |m| m.len()).max(1);
        let mut survey = Survey::empty();
        loop {
            if survey.packets.is_multiple_of(LOOK_EVERY) {
                let fraction = (capture.offset() as f64 / length as f64).min(1.0) * READING;
                watch.progress(Progress { fraction, done: 0, of: 1 });
                if watch.cancelled() {
                    return Err(AdviseError::Cancelled);
                }
            }
            match capture.next_packet() {
                Ok(Some(packet)) => survey.pass(&packet),
                Ok(None) => break,
                Err(damage) => {
                    survey.damage = Some(damage);
                    break;
                }
            }
        }
        survey.backward = capture.backward();
        survey.skipped = capture.skipped().clone();
        match (survey.packets, survey.damage) {
            (0, Some(damage)) => Err(AdviseError::Capture(damage)),
            (0, None) => Err(AdviseError::Empty(path.into())),
            (_, damage) => Ok(Survey { damage, ..survey }),
        }
    }

    fn empty() -> Survey {
        Survey {
            conversations: vec![],
            sides: Sides::default(),
            grid: TimeGrid { step: STEP },
            last: Time::ZERO,
            packets: 0,
            others: SentWay::default(),
            merged: 0,
            backward: 0,
            skipped: Skips::default(),
            damage: None,
            by_ends: BTreeMap::new(),
            cells: 0,
        }
    }

    fn pass(&mut self, packet: &CapturedPacket<'_>) {
        let (now, frame) = (packet.time, packet.frame());
        self.packets += 1;
        self.last = now;
        self.merged += u64::from(frame.len > JUMBO);
        while self.grid.index(now) >= STEPS || self.cells >= CELLS {
            self.halve();
        }
        let index = self.grid.index(now);
        let fresh = match self.find(packet, &frame) {
            Some((number, from)) => {
                let conversation = &mut self.conversations[number as usize];
                conversation.pass(now, from, index, (&frame, packet.bytes))
            }
            None => self.others.pass(now, index, frame.len, frame.ecn),
        };
        self.cells += usize::from(fresh);
    }

    /// The conversation of a packet, and which of its ends sent it.
    fn find(&mut self, packet: &CapturedPacket<'_>, frame: &Frame) -> Option<(u32, usize)> {
        let (ends, turned) = (frame.ends, frame.ends.turned());
        let (key, from) = if ends <= turned { (ends, 0) } else { (turned, 1) };
        if let Some(&number) = self.by_ends.get(&key) {
            let first = self.conversations[number as usize].ends;
            return Some((number, if first == key { from } else { 1 - from }));
        }
        if self.conversations.len() >= CONVERSATIONS {
            return None;
        }
        let number = self.conversations.len() as u32;
        let (source, destination) = neighbours(packet, &ends);
        let place = self.sides.pass(source, destination);
        self.by_ends.insert(key, number);
        self.conversations.push(Conversation::new(ends, place));
        Some((number, 0))
    }

    /// Makes every two stretches of time one.
    fn halve(&mut self) {
        self.grid.step = self.grid.step + self.grid.step;
        let ways = self.conversations.iter_mut().flat_map(|c| &mut c.ways);
        let fewer: usize = ways.chain([&mut self.others]).map(SentWay::halve).sum();
        self.cells -= fewer;
    }

    /// Whether some packet was one of IP.
    pub(super) fn has_ip(&self) -> bool {
        self.conversations.iter().any(|c| !matches!(c.ends.source, Address::Mac(_)))
    }

    /// The flows in the direction that carries more, and how many bytes go the other way.
    pub(super) fn loaded(&self) -> Loaded<'_> {
        let mut bytes: BTreeMap<SenderPlace, u64> = BTreeMap::new();
        let places: Vec<Option<SenderPlace>> =
            self.conversations.iter().map(|c| self.place(c)).collect();
        for (conversation, place) in self.conversations.iter().zip(&places) {
            for (from, way) in conversation.ways.iter().enumerate() {
                if let Some(place) = place {
                    *bytes.entry(place_of(*place, from)).or_default() += way.bytes;
                }
            }
        }
        let weight = |place: SenderPlace| bytes.get(&place).copied().unwrap_or(0);
        let heavier = |place: SenderPlace| weight(place) >= weight(place_of(place, 1));
        let mut loaded = Loaded { flows: vec![], back_bytes: 0, back_packets: 0 };
        for (conversation, place) in self.conversations.iter().zip(places) {
            let [a, b] = &conversation.ways;
            let from = match place {
                Some(place) => usize::from(!heavier(place)),
                None => usize::from(a.bytes < b.bytes),
            };
            let flow = DirectedFlow { conversation, from };
            loaded.back_bytes += flow.back().bytes;
            loaded.back_packets += flow.back().packets;
            if flow.way().packets > 0 {
                loaded.flows.push(flow);
            }
        }
        loaded
    }

    /// Where the sender of a conversation's first packet is, if the capture has two sides.
    fn place(&self, conversation: &Conversation) -> Option<SenderPlace> {
        conversation.place.filter(|_| self.sides.agree()).map(|number| self.sides.place(number))
    }
}

/// What goes the way that carries more.
#[derive(Debug)]
pub(super) struct Loaded<'s> {
    pub(super) flows: Vec<DirectedFlow<'s>>,
    /// What goes the other way.
    pub(super) back_bytes: u64,
    pub(super) back_packets: u64,
}

/// How much of the work it is to read the capture.
pub(super) const READING: f64 = 0.2;

/// Who hands a packet on to whom: by hardware addresses, or by those of the hosts where a capture
/// has only those.
fn neighbours(packet: &CapturedPacket<'_>, ends: &Ends) -> (Address, Address) {
    let macs = packet.bytes.first_chunk::<12>().filter(|_| packet.link == LinkType::Ethernet);
    let hosts = (ends.source, ends.destination);
    let Some(&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5]) = macs else { return hosts };
    let (source, destination) = ([s0, s1, s2, s3, s4, s5], [d0, d1, d2, d3, d4, d5]);
    let to_many = destination[0] & 1 == 1;
    let unknown = source == destination;
    if to_many || unknown { hosts } else { (Address::Mac(source), Address::Mac(destination)) }
}
