//! One direction of a shell's link.
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tidegate::bottleneck::Trace;
use tidegate::{Bytes, ConfigError, Prob, Rate, Size};
use tidegate_gateway::machine::clock;
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::pace::Paced;
use tidegate_gateway::run::way::Way;
use tidegate_lab::QueueSpec;
use tidegate_lab::scenario::unreadable_trace;

use crate::command::gate::link::WantedDirection;
use crate::failure::Failure;

/// The usual length of a packet, as for a gate.
const MEAN_PACKET: Bytes = Bytes::new(1000);
/// The queue where nobody names one.
const USUAL: &str = "drop_tail";
/// The longest file of a trace, in bytes.
const MOST_TEXT: u64 = 100_000_000;

/// What is wanted of one direction.
#[derive(Debug)]
pub struct SideOptions {
    /// Which: `up` is from the command.
    pub name: &'static str,
    /// What limits it, if anything does.
    pub capacity: Option<DirectionCapacity>,
    /// The queue; the usual one if none is named.
    pub queue: Option<QueueSpec>,
    /// How much may wait.
    pub limit: Option<Size>,
    /// What the link loses.
    pub loss: Prob,
}

/// What limits a direction.
#[derive(Clone, Debug)]
pub enum DirectionCapacity {
    /// A rate.
    Rate(Rate),
    /// The trace in this file.
    Trace(PathBuf),
}

impl DirectionCapacity {
    /// The one of both that is named.
    pub fn of(rate: Option<Rate>, trace: Option<&Path>) -> Option<DirectionCapacity> {
        trace
            .map(|path| DirectionCapacity::Trace(path.into()))
            .or(rate.map(DirectionCapacity::Rate))
    }
}

/// Whether what is wanted of a queue finds one in some direction.
///
/// # Errors
/// There is none.
pub fn of_some_use(sides: &[SideOptions; 2]) -> Result<(), Failure> {
    let useless = |side: &SideOptions| side.capacity.is_none();
    let wants = |side: &SideOptions| side.queue.is_some() || side.limit.is_some();
    if sides.iter().all(useless) && sides.iter().any(wants) {
        let why = "nothing waits where nothing limits: a --queue or a --limit needs a --rate or a \
                   --trace";
        return Err(Failure::Input(why.into()));
    }
    Ok(())
}

impl SideOptions {
    /// The direction, checked.
    ///
    /// # Errors
    /// Names the direction, the field, its value and the bound; of a trace the file and the line.
    pub fn way(self) -> Result<Way, Failure> {
        let name = self.name;
        let told = |error| Failure::Input(format!("{name}: {error}"));
        let (rate, paced) = match &self.capacity {
            None => return Way::open().map_err(told),
            Some(DirectionCapacity::Rate(rate)) => (*rate, Paced::AtRate),
            Some(DirectionCapacity::Trace(path)) => {
                let trace = trace(path)?;
                (trace.mean_rate(), Paced::ByTrace(trace, clock::now()))
            }
        };
        let wanted = WantedDirection {
            rate,
            limit: self.limit,
            mean_packet: MEAN_PACKET,
            queue: self.queue.unwrap_or_else(|| QueueSpec::named(USUAL)),
            flow_key: Default::default(),
            rehash: None,
            overhead: Overhead::IP,
            classes: vec![],
            allowed: vec![],
            offenders: Default::default(),
        };
        Ok(Way { paced, ..wanted.way().map_err(told)? })
    }
}

/// Reads a trace.
fn trace(path: &Path) -> Result<Trace, Failure> {
    let told = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|error| told(error.to_string()))?;
    let mut text = String::new();
    let read = file.take(MOST_TEXT + 1).read_to_string(&mut text);
    read.map_err(|error| told(unreadable_trace(&error)))?;
    if text.len() as u64 > MOST_TEXT {
        return Err(told(format!("is longer than {}", Bytes::new(MOST_TEXT))));
    }
    text.parse().map_err(|error: ConfigError| told(error.to_string()))
}
