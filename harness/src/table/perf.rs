//! One table of `perf kvm stat report`.

use super::{micros, nanos};
use crate::transcript::Stats;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Width of the event column, in characters: that of perf since 2023, which cuts no SVM name.
const NAME: usize = 40;

/// Rows under one head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    head: &'static str,
    rows: BTreeMap<String, Stats>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &'static str) -> Self {
        Self { head, rows: BTreeMap::new() }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What it counts: `VM-EXIT`, `MSR Access`.
    pub fn head(&self) -> &'static str {
        self.head
    }

    /// Its rows by name.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Stats)> {
        self.rows.iter().map(|(name, stats)| (name.as_str(), stats))
    }

    /// Adds to a row.
    pub fn add(&mut self, name: &str, stats: &Stats) {
        self.rows.entry(name.into()).or_default().merge(stats);
    }

    /// The table's text, rows by falling count.
    pub fn render(&self, title: &str, tsc_khz: u32) -> String {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
        let samples: u64 = rows.iter().map(|(_, stats)| stats.count).sum();
        let time: u64 = rows.iter().map(|(_, stats)| stats.sum).sum();
        let mut text = format!("\n\nAnalyze events for {title}:\n\n");
        let _ = writeln!(
            text,
            "{:>NAME$} {:>10} {:>9} {:>9} {:>11} {:>11} {:>16}\n",
            self.head, "Samples", "Samples%", "Time%", "Min Time", "Max Time", "Avg time"
        );
        for (name, stats) in rows {
            let us = |ticks| micros(ticks, tsc_khz);
            let total = nanos(stats.sum, tsc_khz) as f64 / 1000.0;
            let mean = if stats.count == 0 { 0.0 } else { total / stats.count as f64 };
            let _ = writeln!(
                text,
                "{name:>NAME$} {:>10} {:>8.2}% {:>8.2}% {:>9.2}us {:>9.2}us {mean:>9.2}us ( +-{:>7.2}% )",
                stats.count,
                percent(stats.count, samples),
                percent(stats.sum, time),
                us(stats.min),
                us(stats.max),
                stats.relative_error(),
            );
        }
        let total = micros(time, tsc_khz);
        text + &format!("\nTotal Samples:{samples}, Total events handled time:{total:.2}us.\n\n")
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}
