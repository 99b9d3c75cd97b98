//! What the script draws: the figures of the charts and no more, small enough for a page.
use serde::Serialize;

use super::{ChartedResult, ReportInput};
use crate::{Conduct, Figure, Flow, Line, Series, SeriesQuantity, answer};

/// At most so many flows of a run are drawn; more bars than pixels say nothing.
const FLOWS: usize = 1200;
/// At most so many points of a line are drawn; of more, neighbours are averaged.
const POINTS: usize = 1000;

/// At most so many points of inner state, whose panels share the width.
const GAUGES: usize = 300;
/// At most so many points of a throughput, which is counted in packets: on a finer grid it is
/// noise.
const RATES: usize = 200;

/// The data of the page.
#[derive(Serialize)]
pub(super) struct PageView<'a> {
    /// Every group of any run, those that heed congestion first.
    groups: Vec<GroupLabel<'a>>,
    runs: Vec<RunView<'a>>,
}

#[derive(Serialize)]
struct GroupLabel<'a> {
    name: &'a str,
    conduct: Option<Conduct>,
}

#[derive(Serialize)]
struct RunView<'a> {
    title: &'a str,
    /// What its flows are called.
    members: &'static str,
    rate: Option<f64>,
    jain: Option<Figure>,
    utilization: Option<Figure>,
    p50: Option<Figure>,
    p99: Option<Figure>,
    groups: Vec<GroupView<'a>>,
    flows: Vec<FlowView<'a>>,
    series: Option<SeriesView<'a>>,
}

#[derive(Serialize)]
struct GroupView<'a> {
    name: &'a str,
    count: u64,
    throughput: Option<Figure>,
    fair: Option<f64>,
    share: Option<Figure>,
    /// Its worst user, where it has several.
    worst: Option<Figure>,
    loss: Option<Figure>,
}

#[derive(Serialize)]
struct FlowView<'a> {
    index: u64,
    label: &'a str,
    group: Option<&'a str>,
    throughput: Option<ChartNumber>,
    fair: Option<Short>,
    loss: Option<ChartNumber>,
}

#[derive(Serialize)]
struct SeriesView<'a> {
    time: ChartGrid,
    /// The grid of throughputs.
    coarse: ChartGrid,
    /// The grid of inner state.
    inner: ChartGrid,
    lines: Vec<LineView<'a>>,
}

/// Points of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum ChartGrid {
    /// So many, evenly spaced.
    Even { from: f64, step: f64, count: usize },
    /// Each by itself.
    Listed(Vec<Short>),
}

#[derive(Serialize)]
struct LineView<'a> {
    what: SeriesQuantity,
    name: &'a str,
    unit: &'a str,
    values: Vec<Option<Short>>,
}

/// A number with four digits, as many as a chart and its hints show.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Short(f64);

impl Serialize for Short {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Short(value) = *self;
        // A whole number is shorter without its `.0`.
        if value.fract() == 0.0 && value.abs() < 1e15 {
            to.serialize_i64(value as i64)
        } else {
            to.serialize_f64(value)
        }
    }
}

/// A figure with as many digits as a chart shows.
#[derive(Clone, Copy, Serialize)]
struct ChartNumber {
    mean: Short,
    ci95: Option<Short>,
}

fn drawn(figure: Option<Figure>) -> Option<ChartNumber> {
    figure.map(|f| ChartNumber { mean: short(f.mean()), ci95: f.ci95().map(short) })
}

impl<'a> PageView<'a> {
    /// The view of `input`.
    pub(super) fn of(input: &ReportInput<'a>) -> PageView<'a> {
        let mut groups: Vec<GroupLabel> = Vec::new();
        for group in input.runs.iter().flat_map(|run| &run.result.groups) {
            match groups.iter_mut().find(|known| known.name == group.name) {
                Some(known) => known.conduct = known.conduct.or(group.conduct),
                None => groups.push(GroupLabel { name: &group.name, conduct: group.conduct }),
            }
        }
        groups.sort_by_key(|group| group.conduct == Some(Conduct::Unresponsive));
        PageView { groups, runs: input.runs.iter().map(run_view).collect() }
    }
}

fn run_view<'a>(run: &ChartedResult<'a>) -> RunView<'a> {
    let ChartedResult { result, flows, series } = *run;
    let groups = result.groups.iter().map(|group| GroupView {
        name: &group.name,
        count: group.count,
        throughput: group.throughput_bps,
        fair: group.fair_share_bps.map(|f| f.mean()),
        share: answer::share(group),
        worst: answer::worst(group).map(|(share, _)| share),
        loss: group.loss_ratio,
    });
    RunView {
        title: result.title(),
        members: result.members(),
        rate: result.bottleneck.rate_bps,
        jain: result.aggregate.jain,
        utilization: result.aggregate.utilization,
        p50: result.aggregate.queue_delay_ms.p50,
        p99: result.aggregate.queue_delay_ms.p99,
        groups: groups.collect(),
        flows: flows_shown(flows).into_iter().map(flow_view).collect(),
        series: series.map(series_view),
    }
}

