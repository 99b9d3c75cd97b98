//! `/metrics`: a snapshot as OpenMetrics 1.0, for Prometheus and what understands it.
//!
//! Base units throughout: seconds, bytes, ratios. Labels name links, directions, reasons, classes
//! and gauges; flows come and go by the million and have none. [`FAMILIES`] is the whole list.
mod families;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::{Method, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

pub use families::FAMILIES;

use crate::watch::counters::Tally;
use crate::watch::http::{Site, only_get, refused, said};
use crate::watch::snapshot::{DelayHistogram, Snapshot};

/// Where the page is.
pub const PATH: &str = "/metrics";
/// What the page is (OpenMetrics 1.0, "Content Negotiation").
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A site with one page at [`PATH`], which `page` writes anew for each who asks.
pub fn site(page: impl Fn() -> String + Send + Sync + 'static) -> Arc<Site> {
    Arc::new(move |request| match (request.uri().path(), request.method()) {
        (PATH, &Method::GET) => said(StatusCode::OK, OPEN_METRICS, page()),
        (PATH, _) => only_get(),
        _ => refused(StatusCode::NOT_FOUND, "what there is to see is at /metrics"),
    })
}

/// What a family of figures is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// Goes up only, from the start of the process on; its samples end in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many did not exceed each of some bounds; counters, too.
    Histogram,
    /// Words, as labels of a sample that is 1 and ends in `_info`.
    Info,
}

impl FamilyKind {
    /// The kind as OpenMetrics calls it.
    pub const fn name(self) -> &'static str {
        match self {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
            FamilyKind::Info => "info",
        }
    }

    /// What its samples' names end in.
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            FamilyKind::Counter => &["_total"],
            FamilyKind::Gauge => &[""],
            FamilyKind::Histogram => &["_bucket", "_sum", "_count"],
            FamilyKind::Info => &["_info"],
        }
    }

    const fn metric_type(self) -> MetricType {
        match self {
            FamilyKind::Counter => MetricType::Counter,
            FamilyKind::Gauge => MetricType::Gauge,
            FamilyKind::Histogram => MetricType::Histogram,
            FamilyKind::Info => MetricType::Info,
        }
    }
}

/// Figures of one name.
pub struct Family {
    /// Its name without the unit.
    stem: &'static str,
    /// Its unit, which is the end of its name; empty if it has none.
    pub unit: &'static str,
    /// What it is.
    pub kind: FamilyKind,
    /// The labels of each sample, in order.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub help: &'static str,
    /// Its samples.
    read: fn(&Snapshot) -> Vec<MetricSample>,
}

impl Family {
    /// Its name with the unit, as it is queried, without what its samples [end
    /// in](FamilyKind::endings).
    pub fn name(&self) -> String {
        match self.unit {
            "" => self.stem.into(),
            unit => format!("{}_{unit}", self.stem),
        }
    }

    fn encode(&self, samples: &[MetricSample], encoder: &mut DescriptorEncoder) -> fmt::Result {
        let unit = (!self.unit.is_empty()).then(|| Unit::Other(self.unit.into()));
        let mut family = encoder.encode_descriptor(
            self.stem,
            self.help,
            unit.as_ref(),
            self.kind.metric_type(),
        )?;
        for MetricSample { values, value } in samples {
            let labels: Vec<_> =
                self.labels.iter().copied().zip(values.iter().map(|value| &**value)).collect();
            match value {
                None => family.encode_info(&labels)?,
                Some(value) if labels.is_empty() => value.encode(&mut family)?,
                Some(value) => value.encode(&mut family.encode_family(&labels)?)?,
            }
        }
        Ok(())
    }
}

/// One figure: the values of its labels, and itself; none where the labels say all.
struct MetricSample {
    values: Vec<Cow<'static, str>>,
    value: Option<MetricValue>,
}

/// A figure.
enum MetricValue {
    Count(u64),
    Level(f64),
    Delays(DelayHistogram),
}

impl MetricValue {
    fn encode(&self, to: &mut MetricEncoder) -> fmt::Result {
        match self {
            MetricValue::Count(count) => to.encode_counter::<NoLabelSet, _, f64>(count, None),
            MetricValue::Level(level) => to.encode_gauge(level),
            MetricValue::Delays(delays) => {
                // Each bucket counts those below it, too; the encoder adds them up by itself.
                let bounds = delays.at_most.iter().map(|bucket| (bucket.le_s, bucket.frames));
                let mut below = 0;
                let buckets: Vec<(f64, u64)> = bounds
                    .chain([(f64::INFINITY, delays.frames)])
                    .map(|(bound, at_most)| {
                        (bound, at_most.saturating_sub(std::mem::replace(&mut below, at_most)))
                    })
                    .collect();
                to.encode_histogram::<NoLabelSet>(delays.sum_s, delays.frames, &buckets, None)
            }
        }
    }
}

/// Writes pages of snapshots.
#[derive(Debug, Default)]
pub struct Pages(Mutex<MostSent>);

/// The most that each direction of each link was seen to have sent.
type MostSent = BTreeMap<String, [Tally; 2]>;

impl Pages {
    /// `snapshot` as a page.
    pub fn page(&self, mut snapshot: Snapshot) -> String {
        // Whoever panicked with it has left nothing half done.
        up_only(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), &mut snapshot);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(SnapshotFigures(snapshot)));
        let mut page = String::new();
        encode(&mut page, &registry).expect("there is always room in a text");
        page
    }
}

/// Frames that an interface did not take after all are taken back from those sent. A counter that
/// goes back would be read as a start: it stays where it was until as many more have been sent.
fn up_only(sent: &mut MostSent, snapshot: &mut Snapshot) {
    for link in &mut snapshot.links {
        let most = sent.entry(link.name.clone()).or_default();
        for (most, way) in most.iter_mut().zip([&mut link.managed, &mut link.reverse]) {
            *most = Tally {
                frames: most.frames.max(way.sent.frames),
                bytes: most.bytes.max(way.sent.bytes),
            };
            way.sent = *most;
        }
    }
}

/// All figures of a snapshot.
#[derive(Debug)]
struct SnapshotFigures(Snapshot);

impl Collector for SnapshotFigures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for family in FAMILIES {
            let samples = (family.read)(&self.0);
            if !samples.is_empty() {
                family.encode(&samples, &mut encoder)?;
            }
        }
        Ok(())
    }
}
