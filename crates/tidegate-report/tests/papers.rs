//! The pages of papers as text: what stands in them, and that every link within them leads
//! somewhere.
use std::collections::BTreeSet;

use tidegate_report::papers::{
    self, Board, Chart, ChartLine, Experiment, Explanation, FigureCell, FigurePoint, FittedRow,
    HeatMap, JudgedClaim, KINDS, Made, PaperPage, ReadingsTable, Reproduced, Reread, Section,
    render,
};

const MADE: Made<'_> = Made { version: "1.2.3", command: "tidegate paper run <all>", note: "" };

fn claim(setting: &str, kind: &'static str) -> JudgedClaim {
    JudgedClaim {
        experiment: "X1".into(),
        setting: setting.into(),
        queue: "red <2>".into(),
        quantity: "loss udp".into(),
        unit: "%".into(),
        printed: "12.5".into(),
        ours: "11.75".into(),
        ci95: "0.25".into(),
        ratio: "0.94".into(),
        kind,
        verdict: kind.into(),
        place: "Fig. 3 & 4".into(),
        explained: String::new(),
    }
}

fn chart() -> Chart {
    let point = |x, y| FigurePoint { x, y, ci95: Some(0.5) };
    let line = |name: &str, printed| ChartLine {
        name: name.into(),
        printed,
        points: vec![point(1.0, 2.0), point(2.0, 4.0), point(3.0, 3.0)],
    };
    Chart {
        id: "fig3".into(),
        title: "What the flood <gets>".into(),
        x: "Mbit/s".into(),
        y: "per cent".into(),
        lines: vec![line("red", false), line("red, printed", true)],
        apart: false,
        command: "tidegate paper run X1".into(),
    }
}

/// A claim of each kind, where two name the same reason, and one of everything else.
fn section() -> Section {
    let mut claims: Vec<JudgedClaim> =
        KINDS.iter().zip(["a", "b", "c", "d", "e", "f"]).map(|(kind, s)| claim(s, kind)).collect();
    claims.push(claim("g", "differs"));
    for claim in claims.iter_mut().filter(|claim| claim.kind == "differs") {
        claim.explained = "no-more".into();
    }
    let cell = |text: &str, kind| FigureCell { text: text.into(), half: "0.1".into(), kind };
    Section {
        experiment: Experiment {
            id: "X1".into(),
            place: "Fig. 3".into(),
            title: "A `flood`".into(),
            remarks: "One thing.\n\nAnd another.".into(),
            unchecked: Some("no number is printed".into()),
        },
        explanations: vec![(
            Explanation {
                name: "no-more".into(),
                why: "It sends no more.\n\nNor could it.".into(),
                evidence: vec!["rates".into()],
            },
            2,
        )],
        readings: vec![ReadingsTable {
            id: "rates".into(),
            title: "what it sends".into(),
            finding: "With more it gets more.".into(),
            names: vec!["as run".into(), "twice".into()],
            contradicted: vec![("twice".into(), "Table 1 prints once".into())],
            rows: vec![Reread {
                claim: "c, red: loss udp, %".into(),
                printed: "12.5".into(),
                cells: vec![cell("11.75", "differs"), cell("12.4", "holds")],
            }],
            met: vec!["0 of 1".into(), "1 of 1".into()],
        }],
        boards: vec![Board {
            title: "Side by side".into(),
            columns: vec!["jain".into()],
            rows: vec![("sfb".into(), vec![cell(".98", "")])],
        }],
        maps: vec![HeatMap {
            id: "jain".into(),
            command: "tidegate paper run F".into(),
            ..HeatMap::default()
        }],
        charts: vec![chart()],
        runs: vec!["tidegate compare papers/x/x.toml --set 'a=<1>'".into()],
        claims,
    }
}

fn paper() -> Reproduced {
    Reproduced {
        folder: "small".into(),
        key: "nobody1999".into(),
        title: "Queues & floods".into(),
        authors: "N. Body".into(),
        venue: String::new(),
        sections: vec![section()],
        fitted: vec![FittedRow {
            parameter: "The `limit`.".into(),
            targets: vec![claim("d", "fitted")],
            supports: vec![claim("a", "holds")],
        }],
    }
}

fn pages() -> Vec<PaperPage> {
    render(&[paper()], &MADE)
}

fn text_of<'p>(pages: &'p [PaperPage], name: &str) -> &'p str {
    &pages.iter().find(|page| page.name == name).unwrap_or_else(|| panic!("{name}")).text
}

/// What stands in `text` between each `before` and the quotation mark behind it.
fn quoted<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    text.split(before)
        .skip(1)
        .map(|rest| &rest[..rest.find('"').expect("a quotation mark")])
        .collect()
}

#[test]
fn there_is_a_page_for_each_paper_and_a_file_for_each_figure() {
    let pages = pages();
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    let expected = [
        "index.html",
        "small.html",
        "charts.js",
        "figures/small-fig3.svg",
        "figures/small-jain.svg",
    ];
    assert_eq!(names, expected);
    let bare = Section { charts: vec![], maps: vec![], ..section() };
    let without = render(&[Reproduced { sections: vec![bare], ..paper() }], &MADE);
    assert_eq!(without.len(), 2, "no chart, no chart library");
    assert!(!text_of(&without, "small.html").contains("<script"));
}

