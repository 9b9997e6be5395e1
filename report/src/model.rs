//! What a report says.
//!
//! Times of exits are TSC ticks, as they were counted; what turns them into nanoseconds is in the
//! [`Environment`]. There are no floating-point numbers: what is a ratio is computed when rendered.

mod claim;
mod environment;
mod link;
mod measured;
mod rule;
mod run;
mod scenario;
mod stats;
mod timeline;
mod verdict;
mod waiver;

pub use claim::{Claim, ClaimStanding, Comparison};
pub use environment::{Build, Environment, Host, HostCpu, Module, Qemu, TargetCpu};
pub use link::Link;
pub use measured::{Check, Exit, LastExit, Measured, Postmortem, Trap, Value, Window};
pub use rule::{Evidence, HostTest, Rule, RuleStanding, UnknownRule};
pub use run::{Generator, HostTests, Run};
pub use scenario::{Difference, Ended, Scenario};
pub use stats::Stats;
pub use timeline::{Arrow, Lane, Slice, Timeline};
pub use verdict::{Standing, Verdict};
pub use waiver::{Subject, Waiver, WaiverState};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON form. It grows when a field is added, renamed or removed.
pub const VERSION: u32 = 1;

/// What the file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// A qualification report of Trapline.
    #[serde(rename = "trapline-qualification-report")]
    Qualification,
}

/// A qualification report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What this file is.
    pub kind: Kind,
    /// [`VERSION`].
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// Who wrote it.
    pub generator: Generator,
    /// When, how long, how much.
    pub run: Run,
    /// Where.
    pub environment: Environment,
    /// What follows from all the rest.
    pub verdict: Verdict,
    /// The scenarios that ran, in the order of the suites.
    pub scenarios: Vec<Scenario>,
    /// The rules, in the order of their files.
    pub rules: Vec<Rule>,
    /// Ids that are no rules, and who names them.
    pub unknown_rules: Vec<UnknownRule>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// The waivers, whether they applied or not.
    pub waivers: Vec<Waiver>,
    /// What went wrong with the target outside of every scenario.
    pub problems: Vec<String>,
    /// Files that belong to the report, such as raw records and traces.
    pub artifacts: Vec<Link>,
}

impl Report {
    /// A scenario by its full name.
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.full_name() == name)
    }

    /// The waiver that applies to a subject.
    pub fn waiver(&self, subject: &Subject) -> Option<&Waiver> {
        let applies = |w: &&Waiver| w.state == WaiverState::Applies && w.subject == *subject;
        self.waivers.iter().find(applies)
    }
}