/// What no chart shows is left out: losses over time.
fn series_view(series: &Series) -> SeriesView<'_> {
    let step = |most: usize| series.time_s.len().div_ceil(most).max(1);
    let grid = |most: usize| grid(series.time_s.chunks(step(most)).map(|chunk| chunk[0]).collect());
    let most = |line: &Line| match line.what {
        SeriesQuantity::Throughput | SeriesQuantity::Loss => RATES,
        SeriesQuantity::Gauge => GAUGES,
        SeriesQuantity::Queue | SeriesQuantity::Delay => POINTS,
    };
    let lines = series.lines.iter().filter(|line| line.what != SeriesQuantity::Loss);
    SeriesView {
        time: grid(POINTS),
        coarse: grid(RATES),
        inner: grid(GAUGES),
        lines: lines.map(|line| line_view(line, step(most(line)))).collect(),
    }
}

fn grid(times: Vec<f64>) -> ChartGrid {
    let even = |from: f64, step: f64| {
        let off = |(n, time): (usize, &f64)| (from + n as f64 * step - time).abs() > step * 1e-6;
        !times.iter().enumerate().any(off)
    };
    if let [from, .., last] = times[..] {
        let step = (last - from) / (times.len() - 1) as f64;
        if even(from, step) {
            return ChartGrid::Even { from, step, count: times.len() };
        }
    }
    ChartGrid::Listed(times.into_iter().map(Short).collect())
}

fn flow_view(flow: &Flow) -> FlowView<'_> {
    FlowView {
        index: flow.index,
        label: &flow.label,
        group: flow.group.as_deref(),
        throughput: drawn(flow.throughput_bps),
        fair: flow.fair_share_bps.map(|f| short(f.mean())),
        loss: drawn(flow.loss_ratio),
    }
}

/// The flows that are drawn, in their order: all, or the greatest and an even sample of the others.
pub(super) fn flows_shown(flows: &[Flow]) -> Vec<&Flow> {
    if flows.len() <= FLOWS {
        return flows.iter().collect();
    }
    let throughput = |flow: &Flow| flow.throughput_bps.map_or(0.0, |f| f.mean());
    let mut sorted: Vec<&Flow> = flows.iter().collect();
    sorted.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)).then(a.index.cmp(&b.index)));
    let (greatest, rest) = sorted.split_at(FLOWS / 2);
    let mut shown = greatest.to_vec();
    shown.extend(rest.iter().step_by(rest.len().div_ceil(FLOWS / 2)));
    shown.sort_by_key(|flow| flow.index);
    shown
}

/// A line with each `step` neighbours averaged, and as many digits as a screen can show.
fn line_view(line: &Line, step: usize) -> LineView<'_> {
    let values = line.values.chunks(step).map(|chunk| {
        let seen: Vec<f64> = chunk.iter().flatten().copied().filter(|v| v.is_finite()).collect();
        (!seen.is_empty()).then(|| short(seen.iter().sum::<f64>() / seen.len() as f64))
    });
    LineView { what: line.what, name: &line.name, unit: &line.unit, values: values.collect() }
}

