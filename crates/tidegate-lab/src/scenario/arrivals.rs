//! The arrivals of a capture, as a source replays them.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tidegate::rng::mix;
use tidegate::{Seed, Span, Time};
use tidegate_packet::{Capture, FlowHasher, FlowKey, Skips};
use tidegate_sim::sources::Arrival;

/// The most packets of one capture: 160 MB of memory.
const MOST: usize = 10_000_000;

/// A capture's packets, each with the flow that it belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Each captured flow's, in the order in which they begin; times count from the capture's
    /// first packet.
    pub flows: Vec<Arc<[Arrival]>>,
    /// From the first packet to the last.
    pub duration: Span,
    /// Bytes on the wire.
    pub bytes: u64,
    /// The longest packet, in bytes.
    pub longest: u16,
    /// What of the capture is left out, because its link type cannot be read.
    pub skipped: Skips,
    /// A hash of all that is sent: a capture may change and keep its name.
    pub fingerprint: u64,
}

impl Arrivals {
    /// Reads the capture in the file `path`, flows by five-tuple.
    ///
    /// # Errors
    /// Says why, for a message that names the file: it cannot be read, is damaged, has no packets
    /// or too many.
    pub(super) fn read(path: &Path) -> Result<Arrivals, String> {
        let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err("is no file".into());
        }
        let mut capture = Capture::open(path).map_err(|error| error.to_string())?;
        let hasher = FlowHasher::seeded(FlowKey::FiveTuple, Seed::new(0));
        let (mut known, mut flows) = (BTreeMap::new(), Vec::<Vec<Arrival>>::new());
        let mut all = Arrivals::default();
        let mut count = 0;
        while let Some(packet) = capture.next_packet().map_err(|error| error.to_string())? {
            count += 1;
            if count > MOST {
                return Err(format!("has more than {MOST} packets"));
            }
            let at = packet.time.since(Time::ZERO);
            let frame = packet.frame();
            let slot = *known.entry(hasher.hash(&frame.ends)).or_insert(flows.len());
            if slot == flows.len() {
                flows.push(vec![]);
            }
            let len = frame.len.clamp(1, 65_535) as u16;
            flows[slot].push(Arrival { at, len, ecn: frame.ecn });
            (all.bytes, all.longest) = (all.bytes + len as u64, all.longest.max(len));
            all.duration = if at > all.duration { at } else { all.duration };
        }
        if flows.is_empty() {
            return Err("the capture has no packets".into());
        }
        all.skipped = capture.skipped().clone();
        // A capture's clock may have been set back.
        flows.iter_mut().for_each(|flow| flow.sort_by_key(|a| a.at));
        all.fingerprint = fingerprint(&flows);
        all.flows = flows.into_iter().map(Arc::from).collect();
        Ok(all)
    }

    /// What flow `index` of a group of `count` sends: the captured flows are dealt out in turn.
    pub fn of(&self, index: usize, count: usize) -> Arc<[Arrival]> {
        let mut mine = self.flows.iter().skip(index).step_by(count.max(1));
        match (mine.next(), mine.len()) {
            (Some(only), 0) => only.clone(),
            _ => {
                let all = self.flows.iter().skip(index).step_by(count.max(1));
                let mut merged: Vec<Arrival> = all.flat_map(|flow| flow.iter().copied()).collect();
                merged.sort_by_key(|a| a.at);
                merged.into()
            }
        }
    }
}

fn fingerprint(flows: &[Vec<Arrival>]) -> u64 {
    let packet = |hash: u64, a: &Arrival| {
        mix(mix(hash ^ a.at.as_nanos()) ^ u64::from(a.len) << 2 ^ a.ecn as u64)
    };
    flows.iter().fold(0, |hash, flow| mix(flow.iter().fold(hash, packet) ^ flow.len() as u64))
}
