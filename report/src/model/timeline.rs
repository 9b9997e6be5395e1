//! What vCPUs did during one iteration, as a picture has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One iteration of a scenario, from a run of its own in which every trap was told: times are those of that
/// run, in nanoseconds from the iteration's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// From one exit of this kind to the next.
    pub between: String,
    /// Its length.
    pub nanos: u64,
    /// By vCPU.
    pub lanes: Vec<Lane>,
    /// Interrupts from one vCPU to another, or to itself.
    pub arrows: Vec<Arrow>,
}

/// One vCPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// Which.
    pub vcpu: u16,
    /// What it did, in order, without gaps.
    pub slices: Vec<Slice>,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// From.
    pub from: u64,
    /// To.
    pub to: u64,
    /// The exit that was handled; `null` while the guest ran.
    pub exit: Option<String>,
}

/// An interrupt on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrow {
    /// The vector.
    pub vector: u8,
    /// Who wrote its ICR.
    pub sender: u16,
    /// When.
    pub sent: u64,
    /// Who took it.
    pub target: u16,
    /// When.
    pub taken: u64,
}
