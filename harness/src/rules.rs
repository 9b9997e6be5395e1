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

use std::path::PathBuf;

/// Why the rules cannot be reported.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
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

/// Reads a file.
fn text(path: &std::path::Path) -> Result<String, RulesError> {
    let unreadable = |source| RulesError::Unreadable { path: path.into(), source };
    std::fs::read_to_string(path).map_err(unreadable)
}

/// A folder's entries, sorted.
fn entries(folder: &std::path::Path) -> Result<Vec<PathBuf>, RulesError> {
    let unreadable = |source| RulesError::Unreadable { path: folder.into(), source };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}
