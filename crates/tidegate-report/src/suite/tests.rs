use std::collections::BTreeSet;

use super::*;

const QUEUES: [&str; 3] = ["sfb", "red <2>", "drop_tail"];

/// Three tests of two cells, the last without any; a queue passes the fewer the later it comes.
fn suite() -> SuiteResult {
    let sure = |queue: usize, cell: usize| {
        let sure = 0.9 - 0.3 * queue as f64 - 0.1 * cell as f64;
        Some(Sure { sure, passed: sure >= 0.5 })
    };
    let cell = |at: usize| CellResult {
        name: format!("cell {at} & more"),
        command: format!("tidegate compare --set 'a=<{at}>'"),
        counts: if at == 0 { "A user is a <source>.".into() } else { String::new() },
        rows: (0..QUEUES.len())
            .map(|queue| CaseScore {
                sure: sure(queue, at),
                figures: vec![Figure::new(2e6, Some(1e5)), None, Figure::exact(at as f64)],
            })
            .collect(),
        pictures: vec![],
    };
    let test = |id: &str, cells: usize| TestResult {
        id: id.into(),
        title: format!("What {id} <asks>"),
        asks: "Who is held back?".into(),
        source: "a paper".into(),
        figures: [("goodput", "bit/s"), ("unknown", "ms"), ("starved", "")]
            .map(|(name, unit)| (name.into(), unit.into()))
            .to_vec(),
        cells: (0..cells).map(cell).collect(),
    };
    let queue = |at: usize| QueueScore {
        label: QUEUES[at].into(),
        passed: 4 - at,
        of: 4,
        tests: vec![sure(at, 1), sure(at, 0), None],
        state_bytes: (at == 0).then_some(12_340),
        ns: (at == 0).then_some(45.6),
    };
    SuiteResult {
        name: "protection 2".into(),
        title: "A queue & its users".into(),
        notes: vec!["a <draft>".into()],
        bound: Some(0.5),
        queues: (0..QUEUES.len()).map(queue).collect(),
        tests: vec![test("P1", 2), test("P2", 2), test("P3", 0)],
        seeds: 10,
        command: "tidegate suite run 'a=<1>'".into(),
        version: "1.2.3".into(),
    }
}

/// What stands between each `before` and the sign `end`.
fn between<'t>(text: &'t str, before: &str, end: char) -> Vec<&'t str> {
    text.split(before).skip(1).map(|rest| &rest[..rest.find(end).expect("an end")]).collect()
}

/// The part of a page from `from` to `to`.
fn part<'t>(page: &'t str, from: &str, to: &str) -> &'t str {
    let rest = &page[page.find(from).unwrap_or_else(|| panic!("{from}"))..];
    &rest[..rest.find(to).unwrap_or(rest.len())]
}

#[test]
fn every_link_leads_to_a_place_of_the_page() {
    let judged = suite();
    for suite in [SuiteResult { bound: None, ..suite() }, judged] {
        let page = render(&suite);
        let ids: Vec<&str> = between(&page, " id=\"", '"');
        let once: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(once.len(), ids.len(), "no place has the name of another: {ids:?}");
        let links = between(&page, "href=\"", '"');
        assert!(!links.is_empty());
        for link in links {
            let place = link.strip_prefix('#').expect("no other page");
            assert!(once.contains(place), "{link} leads nowhere");
        }
        for id in ["P1", "P1-1", "P1-2", "P2", "P2-1", "P2-2"] {
            assert!(once.contains(id), "{id} has a place");
        }
        assert!(!once.contains("P3"), "a test without cells has none");
    }
}

#[test]
fn what_is_passed_is_bold_and_what_is_unknown_is_a_dash() {
    let page = render(&suite());
    let map = part(&page, "<table class=heat>", "</table>");
    let rows: Vec<&str> = map.split("<tr><th scope=row>").skip(1).collect();
    assert_eq!(rows.len(), QUEUES.len());
    // sfb is sure of .8 and .9, red of .5 and .6, drop_tail of .2 and .3.
    for (row, fields) in rows.iter().zip([
        [("\"s8 m\"", "0.80"), ("\"s9 m\"", "0.90")],
        [("\"s5 m\"", "0.50"), ("\"s6 m\"", "0.60")],
        [("s2", "0.20"), ("s3", "0.30")],
    ]) {
        for ((class, share), test) in fields.into_iter().zip(["P1", "P2"]) {
            let field = format!("<td class={class}><a href=\"#{test}\">{share}</a>");
            assert!(row.contains(&field), "{field} is not in {row}");
        }
    }
    assert!(!map.contains("P3"), "a test that was not run has no column");
    assert!(rows[0].contains("<span style=\"--p:100%\">4/4</span>"), "{}", rows[0]);
    assert!(rows[2].contains("<span style=\"--p:50%\">2/4</span>"), "{}", rows[2]);
    assert!(rows[0].trim_end().ends_with("<td>12.3<td>46"), "{}", rows[0]);
    assert!(rows[1].trim_end().ends_with("<td>–<td>–"), "{}", rows[1]);
    let mut one = suite();
    one.queues[0].tests[0] = None;
    let page = render(&one);
    assert_eq!(
        part(&page, "<table class=heat>", "</table>").matches("<td class=none>–").count(),
        1
    );
}

