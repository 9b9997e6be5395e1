//! One scenario: what was run, and what it is worth.

use super::{Link, Measured, Timeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How a scenario or a test ended.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It did not run.
    NotRun,
    /// All held.
    Pass,
    /// Something differed.
    Fail,
    /// It could not run, or not so that its result could be trusted.
    CouldNotRun,
}

impl Ended {
    /// Whether it counts against what it belongs to.
    pub fn is_bad(self) -> bool {
        self >= Self::Fail
    }
}

/// A scenario that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its suite.
    pub suite: String,
    /// Its name in the suite.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The payload.
    pub payload: String,
    /// All parameters, as words or numbers.
    pub params: BTreeMap<String, String>,
    /// What the machine offers.
    pub machine: BTreeMap<String, bool>,
    /// The described silicon: a profile, and what of it is overridden.
    pub silicon: String,
    /// Its features that hv-core played.
    pub modeled: Vec<String>,
    /// Its features that were the processor's own.
    pub real: Vec<String>,
    /// The policy.
    pub policy: String,
    /// The fault that was put in.
    pub seed: Option<String>,
    /// A negative control: it passes only because it fails for a reason that contains this text.
    pub must_fail_with: Option<String>,
    /// vCPUs.
    pub vcpus: u16,
    /// Cores that they shared.
    pub cores: u16,
    /// Where its expectations are from.
    pub cite: String,
    /// How it ended.
    pub ended: Ended,
    /// Which rules and checks it broke, in words.
    pub broken: Vec<String>,
    /// Where it differs from its golden.
    pub differences: Vec<Difference>,
    /// What a reader should know although it changes nothing.
    pub notes: Vec<String>,
    /// What was measured; `null` when it did not run.
    pub measured: Option<Measured>,
    /// One iteration of it, where it was traced and has any.
    pub timeline: Option<Timeline>,
    /// Files of its own, such as a trace.
    pub links: Vec<Link>,
}

impl Scenario {
    /// `suite::name`.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.suite, self.name)
    }

    /// Exits of all windows.
    pub fn exits(&self) -> u64 {
        let windows = self.measured.iter().flat_map(|measured| &measured.windows);
        windows.flat_map(|window| &window.exits).map(|exit| exit.stats.count).sum()
    }

    /// The length of all windows.
    pub fn ticks(&self) -> u64 {
        self.measured.iter().flat_map(|m| &m.windows).map(|window| window.ticks).sum()
    }

    /// Whether only its golden stands against it.
    pub fn only_golden_differs(&self) -> bool {
        self.ended == Ended::Fail && self.broken.is_empty()
    }
}

/// One difference from a golden.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// What differs.
    pub what: String,
    /// What the golden holds.
    pub golden: String,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "golden: {}: golden {}, seen {}", self.what, self.golden, self.seen)
    }
}
