//! A scenario as TOML, with every default spelled out.
use std::fmt::Write;

use tidegate::catalog::AnyConfig;
use tidegate::config::{Params, Value};
use tidegate::{Bytes, Link};

use super::connection::Connection;
use super::demand::When;
use super::medium::{Medium, Ways};
use super::model::*;
use super::sources::Source;
use crate::reader::is_number;
use crate::spec::QueueSpec;

impl Scenario {
    /// The scenario as TOML with every default spelled out. Reading it again gives the same
    /// scenario, its queues' presets written out as the values they stand for.
    pub fn resolved(&self) -> String {
        let mut out = String::new();
        line(&mut out, "title", &quoted(&self.title));
        line(&mut out, "description", &quoted(&self.description));
        out += "\n[run]\n";
        params(&mut out, &self.run);
        let shared = self.sharing_links();
        match &self.network {
            Network::Dumbbell(dumbbell, ways) => {
                out += "\n[network]\nkind = \"dumbbell\"\n";
                params(&mut out, dumbbell);
                write_ways(&mut out, ways, "network", dumbbell.mean_packet);
            }
            Network::Graph(graph) => {
                out += "\n[network]\nkind = \"graph\"\n";
                line(&mut out, "mean_packet", &quoted(&graph.mean_packet.to_string()));
                for link in &graph.links {
                    write_link(&mut out, link, graph);
                }
            }
        }
        out += "\n[queue]\n";
        queue(&mut out, &self.queue, &shared);
        if !self.compare.is_empty() {
            let texts: Vec<_> =
                self.compare.iter().map(|q| quoted(&spelled_out(q, &shared).to_string())).collect();
            let _ = write!(out, "\n[compare]\nqueues = [\n  {},\n]\n", texts.join(",\n  "));
        }
        for group in &self.groups {
            write_group(&mut out, group);
        }
        out
    }

    /// The managed links that have the scenario's queue, or the queue that is tried.
    fn sharing_links(&self) -> Vec<Link> {
        let shared = self.managed().into_iter().filter(|managed| managed.queue.is_none());
        shared.map(|managed| managed.link).collect()
    }
}

fn write_link(out: &mut String, link: &GraphLink, graph: &Graph) {
    *out += "\n[[link]]\n";
    line(out, "from", &quoted(&link.from));
    line(out, "to", &quoted(&link.to));
    line(out, "rate", &quoted(&link.rate.to_string()));
    line(out, "delay", &quoted(&link.delay.to_string()));
    if let Some(limit) = link.limit {
        line(out, "limit", &quoted(&limit.to_string()));
        line(out, "watch", if link.watch { "true" } else { "false" });
        if let Some(spec) = &link.queue {
            let line_of = Link { rate: link.rate, limit, mean_packet: graph.mean_packet };
            line(out, "queue", &quoted(&spelled_out(spec, &[line_of]).to_string()));
        }
    }
    write_ways(out, &link.ways, "link", graph.mean_packet);
}

/// What a link does besides, and its way back, where there is something.
fn write_ways(out: &mut String, ways: &Ways, table: &str, mean_packet: Bytes) {
    write_medium(out, &ways.medium);
    let Some(back) = &ways.back else { return };
    let _ = write!(out, "\n[{table}.back]\n");
    line(out, "rate", &quoted(&back.rate.to_string()));
    line(out, "delay", &quoted(&back.delay.to_string()));
    if let Some(limit) = back.limit {
        line(out, "limit", &quoted(&limit.to_string()));
        if let Some(spec) = &back.queue {
            let line_of = Link { rate: back.rate, limit, mean_packet };
            line(out, "queue", &quoted(&spelled_out(spec, &[line_of]).to_string()));
        }
    }
    write_medium(out, &back.medium);
}

fn write_medium(out: &mut String, medium: &Medium) {
    if *medium != Medium::default() {
        params(out, medium);
    }
}

