//! Qualified or not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What everything comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Everything ran and held.
    Qualified,
    /// What did not hold is waived.
    QualifiedWithWaivers,
    /// Something did not hold, or did not run.
    NotQualified,
}

impl Standing {
    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Qualified => "qualified",
            Self::QualifiedWithWaivers => "qualified with waivers",
            Self::NotQualified => "not qualified",
        }
    }
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// What everything comes to.
    pub standing: Standing,
    /// What stands against it; empty unless it is not qualified.
    pub reasons: Vec<String>,
    /// What would stand against it, but is waived.
    pub waived: Vec<String>,
    /// What this report does not show, although nothing of it failed.
    pub limits: Vec<String>,
}
