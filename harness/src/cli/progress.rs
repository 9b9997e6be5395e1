//! The progress bar: on standard error, and only when that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use trapline::target::Progress;

/// Shows which scenario runs.
pub struct Bar {
    bar: ProgressBar,
    names: Vec<String>,
}

impl Bar {
    /// A bar for `repeats` times these scenarios. indicatif hides it where there is no terminal.
    pub fn new(names: Vec<String>, repeats: u32) -> Self {
        let bar = ProgressBar::new(names.len() as u64 * u64::from(repeats));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, names }
    }

    /// Takes a step of the run.
    pub fn step(&self, step: Progress) {
        match step {
            Progress::Began(index) => {
                self.bar.set_message(self.names.get(index).cloned().unwrap_or_default());
            }
            Progress::Ended(_) => self.bar.inc(1),
        }
    }

    /// Takes the bar away.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }
}
