//! Reading a report back: what is no report, is cut off or too new is refused with the reason.

use crate::judge;
use crate::model::{Kind, Report, VERSION};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Why a file is not taken for a report.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be read.
    #[error("cannot read report {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It ends too early.
    #[error("{} ends in the middle of the report: it was cut off, take a whole copy", .0.display())]
    Truncated(PathBuf),
    /// It is something else.
    #[error("{} is no qualification report: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A newer version wrote it.
    #[error(
        "{} is a report of version {version}, and this trapline reads version {VERSION}: use the \
         trapline that wrote it, or a newer one", path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// Its verdict was edited, or its results were.
    #[error(
        "the verdict in {} does not follow from the results in it: it was changed after it was \
         written", path.display()
    )]
    Inconsistent {
        /// The file.
        path: PathBuf,
    },
}

/// What every version of a report says first.
#[derive(Deserialize)]
struct Head {
    kind: Option<serde_json::Value>,
    version: Option<u64>,
}

impl Report {
    /// The canonical JSON, with a line end.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("reports have string keys and no floats") + "\n"
    }
}

/// Reads a report.
///
/// # Errors
/// See [`StoreError`].
pub fn read(path: &Path) -> Result<Report, StoreError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| StoreError::Unreadable { path: path.into(), source })?;
    parse(&text, path)
}

/// Reads a report's text; `path` is for the errors.
///
/// # Errors
/// See [`StoreError`].
pub fn parse(text: &str, path: &Path) -> Result<Report, StoreError> {
    let refuse = |why: String| StoreError::Foreign { path: path.into(), why };
    let refused = |error: serde_json::Error| match error.is_eof() {
        true if !text.trim().is_empty() => StoreError::Truncated(path.into()),
        true => refuse("it is empty".into()),
        false => refuse(error.to_string()),
    };
    let head: Head = serde_json::from_str(text).map_err(refused)?;
    let kind = head.kind.map(serde_json::from_value::<Kind>);
    if !matches!(kind, Some(Ok(Kind::Qualification))) {
        return Err(refuse("its `kind` is not `trapline-qualification-report`".into()));
    }
    match head.version {
        Some(version) if version > u64::from(VERSION) => {
            return Err(StoreError::TooNew { path: path.into(), version });
        }
        Some(version) if version == u64::from(VERSION) => {}
        _ => return Err(refuse("it has no version that ever was".into())),
    }
    let report: Report = serde_json::from_str(text).map_err(refused)?;
    if judge::judge(&report) != report.verdict {
        return Err(StoreError::Inconsistent { path: path.into() });
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn refused(text: &str) -> String {
        parse(text, Path::new("report.json")).unwrap_err().to_string()
    }

    #[test]
    fn a_report_survives_its_json() {
        let report = sample::report();
        assert_eq!(parse(&report.to_json(), Path::new("r")).unwrap(), report);
    }

    #[test]
    fn a_report_that_was_cut_off_is_refused_wherever_it_was_cut() {
        let text = sample::report().to_json();
        for at in [1, 100, text.len() / 2, text.len() - 3] {
            let error = refused(&text[..at]);
            assert!(error.contains("ends in the middle"), "{at}: {error}");
        }
        assert!(refused("").contains("it is empty"));
    }

    #[test]
    fn other_json_is_refused() {
        for text in ["{}", "[]", "no JSON", r#"{"format": 2, "scenarios": []}"#] {
            assert!(refused(text).contains("is no qualification report"), "{text}");
        }
        let odd = sample::report().to_json().replace("\"artifacts\"", "\"artefacts\"");
        assert!(refused(&odd).contains("unknown field `artefacts`"));
    }

    #[test]
    fn a_newer_version_is_named_even_if_its_fields_are_unknown() {
        let text = r#"{"kind": "trapline-qualification-report", "version": 7, "new": true}"#;
        let error = refused(text);
        assert!(error.contains("version 7, and this trapline reads version 1"), "{error}");
        let text = text.replace('7', "0");
        assert!(refused(&text).contains("no version that ever was"));
    }

    #[test]
    fn a_verdict_that_was_edited_is_refused() {
        let text = sample::failing().to_json();
        let edited = text.replacen("\"not-qualified\"", "\"qualified\"", 1);
        assert_ne!(edited, text);
        assert!(refused(&edited).contains("does not follow from the results"));
    }
}
