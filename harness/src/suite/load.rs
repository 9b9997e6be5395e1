//! Loading: suite files read, expanded and checked against each other.

use super::error::{Source, SuiteError};
use super::fields::Fields;
use super::matrix::{Bindings, combinations};
use super::scenario::{self, Scenario};
use crate::payload::Catalogue;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// A suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Its file.
    pub path: PathBuf,
    /// Its scenarios, in the file's order.
    pub scenarios: Vec<Scenario>,
}

/// Loads suite files; a folder stands for all `*.toml` files in it, sorted by name.
///
/// # Errors
/// See [`SuiteError`]; also when two files have suites of one name.
pub fn load(paths: &[PathBuf], catalogue: &Catalogue) -> Result<Vec<Suite>, SuiteError> {
    let mut suites: Vec<Suite> = Vec::new();
    for path in files(paths)? {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| SuiteError::Unreadable { path: path.clone(), source })?;
        let source = Source { path: &path, text: &text };
        let suite = read(source, catalogue)?;
        if let Some(other) = suites.iter().find(|s| s.name == suite.name) {
            let (name, path) = (&suite.name, other.path.display());
            return Err(source.error(0..0, format!("suite `{name}` is already in {path}")));
        }
        suites.push(suite);
    }
    Ok(suites)
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SuiteError> {
    let mut files = Vec::new();
    for path in paths {
        let unreadable = |source| SuiteError::Unreadable { path: path.clone(), source };
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let start = files.len();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|e| e == "toml") && !is_manifest(&path) {
                files.push(path);
            }
        }
        files[start..].sort();
    }
    Ok(files)
}

/// The folder of the suites is also a package.
fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Cargo.toml")
}

pub(super) fn read(source: Source<'_>, catalogue: &Catalogue) -> Result<Suite, SuiteError> {
    let table = DeTable::parse(source.text).map_err(|e| {
        source.error(e.span().unwrap_or_default(), e.message().trim().replace('\n', ", "))
    })?;
    let none = Bindings::default();
    let top =
        Fields::new(source, &none, 0..0, table.get_ref(), "a suite file", &["suite", "scenario"])?;
    let head = top.need("suite")?.fields("a suite", &["name", "about"])?;
    let name = head.need("name").and_then(scenario::name)?;
    let mut scenarios = Vec::new();
    let mut seen = BTreeMap::new();
    for entry in top.or("scenario", Vec::new(), |e| e.list())? {
        for combination in combinations(scenario::fields(entry)?.get("matrix"))? {
            let scenario = scenario::read(&name, catalogue, entry, &combination)?;
            if seen.insert(scenario.name.clone(), combination.clone()).is_some() {
                let message =
                    format!("scenario `{}` is there twice{}", scenario.name, hint(&combination));
                let place = scenario::fields(entry)?.need("name")?.value.span();
                return Err(source.error(place, message));
            }
            scenarios.push(scenario);
        }
    }
    let about = head.or("about", String::new(), |e| e.text())?;
    Ok(Suite { name, about, path: source.path.into(), scenarios })
}

fn hint(combination: &Bindings) -> String {
    match combination.0.keys().next() {
        Some(axis) => format!(": put the matrix's parameters in the name, such as `{{{axis}}}`"),
        None => String::new(),
    }
}
