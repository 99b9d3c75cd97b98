//! What Tidegate says: the result document, tables for a terminal, and the HTML report.
//!
//! This crate knows neither the simulator nor the gateway nor where files lie: a result may be
//! simulated, replayed or measured, and looks the same.
pub mod answer;
pub mod detail;
pub mod fair;
pub mod figure;
pub mod html;
pub mod human;
pub mod interval;
pub mod overload;
pub mod papers;
pub mod result;
pub mod series;
pub mod table;

pub use figure::Figure;
pub use overload::Overload;
pub use result::{
    Aggregate, Bottleneck, Conduct, Counts, Delay, Document, Flow, Gaps, Group, Link, OverFlows,
    PerFlow, Queue, SCHEMA, SchemaName, Source, Unsettled,
};
pub use series::{Line, Quantity, Series};
