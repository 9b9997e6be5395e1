//! The claims: `[[claim]]` in TOML files, and the documents they are from.

use super::ClaimsError;
use super::predicate::Predicate;
use crate::files::{text, toml_files};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A claim, as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `CLM-29`.
    pub id: String,
    /// What is claimed, in one sentence.
    pub statement: String,
    /// The document, by its key in the file's `[sources]`; its title once it was read.
    pub source: String,
    /// The document's own figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seed: String,
    /// The configurations: a letter and the scenario that it stands for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scenarios: BTreeMap<String, String>,
    /// What must hold: [`Predicate`]s, with the names of [`super::quantity`] behind the letters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// By letter, the exits of which the last ones must be rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub order: BTreeMap<String, Vec<String>>,
    /// What a reader must know beside the figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Why it cannot be decided here at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// What is missing before it can be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sources: BTreeMap<String, String>,
    claim: Vec<Claim>,
}

/// All claims, in the order of their files.
///
/// # Errors
/// A file that cannot be read or understood; a claim twice; one that says neither what must hold nor
/// why that cannot be said, or both; a letter without a scenario, or a scenario that nothing names.
pub fn load(folder: &Path) -> Result<Vec<Claim>, ClaimsError> {
    let mut claims = Vec::new();
    let mut ids = BTreeSet::new();
    for path in toml_files(folder)? {
        let wrong = |why: String| ClaimsError::Claims { path: path.clone(), why };
        let file: File = toml::from_str(&text(&path)?).map_err(|e| wrong(e.to_string()))?;
        for mut claim in file.claim {
            claim.check().map_err(|why| wrong(format!("{}: {why}", claim.id)))?;
            let source = file.sources.get(&claim.source);
            let source = source.ok_or_else(|| {
                wrong(format!("{}: there is no source `{}` in [sources]", claim.id, claim.source))
            })?;
            claim.source.clone_from(source);
            if !ids.insert(claim.id.clone()) {
                return Err(wrong(format!("{} is there twice: renumber one", claim.id)));
            }
            claims.push(claim);
        }
    }
    if claims.is_empty() {
        return Err(ClaimsError::Claims { path: folder.into(), why: "there are no claims".into() });
    }
    Ok(claims)
}

impl Claim {
    /// The predicates.
    ///
    /// # Errors
    /// One that cannot be read.
    pub fn predicates(&self) -> Result<Vec<Predicate>, String> {
        self.holds.iter().map(|text| Predicate::parse(text).map_err(|e| e.to_string())).collect()
    }

    fn check(&self) -> Result<(), String> {
        let number = self.id.strip_prefix("CLM-").unwrap_or_default();
        if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
            return Err("that is no claim's id: write it as CLM-NUMBER".into());
        }
        if self.statement.trim().is_empty() {
            return Err("it needs a statement".into());
        }
        let decided = !self.holds.is_empty() || !self.order.is_empty();
        let ways = [decided, self.recorded.is_some(), self.open.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err(
                "say either what `holds` (or the `order`), or why it is only `recorded`, or \
                        what leaves it `open`"
                    .into(),
            );
        }
        let predicates = self.predicates()?;
        let letters = predicates.iter().flat_map(Predicate::names).map(letter);
        let named: BTreeSet<&str> = letters.chain(self.order.keys().map(String::as_str)).collect();
        if let Some(letter) = named.iter().find(|letter| !self.scenarios.contains_key(**letter)) {
            return Err(format!("`{letter}` names none of its `scenarios`"));
        }
        match self.scenarios.keys().find(|letter| !named.contains(letter.as_str())) {
            Some(letter) => Err(format!("nothing is said of scenario `{letter}`: leave it out")),
            None => Ok(()),
        }
    }
}

/// The configuration that a name is about.
fn letter(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
