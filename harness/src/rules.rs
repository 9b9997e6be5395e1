//! The conformance rules of `rules/*.toml`, and what exercises each of them.
//!
//! - [`book`]: the rules themselves.
//! - [`names`]: rule ids in the names of tests, in `cite` and in check labels.
//! - [`sources`]: the host tests that there are; [`junit`]: how they ended last.
//! - [`report`]: everything together, as data; [`table`]: as text.
//!
//! A rule is exercised by a host test of hv-core whose name starts with the rule's id
//! (`rtc_011_reading_c_clears_it`), and by a scenario that cites it or whose payload names it in
//! the label of a check.

pub mod book;
pub mod junit;
pub mod names;
pub mod report;
pub mod sources;
pub mod table;

use crate::files::Unreadable;
use std::path::PathBuf;

/// Why the rules cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A rule file is not what it should be.
    #[error("{}: {why}", path.display())]
    Rules {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A Rust source cannot be searched for tests.
    #[error("{} is no Rust source: {why}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A report of host tests is none.
    #[error("{} is no JUnit report of nextest: {why}", path.display())]
    Junit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