fn short(value: f64) -> Short {
    Short(format!("{value:.3e}").parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_too_many_flows_the_greatest_stay() {
        let flows: Vec<Flow> = (0..100_000)
            .map(|index| Flow {
                index,
                throughput_bps: Figure::exact(index as f64),
                ..Flow::default()
            })
            .collect();
        let shown = flows_shown(&flows);
        assert!(shown.len() <= FLOWS && shown.len() > FLOWS / 2, "{}", shown.len());
        assert!(
            shown[shown.len() - FLOWS / 2..]
                .iter()
                .zip(99_400..)
                .all(|(flow, index)| flow.index == index)
        );
        assert!(shown[0].index < 200, "the least are there too: {}", shown[0].index);
    }

    #[test]
    fn long_lines_are_averaged_and_gaps_stay() {
        let line = Line::new(SeriesQuantity::Delay, "d", "ms", [1.0, 3.0, f64::NAN, f64::NAN, 5.0]);
        assert_eq!(line_view(&line, 2).values, [Some(Short(2.0)), None, Some(Short(5.0))]);
    }

    #[test]
    fn throughputs_stand_on_a_grid_that_can_be_read() {
        let many = || (0..4000).map(f64::from);
        let lines = [SeriesQuantity::Throughput, SeriesQuantity::Queue]
            .map(|what| Line::new(what, "l", "", many()));
        let series = Series { seed: None, time_s: many().collect(), lines: lines.into() };
        let view = series_view(&series);
        let count = |grid: &ChartGrid| match grid {
            ChartGrid::Even { from, step, count } => {
                assert_eq!((*from, *step), (0.0, (4000 / count) as f64));
                *count
            }
            ChartGrid::Listed(times) => times.len(),
        };
        let lengths = [
            count(&view.coarse),
            view.lines[0].values.len(),
            count(&view.time),
            view.lines[1].values.len(),
        ];
        assert_eq!(lengths, [RATES, RATES, POINTS, POINTS]);
        let uneven = grid(vec![0.0, 0.1, 0.3]);
        assert_eq!(uneven, ChartGrid::Listed([0.0, 0.1, 0.3].map(Short).into()));
        assert_eq!(serde_json::to_string(&short(9_866_670.0)).unwrap(), "9867000");
    }

    fn times() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.001..2.0f64, 1..60).prop_map(|steps| {
            steps
                .into_iter()
                .scan(0.0, |at, step| {
                    *at += step;
                    Some(*at)
                })
                .collect()
        })
    }

    proptest! {
        /// A grid says each time again: even ones by their step, others one by one.
        #[test]
        fn a_grid_says_every_time(times in times(), from in -5.0..5.0f64, step in 0.01..3.0f64) {
            let ChartGrid::Listed(listed) = grid(times.clone()) else {
                prop_assert!(times.len() <= 2, "{times:?} are not even");
                return Ok(());
            };
            prop_assert_eq!(listed.iter().map(|time| time.0).collect::<Vec<_>>(), times.clone());
            let even: Vec<f64> = (0..times.len() + 1).map(|n| from + n as f64 * step).collect();
            let ChartGrid::Even { from: begin, step: by, count } = grid(even.clone()) else {
                panic!("{even:?} are even");
            };
            prop_assert_eq!((begin, count), (even[0], even.len()));
            prop_assert!((by - step).abs() < 1e-9);
        }

        /// Means of neighbours lie between them, and a gap stays one only where nothing was seen.
        #[test]
        fn a_shortened_line_keeps_its_range(
            values in prop::collection::vec(prop::option::of(1.0..1e6f64), 1..50),
            step in 1..9usize,
        ) {
            let empty = Line::new(SeriesQuantity::Queue, "q", "", []);
            let line = Line { values: values.clone(), ..empty };
            let view = line_view(&line, step);
            prop_assert_eq!(view.values.len(), values.len().div_ceil(step));
            for (shown, chunk) in view.values.iter().zip(values.chunks(step)) {
                let seen: Vec<f64> = chunk.iter().flatten().copied().collect();
                prop_assert_eq!(shown.is_some(), !seen.is_empty());
                let Some(Short(shown)) = shown else { continue };
                let least = seen.iter().copied().fold(f64::MAX, f64::min);
                let most = seen.iter().copied().fold(0.0, f64::max);
                prop_assert!((least * 0.999..=most * 1.001).contains(shown), "{shown}: {seen:?}");
            }
        }
    }

    #[test]
    fn a_number_takes_no_more_room_than_it_needs() {
        for (value, text) in [
            (1e6 / 3.0, "333300"),
            (0.123_456, "0.1235"),
            (-2.0, "-2"),
            (0.0, "0"),
            (1e20, "1e+20"),
        ] {
            assert_eq!(serde_json::to_string(&short(value)).unwrap(), text);
        }
    }

    #[test]
    fn groups_that_heed_nothing_come_last_and_each_once() {
        let group = |name: &str, conduct| crate::Group {
            name: name.into(),
            conduct,
            ..crate::Group::default()
        };
        let document =
            |groups: Vec<crate::Group>| crate::Document { groups, ..crate::Document::default() };
        let heedless = Some(Conduct::Unresponsive);
        let one = document(vec![group("flood", heedless), group("tcp", None)]);
        let other = document(vec![group("tcp", Some(Conduct::Responsive)), group("voip", None)]);
        let runs = vec![ChartedResult::of(&one), ChartedResult::of(&other)];
        let view = PageView::of(&ReportInput { runs, ..ReportInput::default() });
        let names: Vec<(&str, Option<Conduct>)> =
            view.groups.iter().map(|group| (group.name, group.conduct)).collect();
        let tcp = ("tcp", Some(Conduct::Responsive));
        assert_eq!(names, [tcp, ("voip", None), ("flood", heedless)]);
    }

    #[test]
    fn losses_over_time_are_not_drawn() {
        let lines = [SeriesQuantity::Loss, SeriesQuantity::Gauge]
            .map(|what| Line::new(what, "l", "", (0..900).map(f64::from)));
        let series =
            Series { seed: None, time_s: (0..900).map(f64::from).collect(), lines: lines.into() };
        let view = series_view(&series);
        assert_eq!(view.lines.len(), 1);
        assert_eq!(
            (view.lines[0].what, view.lines[0].values.len()),
            (SeriesQuantity::Gauge, GAUGES)
        );
        let few = Series { time_s: vec![], lines: vec![], seed: None };
        assert_eq!(series_view(&few).time, ChartGrid::Listed(vec![]), "nothing happened");
    }
}
