//! papers/README.md counts the verdicts that papers/results.csv has.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::markdown::cells;

/// The fields of one line of CSV; quotes may hide commas.
fn fields(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            c => all.last_mut().expect("one at least").push(c),
        }
    }
    all
}

/// The column of the page's table in which a verdict counts, after the number of claims.
fn column(verdict: &str) -> usize {
    match verdict {
        "holds" => 1,
        v if v.starts_with("holds under") => 2,
        "differs" => 3,
        "fitted" => 4,
        "fitted, not met" => 5,
        v if v.starts_with("cannot be checked") => 6,
        other => panic!("no column for {other:?}"),
    }
}

#[test]
fn the_page_counts_what_the_results_say() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let results = fs::read_to_string(papers.join("results.csv")).unwrap();
    let place = fields(results.lines().next().unwrap()).iter().position(|f| f == "verdict");
    let mut counts = BTreeMap::<String, [u32; 7]>::new();
    for row in results.lines().skip(1).map(fields) {
        let of = counts.entry(row[0].clone()).or_default();
        of[0] += 1;
        of[column(&row[place.unwrap()])] += 1;
    }
    let page = fs::read_to_string(papers.join("README.md")).unwrap();
    assert_eq!(counts.len(), 5);
    for (paper, counts) in counts {
        let start = format!("| [{paper}]({paper}/README.md)");
        let row = page.lines().find(|l| l.starts_with(&start)).expect("a row for each paper");
        let said: Vec<u32> = cells(row).iter().filter_map(|cell| cell.parse().ok()).collect();
        assert_eq!(said, counts, "{paper}: claims and verdicts");
    }
}

/// Every cause why claims differ, with their number, in the row of its paper.
#[test]
fn the_page_says_why_claims_differ() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let results = fs::read_to_string(papers.join("results.csv")).unwrap();
    let names = fields(results.lines().next().unwrap());
    let place = |name| names.iter().position(|field| field == name).unwrap();
    let (verdict, explained) = (place("verdict"), place("explained"));
    let mut causes = BTreeMap::<String, BTreeMap<String, u32>>::new();
    for row in results.lines().skip(1).map(fields).filter(|row| row[verdict] == "differs") {
        *causes.entry(row[0].clone()).or_default().entry(row[explained].clone()).or_default() += 1;
    }
    let page = fs::read_to_string(papers.join("README.md")).unwrap();
    let mut all = 0;
    for (paper, causes) in causes {
        let differ: u32 = causes.values().sum();
        let start = format!("| {paper} | {differ} |");
        let row = page.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row that begins with {start}"));
        for (cause, claims) in &causes {
            let said = format!("`{cause}` {claims}");
            assert!(row.contains(&said), "{paper}: {said} is not in the row");
        }
        assert_eq!(row.matches('`').count(), 2 * causes.len(), "{paper}: other causes");
        let own = fs::read_to_string(papers.join(&paper).join("README.md")).unwrap();
        let claims = results.lines().filter(|row| row.starts_with(&format!("{paper},"))).count();
        let said = format!("{differ} of {claims} claims [differ]");
        assert!(own.contains(&said), "papers/{paper}/README.md: {said}");
        all += differ;
    }
    let claims = results.lines().count() - 1;
    assert!(page.contains(&format!("**{all} of {claims} claims differ")), "{all} of {claims}");
}