#[test]
fn the_answer_names_the_best_its_weakness_and_the_last() {
    let page = render(&suite());
    let answer = part(&page, "<ul class=\"answer\">", "</ul>");
    let best = "<li><b>sfb</b> passes 4 of 4 cells. It is weakest in <a href=\"#P1\">P1, What P1 \
                &lt;asks&gt;</a>, where the worst user is sure of 0.80 of a fair share.</li>";
    assert!(answer.contains(best), "{answer}");
    let others =
        "<li>Then comes <b>red &lt;2&gt;</b> with 3; the last is <b>drop_tail</b> with 2.</li>";
    assert!(answer.contains(others), "{answer}");

    let two = SuiteResult { queues: suite().queues.into_iter().step_by(2).collect(), ..suite() };
    let page = render(&two);
    assert!(
        part(&page, "<ul class=\"answer\">", "</ul>").contains("<li>The last is <b>drop_tail</b>")
    );
    let one = SuiteResult { queues: suite().queues.into_iter().take(1).collect(), ..suite() };
    let page = render(&one);
    assert_eq!(part(&page, "<ul class=\"answer\">", "</ul>").matches("<li>").count(), 1);
    let none = SuiteResult { queues: vec![], ..suite() };
    assert!(!render(&none).contains("<ul class=\"answer\">"));
    let mut untold = suite();
    untold.queues.iter_mut().for_each(|queue| queue.tests.clear());
    let page = render(&untold);
    assert!(page.contains("<b>sfb</b> passes 4 of 4 cells.</li>"), "no weakness is known");
    let many = (0..6).map(|_| suite().queues.remove(1)).collect();
    let page = render(&SuiteResult { queues: many, ..suite() });
    assert_eq!(part(&page, "Then come ", "; the last").matches("<b>").count(), 3, "three are near");
}

#[test]
fn a_suite_without_a_bound_measures_and_does_not_judge() {
    let page = render(&SuiteResult { bound: None, ..suite() });
    for absent in ["class=\"answer\"", "class=heat", "class=\"heat cells\"", " m\">", "class=scale"]
    {
        assert!(!page.contains(absent), "{absent} is in the page");
    }
    assert!(page.contains("2 tests, 4 cells, 3 queues. This suite measures and does not judge"));
    assert_eq!(page.matches("<details id=").count(), 4);
    assert_eq!(page.matches(" open><summary>").count(), 4, "its figures are all that it has");
    let judged = render(&suite());
    assert_eq!(
        judged.matches(" open><summary>").count(),
        0,
        "where there is a map they are folded"
    );
    assert_eq!(judged.matches("class=\"heat cells\"").count(), 2, "a map for each test");
}

#[test]
fn a_figure_that_nobody_has_is_no_column() {
    let page = render(&suite());
    let cell = part(&page, "<details id=\"P1-2\">", "</details>");
    let head = part(cell, "<thead>", "</thead>");
    let heads: Vec<&str> =
        head.split("<th").skip(2).map(|th| &th[th.find('>').unwrap() + 1..]).collect();
    assert_eq!(heads, ["queue", "goodput, Mbit/s", "starved"]);
    let rows: Vec<&str> = cell.split("<tr><th>").skip(1).collect();
    assert_eq!(rows.len(), QUEUES.len());
    assert!(rows[0].starts_with("sfb<td>2.00<i>0.10</i><td>1.00\n"), "{}", rows[0]);
    let mut less = suite();
    less.tests[0].cells[1].rows[0].figures[0] = None;
    less.tests[0].cells[1].rows[1].figures.truncate(1);
    let page = render(&less);
    let cell = part(&page, "<details id=\"P1-2\">", "</details>");
    let rows: Vec<&str> = cell.split("<tr><th>").skip(1).collect();
    assert!(rows[0].starts_with("sfb<td>–<td>1.00\n"), "{}", rows[0]);
    assert!(rows[1].starts_with("red &lt;2&gt;<td>2.00<i>0.10</i><td>–\n"), "{}", rows[1]);
}

#[test]
fn what_a_suite_says_is_no_markup() {
    let page = render(&suite());
    for said in [
        "<h1>A queue &amp; its users</h1>",
        "<title>A queue &amp; its users</title>",
        "suite protection 2</p>",
        "<p class=\"caveat\">a &lt;draft&gt;</p>",
        "<h2>P1 · What P1 &lt;asks&gt;</h2>",
        "<summary>cell 0 &amp; more</summary>",
        "<p class=note>A user is a &lt;source&gt;.</p>",
        "<code>tidegate compare --set &#39;a=&lt;1&gt;&#39;</code>",
        "<pre>tidegate suite run &#39;a=&lt;1&gt;&#39;</pre>",
        "Tidegate 1.2.3. 10 replications of each cell",
    ] {
        assert!(page.contains(said), "{said} is not in the page");
    }
    assert!(!page.contains("<asks>") && !page.contains("red <2>") && !page.contains("<script"));
    // A cell without a word on its users has no empty line for it.
    let second = part(&page, "<details id=\"P1-2\">", "</details>");
    assert_eq!(second.matches("<p class=note>").count(), 1, "{second}");
}

#[test]
fn pictures_stand_in_the_cell_without_what_is_for_files() {
    let mut with = suite();
    with.tests[0].cells[0].pictures =
        vec!["<?xml version=\"1.0\"?>\n<svg id=\"a\"></svg>".into(), "no picture".into()];
    let page = render(&with);
    let cell = part(&page, "<details id=\"P1-1\">", "</details>");
    assert!(cell.contains("<figure><svg id=\"a\"></svg></figure>"), "{cell}");
    assert!(!page.contains("<?xml") && !page.contains("no picture"));
}
