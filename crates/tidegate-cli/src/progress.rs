//! A bar with the time that is left, where somebody looks on.
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tidegate_lab::{Progress, Watch};

use crate::interrupt;

/// Work that is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_millis(400);
/// Parts that the bar is divided into.
const PARTS: u64 = 1000;

/// Looks on while a job runs: draws the bar if standard error is a terminal, and passes on Ctrl-C.
pub struct Onlooker {
    begun: Instant,
    audience: Audience,
    bar: OnceLock<ProgressBar>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Terminal,
    Nobody,
}

impl Onlooker {
    /// Begins to look on.
    pub fn new() -> Onlooker {
        let audience =
            if std::io::stderr().is_terminal() { Audience::Terminal } else { Audience::Nobody };
        Onlooker { begun: Instant::now(), audience, bar: OnceLock::new() }
    }

    fn bar(&self) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(PARTS).with_style(style).with_elapsed(self.begun.elapsed())
    }
}

impl Watch for Onlooker {
    fn progress(&self, progress: Progress) {
        if self.audience == Audience::Nobody
            || self.begun.elapsed() < PATIENCE
            || progress.fraction <= 0.0
        {
            return;
        }
        let bar = self.bar.get_or_init(|| self.bar());
        bar.set_message(format!("{} of {} done", progress.done, progress.of));
        bar.set_position((progress.fraction * PARTS as f64) as u64);
    }

    fn cancelled(&self) -> bool {
        interrupt::asked()
    }
}

/// One of several measurements, looked on at.
pub struct ProgressPart<'o> {
    onlooker: &'o Onlooker,
    done: usize,
    of: usize,
}

impl Onlooker {
    /// Looks on at the measurement that comes after `done` of `of`.
    pub fn part(&self, done: usize, of: usize) -> ProgressPart<'_> {
        ProgressPart { onlooker: self, done, of }
    }
}

impl tidegate_gateway::demo::DemoWatch for ProgressPart<'_> {
    fn progress(&self, fraction: f64) {
        let ProgressPart { done, of, .. } = *self;
        self.onlooker.progress(Progress {
            fraction: (done as f64 + fraction) / of as f64,
            done,
            of,
        });
    }

    fn cancelled(&self) -> bool {
        interrupt::asked()
    }
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
