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

/// Against a map that is walked through for every acknowledgement: counts, losses, and what is
/// to be sent again next.
#[test]
#[allow(clippy::too_many_lines, reason = "told in order, in one piece")]
fn it_agrees_with_a_map() {
    let (mut rack, mut map) = (Segments::default(), BTreeMap::<u32, Known>::new());
    let (mut una, mut max, mut now, mut serial) = (0u32, 0u32, 0u64, 0);
    let (mut latest, mut rtt, mut losses) = (None, 0, 0);
    for i in 0..20_000u64 {
        let dice = mix(i);
        now += dice % 3 * 1_000_000;
        if rack.pipe() < 40 {
            let seq = rack.next_lost().unwrap_or(max);
            rack.sent(seq, Time::from_nanos(now));
            let before = map.get(&seq).copied().unwrap_or_default();
            map.insert(seq, Known { at: now, serial, again: seq < max, ..before });
            max = max.max(seq + 1);
            serial += 1;
            continue;
        }
        // One that is under way arrives, mostly of those sent first; with what is held up to
        // the first hole.
        let mut under_way: Vec<(usize, u32)> = map
            .iter()
            .filter(|(_, k)| !k.held && (!k.lost || k.again))
            .map(|(&seq, k)| (k.serial, seq))
            .collect();
        under_way.sort_unstable();
        let (number, seq) = under_way[(dice >> 32) as usize % under_way.len().min(8)];
        let known = map.get_mut(&seq).unwrap();
        known.held = true;
        if latest.is_none_or(|l| number > l) {
            (latest, rtt) = (Some(number), now - known.at);
        }
        while map.get(&una).is_some_and(|k| k.held) {
            map.remove(&una);
            una += 1;
        }
        let mut report = Report::plain(una);
        if seq >= una {
            report.blocks[0] = SackBlock { from: seq, to: seq + 1 };
        }
        assert_eq!(rack.update(Time::from_nanos(now), &report), 1);
        let (lost, _) = rack.detect(Time::from_nanos(now), true);
        let mut found = 0;
        for known in map.values_mut().filter(|k| !k.held && (!k.lost || k.again)) {
            if Some(known.serial) < latest && known.at + rtt <= now {
                (known.lost, known.again) = (true, false);
                found += 1;
            }
        }
        assert_eq!(lost, found, "{i}");
        losses += lost;
        let waits = map.iter().find(|(_, k)| !k.held && k.lost && !k.again).map(|(&seq, _)| seq);
        let pipe = map.values().filter(|k| !k.held && (!k.lost || k.again)).count() as u32;
        assert_eq!((rack.next_lost(), rack.pipe()), (waits, pipe), "{i}");
    }
    assert!(una > 2_000 && losses > 1_000, "{una} acknowledged, {losses} lost");
}
