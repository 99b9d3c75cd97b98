//! The figures behind the first table, as rows of text for the terminal and the report: delays from
//! end to end, what was sent again, how even rates and drops were, finished transfers, and each
//! queue by itself. Columns that apply to nobody are left out.
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
}
