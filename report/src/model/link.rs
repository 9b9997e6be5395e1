//! Files beside the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file that belongs to the report: raw records, a trace for a viewer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is.
    pub title: String,
    /// Where it is, from the report's folder.
    pub path: String,
}
