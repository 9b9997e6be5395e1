//! Results: what one `run` gave, with everything that is needed to judge or repeat it.
//!
//! The JSON form is canonical: the same run gives the same bytes. It therefore holds no date and
//! no host name. It is what `show`, `bless` and `compare` work from, and what other tools read;
//! text tables are derived from it.

mod environment;
mod measured;
mod part;
mod store;

pub use environment::{Cpu, Environment};
pub use measured::{Exit, Measured, MeasuredWindow};
pub(crate) use measured::{exit_name, exit_text, last_exit_text};
pub use part::Part;
pub use store::{StoreError, last_path, read, save, save_last};

use crate::suite::{Scenario, machine_words, policy_word, seed_word};
use crate::verdict::{Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trapline_golden::snapshot::Snapshot;

/// Version of the JSON form.
pub const FORMAT: u32 = 2;

/// What one `run` gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// [`FORMAT`].
    pub format: u32,
    /// Where it ran.
    pub environment: Environment,
    /// How often every scenario ran, with equal results unless its verdict says otherwise.
    pub repeats: u32,
    /// Which part of a selection it is; `None` of a whole run and of merged parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The scenarios, in the order of the suites.
    pub scenarios: Vec<ScenarioResult>,
    /// What went wrong with the target outside of every scenario.
    pub problems: Vec<String>,
}

impl RunResult {
    /// The worst verdict; a problem of the target itself means that it could not run.
    pub fn verdict(&self) -> Verdict {
        let worst = self.scenarios.iter().map(|s| s.judgement.verdict).max().unwrap_or_default();
        if self.problems.is_empty() { worst } else { Verdict::CouldNotRun }
    }
}

/// What was run of one scenario, and what it gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioResult {
    /// Its suite.
    pub suite: String,
    /// Its name in the suite.
    pub name: String,
    /// The payload.
    pub payload: String,
    /// All parameters, as words or numbers.
    pub params: BTreeMap<String, String>,
    /// What the machine offers: `x2apic`, `tsc-deadline`, `kvm`, `hyperv`.
    pub machine: BTreeMap<String, bool>,
    /// The described silicon, and which features of it were modeled or real: `none`,
    /// `zen2 (modeled: avic, vgif)`.
    pub silicon: String,
    /// The policy.
    pub policy: String,
    /// The fault that was put in.
    pub seed: Option<String>,
    /// vCPUs.
    pub vcpus: u16,
    /// Cores that they shared.
    pub cores: u16,
    /// Where its expectations are from.
    pub cite: String,
    /// What was measured; `None` when it did not run.
    pub measured: Option<Measured>,
    /// What that is worth.
    pub judgement: Judgement,
}

impl ScenarioResult {
    /// A scenario's description, with what it gave.
    pub fn new(scenario: &Scenario, measured: Option<Measured>, judgement: Judgement) -> Self {
        Self {
            suite: scenario.suite.clone(),
            name: scenario.name.clone(),
            payload: scenario.payload.clone(),
            params: scenario.params.0.iter().map(|s| (s.name.clone(), s.text())).collect(),
            machine: machine_words(scenario.machine)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            silicon: scenario.silicon.clone(),
            policy: policy_word(scenario.policy).into(),
            seed: scenario.seed.map(|seed| seed_word(seed).into()),
            vcpus: scenario.vcpus,
            cores: scenario.cores,
            cite: scenario.cite.clone(),
            measured,
            judgement,
        }
    }

    /// `suite::name`.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.suite, self.name)
    }

    /// The described silicon alone: `zen2`.
    pub fn profile(&self) -> &str {
        self.silicon.split(" (").next().unwrap_or_default()
    }

    /// The features of the silicon that were modeled, and those that were real.
    pub fn features(&self) -> (Vec<String>, Vec<String>) {
        let used = self.silicon.split_once(" (").map_or("", |(_, used)| used.trim_end_matches(')'));
        let of = |word: &str| {
            let part = used.split("; ").find_map(|part| part.strip_prefix(word));
            let names = part.into_iter().flat_map(|names| names.split(", "));
            names.map(ToOwned::to_owned).collect()
        };
        (of("modeled: "), of("real: "))
    }

    /// Whether hv-core played a feature of the silicon.
    pub fn is_modeled(&self) -> bool {
        self.silicon.contains(" (modeled: ")
    }

    /// What of it can be blessed.
    pub fn snapshot(&self, environment: &Environment) -> Option<Snapshot> {
        Some(self.measured.as_ref()?.snapshot(environment.built.clone()))
    }
}

#[cfg(test)]
pub(crate) mod tests;
