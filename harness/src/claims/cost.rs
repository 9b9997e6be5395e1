//! What an exit took on the machines of the documents, and what counts would have taken there.
//!
//! A prediction is counts times means: nobody measured it, and it is printed as a prediction. It compares
//! two configurations on one machine; it says nothing of another machine.

use super::documents::Documents;
use crate::import::canonical;
use crate::result::ScenarioResult;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[[cost]]` of a claims file: where a machine's means are from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// The document, by its key.
    pub source: String,
    /// The machine, in few words.
    pub machine: String,
    /// Its tables: `rtc-clock.txt/2`.
    pub tables: Vec<String>,
    /// Exits whose time is the guest's sleep and not work.
    #[serde(default)]
    pub asleep: Vec<String>,
}

/// A machine's means.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The document's title.
    pub source: String,
    /// The machine.
    pub machine: String,
    /// By exit, as of today's names.
    pub exits: BTreeMap<String, Mean>,
    /// Exits that are left out, because their time is sleep.
    pub asleep: Vec<String>,
}

/// A mean of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// How many.
    pub samples: u64,
    /// All their time in nanoseconds.
    pub nanos: f64,
}

impl Mean {
    /// The mean in nanoseconds.
    pub fn nanos(&self) -> f64 {
        self.nanos / self.samples as f64
    }
}

/// What a scenario's exits would have taken on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Nanoseconds.
    pub nanos: f64,
    /// Exits that it is made of.
    pub exits: u64,
    /// Exits that are not in it, because their time is sleep.
    pub asleep: u64,
    /// Exits that are not in it, because the machine's tables do not have them, by name.
    pub unknown: BTreeMap<String, u64>,
}

impl Costs {
    /// The means of all tables of a source together, weighted by samples.
    pub(super) fn read(
        source: &Source,
        title: &str,
        documents: &Documents,
    ) -> Result<Self, String> {
        let mut exits = BTreeMap::<String, Mean>::new();
        for name in &source.tables {
            let table = documents.table(name)?;
            if !table.is_of_exits() {
                return Err(format!("`{name}` is a table of {}, not of exits", table.event));
            }
            for row in table.rows.iter().filter(|row| row.samples > 0) {
                let mean =
                    row.mean_time().ok_or_else(|| format!("{name}: {} has no time", row.name))?;
                let sum = exits.entry(canonical(&row.name)).or_default();
                sum.samples += row.samples;
                sum.nanos += mean * table.unit.nanos() * row.samples as f64;
            }
        }
        match source.asleep.iter().find(|exit| !exits.contains_key(*exit)) {
            Some(exit) => Err(format!("no table of `{}` has {exit}, to be asleep", source.machine)),
            None => Ok(Self {
                source: title.into(),
                machine: source.machine.clone(),
                exits,
                asleep: source.asleep.clone(),
            }),
        }
    }

    /// What all exits of a scenario's windows would have taken; `None` where it was not measured.
    pub fn predict(&self, scenario: &ScenarioResult) -> Option<Prediction> {
        let windows = &scenario.measured.as_ref()?.windows;
        let mut prediction = Prediction::default();
        for exit in windows.iter().flat_map(|window| &window.exits) {
            let (count, name) = (exit.stats.count, canonical(&exit.exit));
            if self.asleep.contains(&name) {
                prediction.asleep += count;
            } else if let Some(mean) = self.exits.get(&name) {
                prediction.exits += count;
                prediction.nanos += mean.nanos() * count as f64;
            } else {
                *prediction.unknown.entry(name).or_default() += count;
            }
        }
        Some(prediction)
    }
}

impl Prediction {
    /// `12.3 us predicted for 20 exits, without 10 that sleep and 3 idle-halt of unknown cost`.
    pub fn text(&self) -> String {
        let mut text = format!("{:.1} us for {} exits", self.nanos / 1000.0, self.exits);
        let mut without = Vec::new();
        if self.asleep > 0 {
            without.push(format!("{} asleep", self.asleep));
        }
        without.extend(self.unknown.iter().map(|(name, n)| format!("{n} {name} of unknown cost")));
        if !without.is_empty() {
            text += &format!(" (without {})", without.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests;
