//! One conformance rule, with what exercises it.

use super::Ended;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a rule.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RuleStanding {
    /// Something that exercises it ran, and nothing of it failed.
    Held,
    /// Nothing exercises it.
    Uncovered,
    /// What exercises it did not run.
    NotRun,
    /// Something that exercises it failed.
    Failed,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `AVIC-098`.
    pub id: String,
    /// Its area: the rule file's name.
    pub area: String,
    /// Stimulus and required effect, in one sentence.
    pub statement: String,
    /// The exit that it must give.
    pub exit: Option<String>,
    /// What it rests on.
    pub tags: Vec<String>,
    /// Where it is from.
    pub source: String,
    /// The sources are silent or differ, and the model decided.
    pub model_defined: bool,
    /// The host tests that exercise it.
    pub tests: Vec<HostTest>,
    /// The scenarios that exercise it.
    pub scenarios: Vec<Evidence>,
}

impl Rule {
    /// `AVIC`.
    pub fn family(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(family, _)| family)
    }

    /// What is known of it.
    pub fn standing(&self) -> RuleStanding {
        let ended: Vec<_> = self.ended().collect();
        match ended.iter().max() {
            None => RuleStanding::Uncovered,
            Some(Ended::NotRun) => RuleStanding::NotRun,
            Some(Ended::Pass) => RuleStanding::Held,
            Some(Ended::Fail | Ended::CouldNotRun) => RuleStanding::Failed,
        }
    }

    fn ended(&self) -> impl Iterator<Item = Ended> {
        let tests = self.tests.iter().map(|test| test.ended);
        tests.chain(self.scenarios.iter().map(|scenario| scenario.ended))
    }
}

/// A host test that exercises a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostTest {
    /// Its package.
    pub package: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub ended: Ended,
}

/// A scenario that exercises a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// `suite::name`.
    pub scenario: String,
    /// It cites the rule.
    pub cite: bool,
    /// Its payload named the rule in the label of a check.
    pub check: bool,
    /// How it ended.
    pub ended: Ended,
}

/// An id that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnknownRule {
    /// The id.
    pub id: String,
    /// Who names it.
    pub by: String,
}
