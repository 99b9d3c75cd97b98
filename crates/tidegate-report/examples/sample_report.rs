//! Writes a report of made-up figures, to look at while the page is worked on:
//! `cargo run -p tidegate-report --example sample_report -- DIR`.
#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;

use sample::{SHAPES, replayed, series, simulated};
use tidegate_report::html::{ReportInput, Run, render};
use tidegate_report::{Document, Series};

fn main() -> std::io::Result<()> {
    let dir =
        PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "target/sample-report".into()));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("compare.html"), compare(20))?;
    std::fs::write(dir.join("compare400.html"), compare(400))?;
    std::fs::write(dir.join("one.html"), one())?;
    std::fs::write(dir.join("replay.html"), replay())
}

fn compare(tcp: u64) -> String {
    let documents: Vec<Document> = SHAPES.iter().map(|shape| simulated(*shape, tcp)).collect();
    let series: Vec<Series> = SHAPES.iter().map(|shape| series(*shape)).collect();
    let runs = documents
        .iter()
        .zip(&series)
        .map(|(document, series)| Run::of(document).with_series(series))
        .collect();
    render(&ReportInput {
        title: "A flood against TCP",
        runs,
        scenario: Some(
            "[link]\nrate = \"45 Mbit/s\"\ndelay = \"10 ms\"\nlimit = \"200 packets\"\n",
        ),
        command: Some(
            "tidegate compare flood --queue drop_tail --queue red --queue blue --queue sfb --seeds \
             3",
        ),
    })
}

fn one() -> String {
    let (document, series) = (simulated(SHAPES[3], 20), series(SHAPES[3]));
    let runs = vec![Run::of(&document).with_series(&series)];
    render(&ReportInput { title: "A flood against TCP", runs, ..ReportInput::default() })
}

fn replay() -> String {
    let documents = [replayed("drop_tail", 0.5), replayed("sfb", 0.9)];
    render(&ReportInput {
        title: "flood.pcapng through two queues",
        runs: documents.iter().map(Run::of).collect(),
        ..ReportInput::default()
    })
}
