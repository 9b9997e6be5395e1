//! The claims of `claims/*.toml`: what others measured and said, held against runs of scenarios.
//!
//! - [`book`]: the claims themselves; [`documents`]: the tables that their documents print.
//! - [`predicate`]: what must hold, as a comparison of two formulas.
//! - [`quantity`]: what the names in it mean.
//! - [`printed`]: what can be claimed of how a table is printed.
//! - [`judge`]: whether a claim holds in a result; [`table`]: as text.
//! - [`cost`]: what exits took on the documents' machines, and would have taken there.
//!
//! A claim is decided by scenarios, by exits and guest work, never by a time that only silicon has.
//! One that cannot be decided so is *recorded only*, with the reason; one that could be and is not yet
//! is *open*, with what is missing. Neither counts as held.

pub mod book;
pub mod cost;
pub mod documents;
pub mod judge;
pub mod predicate;
pub mod printed;
pub mod quantity;
pub mod table;

use crate::files::Unreadable;
use crate::import::ImportError;
use std::path::PathBuf;

/// Why the claims cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A document's tables cannot be read.
    #[error(transparent)]
    Tables(#[from] ImportError),
    /// A claim file is not what it should be.
    #[error("{}: {why}", path.display())]
    Claims {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
