//! The document as a tree in which every value knows where it stands, whether in the file or in an
//! override.
use toml_span::value::{Value, ValueInner};

use super::set::Override;
use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem};

/// The largest file that is read, in bytes.
pub(crate) const FILE_LIMIT: usize = 4 << 20;

/// The most numbers of a file that are too large and yet get a message each.
const LARGE_LIMIT: usize = 20;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// These bytes of the file.
    File(usize, usize),
    /// The override of this number.
    Set(usize),
}

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it comes from.
    pub origin: Origin,
    /// The value.
    pub kind: TomlValue,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub enum TomlValue {
    /// A text in quotes.
    Text(String),
    /// The text of an override or of a derived value, which may stand for a text or for a number.
    Bare(String),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A number too large for the other kinds, as it is written.
    Large(String),
    /// `true` or `false`.
    Flag(bool),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Vec<TomlEntry>),
}

/// `key = value`, in the order of the file.
#[derive(Clone, Debug)]
pub struct TomlEntry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_origin: Origin,
    /// Its value.
    pub node: Node,
}

/// What was read from: to find a place from an origin.
pub struct TomlDocument<'a> {
    /// What messages call the file.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// What is put over it.
    pub sets: &'a [Override],
}

impl Node {
    /// What kind of TOML it is.
    pub fn what(&self) -> &'static str {
        match &self.kind {
            TomlValue::Text(_) | TomlValue::Bare(_) => "a text",
            TomlValue::Whole(_) | TomlValue::Number(_) | TomlValue::Large(_) => "a number",
            TomlValue::Flag(_) => "true or false",
            TomlValue::List(_) => "a list",
            TomlValue::Table(_) => "a table",
        }
    }

    /// The value as it would be shown in a message; empty for a list or a table.
    pub fn shown(&self) -> String {
        match &self.kind {
            TomlValue::Text(text) | TomlValue::Bare(text) | TomlValue::Large(text) => cut(text, 60),
            TomlValue::Whole(n) => n.to_string(),
            TomlValue::Number(n) => n.to_string(),
            TomlValue::Flag(flag) => flag.to_string(),
            TomlValue::List(_) | TomlValue::Table(_) => String::new(),
        }
    }

    fn table_mut(&mut self) -> Option<&mut Vec<TomlEntry>> {
        match &mut self.kind {
            TomlValue::Table(entries) => Some(entries),
            _ => None,
        }
    }
}

/// At most `most` characters of the first line of `text`.
pub fn cut(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}

