//! Blessing: a result becomes the golden that later runs are held against.

use crate::result::{RunResult, ScenarioResult};
use crate::verdict::Verdict;
use std::path::Path;
use trapline_golden::replace::{ReplaceError, Replacement};
use trapline_golden::{TCG_ICOUNT, file};

/// Why nothing was blessed.
#[derive(Debug, thiserror::Error)]
pub enum BlessError {
    /// The filter matches none of the result's scenarios.
    #[error("the last result has no scenario that matches: run it first")]
    Nothing,
    /// Goldens of that environment would not repeat.
    #[error("results of {0} are not exact: only those of {TCG_ICOUNT} can be blessed")]
    NotExact(String),
    /// Scenarios broke a rule, a check, or did not repeat: the golden must not say so.
    #[error(
        "{} of the scenarios broke a rule or could not run, so nothing was blessed:\n{}",
        .0.len(), .0.join("\n")
    )]
    Refused(Vec<String>),
    /// The goldens could not be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blessed {
    /// Goldens that were written.
    pub written: usize,
    /// Goldens that already said the same.
    pub unchanged: usize,
}

/// Makes goldens of the scenarios that `selects` chooses: all of them or, when one is refused or
/// cannot be written, none.
///
/// # Errors
/// See [`BlessError`].
pub fn bless(
    result: &RunResult,
    golden: &Path,
    selects: &dyn Fn(&str) -> bool,
) -> Result<Blessed, BlessError> {
    let class = &result.environment.class;
    if class != TCG_ICOUNT {
        return Err(BlessError::NotExact(class.clone()));
    }
    let chosen: Vec<_> =
        result.scenarios.iter().filter(|scenario| selects(&scenario.full_name())).collect();
    if chosen.is_empty() {
        return Err(BlessError::Nothing);
    }
    let refused: Vec<_> = chosen.iter().filter_map(|scenario| refusal(scenario)).collect();
    if !refused.is_empty() {
        return Err(BlessError::Refused(refused));
    }
    let mut files = Vec::new();
    for scenario in &chosen {
        let Some(snapshot) = scenario.snapshot(&result.environment) else { continue };
        let path = file::path(golden, class, &scenario.suite, &scenario.name);
        let text = file::to_text(&snapshot);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        files.push((path, text));
    }
    let written = Replacement::stage(files)?.commit()?;
    Ok(Blessed { written, unchanged: chosen.len() - written })
}

fn refusal(scenario: &ScenarioResult) -> Option<String> {
    let judgement = &scenario.judgement;
    if judgement.verdict == Verdict::Pass || judgement.only_golden_differs() {
        return None;
    }
    let why = judgement.reasons.first().map_or("no reason was recorded", String::as_str);
    Some(format!("  {}: {why}", scenario.full_name()))
}

#[cfg(test)]
mod tests;
