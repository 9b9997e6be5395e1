//! Waivers: failures that are known and accepted.
//!
//! ```toml
//! [[waiver]]
//! scenario = "avic::ring-spin"      # or rule = "HV-213", or claim = "CLM-12"
//! environment = "tcg-icount"        # the class that a result names
//! reason = "the ring's order depends on QEMU's round robin, see docs/tcg.md"
//! owner = "R. Cohen"
//! expires = 2027-01-31              # the last day on which it counts
//! ```
//!
//! A waiver that is over, that names nothing, or whose subject holds is an error: a list of excuses
//! must not outlive what it excuses.

mod apply;
mod file;

pub use apply::{apply, in_time, known};
pub use file::{Entry, read, read_if_there};

use crate::model::Subject;
use jiff::civil::Date;
use std::path::PathBuf;

/// Why waivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A waiver's time is over.
    #[error(
        "the waiver of {subject} expired on {expires}: mend the failure, or let {owner} decide anew"
    )]
    Expired {
        /// What it is about.
        subject: Subject,
        /// Its last day.
        expires: Date,
        /// Who accepted the failure.
        owner: String,
    },
    /// A waiver names nothing that there is.
    #[error("the waiver of {0} names nothing that there is: correct the name, or remove it")]
    Unknown(Subject),
    /// A waiver's subject does not fail.
    #[error("the waiver of {0} is not used: nothing of it failed in {1}, so remove it")]
    Unused(Subject, String),
}

#[cfg(test)]
mod tests;