impl TomlDocument<'_> {
    /// The document's tree, overrides applied.
    ///
    /// # Errors
    /// It is no TOML, or an override cannot be applied.
    pub fn read(&self) -> Result<Node, Vec<Problem>> {
        let mut root = self.parse().map_err(|error| {
            let origin = Origin::File(error.span.start, error.span.end);
            vec![self.problem(origin, "", "", sentence(&error))]
        })?;
        let problems: Vec<_> = (0..self.sets.len())
            .filter_map(|i| self.apply(&mut root, i).err())
            .map(|p| *p)
            .collect();
        if problems.is_empty() { Ok(root) } else { Err(problems) }
    }

    /// The file's tree. The parser gives up at a number that it cannot hold and does not say where.
    /// It is passed over and put back, so that its field's bounds refuse it.
    fn parse(&self) -> Result<Node, toml_span::Error> {
        let mut text = self.text.to_string();
        let mut large: Vec<(usize, usize)> = vec![];
        let mut first = None;
        loop {
            let error = match (toml_span::parse(&text), &first) {
                (Err(error), _) => error,
                (Ok(root), None) => return Ok(convert(root, None)),
                (Ok(root), Some(_)) => {
                    let mut root = convert(root, None);
                    let whole = self.put_back(&mut root, &large) == large.len();
                    return if whole { Ok(root) } else { first.map_or(Ok(root), Err) };
                }
            };
            let Some((start, end)) = self.large(&error).filter(|_| large.len() < LARGE_LIMIT)
            else {
                return Err(first.unwrap_or(error));
            };
            text.replace_range(start..end, &format!("{:<1$}", 1, end - start));
            large.push((start, end));
            first.get_or_insert(error);
        }
    }

    /// Where the number stands that `error` is about, if it is one and too large.
    fn large(&self, error: &toml_span::Error) -> Option<(usize, usize)> {
        let toml_span::ErrorKind::InvalidNumber = error.kind else { return None };
        let (start, end) = (error.span.start, error.span.end);
        let word = self.text.get(start..end)?.replace('_', "");
        let digits = word.trim_start_matches('-');
        let number =
            digits.starts_with(|c: char| ('1'..='9').contains(&c)) && word.parse::<f64>().is_ok();
        (number && word.parse::<i64>().is_err() && !self.text[..start].ends_with('+'))
            .then_some((start, end))
    }

    /// Puts the numbers at `large` back below `node`; how many were found.
    fn put_back(&self, node: &mut Node, large: &[(usize, usize)]) -> usize {
        if let (TomlValue::Whole(_), Origin::File(start, _)) = (&node.kind, node.origin)
            && let Some(&(start, end)) = large.iter().find(|span| span.0 == start)
        {
            let kind = TomlValue::Large(self.text[start..end].into());
            *node = Node { origin: Origin::File(start, end), kind };
            return 1;
        }
        match &mut node.kind {
            TomlValue::List(items) => items.iter_mut().map(|item| self.put_back(item, large)).sum(),
            TomlValue::Table(entries) => {
                entries.iter_mut().map(|entry| self.put_back(&mut entry.node, large)).sum()
            }
            _ => 0,
        }
    }

    /// A problem at `origin`.
    pub fn problem(
        &self,
        origin: Origin,
        field: &str,
        value: &str,
        why: impl Into<String>,
    ) -> Problem {
        Problem {
            place: self.place(origin),
            field: field.into(),
            value: value.into(),
            why: why.into(),
        }
    }

    /// Where `origin` is, for a message.
    pub fn place(&self, origin: Origin) -> Place {
        let (start, end) = match origin {
            Origin::File(start, end) => (self.boundary(start), self.boundary(end)),
            Origin::Set(index) => {
                let set = &self.sets[index];
                return Place::Set(cut(&format!("{}={}", set.path, set.value), 120));
            }
        };
        let (before, after) = self.text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let rest = after.split(['\n', '\r']).next().unwrap_or_default();
        let shown = |text: &str| {
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>()
        };
        let (lead, rest) = (shown(&before[line_start..]), shown(rest));
        let wanted = self.text[start..end.max(start)].chars().count();
        Place::Line {
            file: self.file.into(),
            line: before.matches('\n').count() + 1,
            column: lead.chars().count() + 1,
            width: wanted.min(rest.chars().count()).clamp(1, 160),
            // What is far to the right of the place is of no use, and a line may be megabytes long.
            text: lead + &rest.chars().take(160).collect::<String>(),
        }
    }

    /// The nearest character boundary at or before `index`.
    fn boundary(&self, index: usize) -> usize {
        (0..=index.min(self.text.len())).rev().find(|&i| self.text.is_char_boundary(i)).unwrap_or(0)
    }

    /// Puts override `index` into the tree; one without a value takes its key away, so that the
    /// default holds.
    fn apply(&self, root: &mut Node, index: usize) -> Result<(), Box<Problem>> {
        let set = &self.sets[index];
        let origin = Origin::Set(index);
        let wrong = |why: String| Box::new(self.problem(origin, "", "", why));
        let steps: Vec<&str> = set.path.split('.').map(str::trim).collect();
        if steps.len() > 5 || steps.iter().any(|step| step.is_empty()) {
            return Err(wrong(
                "no such path; a path is a table and a key, as in run.duration or group.tcp.count"
                    .into(),
            ));
        }
        let (last, tables) = steps.split_last().expect("a split has at least one part");
        let mut node = root;
        for (depth, step) in tables.iter().enumerate() {
            node = descend(node, step, depth, origin).map_err(wrong)?;
        }
        if let (true, TomlValue::List(items)) = (set.value.is_empty(), &mut node.kind) {
            items.remove(element(items, last).map_err(wrong)?);
            return Ok(());
        }
        let entries =
            node.table_mut().ok_or_else(|| wrong(format!("`{}` has no keys", tables.join("."))))?;
        if set.value.is_empty() {
            let at = entries.iter().position(|e| e.key == *last);
            entries.remove(
                at.ok_or_else(|| wrong(format!("there is no `{last}` here to take away")))?,
            );
            return Ok(());
        }
        let value = parse_value(&set.value, index).map_err(wrong)?;
        let entry = TomlEntry { key: (*last).into(), key_origin: origin, node: value };
        match entries.iter_mut().find(|e| e.key == *last) {
            Some(old) => *old = entry,
            None => entries.push(entry),
        }
        Ok(())
    }
}

/// The child of `node` that the path's `step` names: a key, or an element of a list by its name or
/// number from 1.
fn descend<'n>(
    node: &'n mut Node,
    step: &str,
    depth: usize,
    origin: Origin,
) -> Result<&'n mut Node, String> {
    match &mut node.kind {
        TomlValue::Table(entries) => {
            let found = entries.iter().position(|e| e.key == step);
            let at = found.unwrap_or(entries.len());
            if found.is_none() {
                if matches!(step, "group" | "link") && depth == 0 {
                    return Err(format!("the scenario has no [[{step}]]"));
                }
                let table = Node { origin, kind: TomlValue::Table(vec![]) };
                entries.push(TomlEntry { key: step.into(), key_origin: origin, node: table });
            }
            Ok(&mut entries[at].node)
        }
        TomlValue::List(items) => {
            let at = element(items, step)?;
            Ok(&mut items[at])
        }
        _ => Err(format!("`{step}` lies below a value that is no table")),
    }
}

