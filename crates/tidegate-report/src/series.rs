//! What happened over time in one replication. Kept out of the result document; drawn by the
//! report, and written beside it as JSON.
use serde::{Deserialize, Serialize};

/// Lines on one grid of time, from one replication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The replication's seed, where dice were rolled.
    pub seed: Option<u64>,
    /// The grid, in seconds since the start, rising.
    pub time_s: Vec<f64>,
    /// The lines; each has one value per point of the grid.
    pub lines: Vec<Line>,
}

/// One quantity over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it shows; decides the chart it is drawn in.
    pub what: SeriesQuantity,
    /// Its name: of a group for a rate, of a gauge in the paper's terms (`avg`, `p_m`), else any.
    pub name: String,
    /// Unit of the values: `packets`, `bytes`, `ms`, `bit/s`; empty for a pure number.
    pub unit: String,
    /// A value at each point of the grid; `None`, written `null`, where nothing was seen.
    pub values: Vec<Option<f64>>,
}

/// What a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesQuantity {
    /// Length of the queue, in packets or bytes.
    Queue,
    /// Waiting time in the queue, in ms.
    Delay,
    /// Throughput of a group, in bit/s.
    Throughput,
    /// What was lost: of a group in bit/s, at the queue as dropped over offered packets.
    Loss,
    /// Inner state of the queue.
    Gauge,
}

impl Line {
    /// A line with its values; what is not finite becomes a gap.
    pub fn new(
        what: SeriesQuantity,
        name: impl Into<String>,
        unit: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
    ) -> Line {
        let values = values.into_iter().map(|v| v.is_finite().then_some(v)).collect();
        Line { what, name: name.into(), unit: unit.into(), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JSON has no NaN: a gap is written as null, and read back as one.
    #[test]
    fn a_gap_is_null_and_stays_one() {
        let values = [1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.25];
        let line = Line::new(SeriesQuantity::Gauge, "p_m", "", values);
        assert_eq!(line.values, [Some(1.5), None, None, None, Some(-0.25)]);
        let series =
            Series { seed: Some(7), time_s: vec![0.0, 0.1, 0.2, 0.3, 0.4], lines: vec![line] };
        let text = serde_json::to_string(&series).unwrap();
        assert!(text.contains("\"values\":[1.5,null,null,null,-0.25]"), "{text}");
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
        let without = Series { seed: None, ..Series::default() };
        assert_eq!(
            serde_json::to_string(&without).unwrap(),
            r#"{"seed":null,"time_s":[],"lines":[]}"#
        );
    }

    #[test]
    fn quantities_have_the_names_that_the_charts_know() {
        for (what, name) in [
            (SeriesQuantity::Queue, "queue"),
            (SeriesQuantity::Delay, "delay"),
            (SeriesQuantity::Throughput, "throughput"),
            (SeriesQuantity::Loss, "loss"),
            (SeriesQuantity::Gauge, "gauge"),
        ] {
            assert_eq!(serde_json::to_value(what).unwrap(), name);
        }
        assert!(serde_json::from_str::<SeriesQuantity>("\"Queue\"").is_err());
    }
}
