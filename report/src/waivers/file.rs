//! The file of waivers.

use super::WaiverError;
use crate::model::Subject;
use jiff::civil::Date;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    waiver: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    scenario: Option<String>,
    rule: Option<String>,
    claim: Option<String>,
    environment: String,
    reason: String,
    owner: String,
    expires: toml::value::Datetime,
}

/// A waiver as its file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is about.
    pub subject: Subject,
    /// Where it applies.
    pub environment: String,
    /// Why.
    pub reason: String,
    /// Who says so.
    pub owner: String,
    /// The last day on which it counts.
    pub expires: Date,
}

/// Reads a file of waivers.
///
/// # Errors
/// [`WaiverError::Unreadable`], [`WaiverError::Malformed`].
pub fn read(path: &Path) -> Result<Vec<Entry>, WaiverError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| WaiverError::Unreadable { path: path.into(), source })?;
    parse(&text).map_err(|why| WaiverError::Malformed { path: path.into(), why })
}

/// Reads a file of waivers; where there is none, nothing is waived.
///
/// # Errors
/// See [`read`].
pub fn read_if_there(path: &Path) -> Result<Vec<Entry>, WaiverError> {
    if path.exists() { read(path) } else { Ok(Vec::new()) }
}

pub(super) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut entries: Vec<Entry> = Vec::new();
    for raw in file.waiver {
        let entry = entry(raw)?;
        let same = |other: &Entry| {
            other.subject == entry.subject && other.environment == entry.environment
        };
        if entries.iter().any(same) {
            return Err(format!("{} is waived twice: remove one", entry.subject));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(raw: Raw) -> Result<Entry, String> {
    let subject = match (raw.scenario, raw.rule, raw.claim) {
        (Some(name), None, None) => Subject::Scenario(name),
        (None, Some(id), None) => Subject::Rule(id),
        (None, None, Some(id)) => Subject::Claim(id),
        _ => return Err("a waiver is of one `scenario`, one `rule` or one `claim`".into()),
    };
    let texts = [("environment", &raw.environment), ("reason", &raw.reason), ("owner", &raw.owner)];
    if let Some((key, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("the waiver of {subject} needs `{key}`"));
    }
    let expires = raw.expires.to_string().parse().map_err(|_| {
        format!("the waiver of {subject} expires on a day: write `expires = 2027-01-31`")
    })?;
    let (environment, reason, owner) = (raw.environment, raw.reason, raw.owner);
    Ok(Entry { subject, environment, reason, owner, expires })
}
