//! What was seen, for people: a page, two plots and the figures.
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use tidegate_report::papers::{Chart, ChartLine, FigurePoint, svg};

use crate::Sample;
use crate::ledger::Verdict;

/// Writes soak.md, soak.csv, soak-memory.svg and soak-frames.svg into `folder`.
pub fn write(
    folder: &Path,
    seconds: f64,
    samples: &[Sample],
    verdicts: &[Verdict],
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("soak.csv"), table(samples))?;
    fs::write(folder.join("soak-memory.svg"), svg(&memory(samples)))?;
    fs::write(folder.join("soak-frames.svg"), svg(&frames(samples)))?;
    fs::write(folder.join("soak.md"), page(seconds, samples, verdicts))
}

fn table(samples: &[Sample]) -> String {
    let mut text = String::from(
        "seconds,memory_bytes,threads,descriptors,received,sent,lost,held,tcp_bytes,flood,reloads,flaps\n",
    );
    for s in samples {
        let Sample {
            at,
            memory,
            threads,
            descriptors,
            received,
            sent,
            lost,
            held,
            delivered,
            flood,
            reloads,
            flaps,
        } = s;
        let flood = u8::from(*flood);
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{at:.2},{memory},{threads},{descriptors},{received},{sent},{lost},{held},{delivered},{flood},{reloads},{flaps}"
        );
    }
    text
}

fn line(name: &str, points: impl Iterator<Item = (f64, f64)>) -> ChartLine {
    ChartLine {
        name: name.into(),
        printed: false,
        points: points.map(|(x, y)| FigurePoint { x, y, ci95: None }).collect(),
    }
}

fn memory(samples: &[Sample]) -> Chart {
    let of = samples.iter().map(|s| (s.at / 60.0, s.memory as f64 / 1e6));
    Chart {
        title: "The gate's own memory".into(),
        x: "minutes".into(),
        y: "MB".into(),
        lines: vec![line("anonymous pages in memory", of)],
        ..Chart::default()
    }
}

/// Rates between samples, of frames from the clients to the server.
fn frames(samples: &[Sample]) -> Chart {
    let rate = |name: &str, of: fn(&Sample) -> u64| {
        let per_second = samples.windows(2).map(move |pair| {
            let more = of(&pair[1]).saturating_sub(of(&pair[0])) as f64;
            (pair[1].at / 60.0, more / (pair[1].at - pair[0].at).max(1e-9) / 1000.0)
        });
        line(name, per_second)
    };
    Chart {
        title: "Frames from the clients to the server".into(),
        x: "minutes".into(),
        y: "thousands a second".into(),
        // What is drawn last covers the others.
        lines: vec![
            rate("lost", |s| s.lost),
            rate("sent", |s| s.sent),
            rate("received", |s| s.received),
        ],
        ..Chart::default()
    }
}

fn page(seconds: f64, samples: &[Sample], verdicts: &[Verdict]) -> String {
    let last = samples.last().cloned().unwrap_or_default();
    let mut text = format!(
        "# Soak\n\n\
         By `make soak`: {:.0} minutes of a gate in network namespaces on one machine, at some \
         100 Mbit/s.\n\
         The kernel's TCP, long and short, cubic and reno, both ways, offers four \
         fifths of the line.\n\
         A flood of one and a half times the line is there a third of the time.\n\
         The file was read again {} times, each time with another queue and another rate.\n\
         An interface went down and came up again {} times.\n\
         A frame is counted at the far ends, by the kernel's program at the gate, and by \
         the gate.\n\n\
         | | what | found |\n|---|---|---|\n",
        seconds / 60.0,
        last.reloads,
        last.flaps
    );
    for Verdict { what, holds, found } in verdicts {
        let _ =
            writeln!(text, "| {} | {what} | {found} |", if *holds { "holds" } else { "**fails**" });
    }
    text + "\nWhat is unheard came off the wire just after an interface had come up again, \
            before the gate had noticed.\n\
            It is lost and counted. Figures: [soak.csv](soak.csv).\n\n\
            ![The gate's own memory over time](soak-memory.svg)\n\n\
            ![Frames received, sent and lost a second](soak-frames.svg)\n"
}