fn write_group(out: &mut String, group: &Group) {
    *out += "\n[[group]]\n";
    line(out, "name", &quoted(&group.name));
    line(out, "count", &group.count.to_string());
    line(out, "hosts", &group.hosts.to_string());
    match group.class.given() {
        [class] => line(out, "class", &class.to_string()),
        several => line(out, "class", &format!("{several:?}")),
    }
    if group.dscp > 0 {
        line(out, "dscp", &group.dscp.to_string());
    }
    match group.when() {
        When::Calls => {}
        When::Active => line(out, "active", &quoted(&group.active.write())),
        When::Start | When::Lives => {
            line(out, "start", &quoted(&group.start.write()));
            if let Some(stop) = group.stop {
                line(out, "stop", &quoted(&stop.to_string()));
            }
        }
    }
    list(out, "access_rate", group.access_rate.iter().map(ToString::to_string));
    if let Some(delay) = &group.access_delay {
        line(out, "access_delay", &quoted(&delay.write()));
    }
    list(out, "from", group.from.iter().cloned());
    list(out, "to", group.to.iter().cloned());
    line(out, "source", &quoted(group.source.name()));
    write_source(out, &group.source);
}

/// The keys of a group that its source has.
fn write_source(out: &mut String, source: &Source) {
    match source {
        Source::Tcp(connection) => keys(out, connection, ""),
        Source::Finite(connection) => {
            line(out, "congestion", &quoted(connection.name()));
            keys(out, connection, "");
        }
        Source::Web(web, connection) => {
            params(out, web);
            line(out, "congestion", &quoted(connection.name()));
            keys(out, connection, "data");
        }
        Source::Unresponsive(lives, connection) => {
            params(out, lives);
            keys(out, connection, "data");
        }
        Source::Tfrc(source) => params(out, source),
        Source::Cbr(source) => params(out, source),
        Source::Following(source) => params(out, source),
        Source::OnOff(source) => params(out, source),
        Source::Voip(source) => params(out, source),
        Source::Oscillating(source) => params(out, source),
        Source::Replay(source, _) => params(out, source),
    }
}

/// A queue with each of its parameters, and its label said outright, since the parameters change
/// the default one. A preset that has other values on another of `links` stays a preset: one link's
/// values would change the others'.
fn spelled_out(spec: &QueueSpec, links: &[Link]) -> QueueSpec {
    let params = match spelled_params(spec, links) {
        Some(params) => params.into_iter().map(|(name, _, value)| (name.into(), value)).collect(),
        None => spec.params.clone(),
    };
    QueueSpec {
        name: spec.name.clone(),
        preset: Some(spec.preset().to_string()).filter(|preset| !preset.is_empty()),
        params,
        label: Some(spec.label()),
        foreign: spec.foreign.clone(),
    }
}

/// Name, kind and value of each parameter, if they are the same on all of `links`. There is at
/// least one link.
fn spelled_params(
    spec: &QueueSpec,
    links: &[Link],
) -> Option<Vec<(&'static str, &'static str, String)>> {
    let mut all = links
        .iter()
        .map(|link| spec.resolve(link).ok().map(|config| values(&config).collect::<Vec<_>>()));
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

fn values(config: &AnyConfig) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    config.values().into_iter().map(|(param, value)| (param.name, param.kind, value))
}

fn queue(out: &mut String, spec: &QueueSpec, links: &[Link]) {
    line(out, "name", &quoted(&spec.name));
    line(out, "preset", &quoted(spec.preset()));
    line(out, "label", &quoted(&spec.label()));
    match spelled_params(spec, links) {
        Some(params) => {
            for (name, kind, value) in params {
                line(out, name, &if is_number(kind) { value } else { quoted(&value) });
            }
        }
        None => spec.params.iter().for_each(|(name, value)| line(out, name, &quoted(value))),
    }
}

/// The keys of a connection, without one of them.
fn keys(out: &mut String, connection: &Connection, but: &str) {
    for (param, value) in connection.keys().into_iter().filter(|(param, _)| param.name != but) {
        line(out, param.name, &if is_number(param.kind) { value } else { quoted(&value) });
    }
}

fn params<P: Params>(out: &mut String, params: &P) {
    for param in P::PARAMS {
        let value = params.get(param.name).unwrap_or_default();
        line(out, param.name, &if is_number(param.kind) { value } else { quoted(&value) });
    }
}

fn list(out: &mut String, key: &str, items: impl Iterator<Item = String>) {
    let items: Vec<_> = items.map(|item| quoted(&item)).collect();
    if !items.is_empty() {
        line(out, key, &format!("[{}]", items.join(", ")));
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}
