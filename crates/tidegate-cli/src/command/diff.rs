//! `tidegate diff`: two saved results side by side.
use std::path::PathBuf;

use tidegate_lab::nearest::did_you_mean;
use tidegate_lab::saved::Saved;
use tidegate_report::diff::{Diff, MOST, NoDiff};
use tidegate_report::human;
use tidegate_report::table::{self, Look, Shown};

use crate::failure::Failure;
use crate::output;

/// Compare two saved results, figure by figure.
///
/// A result is a directory that --out made, that of a study, or a result.json alone. Each figure is
/// printed as it is in A and in B, with the difference and its 95 % interval. Where both have the
/// same seeds and rise and fall together, seeds are paired; else the interval is Welch's. A
/// result.json has no values by seed, so only directories can be paired. Those that differ come
/// first. Of hundreds of figures one in twenty differs by chance; those that differ also by Holm's
/// correction are marked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate diff before after
  tidegate diff before after/result.json --metric goodput_bps --all
  tidegate diff before after --metric delay_ms --json

Exit code 0 says that the results could be compared, whatever came out; 2 that they could not.")]
pub struct Args {
    /// The first result: a directory or a result.json
    a: PathBuf,
    /// The second
    b: PathBuf,
    /// Only this metric, as in goodput_bps or delay_ms; give it several times
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Show every figure, not only those that differ
    #[arg(long)]
    all: bool,
    /// Print every figure as JSON (schema tidegate.diff/1) instead of a table
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let a = Saved::open(&self.a).map_err(Failure::input)?;
        let b = Saved::open(&self.b).map_err(Failure::input)?;
        self.known(&[&a, &b])?;
        let diff = Diff::new(&a.figures, &b.figures, |column| self.wanted(column))
            .map_err(|why| self.failure(why))?;
        let names = [&self.a, &self.b].map(|path| path.display().to_string());
        if self.json {
            return output::print(&format!("{}\n", diff.to_json([&names[0], &names[1]])));
        }
        let shown = if self.all { Shown::All } else { Shown::Different };
        let head = head(&names, [&a, &b], &diff);
        output::print(&format!("{head}\n{}", table::diff(&diff, shown, &Look::stdout())))
    }

    fn wanted(&self, column: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|metric| is_of(column, metric))
    }

    /// Refuses a metric that neither result has.
    fn known(&self, results: &[&Saved]) -> Result<(), Failure> {
        let names: Vec<&str> = results
            .iter()
            .flat_map(|saved| saved.figures.metrics())
            .map(|known| known.name.as_str())
            .collect();
        let unknown = |metric: &&String| !names.iter().any(|name| is_of(name, metric));
        let Some(metric) = self.metrics.iter().find(unknown) else { return Ok(()) };
        let near = did_you_mean(metric, &names).unwrap_or_default();
        Err(Failure::Input(format!("--metric {metric}: neither result has such a metric{near}")))
    }

    fn failure(&self, why: NoDiff) -> Failure {
        let [a, b] = [&self.a, &self.b].map(|path| path.display());
        Failure::Input(match why {
            NoDiff::Nothing(reasons) => {
                format!("{a} and {b} have no figure in common: {}", reasons.join("; "))
            }
            NoDiff::TooMany(many) => format!(
                "{a} and {b} have {} figures in common; at most {} can be compared: choose some \
                 with --metric",
                human::count(many as u64),
                human::count(MOST as u64)
            ),
        })
    }
}

/// Whether `column` is of `metric`: has its name, or begins with it.
fn is_of(column: &str, metric: &str) -> bool {
    let rest = column.strip_prefix(metric);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Which results are compared, and what was set otherwise.
fn head(names: &[String; 2], results: [&Saved; 2], diff: &Diff) -> String {
    let mut lines = vec![];
    for (at, name) in ["A", "B"].into_iter().enumerate() {
        let mut told = vec![];
        if let Some(queues) = &diff.queues {
            told.push(queues[at].clone());
        }
        if let Some(manifest) = &results[at].manifest {
            told.push(format!("tidegate {}", manifest.version));
        }
        let told = if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) };
        lines.push(human::plain(&format!("{name}: {}{told}", names[at])));
    }
    if let Some((apart, more)) = results[0].settings_apart(results[1])
        && !apart.is_empty()
    {
        lines.push("Set otherwise in A and B:".into());
        lines.extend(apart.iter().map(|setting| human::plain(&format!("  {setting}"))));
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
    }
    lines.join("\n") + "\n"
}
