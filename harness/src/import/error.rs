//! Why a text or a file cannot be imported.

use std::path::PathBuf;
use trapline_golden::replace::ReplaceError;

/// A line that is no part of any table that it stands in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Malformed {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

impl Malformed {
    pub(super) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// Why there is no import, or why it was not saved.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// A file is larger than any report.
    #[error("{} is larger than {limit} MiB: cut out the tables", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in MiB.
        limit: u64,
    },
    /// The text cannot be read.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, and why.
        why: Malformed,
    },
    /// A file calls itself an import and is none.
    #[error("{} is no import of this version: {why}", path.display())]
    NotAnImport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something else is where the import is to be saved.
    #[error("{} exists and is no import: name another file, or say --force", .0.display())]
    Occupied(PathBuf),
    /// A folder or a device is where the import is to be saved.
    #[error("{} is no regular file: name another one", .0.display())]
    NoFile(PathBuf),
    /// It cannot be saved.
    #[error(transparent)]
    Save(#[from] ReplaceError),
}
