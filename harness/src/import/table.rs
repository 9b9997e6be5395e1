//! Tables, as data.

use super::Decimal;
use serde::{Deserialize, Serialize};

/// What times are printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Microseconds: the text report.
    Us,
    /// Nanoseconds: the browser view, whose percentages are cut to whole numbers as well
    /// (spec pv-and-formats d.4).
    Ns,
}

impl Unit {
    /// How many nanoseconds it has.
    pub fn nanos(self) -> f64 {
        match self {
            Self::Us => 1000.0,
            Self::Ns => 1.0,
        }
    }
}

/// One table of perf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The line of its head, from 1.
    pub line: u32,
    /// What stands above it: `all VMs, all VCPUs`.
    pub title: String,
    /// What it analyzes, the first word of the head: `VM-EXIT`, `IO Port Access`, `MSR Access`,
    /// `MMIO Access`, or `Event name`.
    pub event: String,
    /// What its times are printed in.
    pub unit: Unit,
    /// Its rows, in their order.
    pub rows: Vec<Row>,
    /// The line behind it, if there is one.
    pub totals: Option<Totals>,
    /// Whether a line of dots stands for further rows.
    pub cut: bool,
}

/// One row. What was not printed is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its line, from 1.
    pub line: u32,
    /// The event's name, as printed.
    pub name: String,
    /// How often.
    pub samples: u64,
    /// Its part of the samples, in percent.
    pub samples_share: Option<Decimal>,
    /// Its part of the time, in percent.
    pub time_share: Option<Decimal>,
    /// All its time, in the table's unit.
    pub time: Option<Decimal>,
    /// Shortest, in the table's unit.
    pub min: Option<Decimal>,
    /// Longest, in the table's unit.
    pub max: Option<Decimal>,
    /// Mean, in the table's unit.
    pub mean: Option<Decimal>,
    /// The mean's relative standard error, in percent.
    pub error: Option<Decimal>,
}

/// `Total Samples:N, Total events handled time:T.TTus.`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Its line, from 1.
    pub line: u32,
    /// All samples.
    pub samples: u64,
    /// All time, in microseconds.
    pub time: Decimal,
}

/// A drawn table of other figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// The line of its head, from 1.
    pub line: u32,
    /// What stands above it.
    pub title: String,
    /// The head of the rows' names; may be empty.
    pub head: String,
    /// The heads of the figures.
    pub columns: Vec<String>,
    /// Its rows, in their order.
    pub rows: Vec<DrawnRow>,
}

/// One row of a drawn table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnRow {
    /// Its line, from 1.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// A figure for each column.
    pub figures: Vec<Decimal>,
}

impl Table {
    /// All samples: as printed, else the rows' sum.
    pub fn samples(&self) -> u64 {
        let sum = || self.rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.samples));
        self.totals.as_ref().map_or_else(sum, |totals| totals.samples)
    }

    /// Whether it counts exits, as opposed to accesses to ports, MSRs or memory.
    pub fn is_of_exits(&self) -> bool {
        ["VM-EXIT", "Event name"].iter().any(|event| self.event.eq_ignore_ascii_case(event))
    }
}

impl Row {
    /// All its time, in the table's unit, as the sum of what is between the two.
    pub fn time_range(&self) -> Option<(f64, f64)> {
        let samples = self.samples as f64;
        let around = |d: Decimal| (d.value() - d.step() / 2.0, d.value() + d.step() / 2.0);
        match (self.time, self.mean) {
            (Some(time), _) => Some(around(time)),
            (None, Some(mean)) => {
                let (low, high) = around(mean);
                Some((low.max(0.0) * samples, high * samples))
            }
            (None, None) => None,
        }
    }

    /// The mean, in the table's unit: as printed, else from all its time.
    pub fn mean_time(&self) -> Option<f64> {
        let of_time =
            |time: Decimal| (self.samples > 0).then(|| time.value() / self.samples as f64);
        self.mean.map(Decimal::value).or_else(|| self.time.and_then(of_time))
    }
}
