//! `tidegate paper`: what papers claim, and what we find.
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_lab::RunError;
use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::paper::pairs::{self, Cell, Choice, Grid};
use tidegate_lab::paper::{self, Asked, Folder, Length, Paper, PaperError, Results, Row, Verdict};
use tidegate_lab::store::File;
use tidegate_report::papers::{KINDS, Made, render};

use crate::experiment::{command_line, whole};
use crate::failure::Failure;
use crate::manual::{Block, Page};
use crate::progress::Onlooker;
use crate::{interrupt, output, shipped};

/// Run what papers ran, and set our figures beside the printed ones.
///
/// Each experiment has claims: numbers or orders that the paper prints, each with the tolerance
/// within which ours holds. The verdict is computed: holds, differs, fitted (a parameter was chosen
/// on this very number), or cannot be checked. docs/study/paper.md tells how a paper is written
/// down.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  tidegate paper list
  tidegate paper list --json
  tidegate paper run C3
  tidegate paper run D1 --quick --out out/d1
  tidegate paper run E1 B0 --json
  tidegate paper pairs D1 --quick --choice ewfq:order=scfq --choice ewfq:insert=every")]
pub struct Papers {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(List),
    Run(Run),
    Pairs(Pairs),
}

/// List the papers with their experiments and claims.
#[derive(Debug, clap::Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read the papers in this directory, a folder each, instead of those that came with the
    /// command
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// Run experiments and print every claim with our figure and the verdict.
///
/// With --out, each queue in each setting is stored when it is done, under a hash of its scenario
/// and of the code that made it: the same command, asked again, runs only what is missing. Beside
/// them lie the table of all claims (results.csv), the points of all figures (figures.csv), the
/// figures as SVG, and pages (index.html).
#[derive(Debug, clap::Args)]
struct Run {
    /// Experiments (B5), papers (care, or chan2003), or all
    #[arg(value_name = "ID|KEY|all", required = true)]
    which: Vec<String>,
    #[command(flatten)]
    how: How,
}

/// How experiments are run, and where what comes of them goes.
#[derive(Debug, clap::Args)]
struct How {
    /// Number of replications, 1 to 10000; without it, the paper's own, or 3 of a quick run
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 10_000), allow_negative_numbers = true)]
    seeds: Option<u32>,
    /// Few replications, and short ones where the paper's are long
    #[arg(long)]
    quick: bool,
    /// Store results in this directory and go on from what is there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON: one object for each line
    #[arg(long)]
    json: bool,
    /// Read the papers in this directory, a folder each, instead of those that came with the
    /// command
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

impl How {
    /// The experiments of `papers` that `ids` names, as they are to be run.
    fn asked<'p>(&self, papers: &'p [Paper], ids: Vec<String>) -> Asked<'p> {
        let length = if self.quick { Length::Quick } else { Length::Full };
        Asked { papers, experiments: ids, length, seeds: self.seeds, only_tested: false }
    }

    /// Runs what is asked for.
    fn run(&self, asked: &Asked<'_>) -> Result<Results, Failure> {
        let out = self.out.as_deref();
        if let Some(dir) = out {
            paper::prepare(dir).map_err(Failure::input)?;
        }
        paper::run(asked, out, &Onlooker::new()).map_err(|error| match (error, out) {
            (PaperError::Run(RunError::Cancelled), None) => Failure::Interrupted,
            (PaperError::Run(RunError::Cancelled), Some(dir)) => Failure::Stopped(format!(
                "interrupted; what was done lies in {}, and the same command goes on from there",
                dir.display()
            )),
            (PaperError::Run(error), _) => Failure::input(error),
            (PaperError::Store(error), _) => Failure::runtime(error),
        })
    }
}

impl Papers {
    pub fn execute(self) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.execute(),
            What::Run(run) => run.execute(),
            What::Pairs(pairs) => pairs.execute(),
        }
    }
}

/// Run an experiment under every pair of readings, and print how many claims each meets.
///
/// Without --choice the grid is made of every other word of each parameter that takes one of
/// several words, of the queues that the experiment compares, as their manual pages list them. The
/// first line says what comes of the experiment as run. With --out, cells are stored as `paper run`
/// stores them, and the table lies beside them as pairs-ID.csv.
#[derive(Debug, clap::Args)]
struct Pairs {
    /// The experiment (A5)
    #[arg(value_name = "ID")]
    which: String,
    /// A choice, QUEUE:PARAM=VALUE or PATH=VALUE of the scenario; give it several times
    #[arg(long = "choice", value_name = "CHOICE")]
    choices: Vec<Choice>,
    /// Without --choice: only the choices of this queue
    #[arg(long, value_name = "QUEUE", conflicts_with = "choices")]
    queue: Option<String>,
    #[command(flatten)]
    how: How,
}

