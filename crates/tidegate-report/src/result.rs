//! The result document, `tidegate.result/1`: what one queue did to one mix of traffic.
//!
//! It says the same whether the packets were simulated, replayed from a capture or measured on a
//! gateway. Fields may be added to the schema, never changed; a reader ignores what it does not
//! know. The JSON Schema is `schema/tidegate.result-1.json` in this crate, also as [`SCHEMA`].
//!
//! ```
//! use tidegate_report::{Document, Figure, Group, PacketSource};
//! let document = Document {
//!     source: PacketSource::Simulated,
//!     scenario: "flood".into(),
//!     groups: vec![Group {
//!         name: "tcp".into(),
//!         count: 10,
//!         throughput_bps: Figure::exact(9.1e6),
//!         ..Group::default()
//!     }],
//!     ..Document::default()
//! };
//! let text = document.to_json();
//! assert!(text.contains(r#""schema": "tidegate.result/1""#));
//! assert_eq!(Document::read_all(&text)?, vec![document]);
//! # Ok::<(), serde_json::Error>(())
//! ```
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Figure;
use crate::metrics::{Aggregate, Flow, Group};
use crate::parts::{Delay, Gaps};

/// The JSON Schema (draft 2020-12) of the document.
pub const SCHEMA: &str = include_str!("../schema/tidegate.result-1.json");

/// The schema's name and version. There is one, so it takes no room; another is refused when read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchemaName {
    /// `tidegate.result/1`.
    #[default]
    #[serde(rename = "tidegate.result/1")]
    Result1,
}

/// Where the packets came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketSource {
    /// From the simulator's sources.
    #[default]
    Simulated,
    /// From a capture, offered at their recorded times: senders did not react.
    Replayed,
    /// From a real network device.
    Measured,
}

/// One queue's result in one scenario.
///
/// Every [`Figure`] is a mean over the replications (one per seed); `None`, written `null`, where
/// it does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// `tidegate.result/1`.
    pub schema: SchemaName,
    /// Where the packets came from.
    pub source: PacketSource,
    /// The scenario's name, or the capture's.
    pub scenario: String,
    /// What this result is called beside others; by default the queue's name.
    pub label: String,
    /// The queue at the bottleneck.
    pub queue: Queue,
    /// The seed of each replication, in order. Empty where no dice were rolled.
    pub seeds: Vec<u64>,
    /// The version of Tidegate that made this.
    pub version: String,
    /// Time the work took, over all replications side by side, in seconds of the wall clock.
    pub wall_s: Option<f64>,
    /// Events the simulator handled, over all replications.
    pub events: Option<u64>,
    /// Packets offered to the queue, over all replications.
    pub packets: Option<u64>,
    /// Why the input could not be read to its end, or what of it was passed over: the figures are
    /// of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Links without a queue that cannot carry what fixed-rate sources offer them: less arrives
    /// than the scenario says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overloads: Vec<crate::Overload>,
    /// The bottleneck and the time that was measured.
    #[serde(default)]
    pub bottleneck: Bottleneck,
    /// All flows together.
    pub aggregate: Aggregate,
    /// Each managed link, where there are several; `aggregate` is of the watched one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkResult>,
    /// Groups of flows, in the scenario's order.
    pub groups: Vec<Group>,
    /// Each flow, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<Flow>>,
    /// Groups that had not settled when the warm-up ended. Empty where all had, or where nobody
    /// looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<Unsettled>,
}

/// A group whose throughput early in the measured time is not what it is later: the warm-up is too
/// short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unsettled {
    /// The group's name.
    pub group: String,
    /// Its throughput over the first quarter of the measured time, in bit/s.
    pub early_bps: f64,
    /// Its throughput over the second half, in bit/s.
    pub late_bps: f64,
    /// A warm-up after which it is steady, in seconds from the start; `None` if no such time was
    /// found within the run.
    pub warmup_s: Option<f64>,
}

/// The queue and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name in the catalog.
    pub name: String,
    /// The preset its parameters started from, if any.
    pub preset: Option<String>,
    /// Every parameter as users write it, with its unit: `"limit": "50 packets"`.
    pub params: BTreeMap<String, String>,
}

