//! One side of a comparison.

use crate::result::{self, RunResult, StoreError};
use crate::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trapline_golden::TCG_ICOUNT;
use trapline_golden::file::{self, FileError};
use trapline_golden::snapshot::Snapshot;

/// Why there is no such side.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// No result.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A golden is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// The goldens cannot be listed.
    #[error("cannot list goldens in {}: {source}", path.display())]
    Unlistable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Scenarios and what they gave, by full name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// What was named on the command line.
    pub name: String,
    /// Whether these are goldens.
    pub is_golden: bool,
    /// Whether its figures repeat exactly: all under icount.
    pub is_exact: bool,
    /// The scenarios that ran.
    pub scenarios: BTreeMap<String, Snapshot>,
    /// Those of them that could not run to their end, or whose records cannot be trusted.
    pub lost: BTreeSet<String>,
}

impl Side {
    /// Reads `last`, `golden`, or a result file.
    ///
    /// # Errors
    /// See [`SideError`].
    pub fn read(name: &str, root: &Path) -> Result<Self, SideError> {
        Ok(match name {
            "golden" => Self {
                name: name.into(),
                is_golden: true,
                is_exact: true,
                scenarios: goldens(&root.join("golden").join(TCG_ICOUNT))?,
                lost: BTreeSet::new(),
            },
            "last" => Self::of(name, &result::read(&result::last_path(root))?),
            path => Self::of(name, &result::read(Path::new(path))?),
        })
    }

    /// The side that is a result.
    pub fn of(name: &str, result: &RunResult) -> Self {
        let snapshot = |scenario: &result::ScenarioResult| {
            Some((scenario.full_name(), scenario.snapshot(&result.environment)?))
        };
        let scenarios = result.scenarios.iter().filter_map(snapshot).collect();
        let could_not = |s: &&result::ScenarioResult| s.judgement.verdict == Verdict::CouldNotRun;
        let lost = result.scenarios.iter().filter(could_not).map(|s| s.full_name()).collect();
        let is_exact = result.environment.class == TCG_ICOUNT;
        Self { name: name.into(), is_golden: false, is_exact, scenarios, lost }
    }
}

fn goldens(folder: &Path) -> Result<BTreeMap<String, Snapshot>, SideError> {
    let mut all = BTreeMap::new();
    for suite in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        for path in entries(&suite)? {
            if path.extension().is_some_and(|e| e == "snap") {
                let stem = |path: &Path| path.file_stem().unwrap_or_default().display().to_string();
                let suite = suite.file_name().unwrap_or_default().display().to_string();
                all.insert(format!("{suite}::{}", stem(&path)), file::read(&path)?);
            }
        }
    }
    Ok(all)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SideError> {
    let unlistable = |source| SideError::Unlistable { path: folder.into(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unlistable)? {
        paths.push(entry.map_err(unlistable)?.path());
    }
    paths.sort();
    Ok(paths)
}