impl Pairs {
    fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        let folders = folders(self.how.from.as_deref())?;
        let papers = read(&folders)?;
        let ids = experiments(std::slice::from_ref(&self.which), &papers)?;
        let mut of =
            papers.iter().zip(&folders).filter(|(paper, _)| paper.experiment(&ids[0]).is_some());
        let (Some((paper, folder)), [id]) = (of.next(), &ids[..]) else {
            return Err(Failure::Input(format!(
                "{}: must be one experiment, as in A5",
                self.which
            )));
        };
        let grid =
            Grid::new(paper, folder, id, &self.choices(paper, id)?).map_err(Failure::input)?;
        let asked = self.how.asked(std::slice::from_ref(&grid.paper), vec![id.clone()]);
        let cells = grid.judged(&self.how.run(&asked)?);
        if let Some(dir) = &self.how.out {
            let name = format!("pairs-{id}.csv");
            let file = File { name: name.clone(), bytes: pairs::csv(&cells).into_bytes() };
            paper::publish(dir, &[file]).map_err(Failure::runtime)?;
            output::note(&format!("Wrote {}.", dir.join(name).display()));
        }
        if self.how.json {
            output::print(&format!(
                "{:#}\n",
                Value::from(cells.iter().map(cell).collect::<Vec<_>>())
            ))
        } else {
            output::print(&paired(&cells))
        }
    }

    fn choices(&self, paper: &Paper, experiment: &str) -> Result<Vec<Choice>, Failure> {
        let choices = if self.choices.is_empty() {
            pairs::listed(paper, experiment, self.queue.as_deref())
        } else {
            self.choices.clone()
        };
        match choices.len() {
            0 => {
                let of = self
                    .queue
                    .as_ref()
                    .map_or(String::new(), |queue| format!(" of a queue `{queue}`"));
                Err(Failure::Input(format!(
                    "{experiment}: there is nothing{of} to choose; name it by --choice"
                )))
            }
            n if n > pairs::MOST_CHOICES => Err(Failure::Input(format!(
                "{experiment}: {n} choices; there may be {} at most: say by --queue or --choice \
                 which",
                pairs::MOST_CHOICES
            ))),
            _ => Ok(choices),
        }
    }
}

/// The lines for a terminal: as run, then the best first.
fn paired(cells: &[Cell]) -> String {
    let (plain, others): (Vec<&Cell>, Vec<&Cell>) =
        cells.iter().partition(|cell| cell.choices.is_empty());
    let mut lines = vec![pairs::COLUMNS.map(String::from).to_vec()];
    lines.extend(plain.iter().chain(&others).map(|cell| cell.fields().to_vec()));
    let mut page = Page::default();
    page.add(Block::Table(lines));
    page.render()
        + "\nmet: claims that hold or are fitted, of those with a figure; gained, lost: against as run; factor: how far ours is off \
           the printed numbers, in the root mean square.\n"
}

fn cell(cell: &Cell) -> Value {
    json!({
        "choices": cell.choices.iter().map(Choice::to_string).collect::<Vec<_>>(), "met": cell.met, "of": cell.of,
        "gained": cell.gained, "lost": cell.lost, "factor": cell.factor, "refused": cell.refused,
    })
}

/// All papers, in order.
fn papers(from: Option<&Path>) -> Result<Vec<Paper>, Failure> {
    read(&folders(from)?)
}

/// Their folders.
fn folders(from: Option<&Path>) -> Result<Vec<Folder<'static>>, Failure> {
    let shipped = || shipped::PAPERS.iter().map(|(name, files)| folder(name, files)).collect();
    Ok(paper::shelved(from.map_or_else(|| Ok(shipped()), folders_in)?))
}