/// The link that the queue guards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bottleneck {
    /// Its rate, in bit/s.
    pub rate_bps: Option<f64>,
    /// The hard limit of the queue, as text with its unit.
    pub limit: Option<String>,
    /// The time over which rates were taken in each replication, in seconds.
    pub duration_s: Option<f64>,
    /// The time before that, which was discarded, in seconds.
    pub warmup_s: Option<f64>,
    /// What makes packets one flow to the queue (`source`), where that is not the connection that
    /// groups count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_key: Option<String>,
    /// How many flows that key makes of all connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_count: Option<u64>,
}

/// One of several managed links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Its ends, as in `A->B`.
    pub name: String,
    /// Its rate, in bit/s.
    pub rate_bps: f64,
    /// Bits sent over bits it could have sent, 0 to 1.
    pub utilization: Option<Figure>,
    /// Waiting time in its queue, in ms.
    pub queue_delay_ms: Delay,
    /// Packets lost over packets offered, 0 to 1.
    pub loss_ratio: Option<Figure>,
    /// Packets marked over packets offered, 0 to 1.
    pub mark_ratio: Option<Figure>,
    /// Mean length of its queue over time, in packets.
    pub queue_packets: Option<Figure>,
    /// As [`crate::Aggregate::nearly_full_s`].
    pub nearly_full_s: Option<Figure>,
    /// Gaps between successive drops of its queue.
    pub drop_gap_ms: Gaps,
    /// As [`crate::Aggregate::wire_loss_ratio`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_loss_ratio: Option<Figure>,
}

impl Document {
    /// The document as JSON, indented, without a line feed at the end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("names are strings and numbers are numbers or null")
    }

    /// A list of documents as JSON, as `compare` prints it.
    pub fn list_to_json(documents: &[Document]) -> String {
        serde_json::to_string_pretty(documents)
            .expect("names are strings and numbers are numbers or null")
    }

    /// Reads one document or a list of them. Unknown fields are ignored.
    ///
    /// # Errors
    /// No JSON, or JSON that is no such document; the error has line and column.
    pub fn read_all(text: &str) -> Result<Vec<Document>, serde_json::Error> {
        if text.trim_start().starts_with('[') {
            serde_json::from_str(text)
        } else {
            serde_json::from_str(text).map(|document| vec![document])
        }
    }

    /// What its groups count and its flows are: `connections` where the queue makes one flow of
    /// several, else `flows`.
    pub fn members(&self) -> &'static str {
        if self.bottleneck.flow_key.is_some() { "connections" } else { "flows" }
    }

    /// The label, or the queue's name where there is none.
    pub fn title(&self) -> &str {
        if self.label.is_empty() { &self.queue.name } else { &self.label }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_document_and_a_list_are_told_apart_by_their_first_sign() {
        let named = |scenario: &str| Document { scenario: scenario.into(), ..Document::default() };
        let (a, b) = (named("a"), named("[b]"));
        assert_eq!(Document::read_all(&b.to_json()).unwrap(), std::slice::from_ref(&b));
        let list = format!("\n\t {}", Document::list_to_json(&[a.clone(), b.clone()]));
        assert_eq!(Document::read_all(&list).unwrap(), [a, b]);
        assert_eq!(Document::read_all("[]").unwrap(), []);
        for nothing in ["", " ", "{}", "null", "[1]", "tidegate"] {
            assert!(Document::read_all(nothing).is_err(), "{nothing:?}");
        }
    }

    /// A reader of a document of a later version, or of an earlier one, learns which it is.
    #[test]
    fn another_version_is_refused_by_its_name() {
        let text = Document::default().to_json().replace("tidegate.result/1", "tidegate.result/2");
        let error = Document::read_all(&text).unwrap_err().to_string();
        assert!(error.contains("tidegate.result/2") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_result_is_called_by_its_label_and_else_by_its_queue() {
        let mut document = Document::default();
        document.queue.name = "red".into();
        assert_eq!((document.title(), document.members()), ("red", "flows"));
        document.label = "red, tuned".into();
        document.bottleneck.flow_key = Some("source".into());
        assert_eq!((document.title(), document.members()), ("red, tuned", "connections"));
    }

    #[test]
    fn what_is_not_there_takes_no_room() {
        let text = Document::default().to_json();
        for field in ["incomplete", "overloads", "links", "flows\"", "unsettled", "flow_key"] {
            assert!(!text.contains(field), "{field}: {text}");
        }
        for field in ["\"wall_s\": null", "\"groups\": []", "\"source\": \"simulated\""] {
            assert!(text.contains(field), "{field}: {text}");
        }
    }
}
