//! What was measured of one scenario.

use super::Stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was measured of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// How it ended: `done`, `shutdown`, `lost` and so on.
    pub outcome: String,
    /// What there is to say about it.
    pub detail: String,
    /// When it ended, since its start.
    pub ticks: u64,
    /// What the payload compared.
    pub checks: Vec<Check>,
    /// What the payload reported.
    pub values: Vec<Value>,
    /// Its windows: the counted parts of its payload, vCPU by vCPU.
    pub windows: Vec<Window>,
    /// All traps by vCPU and exit code, inside of windows and outside.
    pub traps: Vec<Trap>,
    /// Its log lines, each with its level in front.
    pub logs: Vec<String>,
    /// Where its vCPUs were, when it ended badly.
    pub postmortem: Vec<Postmortem>,
}

/// Two numbers that a payload compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Who compared them.
    pub vcpu: u16,
    /// What they are.
    pub label: String,
    /// What the rule says.
    pub expected: u64,
    /// What was seen.
    pub actual: u64,
}

/// A number that a payload reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Who reported it.
    pub vcpu: u16,
    /// Its name.
    pub label: String,
    /// The number.
    pub value: u64,
}

/// The counted part of a payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Whose window.
    pub vcpu: u16,
    /// Its name.
    pub label: String,
    /// How long it was.
    pub ticks: u64,
    /// Its exits, sorted by code and detail.
    pub exits: Vec<Exit>,
    /// The names of its last exits, oldest first.
    pub order: Vec<String>,
}

/// One kind of exit in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exit {
    /// The exit code.
    pub code: u64,
    /// Its name, as `perf kvm stat` has it.
    pub exit: String,
    /// `0x71:PIN`, `0x830:W`, `leaf 0x1`; empty where there is nothing to say.
    pub detail: String,
    /// How often, how long.
    pub stats: Stats,
}

/// All traps of one code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trap {
    /// Who took them.
    pub vcpu: u16,
    /// The exit code.
    pub code: u64,
    /// The code's name.
    pub exit: String,
    /// How many.
    pub count: u64,
}

/// Where a vCPU was when its scenario ended badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Postmortem {
    /// The vCPU.
    pub vcpu: u16,
    /// Guest RIP.
    pub rip: u64,
    /// Guest RSP.
    pub rsp: u64,
    /// Guest RFLAGS.
    pub rflags: u64,
    /// Guest CR2.
    pub cr2: u64,
    /// Whether an interrupt shadow was there.
    pub interrupt_shadow: bool,
    /// Whether it was halted.
    pub halted: bool,
    /// Local APIC TPR.
    pub tpr: u8,
    /// Local APIC PPR.
    pub ppr: u8,
    /// Vectors that are set in the local APIC's IRR.
    pub irr: Vec<u8>,
    /// Vectors that are set in the local APIC's ISR.
    pub isr: Vec<u8>,
    /// Its last exits, oldest first.
    pub last: Vec<LastExit>,
}

/// One of the last exits before a bad end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LastExit {
    /// `msr 0x830:W`.
    pub exit: String,
    /// Guest RIP.
    pub rip: u64,
    /// When, since the scenario's start.
    pub at: u64,
}
