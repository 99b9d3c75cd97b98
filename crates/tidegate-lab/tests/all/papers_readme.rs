//! papers/README.md counts the verdicts that papers/results.csv has.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
        let said: Vec<u32> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(said, counts, "{paper}: claims and verdicts");
    }
}