fn read(folders: &[Folder<'_>]) -> Result<Vec<Paper>, Failure> {
    let mut papers: Vec<Paper> = vec![];
    for folder in folders {
        let paper = Paper::read(folder).map_err(Failure::input)?;
        let known =
            papers.iter().flat_map(|p| &p.experiments).find(|e| paper.experiment(&e.id).is_some());
        if let Some(twice) = known {
            return Err(Failure::Input(format!(
                "{}/paper.toml: experiment {} is another paper's",
                folder.name, twice.id
            )));
        }
        papers.push(paper);
    }
    Ok(papers)
}

fn folder(name: &'static str, files: &[(&'static str, &'static str)]) -> Folder<'static> {
    Folder {
        name: name.into(),
        files: files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
    }
}

/// The papers in `dir`: each folder in it that has a description.
fn folders_in(dir: &Path) -> Result<Vec<Folder<'static>>, Failure> {
    let wrong =
        |path: &Path, error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let entries = |dir: &Path| -> Result<Vec<PathBuf>, Failure> {
        let read = std::fs::read_dir(dir).map_err(|error| wrong(dir, error))?;
        let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let mut folders = vec![];
    for path in entries(dir)?.into_iter().filter(|path| path.join(paper::DESCRIPTION).is_file()) {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = vec![];
        for file in entries(&path)?
            .into_iter()
            .filter(|file| file.extension().is_some_and(|e| e == "toml" || e == "csv"))
        {
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(&file, error))?;
            files.push((name(&file).into(), text.into()));
        }
        folders.push(Folder { name: name(&path).into(), files });
    }
    if folders.is_empty() {
        Err(Failure::Input(format!(
            "{}: no folder in it has a {}",
            dir.display(),
            paper::DESCRIPTION
        )))
    } else {
        Ok(folders)
    }
}

impl List {
    fn execute(self) -> Result<(), Failure> {
        let papers = papers(self.from.as_deref())?;
        if self.json {
            let list: Vec<Value> = papers.iter().map(described).collect();
            return output::print(&format!("{:#}\n", Value::from(list)));
        }
        let mut text = String::new();
        for paper in &papers {
            text += &format!("{} ({}): {}\n", paper.folder, paper.key, paper.title);
            for e in &paper.experiments {
                let claims = paper.claims.iter().filter(|claim| claim.experiment == e.id).count();
                text +=
                    &format!("  {:4}{:28}{} ({})\n", e.id, e.place, e.title, self::claims(claims));
            }
        }
        output::print(&(text + "`tidegate paper run ID|KEY|all` runs them.\n"))
    }
}

fn described(paper: &Paper) -> Value {
    let experiment = |e: &paper::Experiment| {
        let settings: Vec<&str> = paper
            .runs
            .iter()
            .filter(|run| run.experiment == e.id)
            .map(|run| run.setting.as_str())
            .collect();
        let claims = paper.claims.iter().filter(|claim| claim.experiment == e.id).count();
        json!({
            "id": e.id, "place": e.place, "title": e.title, "settings": settings, "claims": claims, "unchecked": e.unchecked,
        })
    };
    let experiments: Vec<Value> = paper.experiments.iter().map(experiment).collect();
    json!({
        "name": paper.folder, "key": paper.key, "title": paper.title, "authors": paper.authors, "venue": paper.venue,
        "experiments": experiments,
    })
}

impl Run {
    fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        let papers = papers(self.how.from.as_deref())?;
        let asked = self.how.asked(&papers, experiments(&self.which, &papers)?);
        let results = self.how.run(&asked)?;
        let rows: Vec<Row<'_>> = papers
            .iter()
            .flat_map(|paper| paper::rows(paper, &asked.experiments, &results))
            .collect();
        if let Some(dir) = &self.how.out {
            self.publish(dir, &asked, &results, &rows)?;
        }
        if self.how.json {
            output::print(&format!(
                "{:#}\n",
                Value::from(rows.iter().map(object).collect::<Vec<_>>())
            ))
        } else {
            output::print(&(table(&rows) + &summary(&rows) + &reasons(&papers, &rows)))
        }
    }

    /// Writes tables, pages and pictures.
    fn publish(
        &self,
        dir: &Path,
        asked: &Asked<'_>,
        results: &Results,
        rows: &[Row<'_>],
    ) -> Result<(), Failure> {
        let shown: Vec<_> = asked
            .papers
            .iter()
            .map(|paper| paper::page(paper, &asked.experiments, results, asked.length))
            .filter(|page| !page.experiments.is_empty())
            .collect();
        let command =
            command_line(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
        let note = match asked.length {
            Length::Quick => {
                "A quick run: few replications, and shorter than the paper's, so intervals are \
                 wide."
            }
            Length::Full => "",
        };
        let made = Made { version: paper::VERSION, command: &command, note };
        let mut files: Vec<File> = render(&shown, &made)
            .into_iter()
            .map(|page| File { name: page.name, bytes: page.text.into_bytes() })
            .collect();
        let points = paper::points(asked.papers, &asked.experiments, results);
        let version =
            json!({ "made_by": "tidegate", "version": paper::VERSION, "command": command });
        let made = format!("{version:#}\n");
        let readings = paper::readings(asked.papers, &asked.experiments, results);
        let tables = [
            ("results.csv", paper::csv(rows)),
            ("figures.csv", points),
            ("readings.csv", readings),
        ];
        for (name, text) in tables.into_iter().chain([("made.json", made)]) {
            files.push(File { name: name.into(), bytes: text.into_bytes() });
        }
        interrupt::uninterrupted(|| {
            paper::publish(dir, &files).map_err(Failure::runtime)?;
            output::note(&format!("Wrote {}.", dir.join("index.html").display()));
            Ok(())
        })
    }
}

/// The names of the experiments that `which` asks for.
fn experiments(which: &[String], papers: &[Paper]) -> Result<Vec<String>, Failure> {
    let mut asked: Vec<String> = vec![];
    for word in which {
        let mine =
            papers.iter().flat_map(|paper| paper.experiments.iter().map(move |e| (paper, e)));
        let named = |(paper, e): &(&Paper, &paper::Experiment)| {
            word == "all"
                || *word == paper.folder
                || *word == paper.key
                || word.eq_ignore_ascii_case(&e.id)
        };
        let found: Vec<String> = mine.filter(named).map(|(_, e)| e.id.clone()).collect();
        if found.is_empty() {
            let experiments =
                papers.iter().flat_map(|p| p.experiments.iter().map(|e| e.id.as_str()));
            let names = papers.iter().flat_map(|p| [p.folder.as_str(), p.key.as_str()]);
            let known: Vec<&str> = names.chain(experiments).chain(["all"]).collect();
            let near = did_you_mean(word, &known).unwrap_or_default();
            return Err(Failure::Input(format!(
                "{word}: no such experiment or paper{near}; `tidegate paper list` has them"
            )));
        }
        asked.extend(found.into_iter().filter(|id| !asked.contains(id)).collect::<Vec<_>>());
    }
    Ok(asked)
}

fn object(row: &Row<'_>) -> Value {
    let c = row.claim;
    json!({
        "paper": row.paper, "experiment": c.experiment, "setting": c.setting, "queue": c.queue,
        "quantity": c.quantity.to_string(), "unit": c.unit.to_string(), "printed": c.text, "place": c.place,
        "ours": row.ours.map(|f| f.mean()), "ci95": row.ours.and_then(|f| f.ci95()), "verdict": row.verdict.kind(),
        "reason": row.reason(), "explained": row.explanation(),
    })
}

/// The rows for a terminal.
fn table(rows: &[Row<'_>]) -> String {
    let head = ["", "setting", "queue", "quantity", "printed", "ours", "verdict"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for row in rows {
        let [_, experiment, setting, queue, quantity, unit, printed, ours, half, _, verdict, ..] =
            row.fields();
        let ours = if half.is_empty() { ours } else { format!("{ours} ± {half}") };
        let quantity = if unit.is_empty() { quantity } else { format!("{quantity}, {unit}") };
        lines.push(vec![experiment, setting, queue, quantity, printed, ours, verdict]);
    }
    let mut page = Page::default();
    page.add(Block::Table(lines));
    page.render() + "\n"
}

/// How many claims have which verdict.
fn summary(rows: &[Row<'_>]) -> String {
    let count = |kind: &&str| rows.iter().filter(|row| row.verdict.kind() == *kind).count();
    let parts: Vec<String> = KINDS
        .iter()
        .map(|kind| (kind, count(kind)))
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {}", if n == 1 { kind } else { of_several(kind) }))
        .collect();
    if parts.is_empty() {
        "No claims.\n".into()
    } else {
        format!("{}: {}.\n", claims(rows.len()), parts.join("; "))
    }
}

/// A verdict on more than one claim.
fn of_several(kind: &'static str) -> &'static str {
    match kind {
        "holds" => "hold",
        "holds under a reading" => "hold under a reading",
        "differs" => "differ",
        other => other,
    }
}

fn claims(count: usize) -> String {
    if count == 1 { "1 claim".into() } else { format!("{count} claims") }
}

/// Why claims differ, each reason once, and what speaks against the readings under which some hold.
fn reasons(papers: &[Paper], rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for paper in papers {
        for reading in paper.readings.iter().flat_map(|table| &table.readings) {
            let Some(against) = &reading.contradicted else { continue };
            let under = |row: &&Row<'_>| {
                row.paper == paper.folder
                    && row.verdict == Verdict::HoldsUnder(reading.name.clone())
            };
            let count = rows.iter().filter(under).count();
            if count > 0 {
                let (claims, hold) = (claims(count), if count == 1 { "holds" } else { "hold" });
                text += &format!(
                    "\n{claims} of {} {hold} under {}. Against that reading: {}\n",
                    paper.folder,
                    reading.name,
                    against.trim()
                );
            }
        }
    }
    for (paper, explanation) in
        papers.iter().flat_map(|p| p.explanations.iter().map(move |e| (p, e)))
    {
        let mine = |row: &&Row<'_>| {
            row.paper == paper.folder && row.explanation() == Some(&explanation.name)
        };
        let count = rows.iter().filter(mine).count();
        if count > 0 {
            let differ = if count == 1 { "differs" } else { "differ" };
            text += &format!(
                "\nWhy {} of {} {differ} ({}):\n{}\n",
                claims(count),
                paper.folder,
                explanation.name,
                explanation.why.trim()
            );
        }
    }
    text
}
