//! The figures behind the first table, as rows of text for the terminal and the report. They are
//! delays from end to end, what was sent again, how even rates and drops were, finished transfers,
//! and each queue by itself. Columns that apply to nobody are left out.
use crate::{Delay, Document, Figure, Flow, Gaps, Group, human};

/// A table: what heads its columns of numbers, and its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Above the columns of numbers.
    pub heads: Vec<&'static str>,
    /// The rows: two names and the numbers.
    pub rows: Vec<([String; 2], Vec<String>)>,
}

impl Detail {
    /// Adds a row of `cells`, each under its head.
    fn add(&mut self, names: [&str; 2], cells: Vec<(&'static str, String)>) {
        self.heads = cells.iter().map(|(head, _)| *head).collect();
        self.rows
            .push((names.map(String::from), cells.into_iter().map(|(_, cell)| cell).collect()));
    }

    /// Without the columns that have no figure.
    fn used(mut self) -> Detail {
        for column in (0..self.heads.len()).rev() {
            if self.rows.iter().all(|(_, cells)| cells[column] == human::NONE) {
                self.heads.remove(column);
                self.rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(column)));
            }
        }
        self
    }
}

/// Each group of each result.
pub fn groups(documents: &[&Document]) -> Detail {
    let mut detail = Detail::default();
    for document in documents {
        for group in &document.groups {
            detail.add([document.title(), &group.name], group_cells(group));
        }
    }
    detail.used()
}

fn group_cells(group: &Group) -> Vec<(&'static str, String)> {
    let finished = group.completions.filter(|f| f.mean() > 0.0);
    let mut cells = vec![];
    cells.extend(delay(["one way p50", "p95", "p99"], &group.one_way_ms));
    cells.extend(delay(["RTT p50", "p95", "p99"], &group.rtt_ms));
    cells.push(("sent again", human::bytes(group.retransmitted_bytes.filter(|f| f.mean() > 0.0))));
    cells.push(("rate CoV", human::number(group.rate_cov.mean)));
    cells.extend(gaps(&group.drop_gap_ms));
    cells.push(("finished", human::number(finished)));
    cells.push(("took, mean", human::millis(group.completion_ms.mean)));
    cells.push(("p50", human::millis(group.completion_ms.p50)));
    cells.push(("p99", human::millis(group.completion_ms.p99)));
    cells
}

/// The queue of each result, and every managed link where there are several.
pub fn queues(documents: &[&Document]) -> Detail {
    let mut detail = Detail::default();
    for document in documents {
        let all = &document.aggregate;
        let mut cells = vec![
            ("norm", human::kilobits(all.norm_kbps)),
            ("deviation from fair", human::number(all.fair_deviation)),
        ];
        cells.extend(queue_cells(
            all.utilization,
            &all.queue_delay_ms,
            all.nearly_full_s,
            &all.drop_gap_ms,
        ));
        detail.add([document.title(), ""], cells);
        for link in &document.links {
            let mut cells =
                vec![("norm", human::NONE.into()), ("deviation from fair", human::NONE.into())];
            cells.extend(queue_cells(
                link.utilization,
                &link.queue_delay_ms,
                link.nearly_full_s,
                &link.drop_gap_ms,
            ));
            detail.add([document.title(), &link.name], cells);
        }
    }
    detail.used()
}

fn queue_cells(
    utilization: Option<Figure>,
    delay: &Delay,
    nearly_full: Option<Figure>,
    drops: &Gaps,
) -> Vec<(&'static str, String)> {
    let mut cells = vec![
        ("utilization", human::ratio(utilization)),
        ("delay mean", human::millis(delay.mean)),
        ("sd", human::millis(delay.sd)),
        ("p95", human::millis(delay.p95)),
        ("95 % full for", human::time(nearly_full)),
    ];
    cells.extend(gaps(drops));
    cells
}

fn delay(heads: [&'static str; 3], delay: &Delay) -> [(&'static str, String); 3] {
    let cells = [delay.p50, delay.p95, delay.p99].map(human::millis);
    let mut cells = cells.into_iter();
    heads.map(|head| (head, cells.next().unwrap_or_default()))
}

