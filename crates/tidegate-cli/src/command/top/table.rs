//! The same as plain tables: once, for scripts and for terminals that can do no more.
use std::collections::BTreeMap;

use tidegate_gateway::watch::rates::{Both, Rates, between};
use tidegate_gateway::watch::snapshot::{Direction, LinkSnapshot, Snapshot};
use tidegate_report::human;
use tidegate_report::page::{Block, Page};

use super::words;

/// What happened between two snapshots, and how things stand at the second.
pub fn page(old: &Snapshot, new: &Snapshot) -> Page {
    let mut page = Page::default();
    page.add(Block::Text(words::process(new)));
    if let Some(why) = &new.reloads.last_error {
        page.add(Block::Text(human::plain(&format!("the file was not heeded: {why}"))));
    }
    for (link, rates) in new.links.iter().zip(between(old, new)) {
        let ended = if link.running { "" } else { " (ended)" };
        page.add(Block::Heading(format!("{}{ended}", human::plain(&link.name))));
        page.add(Block::Table(figures(link, rates.as_ref())));
        for direction in [&link.managed, &link.reverse] {
            flows(direction, new.time_s, &mut page);
        }
    }
    page
}

/// A row for each figure, a column for each direction.
fn figures(link: &LinkSnapshot, rates: Option<&Both>) -> Vec<Vec<String>> {
    let ways = [
        (&link.managed, rates.map(|rates| &rates[0])),
        (&link.reverse, rates.map(|rates| &rates[1])),
    ];
    let mut rows = vec![[String::new(), words::way(ways[0].0), words::way(ways[1].0)]];
    let mut row = |name: &str, read: &dyn Fn(&Direction, Option<&Rates>) -> Option<String>| {
        let [there, back] = ways.map(|(direction, rates)| read(direction, rates));
        if there.is_some() || back.is_some() {
            let told = |text: Option<String>| text.unwrap_or(words::UNKNOWN.into());
            rows.push([name.into(), told(there), told(back)]);
        }
    };
    row("in", &|_, rates| Some(words::rate(rates.map(|rates| rates.received))));
    row("out", &|_, rates| Some(words::rate(rates.map(|rates| rates.sent))));
    row("lost", &|_, rates| Some(words::rate(rates.map(|rates| rates.lost))));
    for why in link.managed.lost.keys() {
        row(&format!("lost: {}", human::plain(why)), &|_, rates| once(&rates?.lost_by, why));
    }
    for why in link.managed.marked.keys() {
        row(&format!("marked: {}", human::plain(why)), &|_, rates| once(&rates?.marked_by, why));
    }
    row("missed by the kernel", &|_, rates| {
        rates.map(|rates| rates.missed).filter(|&missed| missed > 0.0).map(words::per_second)
    });
    row("delay", &|direction, _| {
        direction.queue.as_ref().map(|queue| words::delay(queue.delay.as_ref()))
    });
    row("backlog", &|direction, _| direction.queue.as_ref().map(words::backlog));
    for at in 0..most_classes(link) {
        row(&format!("class {}", at + 1), &|direction, rates| {
            let class = direction.queue.as_ref()?.classes.get(at)?;
            let [left, lost] =
                [0, 1].map(|what| rates.and_then(|rates| Some((*rates.classes.get(at)?)?[what])));
            Some(format!(
                "{}: {} out, {} lost",
                words::class(class),
                words::rate(left),
                words::rate(lost)
            ))
        });
    }
    for name in gauges(link) {
        row(&human::plain(&name), &|direction, _| {
            let queue = direction.queue.as_ref()?;
            queue.gauges.iter().find(|gauge| gauge.name == name).map(words::value)
        });
    }
    rows.into_iter().map(Vec::from).collect()
}

/// How often this reason came up, if it did.
fn once(by: &[(String, f64)], why: &str) -> Option<String> {
    by.iter().find(|(reason, _)| reason == why).map(|(_, frames)| words::per_second(*frames))
}

