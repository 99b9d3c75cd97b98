//! The dashboard for Grafana against what `/metrics` serves: every query asks for something that is
//! there.

use std::collections::{BTreeMap, BTreeSet};

use crate::openmetrics;
use serde_json::Value;
use tidegate_gateway::watch::metrics::Pages;

fn dashboard() -> Value {
    serde_json::from_str(include_str!("../../dashboard/tidegate.json")).unwrap()
}

/// The labels of every sample that is served, by its name.
fn served() -> BTreeMap<String, BTreeSet<String>> {
    let snapshot = serde_json::from_str(include_str!("../data/snapshot.json")).unwrap();
    let page = openmetrics::read(&Pages::default().page(snapshot));
    let mut served: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in page.values().flat_map(|family| &family.samples) {
        served.entry(sample.name.clone()).or_default().extend(sample.labels.keys().cloned());
    }
    served
}

fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// Every query: of panels with what the legend says, of variables, of annotations.
fn queries(dashboard: &Value) -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for panel in panels(dashboard) {
        for target in panel["targets"].as_array().unwrap() {
            queries.push((text(&target["expr"]).into(), text(&target["legendFormat"]).into()));
        }
    }
    for annotation in dashboard["annotations"]["list"].as_array().unwrap() {
        if let Some(query) = annotation["expr"].as_str() {
            queries.push((query.into(), text(&annotation["titleFormat"]).into()));
        }
    }
    for variable in variables(dashboard).filter(|variable| variable["type"] == "query") {
        assert_eq!(variable["definition"], variable["query"]["query"]);
        queries.push((text(&variable["definition"]).into(), String::new()));
    }
    queries
}

fn variables(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["templating"]["list"].as_array().unwrap().iter()
}

/// The words of a query that are no text, each with what comes behind it.
fn words(query: &str) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = query;
    while let Some(at) =
        rest.find(|c: char| c == '"' || c == '$' || c.is_ascii_alphabetic() || c == '_')
    {
        rest = &rest[at..];
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = &quoted[quoted.find('"').unwrap() + 1..];
            continue;
        }
        let end = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(rest.len(), |end| end + 1);
        words.push(rest.split_at(end));
        rest = &rest[end..];
    }
    words
}

/// The labels in the braces that `behind` begins with, if it does.
fn matchers(behind: &str) -> Vec<&str> {
    let Some((inside, _)) = behind.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return vec![];
    };
    inside.split(',').map(|matcher| matcher.split(['=', '!']).next().unwrap()).collect()
}

#[test]
fn every_query_asks_for_what_is_served() {
    let (dashboard, served) = (dashboard(), served());
    let variables: Vec<&str> =
        variables(&dashboard).map(|variable| text(&variable["name"])).collect();
    for (query, legend) in queries(&dashboard) {
        let mut labels: Option<BTreeSet<String>> = None;
        for (word, behind) in
            words(&query).into_iter().filter(|(word, _)| word.starts_with("tidegate"))
        {
            let has = served.get(word).unwrap_or_else(|| panic!("{word} is not served: {query}"));
            for label in matchers(behind) {
                assert!(has.contains(label), "{word} has no label {label}: {query}");
            }
            labels = Some(match labels {
                None => has.clone(),
                Some(before) => before.intersection(has).cloned().collect(),
            });
        }
        let labels = labels.unwrap_or_else(|| panic!("{query} asks for nothing of ours"));
        for (_, rest) in legend.match_indices("{{").map(|(at, _)| legend.split_at(at + 2)) {
            let label = rest.split_once("}}").unwrap().0;
            assert!(labels.contains(label), "the legend {legend:?} names {label}: {query}");
        }
        for (at, _) in query.match_indices('$') {
            let name: String = query[at + 1..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            assert!(
                name == "__rate_interval" || variables.contains(&name.as_str()),
                "${name} is no variable: {query}"
            );
        }
    }
}

#[test]
fn counters_are_read_by_their_growth_and_gauges_are_not() {
    for (query, _) in
        queries(&dashboard()).into_iter().filter(|(query, _)| !query.starts_with("label_values"))
    {
        for (word, _) in words(&query).into_iter().filter(|(word, _)| word.starts_with("tidegate"))
        {
            let counter =
                ["_total", "_bucket", "_sum", "_count"].iter().any(|ending| word.ends_with(ending));
            let grows =
                ["rate(", "increase("].iter().any(|f| query.contains(&format!("{f}{word}")));
            assert_eq!(counter, grows, "{word} in {query}");
        }
    }
}

#[test]
fn variables_name_labels_and_select_every_link_and_direction() {
    let dashboard = dashboard();
    let found: Vec<(&str, &str)> =
        variables(&dashboard).map(|v| (text(&v["name"]), text(&v["type"]))).collect();
    assert_eq!(found, [("datasource", "datasource"), ("link", "query"), ("direction", "query")]);
    for variable in variables(&dashboard).skip(1) {
        let name = text(&variable["name"]);
        assert!(text(&variable["definition"]).ends_with(&format!(", {name})")), "{variable}");
        assert!(variable["multi"] == true && variable["includeAll"] == true, "{variable}");
        assert_eq!(variable["datasource"]["uid"], "${datasource}");
    }
}

#[test]
fn every_panel_has_a_unit_and_says_what_it_shows_and_none_lies_on_another() {
    let dashboard = dashboard();
    let (mut ids, mut titles, mut cells) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24 && w > 0 && h > 0, "{panel}");
        let area = (x..x + w).flat_map(|column| (y..y + h).map(move |line| (column, line)));
        for cell in area {
            assert!(cells.insert(cell), "{} lies on another", panel["title"]);
        }
    }
    for panel in panels(&dashboard) {
        assert!(titles.insert(text(&panel["title"])), "{panel}");
        assert!(text(&panel["description"]).ends_with('.'), "{panel}");
        assert!(!text(&panel["fieldConfig"]["defaults"]["unit"]).is_empty(), "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        let mut names = BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            assert!(
                names.insert(text(&target["refId"])) && target["datasource"] == panel["datasource"],
                "{panel}"
            );
        }
    }
}

#[test]
fn what_is_served_is_shown() {
    // These are for alerts and for other dashboards: what is shown in one unit need not be shown in
    // the other.
    const NOT_SHOWN: [&str; 7] = [
        "tidegate_allowed_frames_total",
        "tidegate_class_left_frames_total",
        "tidegate_class_received_frames_total",
        "tidegate_class_lost_bytes_total",
        "tidegate_class_waiting_frames",
        "tidegate_held_bytes",
        "tidegate_queue_info",
    ];
    let dashboard = dashboard();
    let all: Vec<(String, String)> = queries(&dashboard);
    let shown: BTreeSet<&str> =
        all.iter().flat_map(|(query, _)| words(query)).map(|(word, _)| word).collect();
    for name in served().keys().filter(|name| !NOT_SHOWN.contains(&name.as_str())) {
        assert!(shown.contains(name.as_str()), "no panel shows {name}");
    }
}
