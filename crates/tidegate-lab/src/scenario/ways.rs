//! The two ways of a managed link: what it does besides, and the way back.
use std::io;
use std::path::Path;

use tidegate::bottleneck::Trace;
use tidegate::config::Params;
use tidegate::{Link, Rate, Span};

use super::medium::{Back, Capacity, Medium, Ways};
use super::model::{Dumbbell, Network, Scenario};
use crate::reader::{Node, Reader, Table};
use crate::spec::QueueSpec;

/// A queue of a network's description, and the link behind it.
pub(crate) struct ManagedLink<'s> {
    /// The ends, as in `A->B`.
    pub name: String,
    pub link: Link,
    /// The queue that it names.
    pub queue: Option<&'s QueueSpec>,
    pub watched: bool,
    /// The path of its table.
    pub path: String,
}

/// What one way of a link does besides.
pub(crate) struct OfLink<'s> {
    /// The link's place, from 0, among those of the network's description.
    pub place: usize,
    pub is_back: bool,
    pub rate: Rate,
    pub medium: &'s Medium,
}

impl Ways {
    /// What `path`, `there` with this way back, has in managed queues.
    fn managed<'s>(
        &'s self,
        there: Option<ManagedLink<'s>>,
        [from, to]: [&str; 2],
        mean_packet: tidegate::Bytes,
        path: &str,
    ) -> impl Iterator<Item = ManagedLink<'s>> {
        let back = self.back.as_ref().and_then(|back| {
            Some(ManagedLink {
                name: format!("{to}->{from}"),
                link: Link { rate: back.rate, limit: back.limit?, mean_packet },
                queue: back.queue.as_ref(),
                watched: false,
                path: format!("{path}.back"),
            })
        });
        there.into_iter().chain(back)
    }
}

impl Scenario {
    /// What every link of the network's description does besides, both ways, with its place among
    /// them.
    pub(crate) fn media(&self) -> Vec<OfLink<'_>> {
        let links: Vec<(Rate, &Ways)> = match &self.network {
            Network::Dumbbell(dumbbell, ways) => vec![(dumbbell.rate, ways)],
            Network::Graph(graph) => graph.links.iter().map(|l| (l.rate, &l.ways)).collect(),
        };
        let mut media = vec![];
        for (place, (rate, ways)) in links.into_iter().enumerate() {
            media.push(OfLink { place, is_back: false, rate, medium: &ways.medium });
            media.extend(ways.back.as_ref().map(|back| OfLink {
                place,
                is_back: true,
                rate: back.rate,
                medium: &back.medium,
            }));
        }
        media
    }

    /// The path of the table in which `of` is described.
    pub(crate) fn path(&self, of: &OfLink<'_>) -> String {
        let back = if of.is_back { ".back" } else { "" };
        match &self.network {
            Network::Dumbbell(..) => format!("network{back}"),
            Network::Graph(_) => format!("link.{}{back}", of.place + 1),
        }
    }

    /// Every managed queue of the network, in order.
    pub(crate) fn managed(&self) -> Vec<ManagedLink<'_>> {
        match &self.network {
            Network::Dumbbell(d, ways) => {
                let link = Link { rate: d.rate, limit: d.limit, mean_packet: d.mean_packet };
                let (name, path) = ("left->right".into(), "network".into());
                let there = ManagedLink { name, link, queue: None, watched: true, path };
                ways.managed(Some(there), ["left", "right"], d.mean_packet, "network").collect()
            }
            Network::Graph(graph) => {
                let mut all = vec![];
                for (i, line) in graph.links.iter().enumerate() {
                    let path = format!("link.{}", i + 1);
                    let there = line.limit.map(|limit| ManagedLink {
                        name: format!("{}->{}", line.from, line.to),
                        link: Link { rate: line.rate, limit, mean_packet: graph.mean_packet },
                        queue: line.queue.as_ref(),
                        watched: line.watch,
                        path: path.clone(),
                    });
                    let ends = [line.from.as_str(), line.to.as_str()];
                    all.extend(line.ways.managed(there, ends, graph.mean_packet, &path));
                }
                all
            }
        }
    }
}

/// The keys of [`Ways`].
pub(super) fn way_keys() -> Vec<&'static str> {
    Medium::PARAMS.iter().map(|param| param.name).chain(["back"]).collect()
}

impl Reader<'_> {
    /// What the table of a link of such `rate` and `delay`, which may have a queue if it is
    /// `managed`, says of its ways.
    pub(super) fn ways(
        &mut self,
        table: &Table<'_>,
        (rate, delay): (Rate, Span),
        managed: bool,
    ) -> Ways {
        let medium = self.medium(table, managed);
        let back = table
            .get("back")
            .map(|node| Box::new(self.back(node, &table.field("back."), (rate, delay))));
        Ways { medium, back }
    }

    fn back(&mut self, node: &Node, path: &str, (rate, delay): (Rate, Span)) -> Back {
        let table = self.table(node, path);
        let own = ["rate", "delay", "limit", "queue"];
        let medium = Medium::PARAMS.iter().map(|param| param.name);
        self.only(&table, "a link's `back`", &own.into_iter().chain(medium).collect::<Vec<_>>());
        let mut line = Dumbbell { rate, delay, ..Dumbbell::default() };
        self.params_of(&table, &mut line, |name| matches!(name, "rate" | "delay" | "limit"));
        let limit = table.get("limit").map(|_| line.limit);
        if limit.is_none() && table.get("queue").is_some() {
            self.refuse_key(&table, "queue", "a way back with a queue needs a limit");
        }
        Back {
            rate: line.rate,
            delay: line.delay,
            limit,
            queue: table.get("queue").map(|node| self.queue(node, &table.field("queue"))),
            medium: self.medium(&table, limit.is_some()),
        }
    }

    fn medium(&mut self, table: &Table<'_>, managed: bool) -> Medium {
        let mut medium = Medium::default();
        self.params_of(table, &mut medium, |_| true);
        for param in
            Medium::PARAMS.iter().filter(|param| !managed && table.get(param.name).is_some())
        {
            let why = "is for links with a queue: this one has no limit, and so none";
            self.refuse_key(table, param.name, why);
        }
        if let Capacity::Trace(file, trace) = &mut medium.capacity {
            let directory = Path::new(self.doc.file).parent().unwrap_or(Path::new(""));
            let path = directory.join(&*file);
            match read_trace(&path) {
                Ok(read) => *trace = Some(read),
                Err(why) => {
                    self.refuse_key(table, "capacity", format!("{}: {why}", path.display()));
                }
            }
        }
        medium
    }
}

/// The trace in the file `path`, which is read here so that a mistake is known before anything
/// runs.
fn read_trace(path: &Path) -> Result<Trace, String> {
    let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("is no file".into());
    }
    if meta.len() > MOST_BYTES {
        return Err(format!("has {} bytes; at most {MOST_BYTES} are read", meta.len()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable_trace(&error))?;
    text.parse::<Trace>().map_err(|error| error.to_string())
}

/// Why a trace cannot be read.
pub fn unreadable_trace(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidData {
        return "is no text; a trace has a time in whole milliseconds on each line".into();
    }
    error.to_string()
}

/// The longest file of a trace: ten million lines of ten digits.
const MOST_BYTES: u64 = 110_000_000;
