//! One claim of others, held against runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of a claim.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimStanding {
    /// It holds.
    Holds,
    /// It cannot be decided here.
    Recorded,
    /// It cannot be decided yet.
    Open,
    /// A scenario of it did not run.
    NotRun,
    /// It does not hold.
    Fails,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `CLM-29`.
    pub id: String,
    /// What is claimed, in one sentence.
    pub statement: String,
    /// The document.
    pub source: String,
    /// The document's own figures.
    pub figures: String,
    /// What became of it.
    pub standing: ClaimStanding,
    /// The configurations: a letter and the scenario that it stands for.
    pub scenarios: BTreeMap<String, String>,
    /// What must hold, with its numbers.
    pub comparisons: Vec<Comparison>,
    /// Why it could not be judged, where that is so.
    pub obstacles: Vec<String>,
    /// What the exits would have taken on the document's machine, by its own means: predicted, not
    /// measured.
    pub predicted: Vec<String>,
    /// What a reader should know.
    pub note: String,
    /// Why it is recorded only, or what leaves it open.
    pub undecided: Option<String>,
}

/// One thing that a claim says, and what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// `a.msr == 2*a.n`.
    pub what: String,
    /// The right side, computed.
    pub expected: String,
    /// The left side, computed.
    pub measured: String,
    /// Whether it holds.
    pub holds: bool,
}
