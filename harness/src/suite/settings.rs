//! Settings: the values that a scenario gives a payload's parameters.

use super::error::{SuiteError, suggest};
use super::fields::Entry;
use super::matrix::{AXES, Bindings};
use crate::payload::{Kind, Payload};
use std::collections::BTreeMap;

/// One parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter.
    pub name: String,
    /// What the payload receives.
    pub value: u64,
    /// The word, where the parameter is a choice.
    pub word: Option<String>,
}

impl Setting {
    /// The word, or the number.
    pub fn text(&self) -> String {
        self.word.clone().unwrap_or_else(|| self.value.to_string())
    }
}

/// All of a payload's parameters, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// The setting of that name.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.iter().find(|s| s.name == name)
    }

    /// As the payload receives them: little-endian `u64`s.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|s| s.value.to_le_bytes()).collect()
    }

    /// The number behind a name in a formula.
    pub(super) fn number(&self, name: &str) -> Result<u64, String> {
        let numbers = || self.0.iter().filter(|s| s.word.is_none()).map(|s| s.name.as_str());
        match self.get(name) {
            Some(Setting { word: None, value, .. }) => Ok(*value),
            Some(Setting { word: Some(word), .. }) => {
                Err(format!("`{name}` is the word `{word}`, not a number"))
            }
            None => Err(format!("unknown parameter `{name}`{}", suggest(name, numbers()))),
        }
    }

    pub(super) fn bindings(&self) -> Bindings {
        Bindings(self.0.iter().map(|s| (s.name.clone(), s.text())).collect())
    }
}

/// Settles every parameter: from `params`, from the matrix, or by default.
pub(super) fn settle(
    payload: &Payload,
    params: Option<Entry<'_>>,
    matrix: Option<Entry<'_>>,
    combination: &Bindings,
) -> Result<Settings, SuiteError> {
    let mut given = BTreeMap::new();
    let known = || payload.params.iter().map(|p| p.name.as_str());
    for (table, from_matrix) in [(matrix, true), (params, false)] {
        let Some(table) = table else { continue };
        for (span, name, entry) in table.entries()? {
            let source = entry.source;
            if from_matrix && AXES.contains(&name) {
                continue;
            }
            if !known().any(|k| k == name) {
                let (of, hint) = (&payload.name, suggest(name, known()));
                let message = format!("payload `{of}` has no parameter `{name}`{hint}");
                return Err(source.error(span, message));
            }
            let text = match combination.0.get(name) {
                Some(_) if !from_matrix => {
                    return Err(source.error(span, format!("`{name}` is already in the matrix")));
                }
                Some(text) => text.clone(),
                None => entry.text_or_number()?,
            };
            given.insert(name.to_owned(), (text, entry));
        }
    }
    let settle = |param: &crate::payload::Param| {
        let name = param.name.clone();
        match (given.get(&name), &param.kind) {
            (None, Kind::Number(default)) => Ok(Setting { name, value: *default, word: None }),
            (None, Kind::Choice(words, place)) => {
                Ok(Setting { name, value: *place as u64, word: words.get(*place).cloned() })
            }
            (Some((text, entry)), Kind::Number(_)) => match text.parse() {
                Ok(value) => Ok(Setting { name, value, word: None }),
                Err(_) => Err(entry.error(format!("`{name}` is a number, not `{text}`"))),
            },
            (Some((text, entry)), Kind::Choice(words, _)) => {
                match words.iter().position(|w| w == text) {
                    Some(place) => {
                        Ok(Setting { name, value: place as u64, word: Some(text.clone()) })
                    }
                    None => {
                        let hint = suggest(text, words.iter().map(String::as_str));
                        Err(entry.error(format!("`{name}` cannot be `{text}`{hint}")))
                    }
                }
            }
        }
    };
    payload.params.iter().map(settle).collect::<Result<_, _>>().map(Settings)
}
