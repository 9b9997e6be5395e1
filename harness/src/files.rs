//! Files and folders, with the path in the error.

use std::path::{Path, PathBuf};

/// What cannot be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct Unreadable {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// Reads a file.
pub(crate) fn text(path: &Path) -> Result<String, Unreadable> {
    std::fs::read_to_string(path).map_err(|source| Unreadable { path: path.into(), source })
}

/// A folder's entries, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let unreadable = |source| Unreadable { path: folder.into(), source };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}

/// A folder's TOML files, sorted.
pub(crate) fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    Ok(paths)
}
