//! The counters against a map that is walked through.
use super::*;
use std::collections::BTreeMap;
use tidegate::rng::mix;

/// What became of a segment: its last transmission, whether it arrived, whether it is lost,
/// whether under way again.
#[derive(Clone, Copy, Default)]
struct Known {
    at: u64,
    serial: usize,
    held: bool,
    lost: bool,
    again: bool,
}

impl Known {
    /// Whether its last transmission is neither acknowledged nor lost.
    fn is_under_way(&self) -> bool {
        !self.held && (!self.lost || self.again)
    }
}

/// Segments that are sent and arrive, and the map of those that are not acknowledged.
#[derive(Default)]
struct Course {
    rack: Segments,
    map: BTreeMap<u32, Known>,
    una: u32,
    max: u32,
    now: u64,
    serial: usize,
    /// The transmission sent last of those that arrived, and how long it took.
    latest: Option<usize>,
    rtt: u64,
    losses: u32,
}

impl Course {
    fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// The next that is lost, else a new one.
    fn send(&mut self) {
        let seq = self.rack.next_lost().unwrap_or(self.max);
        self.rack.sent(seq, self.now());
        let before = self.map.get(&seq).copied().unwrap_or_default();
        let (at, serial, again) = (self.now, self.serial, seq < self.max);
        self.map.insert(seq, Known { at, serial, again, ..before });
        self.max = self.max.max(seq + 1);
        self.serial += 1;
    }

    /// One that is under way arrives, mostly of those sent first; with what is held up to the first
    /// hole. What is reported of it.
    fn arrive(&mut self, dice: u64) -> Report {
        let mut under_way: Vec<(usize, u32)> = self
            .map
            .iter()
            .filter(|(_, k)| k.is_under_way())
            .map(|(&seq, k)| (k.serial, seq))
            .collect();
        under_way.sort_unstable();
        let (number, seq) = under_way[(dice >> 32) as usize % under_way.len().min(8)];
        let known = self.map.get_mut(&seq).unwrap();
        known.held = true;
        if self.latest.is_none_or(|l| number > l) {
            (self.latest, self.rtt) = (Some(number), self.now - known.at);
        }
        while self.map.get(&self.una).is_some_and(|k| k.held) {
            self.map.remove(&self.una);
            self.una += 1;
        }
        let mut report = Report::plain(self.una);
        if seq >= self.una {
            report.blocks[0] = SackBlock { from: seq, to: seq + 1 };
        }
        report
    }

    /// How many of the map are lost now.
    fn find_lost(&mut self) -> u32 {
        let mut found = 0;
        for known in self.map.values_mut().filter(|k| k.is_under_way()) {
            if Some(known.serial) < self.latest && known.at + self.rtt <= self.now {
                (known.lost, known.again) = (true, false);
                found += 1;
            }
        }
        found
    }
}

/// Against a map that is walked through for every acknowledgement: counts, losses, and what is
/// to be sent again next.
#[test]
fn it_agrees_with_a_map() {
    let mut course = Course::default();
    for i in 0..20_000u64 {
        let dice = mix(i);
        course.now += dice % 3 * 1_000_000;
        if course.rack.pipe() < 40 {
            course.send();
            continue;
        }
        let report = course.arrive(dice);
        let now = course.now();
        assert_eq!(course.rack.update(now, &report), 1);
        let (lost, _) = course.rack.detect(now, true);
        assert_eq!(lost, course.find_lost(), "{i}");
        course.losses += lost;
        let Course { rack, map, .. } = &mut course;
        let waits = map.iter().find(|(_, k)| !k.held && k.lost && !k.again).map(|(&seq, _)| seq);
        let pipe = map.values().filter(|k| k.is_under_way()).count() as u32;
        assert_eq!((rack.next_lost(), rack.pipe()), (waits, pipe), "{i}");
    }
    let Course { una, losses, .. } = course;
    assert!(una > 2_000 && losses > 1_000, "{una} acknowledged, {losses} lost");
}
