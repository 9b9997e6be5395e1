//! Merging: several results made into one.
//!
//! Parts of one selection ([`crate::partition`]) give what one run of it would have given, in its
//! order; without a part missing. Other results are put one behind the other. What does not fit is
//! refused: a result whose scenarios ran with different images would say nothing of any of them.

mod conflict;

use crate::result::{Environment, RunResult, ScenarioResult};
use conflict::scenarios;
use std::collections::BTreeMap;

/// Why results do not make one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("there is no result to merge")]
    Nothing,
    /// They were not run alike.
    #[error("{a} and {b} cannot be merged: {what}")]
    Different {
        /// A file.
        a: String,
        /// Another.
        b: String,
        /// What differs, with both values.
        what: String,
    },
    /// A scenario is there twice, and not with the same content.
    #[error("{name} is in {a} and in {b}, and differs: {what}")]
    Twice {
        /// The scenario.
        name: String,
        /// A file.
        a: String,
        /// Another.
        b: String,
        /// The first difference.
        what: String,
    },
    /// A file has not what its part of the selection has.
    #[error("{file} is part {part}, which has {wanted} scenarios, but it holds {seen}")]
    NotItsPart {
        /// The file.
        file: String,
        /// `2/4`.
        part: String,
        /// Scenarios that it should hold.
        wanted: usize,
        /// Scenarios that it holds.
        seen: usize,
    },
    /// Not all parts are there.
    #[error("of {of} parts {} missing: {}", if .missing.len() == 1 { "one is" } else { "some are" },
        .missing.join(", "))]
    Missing {
        /// How many there should be.
        of: u32,
        /// `2/4`.
        missing: Vec<String>,
    },
}

/// Makes one result of those, each with the name of its file.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(files: Vec<(String, RunResult)>) -> Result<RunResult, MergeError> {
    for pair in files.windows(2) {
        let ((a, left), (b, right)) = (&files[0], &pair[1]);
        if let Some(what) = conflict::runs(left, right) {
            return Err(MergeError::Different { a: a.clone(), b: b.clone(), what });
        }
    }
    let files = match files.first() {
        None => return Err(MergeError::Nothing),
        Some((_, first)) if first.part.is_some() => parts(files)?,
        Some(_) => files,
    };
    let of_parts = files[0].1.part.is_some();
    let mut merged = RunResult {
        environment: environment(&files),
        part: None,
        problems: files.iter().flat_map(|(_, result)| result.problems.clone()).collect(),
        scenarios: Vec::new(),
        ..files[0].1
    };
    let mut seen = BTreeMap::new();
    for (file, scenario) in in_order(&files, of_parts) {
        let name = scenario.full_name();
        match seen.get(&name) {
            None => {
                seen.insert(name, (file, scenario));
                merged.scenarios.push(scenario.clone());
            }
            Some((other, first)) => {
                if let Some(what) = scenarios(first, scenario, &merged.environment) {
                    let (a, b) = ((*other).to_owned(), file.to_owned());
                    return Err(MergeError::Twice { name, a, b, what });
                }
            }
        }
    }
    Ok(merged)
}

/// The files by the number of their part, each once.
fn parts(files: Vec<(String, RunResult)>) -> Result<Vec<(String, RunResult)>, MergeError> {
    let mut by_number = BTreeMap::new();
    let mut of = 0;
    for (file, result) in files {
        let Some(part) = &result.part else { continue };
        let (partition, scenarios) = (part.partition, part.scenarios);
        let (wanted, seen) = (partition.share(scenarios), result.scenarios.len());
        if wanted != seen {
            let part = partition.to_string();
            return Err(MergeError::NotItsPart { file, part, wanted, seen });
        }
        of = partition.of;
        if let Some((other, first)) = by_number.get(&partition.number) {
            if *first != result {
                let what = format!("both are part {partition}, with different content");
                return Err(MergeError::Different { a: String::clone(other), b: file, what });
            }
            continue;
        }
        by_number.insert(partition.number, (file, result));
    }
    let missing: Vec<_> = (1..=of)
        .filter(|number| !by_number.contains_key(number))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { of, missing });
    }
    Ok(by_number.into_values().collect())
}

/// The scenarios with the names of their files: parts dealt out again, others file by file.
fn in_order(files: &[(String, RunResult)], of_parts: bool) -> Vec<(&str, &ScenarioResult)> {
    let longest = files.iter().map(|(_, result)| result.scenarios.len()).max().unwrap_or_default();
    let at = |file: usize, place: usize| {
        let (name, result) = &files[file];
        Some((name.as_str(), result.scenarios.get(place)?))
    };
    if of_parts {
        let places = (0..longest).flat_map(|place| (0..files.len()).map(move |file| (file, place)));
        places.filter_map(|(file, place)| at(file, place)).collect()
    } else {
        let places = (0..files.len()).flat_map(|file| (0..longest).map(move |place| (file, place)));
        places.filter_map(|(file, place)| at(file, place)).collect()
    }
}

/// The environment of the first file, with the processor of the first boot that there was.
fn environment(files: &[(String, RunResult)]) -> Environment {
    let cpu = files.iter().find_map(|(_, result)| result.environment.cpu.clone());
    Environment { cpu, ..files[0].1.environment.clone() }
}

#[cfg(test)]
mod tests;
