//! The rules: one TOML file a set, one `[[rule]]` a rule.

use super::RulesError;
use crate::files::{text, toml_files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// A rule, as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `AVIC-098`.
    pub id: String,
    /// Stimulus and required effect, in one sentence.
    pub statement: String,
    /// The exit that it must give, in the notation of the file's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// What the rule rests on: see the file's head.
    pub tags: Vec<String>,
    /// Where it is from.
    pub source: String,
    /// The sources are silent or differ, and the model decided: on silicon the result is recorded,
    /// never failed.
    #[serde(default)]
    pub model_defined: bool,
    /// The set: the file's name.
    #[serde(skip_deserializing)]
    pub set: String,
}

impl Rule {
    /// `AVIC`.
    pub fn family(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(family, _)| family)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Rule>,
}

/// All rules, set by set, in the order of their files.
///
/// # Errors
/// A file that cannot be read or understood, an id twice or of a wrong form, a rule without a
/// statement.
pub fn load(folder: &Path) -> Result<Vec<Rule>, RulesError> {
    let mut rules = Vec::new();
    let mut ids = BTreeSet::new();
    for path in toml_files(folder)? {
        let wrong = |why: String| RulesError::Rules { path: path.clone(), why };
        let file: File = toml::from_str(&text(&path)?).map_err(|e| wrong(e.to_string()))?;
        let set = path.file_stem().unwrap_or_default().to_string_lossy();
        for mut rule in file.rule {
            if !is_id(&rule.id) {
                let id = &rule.id;
                return Err(wrong(format!("`{id}` is no rule id: write it as FAMILY-NUMBER")));
            }
            if rule.statement.trim().is_empty() || rule.source.trim().is_empty() {
                return Err(wrong(format!("{} needs a statement and a source", rule.id)));
            }
            if !ids.insert(rule.id.clone()) {
                return Err(wrong(format!("{} is there twice: renumber one", rule.id)));
            }
            rule.set = set.clone().into_owned();
            rules.push(rule);
        }
    }
    if rules.is_empty() {
        return Err(RulesError::Rules { path: folder.into(), why: "there are no rules".into() });
    }
    Ok(rules)
}

/// A family and a number; or one letter where a rule is one of a kind (`RTC-P`).
fn is_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(family, number)| {
        let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
        let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        let letter = number.len() == 1 && number.chars().all(|c| c.is_ascii_uppercase());
        family.starts_with(|c: char| c.is_ascii_uppercase())
            && family.chars().all(capital)
            && (digits || letter)
    })
}

#[cfg(test)]
mod tests;