#[test]
fn both_pages_count_each_kind_of_verdict() {
    let pages = pages();
    let index = text_of(&pages, "index.html");
    let row = &index[index.find("<tbody>").unwrap()..index.find("</tbody>").unwrap()];
    let cells: Vec<&str> = row.split("<td>").skip(1).map(|cell| &cell[..1]).collect();
    assert_eq!(cells, ["1", "1", "2", "1", "1", "1"], "in the order of the kinds");
    let widths: Vec<f64> = quoted(row, "style=\"width:")
        .iter()
        .map(|w| w.trim_end_matches('%').parse().unwrap())
        .collect();
    assert_eq!(widths.len(), KINDS.len());
    assert!((widths.iter().sum::<f64>() - 100.0).abs() < 0.5, "{widths:?}");
    assert!(widths[2] > 1.9 * widths[0], "two of seven differ, one holds: {widths:?}");
    let one = text_of(&pages, "small.html");
    assert!(one.contains("<b class=\"v-differs\">2</b> differs"), "{one}");
    assert!(one.contains("<b class=\"v-unmet\">1</b> fitted, not met"), "{one}");
}

#[test]
fn a_kind_that_no_claim_has_is_left_out_of_the_answer() {
    let one = Section { claims: vec![claim("a", "holds")], explanations: vec![], ..section() };
    let pages = render(&[Reproduced { sections: vec![one], fitted: vec![], ..paper() }], &MADE);
    let page = text_of(&pages, "small.html");
    let answer = &page[page.find("<ul class=\"answer\">").unwrap()..page.find("</ul>").unwrap()];
    assert_eq!(answer.matches("<li>").count(), 1, "{answer}");
    assert!(!page.contains("Why it differs") && !page.contains("What was fitted"));
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let names: BTreeSet<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    for page in pages.iter().filter(|page| page.name.ends_with(".html")) {
        for link in quoted(&page.text, "<a href=\"") {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.name.as_str() } else { file };
            assert!(names.contains(target), "{}: {link}", page.name);
            let place = format!("id=\"{place}\"");
            let there = text_of(&pages, target);
            assert!(place == "id=\"\"" || there.contains(&place), "{}: {link}", page.name);
        }
    }
    let index = text_of(&pages, "index.html");
    assert_eq!(quoted(index, "<a href=\"small.html#X1-no-more").len(), 2, "of both claims");
}

#[test]
fn what_differs_has_its_reason_with_its_count_and_evidence() {
    let pages = pages();
    let page = text_of(&pages, "small.html");
    for said in [
        "<p class=\"remark\" id=\"X1-no-more\"><b>2 claims.</b> It sends no more.</p>",
        "<p class=\"remark\">Nor could it.</p>",
        "<a href=\"#readings-rates\">The table: rates</a>",
        "<h3 id=\"readings-rates\">Another reading: what it sends</h3>",
        "<b>Against the reading <i>twice</i></b>: Table 1 prints once",
        "<td class=\"v-differs\">11.75 <small>± 0.1</small></td>",
        "<td class=\"v-holds\">12.4 <small>± 0.1</small></td>",
        "<td>0 of 1</td><td>1 of 1</td>",
        "<p class=\"caveat\">Cannot be checked: no number is printed</p>",
        "<p class=\"remark\">One thing.</p>\n<p class=\"remark\">And another.</p>",
        "<h2>X1 · A <code>flood</code></h2>",
    ] {
        assert!(page.contains(said), "{said} is not in the page");
    }
    let alone = Section {
        explanations: section().explanations.into_iter().map(|(why, _)| (why, 1)).collect(),
        ..section()
    };
    let pages = render(&[Reproduced { sections: vec![alone], ..paper() }], &MADE);
    assert!(text_of(&pages, "small.html").contains("<b>One claim.</b>"));
}

#[test]
fn what_papers_and_commands_say_is_no_markup() {
    let pages = pages();
    for name in ["index.html", "small.html"] {
        let page = text_of(&pages, name);
        assert!(page.contains("Queues &amp; floods") && !page.contains("Queues & floods"));
        assert!(page.contains("red &lt;2&gt;") && !page.contains("red <2>"), "{name}");
        assert!(page.contains("Fig. 3 &amp; 4"), "{name}");
        assert!(page.contains("<pre>tidegate paper run &lt;all&gt;</pre>"), "{name}");
    }
    let one = text_of(&pages, "small.html");
    assert!(one.contains("--set &#39;a=&lt;1&gt;&#39;"), "{one}");
    assert!(one.contains("N. Body · nobody1999"), "an empty venue leaves no gap");
    let noted = render(&[paper()], &Made { note: "Short runs < long", ..MADE });
    assert!(text_of(&noted, "index.html").contains("<p class=\"caveat\">Short runs &lt; long</p>"));
}