/// Which of a list's elements `step` names, by its name or number from 1.
fn element(items: &[Node], step: &str) -> Result<usize, String> {
    let names: Vec<&str> = items.iter().map(|item| name_of(item).unwrap_or_default()).collect();
    let number = || step.parse::<usize>().ok()?.checked_sub(1).filter(|n| *n < names.len());
    names.iter().position(|name| *name == step).or_else(number).ok_or_else(|| {
        let known: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let near = did_you_mean(step, &known).unwrap_or_default();
        let all = format!("1 to {}", names.len());
        let known = if known.is_empty() { all } else { known.join(", ") };
        format!("there is no `{step}` here; known are {known}{near}")
    })
}

/// The value of the key `name` of a table.
pub fn name_of(node: &Node) -> Option<&str> {
    let TomlValue::Table(entries) = &node.kind else { return None };
    match &entries.iter().find(|e| e.key == "name")?.node.kind {
        TomlValue::Text(name) | TomlValue::Bare(name) => Some(name),
        _ => None,
    }
}

/// The value of an override: TOML if it begins like a list, a table or a quoted text, else bare
/// text.
fn parse_value(text: &str, index: usize) -> Result<Node, String> {
    if text.len() > FILE_LIMIT {
        return Err("the value is too long to be meant".into());
    }
    if !text.starts_with(['[', '{', '"', '\'']) {
        return Ok(Node { origin: Origin::Set(index), kind: TomlValue::Bare(text.into()) });
    }
    let line = format!("value = {text}");
    let mut root = toml_span::parse(&line)
        .map_err(|error| format!("the value is no TOML: {}", sentence(&error)))?;
    match root.take() {
        ValueInner::Table(mut table) if table.len() == 1 => {
            let value = table.remove("value").ok_or("the value is no TOML value")?;
            Ok(convert(value, Some(Origin::Set(index))))
        }
        _ => Err("the value is more than one TOML value".into()),
    }
}

/// Ours from the parser's; all of one origin if one is given.
fn convert(mut value: Value<'_>, forced: Option<Origin>) -> Node {
    let of = |span: toml_span::Span| forced.unwrap_or(Origin::File(span.start, span.end));
    let origin = of(value.span);
    let kind = match value.take() {
        ValueInner::String(text) => TomlValue::Text(text.into_owned()),
        ValueInner::Integer(n) => TomlValue::Whole(n),
        ValueInner::Float(n) => TomlValue::Number(n),
        ValueInner::Boolean(flag) => TomlValue::Flag(flag),
        ValueInner::Array(items) => {
            TomlValue::List(items.into_iter().map(|item| convert(item, forced)).collect())
        }
        ValueInner::Table(table) => {
            let entry = |(key, node): (toml_span::value::Key<'_>, Value<'_>)| TomlEntry {
                key_origin: of(key.span),
                key: key.name.into_owned(),
                node: convert(node, forced),
            };
            let mut entries: Vec<TomlEntry> = table.into_iter().map(entry).collect();
            // The parser sorts keys by name; a person reads them, and the errors, in the order of
            // the file.
            entries.sort_by_key(|entry| match entry.key_origin {
                Origin::File(start, _) => start,
                Origin::Set(_) => 0,
            });
            TomlValue::Table(entries)
        }
    };
    Node { origin, kind }
}

/// The parser's error in our words where we have better ones.
fn sentence(error: &toml_span::Error) -> String {
    use toml_span::ErrorKind::*;
    match &error.kind {
        DuplicateKey { key, .. } => format!("the key `{}` is given twice", cut(key, 60)),
        DuplicateTable { name, .. } => format!("the table [{}] is given twice", cut(name, 60)),
        UnquotedString => "a text must stand in quotes, as in \"10 Mbit/s\"".into(),
        InvalidNumber => {
            "this is no number; a quantity with its unit stands in quotes, as in \"10 Mbit/s\""
                .into()
        }
        UnexpectedEof => "the file ends in the middle of something".into(),
        UnterminatedString => "the text has no closing quote".into(),
        ExceededDepthLimit => "nested too deeply".into(),
        _ => error.to_string().chars().map(spelled).collect(),
    }
}

/// A control character spelled out: a terminal would obey it.
fn spelled(c: char) -> String {
    if c.is_control() { c.escape_default().to_string() } else { c.into() }
}