fn gaps(gaps: &Gaps) -> [(&'static str, String); 2] {
    [("gap of drops", human::millis(gaps.mean)), ("CoV", human::number(gaps.cov))]
}

/// Flows by what they offered and got, most first, and whether their packets are what to show.
/// Where goodput is known, senders were simulated: what they got says more than each packet's fate.
pub(crate) fn greatest(flows: &[Flow]) -> (Vec<&Flow>, bool) {
    let weight = |f: &Flow| {
        f.packets.map_or(0.0, |p| p.offered as f64) + f.throughput_bps.map_or(0.0, |t| t.mean())
    };
    let mut order: Vec<&Flow> = flows.iter().collect();
    order.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.index.cmp(&b.index)));
    let counted = order.iter().any(|f| f.packets.is_some() && f.goodput_bps.is_none());
    (order, counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_applies_to_nobody_has_no_column() {
        let group = Group {
            name: "tcp".into(),
            rtt_ms: Delay { p50: Figure::exact(20.0), ..Delay::default() },
            completions: Figure::exact(0.0),
            ..Group::default()
        };
        let document = Document { label: "red".into(), groups: vec![group], ..Document::default() };
        let detail = groups(&[&document]);
        assert_eq!(detail.heads, ["RTT p50"]);
        assert_eq!(
            detail.rows,
            [(["red".to_string(), "tcp".to_string()], vec!["20.0 ms".to_string()])]
        );
        assert!(queues(&[&document]).heads.is_empty());
    }

    fn group(name: &str, rtt: Option<f64>, again: f64) -> Group {
        Group {
            name: name.into(),
            rtt_ms: Delay { p50: rtt.and_then(Figure::exact), ..Delay::default() },
            retransmitted_bytes: Figure::exact(again),
            ..Group::default()
        }
    }

    fn cells(detail: &Detail, head: &str) -> Vec<String> {
        let at = detail.heads.iter().position(|known| *known == head).expect(head);
        detail.rows.iter().map(|(_, cells)| cells[at].clone()).collect()
    }

    #[test]
    fn every_row_has_a_cell_for_each_head() {
        let groups_of = |rtt| vec![group("tcp", rtt, 2_500.0), group("udp", None, 0.0)];
        let named = |label: &str, rtt| Document {
            label: label.into(),
            groups: groups_of(rtt),
            ..Document::default()
        };
        let (a, b) = (named("a", Some(20.0)), named("b", None));
        let detail = groups(&[&a, &b]);
        assert_eq!(detail.heads, ["RTT p50", "sent again"]);
        assert!(detail.rows.iter().all(|(_, cells)| cells.len() == 2));
        let names: Vec<[&str; 2]> =
            detail.rows.iter().map(|([a, b], _)| [a.as_str(), b.as_str()]).collect();
        assert_eq!(names, [["a", "tcp"], ["a", "udp"], ["b", "tcp"], ["b", "udp"]]);
        assert_eq!(cells(&detail, "RTT p50"), ["20.0 ms", "–", "–", "–"]);
        assert_eq!(cells(&detail, "sent again"), ["2.50 kB", "–", "2.50 kB", "–"], "0 is none");
    }

    #[test]
    fn every_managed_link_has_its_own_figures_behind_the_queues() {
        let link = |name: &str, used| crate::LinkResult {
            name: name.into(),
            utilization: Figure::exact(used),
            ..crate::LinkResult::default()
        };
        let mut document = Document { label: "red".into(), ..Document::default() };
        document.aggregate.utilization = Figure::exact(0.5);
        document.aggregate.norm_kbps = Figure::exact(12.0);
        document.aggregate.nearly_full_s = Figure::exact(0.25);
        document.links = vec![link("a->b", 0.9), link("b->c", 0.1)];
        let detail = queues(&[&document]);
        assert_eq!(detail.heads, ["norm", "utilization", "95 % full for"]);
        let names: Vec<&str> = detail.rows.iter().map(|([_, name], _)| name.as_str()).collect();
        assert_eq!(names, ["", "a->b", "b->c"]);
        assert_eq!(cells(&detail, "utilization"), ["50.0 %", "90.0 %", "10.0 %"]);
        assert_eq!(cells(&detail, "norm"), ["12.0 kbit/s", "–", "–"], "links have none");
        assert_eq!(cells(&detail, "95 % full for"), ["0.250 s", "–", "–"]);
    }

    #[test]
    fn the_greatest_flow_comes_first_and_of_equals_the_first() {
        let flow = |index: u64, bps: f64, offered: Option<u64>| Flow {
            index,
            throughput_bps: Figure::exact(bps),
            packets: offered.map(|offered| crate::Counts { offered, ..crate::Counts::default() }),
            ..Flow::default()
        };
        let order = |flows: &[Flow]| -> (Vec<u64>, bool) {
            let (order, counted) = greatest(flows);
            (order.iter().map(|flow| flow.index).collect(), counted)
        };
        assert_eq!(
            order(&[flow(0, 1.0, None), flow(1, 9.0, None), flow(2, 1.0, None)]),
            (vec![1, 0, 2], false)
        );
        assert_eq!(order(&[flow(0, 1.0, Some(5)), flow(1, 1.0, Some(9))]), (vec![1, 0], true));
        let mut simulated = flow(0, 1.0, Some(5));
        simulated.goodput_bps = Figure::exact(1.0);
        assert_eq!(order(&[simulated]), (vec![0], false), "goodput says more than packets");
        assert_eq!(order(&[]), (vec![], false));
    }
}
