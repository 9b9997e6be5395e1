//! When it was run, and how much of everything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that wrote a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A run of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// When it began, in UTC, as RFC 3339 has it.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// From there to the last result, in milliseconds.
    pub duration_ms: u64,
    /// How often each scenario ran; all of them gave the same, or it failed.
    pub repeats: u32,
    /// The filters that chose scenarios; none for the whole suite.
    pub filters: Vec<String>,
    /// How many scenarios were chosen.
    pub chosen: u64,
    /// How many there are.
    pub total: u64,
    /// What is known of the host tests.
    pub host_tests: HostTests,
}

impl Run {
    /// Whether nothing was left out.
    pub fn is_whole(&self) -> bool {
        self.chosen == self.total
    }
}

/// Where the verdicts of host tests are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostTests {
    /// They ran as a part of this run.
    Run,
    /// From an earlier run's file, which was written then (RFC 3339, UTC).
    Earlier(String),
    /// They did not run; why.
    NotRun(String),
}
