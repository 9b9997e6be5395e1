//! Comparisons: two results, or a result and the goldens, side by side.
//!
//! What counts as different is what counts as different from a golden
//! ([`trapline_golden::compare`]): counts, values and outcomes always, timings exactly when the
//! same code was measured and by more than the tolerance when not. The tables show every ratio.
//!
//! What perf printed elsewhere is not held against anything: [`counts()`] sets it beside a scenario or
//! another table, exit by exit.

pub mod budget;
mod chart;
mod counted;
mod counts;
mod side;
pub mod welch;
pub mod worse;

pub use counted::{Counted, CountedError, Figure, Selector};
pub use counts::counts;
pub use side::{Side, SideError};

use crate::transcript::Stats;
use std::collections::BTreeSet;
use std::fmt::Write;
use trapline_golden::compare::compare as snapshots;
use trapline_golden::snapshot::{Row, Snapshot, Window};

/// A comparison's text and whether something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// For people.
    pub text: String,
    /// Scenarios that differ or are on one side only.
    pub different: usize,
}

/// Compares two sides. Scenarios that are equal get a line, and with `all` their table too.
pub fn compare(a: &Side, b: &Side, all: bool) -> Comparison {
    let mut result = Comparison { text: format!("A: {}\nB: {}\n\n", a.name, b.name), different: 0 };
    let names: BTreeSet<_> = a.scenarios.keys().chain(b.scenarios.keys()).collect();
    for name in names {
        match (a.scenarios.get(name), b.scenarios.get(name)) {
            (Some(left), Some(right)) => result.pair(name, left, right, all),
            // The goldens hold every scenario, a result those that were run.
            (Some(_), None) if a.is_golden => {}
            (None, Some(_)) if b.is_golden => {}
            (left, _) => {
                result.different += 1;
                let only = if left.is_some() { "A" } else { "B" };
                let _ = writeln!(result.text, "DIFF {name}: only in {only}");
            }
        }
    }
    let _ = match result.different {
        0 => writeln!(result.text, "no differences"),
        1 => writeln!(result.text, "1 scenario differs"),
        n => writeln!(result.text, "{n} scenarios differ"),
    };
    result
}

impl Comparison {
    fn pair(&mut self, name: &str, a: &Snapshot, b: &Snapshot, all: bool) {
        let comparison = snapshots(a, b);
        let word = if comparison.holds() { "SAME" } else { "DIFF" };
        let _ = writeln!(self.text, "{word} {name}");
        for note in &comparison.notes {
            let _ = writeln!(self.text, "     note: {}", sides(note));
        }
        self.different += usize::from(!comparison.holds());
        for difference in &comparison.differences {
            let (what, a, b) = (&difference.what, &difference.golden, &difference.seen);
            let _ = writeln!(self.text, "     {what}: A {a}, B {b}");
        }
        if all || !comparison.holds() {
            for (a, b) in a.windows.iter().zip(&b.windows) {
                self.text += &table(a, b);
            }
        }
    }
}

fn sides(note: &str) -> String {
    note.replace("from the blessed run", "between A and B")
}

/// Counts and mean durations of two windows, with the ratio B to A.
fn table(a: &Window, b: &Window) -> String {
    let mut text = format!(
        "\n     window {}, vCPU {}\n{:>40} {:>10} {:>10} {:>7} {:>12} {:>12} {:>7}\n",
        a.label, a.vcpu, "exit", "count A", "count B", "B/A", "mean A", "mean B", "B/A"
    );
    let names: BTreeSet<_> = a.exits.iter().chain(&b.exits).map(|row| &row.exit).collect();
    for name in names {
        let [(count_a, mean_a), (count_b, mean_b)] = [a, b].map(|w| figures(&w.exits, name));
        let _ = writeln!(
            text,
            "{name:>40} {count_a:>10} {count_b:>10} {:>7} {mean_a:>12.2} {mean_b:>12.2} {:>7}",
            ratio(count_a as f64, count_b as f64),
            ratio(mean_a, mean_b)
        );
    }
    let (ticks_a, ticks_b) = (a.ticks, b.ticks);
    let times = ratio(ticks_a as f64, ticks_b as f64);
    let _ = writeln!(text, "{:>40} {:>10} {:>10} {times:>7}\n", "ticks", ticks_a, ticks_b);
    text
}

fn figures(rows: &[Row], name: &str) -> (u64, f64) {
    rows.iter().find(|row| row.exit == name).map_or((0, 0.0), |row| {
        let (count, sum) = (row.figures.count, row.figures.sum);
        (count, Stats { count, sum, ..Stats::default() }.mean())
    })
}

fn ratio(a: f64, b: f64) -> String {
    if a == 0.0 { "-".into() } else { format!("{:.3}", b / a) }
}

#[cfg(test)]
mod tests;
