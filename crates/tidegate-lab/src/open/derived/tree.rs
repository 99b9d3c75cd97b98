//! Values of a tree by their paths, as messages have them.
use std::collections::BTreeMap;

use crate::reader::{Node, Request, TomlValue, name_of};

/// The value at `path` as an override takes it, and its path as messages have it.
pub(super) fn node<'n>(root: &'n Node, path: &str) -> Option<(&'n Node, String)> {
    let (mut node, mut called) = (root, String::new());
    for step in path.split('.') {
        node = match &node.kind {
            TomlValue::Table(entries) => {
                let entry = entries.iter().find(|entry| entry.key == step)?;
                called = below(&called, step);
                &entry.node
            }
            TomlValue::List(items) => {
                let number = || step.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                let named = items.iter().position(|item| name_of(item) == Some(step));
                let index = named.or_else(number)?;
                called = item_path(&called, items.get(index)?, index);
                &items[index]
            }
            _ => return None,
        };
    }
    Some((node, called))
}

pub(super) fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// The path of entry `index` of the list at `path`, as the reader of scenarios calls it.
fn item_path(path: &str, item: &Node, index: usize) -> String {
    match (path, name_of(item)) {
        ("group", Some(name)) => format!("group.{name}"),
        ("group" | "link", _) => format!("{path}.{}", index + 1),
        _ => path.into(),
    }
}

/// The keys of the table at `path`, or the names of the list's entries.
pub(super) fn keys(root: &Node, path: &str) -> Vec<String> {
    match node(root, path).map(|(node, _)| &node.kind) {
        Some(TomlValue::Table(entries)) => entries.iter().map(|entry| entry.key.clone()).collect(),
        Some(TomlValue::List(items)) => {
            let name = |(i, item): (usize, &Node)| {
                name_of(item).map_or_else(|| (i + 1).to_string(), String::from)
            };
            items.iter().enumerate().map(name).collect()
        }
        _ => vec![],
    }
}

/// Puts the values that are known in place of their expressions.
pub(super) fn put(root: &mut Node, requests: &[Request], done: &[Option<Option<String>>]) {
    let values: BTreeMap<(&str, &str), &str> = requests
        .iter()
        .zip(done)
        .filter_map(|(r, done)| Some(((r.field.as_str(), r.text()), done.as_ref()?.as_deref()?)))
        .collect();
    put_below(root, "", &values);
}

fn put_below(node: &mut Node, path: &str, values: &BTreeMap<(&str, &str), &str>) {
    let value = match &node.kind {
        TomlValue::Text(text) | TomlValue::Bare(text) => values.get(&(path, text.as_str())),
        _ => None,
    };
    if let Some(value) = value {
        node.kind = TomlValue::Bare((*value).into());
    }
    match &mut node.kind {
        TomlValue::Table(entries) => {
            for entry in entries {
                put_below(&mut entry.node, &below(path, &entry.key), values);
            }
        }
        TomlValue::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let path = item_path(path, item, index);
                put_below(item, &path, values);
            }
        }
        _ => {}
    }
}
