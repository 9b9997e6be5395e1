//! One waiver, and whether it applies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a waiver is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Subject {
    /// A scenario, by its full name.
    Scenario(String),
    /// A rule, by its id.
    Rule(String),
    /// A claim, by its id.
    Claim(String),
}

impl Subject {
    /// The scenario's name, or the id.
    pub fn name(&self) -> &str {
        match self {
            Self::Scenario(name) | Self::Rule(name) | Self::Claim(name) => name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Scenario(_) => "scenario",
            Self::Rule(_) => "rule",
            Self::Claim(_) => "claim",
        };
        write!(f, "{word} {}", self.name())
    }
}

/// Whether a waiver matters to this report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaiverState {
    /// Its subject failed here, and is excused.
    Applies,
    /// It is about another environment.
    OtherEnvironment,
    /// Its subject was left out of this run.
    NotRun,
}

/// A failure that is known and accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// What it is about.
    pub subject: Subject,
    /// Where it applies: an environment's class.
    pub environment: String,
    /// Why the failure is accepted.
    pub reason: String,
    /// Who accepted it.
    pub owner: String,
    /// The last day on which it counts.
    #[schemars(extend("format" = "date"))]
    pub expires: String,
    /// Whether it matters here.
    pub state: WaiverState,
}
