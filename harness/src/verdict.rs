//! Verdicts: what a scenario's run is worth, and why.
//!
//! A run is held against four things: the outcome and rules of its suite, the checks that the
//! payload made itself, its golden, and the soundness of the record stream. A reason says what
//! broke, where it is written, on which vCPU and in which window.

mod rules;

use crate::result::Environment;
use crate::suite::{Scenario, outcome_word};
use crate::target::Fate;
use crate::transcript::{Postmortem, ScenarioRun};
use serde::{Deserialize, Serialize};
use std::path::Path;
use trapline_abi::record::{Level, Outcome};
use trapline_golden::compare::{Comparison, compare};
use trapline_golden::{TCG_ICOUNT, file};

/// How many of the last exits a reason shows.
const LAST_EXITS: usize = 8;

/// What a run is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything held.
    #[default]
    Pass,
    /// Something differed.
    Fail,
    /// It did not run, or not so that its result could be trusted.
    CouldNotRun,
}

/// A verdict and its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not [`Verdict::Pass`].
    pub reasons: Vec<String>,
    /// What a reader should know although it changes nothing.
    pub notes: Vec<String>,
    /// How many of the reasons, at the end of the list, are differences from the golden. When
    /// they are all of them, blessing is a way out.
    pub golden_differences: usize,
}

impl Judgement {
    /// A scenario that did not run.
    pub fn could_not_run(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::CouldNotRun, reasons: vec![reason.into()], ..Self::default() }
    }

    /// Whether only the golden stands against it.
    pub fn only_golden_differs(&self) -> bool {
        self.verdict == Verdict::Fail && self.golden_differences == self.reasons.len()
    }

    /// Adds a reason that is no difference from the golden.
    pub fn fail(&mut self, reason: String) {
        self.reasons.insert(self.reasons.len() - self.golden_differences, reason);
        self.verdict = self.verdict.max(Verdict::Fail);
    }
}

/// Judges a run by its suite's rules and its own checks; what the target did not survive, or whose
/// records are damaged, could not run.
pub fn judge(scenario: &Scenario, run: &ScenarioRun, fate: &Fate) -> Judgement {
    if let Some(reason) = lost(scenario, run, fate) {
        return Judgement { notes: lines(run, Level::Warn), ..Judgement::could_not_run(reason) };
    }
    let mut reasons = outcome(scenario, run);
    reasons.extend(run.checks.iter().filter(|check| !check.holds()).map(|check| {
        format!(
            "check `{}` on vCPU {}: expected {}, seen {}{}",
            check.label,
            check.vcpu,
            check.expected,
            check.actual,
            cite(&scenario.cite)
        )
    }));
    reasons.extend(rules::broken(scenario, run));
    reasons.extend(lines(run, Level::Error));
    if let Some(wanted) = &scenario.fails {
        reasons = negative_control(wanted, reasons);
    }
    let verdict = if reasons.is_empty() { Verdict::Pass } else { Verdict::Fail };
    Judgement { verdict, reasons, notes: lines(run, Level::Warn), golden_differences: 0 }
}

/// Holds a run that could be judged against its golden, and adds what differs.
pub fn hold_against_golden(
    judgement: &mut Judgement,
    golden: &Path,
    environment: &Environment,
    result: &crate::result::ScenarioResult,
) {
    if judgement.verdict == Verdict::CouldNotRun {
        return;
    }
    if environment.class != TCG_ICOUNT {
        let note =
            format!("no golden applies to {}: held against the rules only", environment.class);
        judgement.notes.push(note);
        return;
    }
    let Some(seen) = result.snapshot(environment) else { return };
    let path = file::path(golden, &environment.class, &result.suite, &result.name);
    let comparison = match file::read(&path) {
        Ok(blessed) => compare(&blessed, &seen),
        Err(error) => {
            judgement.reasons.push(error.to_string());
            judgement.golden_differences += 1;
            Comparison::default()
        }
    };
    judgement.notes.extend(comparison.notes);
    judgement.golden_differences += comparison.differences.len();
    let reason = |difference| format!("golden: {difference}");
    judgement.reasons.extend(comparison.differences.iter().map(reason));
    if judgement.golden_differences > 0 {
        judgement.verdict = Verdict::Fail;
    }
}

fn lost(scenario: &Scenario, run: &ScenarioRun, fate: &Fate) -> Option<String> {
    let name = scenario.full_name();
    match (fate, &run.end) {
        (Fate::Damaged(why), _) => Some(format!("its records cannot be trusted: {why}")),
        (Fate::Crashed(why), _) => Some(format!("the target died in it: {why}")),
        (Fate::Hung(why), _) => Some(format!("the target fell silent in it: {why}")),
        (Fate::NotRun(why), _) => Some(format!("it was not run: {why}")),
        (Fate::Ended, _) if run.name != name => {
            Some(format!("the records in its place are those of `{}`", run.name))
        }
        (Fate::Ended, None) => Some("its end never arrived".into()),
        (Fate::Ended, Some(end)) => {
            let refused = end.outcome == Outcome::Refused && scenario.expect.outcome != end.outcome;
            refused.then(|| format!("hv-core refused it: {}", end.detail))
        }
    }
}

fn outcome(scenario: &Scenario, run: &ScenarioRun) -> Vec<String> {
    let Some(end) = run.end.as_ref().filter(|end| end.outcome != scenario.expect.outcome) else {
        return Vec::new();
    };
    let (wanted, seen) = (outcome_word(scenario.expect.outcome), outcome_word(end.outcome));
    // A panic's message has lines; a reason is one.
    let detail = end.detail.split_whitespace().collect::<Vec<_>>().join(" ");
    let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
    let mut reason = format!("ended with `{seen}`{detail}, expected `{wanted}`");
    for postmortem in &run.postmortem {
        reason += &format!("; {}", place(postmortem));
    }
    vec![reason]
}

/// Where a vCPU was, after which exits.
fn place(postmortem: &Postmortem) -> String {
    let skip = postmortem.last.len().saturating_sub(LAST_EXITS);
    let last: Vec<_> = postmortem.last[skip..].iter().map(crate::result::last_exit_text).collect();
    let halted = if postmortem.halted { ", halted" } else { "" };
    format!(
        "vCPU {} at rip {:#x}{halted}, rflags {:#x}, tpr {:#x}, irr {:?}, isr {:?}, after {}",
        postmortem.vcpu,
        postmortem.rip,
        postmortem.rflags,
        postmortem.tpr,
        postmortem.irr,
        postmortem.isr,
        if last.is_empty() { "no exit".into() } else { last.join(", ") }
    )
}

fn lines(run: &ScenarioRun, level: Level) -> Vec<String> {
    run.logs.iter().filter(|(l, _)| *l == level).map(|(_, text)| text.clone()).collect()
}

/// A negative control proves that a suite notices a fault: it must fail, and for the right reason.
fn negative_control(wanted: &str, reasons: Vec<String>) -> Vec<String> {
    if reasons.iter().any(|reason| reason.contains(wanted)) {
        return Vec::new();
    }
    let seen = if reasons.is_empty() { "nothing".into() } else { reasons.join("; ") };
    vec![format!("this negative control must fail with `{wanted}`, but what failed is: {seen}")]
}

fn cite(cite: &str) -> String {
    if cite.is_empty() { String::new() } else { format!(" [{cite}]") }
}

#[cfg(test)]
mod tests;
