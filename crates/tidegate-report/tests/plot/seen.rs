//! What a picture shows, read back from its SVG: places are turned into values by the picture's own
//! ticks, as a reader does it.
use roxmltree::{Document, Node};

/// A picture that was read.
pub struct Seen<'t> {
    pub document: Document<'t>,
}

/// A text with where it stands.
#[derive(Clone, Debug)]
pub struct Text {
    pub at: (f64, f64),
    pub anchor: String,
    pub text: String,
}

/// How places are values: two ticks of a panel.
#[derive(Clone, Copy, Debug)]
pub struct Ruler {
    from: (f64, f64),
    to: (f64, f64),
    log: bool,
}

impl Ruler {
    fn of(mut ticks: Vec<(f64, f64)>, log: bool) -> Ruler {
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (from, to) = (ticks[0], ticks[ticks.len() - 1]);
        assert!(ticks.len() > 1, "one tick is no ruler: {ticks:?}");
        let even = |value: f64| if log { value.log10() } else { value };
        Ruler { from: (from.0, even(from.1)), to: (to.0, even(to.1)), log }
    }

    /// The value at `place`.
    pub fn value(&self, place: f64) -> f64 {
        let part = (place - self.from.0) / (self.to.0 - self.from.0);
        let even = self.from.1 + part * (self.to.1 - self.from.1);
        if self.log { 10f64.powf(even) } else { even }
    }
}

/// An attribute that is a number.
pub fn number(node: Node, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("no {name} in {node:?}"));
    text.parse().unwrap_or_else(|_| panic!("{name} = {text} is no number"))
}

/// The points of a path.
pub fn points(node: Node) -> Vec<(f64, f64)> {
    let path = node.attribute("d").expect("a path has points").trim_end_matches('Z');
    let mut points: Vec<(f64, f64)> = vec![];
    let starts: Vec<usize> =
        path.match_indices(['M', 'L', 'H', 'V']).map(|found| found.0).collect();
    let ends = starts.iter().skip(1).copied().chain([path.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let (command, rest) = path[*start..end].split_at(1);
        let number = |text: &str| text.parse::<f64>().expect("a coordinate is a number");
        let last = points.last().copied().unwrap_or_default();
        points.push(match (command, rest.split_once(' ')) {
            ("H", None) => (number(rest), last.1),
            ("V", None) => (last.0, number(rest)),
            (_, Some((x, y))) => (number(x), number(y)),
            _ => panic!("{command}{rest} in {path}"),
        });
    }
    points
}

impl<'t> Seen<'t> {
    pub fn of(svg: &'t str) -> Seen<'t> {
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        Seen { document: Document::parse(svg).expect("the picture is XML") }
    }

    /// The panels.
    pub fn panels(&self) -> Vec<Node<'_, 't>> {
        let panel = |node: &Node| node.attribute("class") == Some("panel");
        self.document.descendants().filter(panel).collect()
    }

    /// What belongs to the series `name` in a panel.
    pub fn series<'s>(&'s self, panel: Node<'s, 't>, name: &str) -> Vec<Node<'s, 't>> {
        let of = |node: &Node| {
            node.attribute("class") == Some("series") && node.attribute("aria-label") == Some(name)
        };
        panel
            .descendants()
            .filter(of)
            .flat_map(|group| group.children().filter(Node::is_element))
            .collect()
    }

    /// All texts below `node`.
    pub fn texts(node: Node) -> Vec<Text> {
        let text = |node: Node| Text {
            at: (number(node, "x"), number(node, "y")),
            anchor: node.attribute("text-anchor").unwrap_or("start").into(),
            text: node.text().unwrap_or_default().into(),
        };
        node.descendants().filter(|node| node.has_tag_name("text")).map(text).collect()
    }

    /// Every text of the picture.
    pub fn words(&self) -> Vec<String> {
        Seen::texts(self.document.root()).into_iter().map(|text| text.text).collect()
    }

    /// The edge of a panel: x, y, width, height.
    pub fn edge(panel: Node) -> [f64; 4] {
        let edge = panel
            .children()
            .find(|node| node.has_tag_name("rect") && node.attribute("fill") == Some("none"));
        ["x", "y", "width", "height"].map(|name| number(edge.expect("a panel has an edge"), name))
    }

    /// How heights in a panel with ticks are values.
    pub fn upwards(&self, panel: Node, log: bool) -> Ruler {
        let [left, ..] = Seen::edge(panel);
        let third = 0.35 * number(self.document.root_element(), "font-size");
        let ticks = Seen::texts(panel)
            .into_iter()
            .filter(|text| text.anchor == "end" && text.at.0 < left)
            .filter_map(|text| Some((text.at.1 - third, text.text.parse().ok()?)));
        Ruler::of(ticks.collect(), log)
    }

    /// How places across a panel with ticks are values.
    pub fn across(&self, panel: Node, log: bool) -> Ruler {
        let [_, top, _, height] = Seen::edge(panel);
        let ticks = Seen::texts(panel)
            .into_iter()
            .filter(|text| text.anchor == "middle" && text.at.1 > top + height)
            .filter_map(|text| Some((text.at.0, text.text.parse().ok()?)));
        Ruler::of(ticks.collect(), log)
    }
}