fn most_classes(link: &LinkSnapshot) -> usize {
    let count =
        |direction: &Direction| direction.queue.as_ref().map_or(0, |queue| queue.classes.len());
    count(&link.managed).max(count(&link.reverse))
}

/// The names of both queues' gauges, each once, in the order of the first.
fn gauges(link: &LinkSnapshot) -> Vec<String> {
    let queues =
        [&link.managed, &link.reverse].into_iter().filter_map(|direction| direction.queue.as_ref());
    let mut seen = BTreeMap::new();
    let names = queues.flat_map(|queue| queue.gauges.iter().map(|gauge| gauge.name.clone()));
    names.filter(|name| seen.insert(name.clone(), ()).is_none()).collect()
}

/// Who sends most in a direction, if there is anybody to tell of.
fn flows(direction: &Direction, now: f64, page: &mut Page) {
    let Some(queue) = &direction.queue else { return };
    let senders = words::senders(&queue.flows);
    if senders.is_empty() {
        return;
    }
    let (from, to) = (human::plain(&direction.from), human::plain(&direction.to));
    page.add(Block::Text(format!("{from} → {to}: {}", words::congestion(&queue.flows))));
    let head = words::FLOW.map(String::from).to_vec();
    let rows = senders.into_iter().map(|flow| words::flow(flow, now).to_vec());
    page.add(Block::Table([head].into_iter().chain(rows).collect()));
}

#[cfg(test)]
mod tests {
    use super::super::sample::{flooded, gate, grow};
    use super::*;

    /// The rows of a link's table, by what they are called.
    fn rows(link: usize, old: &Snapshot, new: &Snapshot) -> BTreeMap<String, [String; 2]> {
        let rates = between(old, new);
        let rows = figures(&new.links[link], rates[link].as_ref());
        rows.into_iter()
            .map(|row| <[String; 3]>::try_from(row).unwrap())
            .map(|[name, a, b]| (name, [a, b]))
            .collect()
    }

    #[test]
    fn what_happened_is_told_for_both_directions() {
        let (old, new) = (gate(), flooded(&gate()));
        let rows = rows(0, &old, &new);
        let told = |name: &str| rows[name].each_ref().map(String::as_str);
        assert_eq!(told(""), ["eth1 → eth2: WFQ of three, 100 Mbit/s", "eth2 → eth1: not managed"]);
        assert_eq!(told("in"), ["398 Mbit/s 33 200/s", "0 bit/s 0/s"]);
        assert_eq!(told("out"), ["99.7 Mbit/s 8 310/s", "0 bit/s 0/s"]);
        assert_eq!(told("lost"), ["299 Mbit/s 24 890/s", "0 bit/s 0/s"]);
        assert_eq!(told("lost: penalty"), ["24 000/s", "–"]);
        assert_eq!(told("lost: early"), ["890/s", "–"]);
        assert_eq!(told("marked: early"), ["12/s", "–"]);
        assert_eq!(told("missed by the kernel"), ["5/s", "–"]);
        assert_eq!(
            told("delay"),
            ["mean 12.3 ms, half 12.0 ms, 99 % 15.2 ms, longest 15.9 ms", "–"]
        );
        assert_eq!(told("backlog"), ["120 kB of 1.25 MB, 105 frames", "–"]);
        assert_eq!(
            told("class 2"),
            ["(rest): 99.7 Mbit/s 8 310/s out, 299 Mbit/s 24 890/s lost", "–"]
        );
        assert_eq!(told("p_max"), ["0.840", "–"]);
        assert!(
            !rows.contains_key("lost: evicted") && !rows.contains_key("marked: forced"),
            "{rows:?}"
        );
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let (old, new) = (gate(), grow(&gate(), 1.0));
        let rows = rows(1, &new, &old);
        assert_eq!(rows["in"], ["–", "–"]);
        assert_eq!(rows["delay"], ["–", "–"]);
        assert_eq!(rows["avg"], ["0 packets", "0 packets"]);
    }
}