#[test]
fn figures_are_documents_with_both_lines_and_all_points() {
    let pages = pages();
    let svg = text_of(&pages, "figures/small-fig3.svg");
    let document = roxmltree::Document::parse(svg).expect("well-formed");
    let words: String = document.descendants().filter_map(|node| node.text()).collect();
    for said in ["What the flood <gets>", "Mbit/s", "per cent", "red", "red, printed"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let circles = document.descendants().filter(|node| node.has_tag_name("circle")).count();
    assert!(circles >= 3, "ours has a dot for each point: {circles}");
    let data = text_of(&pages, "small.html");
    assert!(data.contains("What the flood \\u003cgets"), "no markup within a script");
}

/// A chart with these points of one line.
fn line_chart(points: &[(f64, f64)], apart: bool) -> Chart {
    let points = points.iter().map(|&(x, y)| FigurePoint { x, y, ci95: None }).collect();
    let lines = vec![ChartLine { name: "red".into(), printed: false, points }];
    Chart { apart, lines, ..chart() }
}

/// Places of dots on the paper, in the order of the points.
fn dots(svg: &str) -> Vec<(f64, f64)> {
    let document = roxmltree::Document::parse(svg).expect("well-formed");
    let circles = document.descendants().filter(|node| node.has_tag_name("circle"));
    let number = |node: &roxmltree::Node, name: &str| -> f64 {
        node.attribute(name).unwrap_or_else(|| panic!("{name}")).parse().unwrap()
    };
    circles.map(|node| (number(&node, "cx"), number(&node, "cy"))).collect()
}

#[test]
fn dots_stand_where_their_points_are() {
    let points = [(0.0, 0.0), (1.0, 10.0), (2.0, 5.0), (4.0, 20.0)];
    let at = dots(&papers::svg(&line_chart(&points, false)));
    assert_eq!(at.len(), points.len());
    let [first, .., last] = at[..] else { panic!("four dots") };
    for ((x, y), (across, down)) in points.into_iter().zip(&at) {
        let wanted =
            (first.0 + x / 4.0 * (last.0 - first.0), first.1 + y / 20.0 * (last.1 - first.1));
        assert!((across - wanted.0).abs() <= 1.5 && (down - wanted.1).abs() <= 1.5, "{at:?}");
    }
    assert!(first.0 < last.0 && first.1 > last.1, "up is more");
}

#[test]
fn odd_charts_are_pictures_too() {
    for points in [
        &[][..],
        &[(3.0, 3.0)],
        &[(1.0, 5.0), (1.0, 5.0)],
        &[(-2.0, -1e6), (2.0, -1.0)],
        &[(0.0, 0.0), (1e-9, 1e-12)],
        &[(1e9, 1e12), (2e9, 3e12)],
    ] {
        for apart in [false, true] {
            let svg = papers::svg(&line_chart(points, apart));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points:?}: {svg}");
            assert_eq!(dots(&svg).len(), points.len(), "{points:?}");
        }
    }
    let many: Vec<(f64, f64)> = (0..100).map(|n| (f64::from(n), f64::from(n % 7))).collect();
    assert_eq!(dots(&papers::svg(&line_chart(&many, false))).len(), 0, "a line says enough");
    assert_eq!(dots(&papers::svg(&line_chart(&many, true))).len(), 100, "apart there is no line");
}

#[test]
fn pages_of_several_papers_share_what_they_can() {
    let second = Reproduced { folder: "second".into(), title: "Another".into(), ..paper() };
    let pages = render(&[paper(), second], &MADE);
    let mut names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "no file is written twice");
    assert_eq!(names.iter().filter(|name| name.ends_with("charts.js")).count(), 1);
    for name in ["figures/small-fig3.svg", "figures/second-fig3.svg", "second.html"] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(text_of(&pages, "index.html").matches("<a href=\"second.html\">").count(), 2);
    let none = render(&[], &MADE);
    assert_eq!(none.len(), 1, "of no papers there is an index");
    let empty = render(&[Reproduced { folder: "bare".into(), ..Reproduced::default() }], &MADE);
    assert!(!text_of(&empty, "index.html").contains("NaN"), "no claim, and no part of none");
}

#[test]
fn maps_and_boards_stand_in_the_page_and_in_files() {
    let map = HeatMap {
        id: "jain".into(),
        title: "Jain & all".into(),
        columns: vec!["B5: 36 flows".into()],
        rows: vec![("red <2>".into(), vec![Some(0.123_4)]), ("sfb".into(), vec![None])],
        command: "tidegate paper map".into(),
    };
    let with = Section { maps: vec![map], ..section() };
    let pages = render(&[Reproduced { sections: vec![with], ..paper() }], &MADE);
    let svg = text_of(&pages, "figures/small-jain.svg");
    roxmltree::Document::parse(svg).expect("well-formed");
    assert!(svg.contains("Jain &amp; all") && svg.contains(">0.123<"), "{svg}");
    let page = text_of(&pages, "small.html");
    assert!(page.contains(svg), "the page has the same picture");
    let board = "<tr><th class=\"text\" scope=\"row\">sfb</th><td class=\"\">.98 <small>± 0.1</small></td></tr>";
    assert!(page.contains(board) && page.contains("<h3>Side by side</h3>"), "{page}");
}
