//! Result files: written whole or not at all, and refused when they are not ours.

use super::{FORMAT, RunResult};
use std::io::Write;
use std::path::{Path, PathBuf};
use trapline_golden::replace::{ReplaceError, Replacement};

/// Why a result cannot be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no last result.
    #[error("there is no result at {}: run `trapline run` first", .0.display())]
    Missing(PathBuf),
    /// A file cannot be read.
    #[error("cannot read result {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no result.
    #[error("{} is no result of this version: {why}", path.display())]
    NotAResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be saved.
    #[error(transparent)]
    Save(#[from] ReplaceError),
    /// It cannot be written to the named file or device.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or device.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What every format has.
#[derive(serde::Deserialize)]
struct Versioned {
    format: u32,
}

impl RunResult {
    /// The canonical JSON, with a line end.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("results have string keys and no floats") + "\n"
    }
}

/// Where the last result lies in a workspace.
pub fn last_path(root: &Path) -> PathBuf {
    root.join(".trapline/last.json")
}

/// Saves a result as the last one: the old one stays until the new one is safely on disk.
///
/// # Errors
/// See [`StoreError`].
pub fn save_last(root: &Path, result: &RunResult) -> Result<(), StoreError> {
    Replacement::stage([(last_path(root), result.to_json())])?.commit()?;
    Ok(())
}

/// Writes a result to a file of the user's choice. A file is replaced whole; a device or a pipe
/// cannot be, and is written to.
///
/// # Errors
/// See [`StoreError`].
pub fn save(path: &Path, result: &RunResult) -> Result<(), StoreError> {
    let is_plain = path.metadata().map_or(true, |m| m.is_file());
    if is_plain {
        Replacement::stage([(path.to_path_buf(), result.to_json())])?.commit()?;
        return Ok(());
    }
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        file.write_all(result.to_json().as_bytes())?;
        file.flush()
    };
    write().map_err(|source| StoreError::Write { path: path.into(), source })
}

/// Reads a result file.
///
/// # Errors
/// See [`StoreError`].
pub fn read(path: &Path) -> Result<RunResult, StoreError> {
    let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => StoreError::Missing(path.into()),
        _ => StoreError::Unreadable { path: path.into(), source },
    })?;
    let refuse = |why: String| StoreError::NotAResult { path: path.into(), why };
    let wrong = |e: serde_json::Error| refuse(e.to_string());
    // The number alone first: another format may have other fields.
    let Versioned { format } = serde_json::from_str(&text).map_err(wrong)?;
    if format > FORMAT {
        let newer = format!("it has format {format}, and {FORMAT} is the newest known here");
        return Err(refuse(format!("{newer}: read it with the trapline that wrote it")));
    }
    if format != FORMAT {
        return Err(refuse(format!("it has format {format}, not {FORMAT}: run it again")));
    }
    serde_json::from_str(&text).map_err(wrong)
}
