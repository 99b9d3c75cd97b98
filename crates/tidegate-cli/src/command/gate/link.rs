//! What a gate is to do with a link, from wherever it was read: the command line, or a table of a
//! file.
use std::path::PathBuf;

use tidegate::{Bytes, ConfigError, Link, Rate, Size, Span, catalog};
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::pace::Paced;
use tidegate_gateway::path::rehash::Rehash;
use tidegate_gateway::path::sort::{BY_CLASS, Class, deal};
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::pump::Waits;
use tidegate_gateway::run::wakes;
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_lab::replay::default_limit;
use tidegate_lab::{Place, Problem, Problems, QueueSpec};
use tidegate_packet::{FlowKey, Prefix};

use super::on_exit::OnExit;
use crate::failure::Failure;

/// How long what waits may take to leave at the end, if nobody says otherwise.
pub const DRAIN: Span = Span::from_millis(1000);

/// A link and its gate.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// What to call it.
    pub name: String,
    /// What is to be done.
    pub settings: Settings,
    /// How to wait.
    pub waits: Waits,
    /// How long what waits may take to leave at the end.
    pub drain: Span,
    /// What the wire does then.
    pub on_exit: OnExit,
    /// The capture that is written, and how long it may become.
    pub record: Option<(PathBuf, Option<Bytes>)>,
    /// Where fields stand in the file, by name; empty for the command line.
    pub places: Vec<(String, Place)>,
}

impl LinkConfig {
    /// The plan for interfaces that carry packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// What cannot be.
    pub fn plan(&self, mtu: u32) -> Result<GatePlan, Failure> {
        GatePlan::new(self.settings.clone(), mtu).map_err(|error| self.told(error))
    }

    /// An error of a field, with its place in the file if there is one.
    pub fn told(&self, error: ConfigError) -> Failure {
        let place =
            self.places.iter().find(|(field, _)| *field == error.field).or(self.places.first());
        let Some((_, place)) = place else { return Failure::input(error) };
        let field = format!("link.{}.{}", self.name, error.field);
        Failure::input(Problems::one(Problem {
            place: place.clone(),
            field,
            value: error.value,
            why: error.why,
        }))
    }

    /// The plan as pairs of a name and a text, and what is done besides.
    pub fn lines(&self, plan: &GatePlan) -> Vec<(String, String)> {
        let waits = match self.waits {
            Waits::Asleep => {
                format!(
                    "asleep until {} to {} before a departure, as this machine wakes",
                    wakes::LEAST,
                    wakes::MOST
                )
            }
            Waits::Awake => "awake: never sleeps, and takes a processor".into(),
        };
        let mut lines = plan.lines();
        lines.extend([("waits".into(), waits), ("drain".into(), self.drain.to_string())]);
        if let Some((path, limit)) = &self.record {
            let limit = limit.map(|limit| format!(", at most {limit}")).unwrap_or_default();
            lines.push(("record".into(), format!("{}{limit}", path.display())));
        }
        lines
    }

    /// Whether what a gate that runs cannot change is as in `old`.
    ///
    /// # Errors
    /// What is not.
    pub fn may_follow(&self, old: &LinkConfig) -> Result<(), Failure> {
        let why = "cannot be otherwise while the gate runs; end it and start it anew";
        let capture = |of: &LinkConfig| {
            of.record.as_ref().map_or("none".into(), |(path, _)| path.display().to_string())
        };
        if self.on_exit != old.on_exit {
            let value = format!("{:?}", self.on_exit).to_lowercase();
            Err(self.told(ConfigError::new("on_exit", value, why)))
        } else if self.record != old.record {
            Err(self.told(ConfigError::new("record", capture(self), why)))
        } else {
            Ok(())
        }
    }
}

/// A managed direction as it is asked for.
#[derive(Clone, Debug)]
pub struct WantedDirection {
    /// The link's rate.
    pub rate: Rate,
    /// How much may wait; what the link sends in 100 ms if nobody says.
    pub limit: Option<Size>,
    /// The usual length of a packet.
    pub mean_packet: Bytes,
    /// The queue.
    pub queue: QueueSpec,
    /// Which packets are one flow.
    pub flow_key: FlowKey,
    /// How often flows get new keys before the queue; as is usual for the queue if nobody says.
    pub rehash: Option<Rehash>,
    /// Added to every frame's length.
    pub overhead: Overhead,
    /// Classes of frames.
    pub classes: Vec<Class>,
    /// Whose frames no queue judges.
    pub allowed: Vec<Prefix>,
    /// When a flow is an offender.
    pub offenders: OffenderRules,
}

impl WantedDirection {
    /// The direction, checked. Fields of an error that are the queue's parameters begin with
    /// `queue.`.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub fn way(self) -> Result<Way, ConfigError> {
        let WantedDirection {
            rate,
            limit,
            mean_packet,
            queue,
            flow_key,
            rehash,
            overhead,
            classes,
            allowed,
            offenders,
        } = self;
        let link = Link::new(
            rate,
            limit.unwrap_or_else(|| default_limit(rate, mean_packet)),
            mean_packet,
        )?;
        let spec = on_a_wire(&queue);
        let mut config = spec.resolve(&link).map_err(of_queue)?;
        if !classes.is_empty()
            && let Some((name, value)) =
                spec.params.iter().find(|(name, _)| BY_CLASS.contains(&name.as_str()))
        {
            let why = "follows from the classes: leave it out";
            return Err(of_queue(ConfigError::new(name, value, why)));
        }
        deal(&mut config, &classes)?;
        config.build(link, tidegate::Rng::from_seed(0)).map_err(of_queue)?;
        let rehash = rehash.unwrap_or_else(|| Rehash::usual(&config));
        Ok(Way {
            link,
            paced: Paced::AtRate,
            queue: config,
            label: queue.label(),
            flow_key,
            rehash,
            overhead,
            classes,
            allowed,
            offenders,
        })
    }
}

/// An error of a queue's parameter, as a field of the table that has the queue.
fn of_queue(error: ConfigError) -> ConfigError {
    match error.field.as_str() {
        "queue" => error,
        field => ConfigError { field: format!("queue.{field}"), ..error },
    }
}

/// The queue as it is to be on a wire. A packet that is to carry congestion's signal and cannot be
/// marked is dropped (RFC 3168 §5). That holds also for queues whose papers only mark, unless their
/// parameter says otherwise.
pub fn on_a_wire(spec: &QueueSpec) -> QueueSpec {
    const NON_ECT: &str = "non_ect";
    let mut spec = spec.clone();
    let knows = catalog::find(&spec.name).is_some_and(|row| row.has(NON_ECT));
    if knows && spec.params.iter().all(|(name, _)| name != NON_ECT) {
        spec.params.push((NON_ECT.into(), "drop".into()));
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_marked_is_dropped_unless_somebody_says_otherwise() {
        let told = |text: &str| on_a_wire(&text.parse().unwrap()).to_string();
        assert_eq!(told("rem"), "rem,non_ect=drop");
        assert_eq!(told("purge/paper as P"), "purge/paper,non_ect=drop as P");
        assert_eq!(told("rem,non_ect=pass"), "rem,non_ect=pass");
        assert_eq!(told("sfb,bins=46"), "sfb,bins=46");
        assert_eq!(told("no such queue"), "no such queue");
    }
}
