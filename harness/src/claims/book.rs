//! The claims: `[[claim]]` in TOML files, and the documents they are from.

use super::ClaimsError;
use super::cost::{self, Costs};
use super::documents::Documents;
use super::predicate::Predicate;
use super::printed::Property;
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
    /// The tables that are spoken of: a letter and the table that it stands for, of [`Documents`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, String>,
    /// How tables must be printed: by property, the letters of tables, or of scenarios for their own
    /// exit tables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub printed: BTreeMap<Property, Vec<String>>,
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
    #[serde(default)]
    cost: Vec<cost::Source>,
}

/// The claims, and what they speak of.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The claims, in the order of their files.
    pub claims: Vec<Claim>,
    /// The documents' tables.
    pub documents: Documents,
    /// What exits took on the documents' machines.
    pub costs: Vec<Costs>,
}

/// All claims, in the order of their files, and the documents' tables.
///
/// # Errors
/// A file that cannot be read or understood; a claim twice; one that says neither what must hold nor
/// why that cannot be said, or both; a letter without a scenario, or a scenario that nothing names.
pub fn load(folder: &Path) -> Result<Book, ClaimsError> {
    let documents = Documents::load(folder)?;
    let mut claims = Vec::new();
    let mut costs = Vec::new();
    let mut ids = BTreeSet::new();
    for path in toml_files(folder)? {
        let wrong = |why: String| ClaimsError::Claims { path: path.clone(), why };
        let file: File = toml::from_str(&text(&path)?).map_err(|e| wrong(e.to_string()))?;
        for mut claim in file.claim {
            claim.check().map_err(|why| wrong(format!("{}: {why}", claim.id)))?;
            for table in claim.tables.values() {
                documents.table(table).map_err(|why| wrong(format!("{}: {why}", claim.id)))?;
            }
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
        for cost in file.cost {
            let title = file.sources.get(&cost.source).ok_or_else(|| {
                wrong(format!("[[cost]]: there is no source `{}` in [sources]", cost.source))
            })?;
            let read = Costs::read(&cost, title, &documents);
            costs.push(read.map_err(|why| wrong(format!("[[cost]]: {why}")))?);
        }
    }
    if claims.is_empty() {
        return Err(ClaimsError::Claims { path: folder.into(), why: "there are no claims".into() });
    }
    Ok(Book { claims, documents, costs })
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
        let decided = !self.holds.is_empty() || !self.order.is_empty() || !self.printed.is_empty();
        let ways = [decided, self.recorded.is_some(), self.open.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err(
                "say either what `holds` (or the `order`, or how it is `printed`), or why it is only `recorded`, or \
                        what leaves it `open`"
                    .into(),
            );
        }
        let predicates = self.predicates()?;
        let letters = predicates.iter().flat_map(Predicate::names).map(letter);
        let measured: BTreeSet<&str> =
            letters.chain(self.order.keys().map(String::as_str)).collect();
        if let Some(letter) = measured.iter().find(|letter| !self.scenarios.contains_key(**letter))
        {
            return Err(format!("`{letter}` names none of its `scenarios`"));
        }
        let printed: BTreeSet<&str> = self.printed.values().flatten().map(String::as_str).collect();
        let known =
            |letter: &str| self.scenarios.contains_key(letter) != self.tables.contains_key(letter);
        if let Some(letter) = printed.iter().find(|letter| !known(letter)) {
            return Err(format!("`{letter}` names one of its `scenarios` or `tables`, or should"));
        }
        let spoken_of = |letter: &&String| {
            measured.contains(letter.as_str()) || printed.contains(letter.as_str())
        };
        match self.scenarios.keys().chain(self.tables.keys()).find(|letter| !spoken_of(letter)) {
            Some(letter) => Err(format!("nothing is said of `{letter}`: leave it out")),
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
