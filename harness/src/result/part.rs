//! Which part of a selection a result holds.

use crate::partition::Partition;
use serde::{Deserialize, Serialize};
use trapline_abi::frame::CRC;

/// A part, and of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its place.
    pub partition: Partition,
    /// Scenarios of the whole selection.
    pub scenarios: usize,
    /// A checksum of their names in order: parts of different selections do not fit.
    pub selection: u32,
}

impl Part {
    /// That part of the scenarios with these names.
    pub fn new(partition: Partition, names: &[String]) -> Self {
        let selection = CRC.checksum(names.join("\n").as_bytes());
        Self { partition, scenarios: names.len(), selection }
    }
}
