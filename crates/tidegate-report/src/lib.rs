//! What Tidegate says: the result document, tables for a terminal, and the HTML report.
//!
//! This crate knows neither the simulator nor the gateway nor where files lie: a result may be
//! simulated, replayed or measured, and looks the same.
pub mod answer;
pub mod detail;
pub mod diff;
pub mod fair;
pub mod figure;
pub mod html;
pub mod human;
pub mod interval;
mod metric;
pub mod metrics;
pub mod overload;
#[cfg(feature = "print")]
pub mod page;
#[cfg(feature = "print")]
pub mod papers;
mod parts;
pub mod plot;
pub mod pool;
pub mod result;
pub mod series;
#[cfg(feature = "print")]
pub mod suite;
#[cfg(feature = "print")]
pub mod table;
pub mod tidy;

pub use figure::Figure;
pub use metric::{Metric, Pool};
pub use metrics::{Aggregate, AggregateSample, Flow, FlowSample, Group, GroupSample};
pub use overload::Overload;
pub use parts::{Conduct, Counts, Delay, Gaps, OverFlows, PerFlow};
pub use result::{
    Bottleneck, Document, LinkResult, PacketSource, Queue, SCHEMA, SchemaName, Unsettled,
};
pub use series::{Line, Series, SeriesQuantity};
pub use tidy::Tidy;
