//! Snapshot files: where they lie, and the header that insta wants around the text.

use crate::snapshot::Snapshot;
use std::path::{Path, PathBuf};

/// What the header names as the file's source: the test target that asserts it.
pub const SOURCE: &str = "suites/tests/scenarios.rs";

/// Why there is no snapshot to compare with.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It was never blessed.
    #[error("there is no golden {}: look at the result, then run `trapline bless`", .0.display())]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("cannot read golden {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no snapshot of this version.
    #[error(
        "golden {} is damaged ({why}): restore it, or bless the scenario again", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Where the snapshot of `suite::scenario` lies under the `golden` folder.
pub fn path(golden: &Path, class: &str, suite: &str, scenario: &str) -> PathBuf {
    golden.join(class).join(suite).join(format!("{scenario}.snap"))
}

/// A file's whole text: the header that insta writes for an assertion without expression, and the
/// snapshot.
pub fn to_text(snapshot: &Snapshot) -> String {
    format!("---\nsource: {SOURCE}\n---\n{}\n", snapshot.to_text())
}

/// Reads a file's text: skips the header, whatever is in it.
///
/// # Errors
/// What is wrong with it, for people.
pub fn from_text(text: &str) -> Result<Snapshot, String> {
    let rest = text.strip_prefix("---\n").ok_or("it does not start with a `---` line")?;
    let (_, body) = rest.split_once("\n---\n").ok_or("its header has no end")?;
    Snapshot::from_text(body).map_err(|e| e.to_string())
}

/// Reads a snapshot file.
///
/// # Errors
/// See [`FileError`].
pub fn read(path: &Path) -> Result<Snapshot, FileError> {
    let text = std::fs::read_to_string(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            FileError::Missing(path.into())
        } else {
            FileError::Unreadable { path: path.into(), source }
        }
    })?;
    from_text(&text).map_err(|why| FileError::Damaged { path: path.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::tests::snapshot;

    #[test]
    fn a_file_round_trips_and_its_header_may_hold_anything() {
        let text = to_text(&snapshot());
        assert_eq!(from_text(&text), Ok(snapshot()));
        let reviewed = text.replace("\n---\n", "\nassertion_line: 40\ninfo:\n  a: 1\n---\n");
        assert_eq!(from_text(&reviewed), Ok(snapshot()));
    }

    #[test]
    fn every_cut_of_a_file_is_noticed() {
        let text = to_text(&snapshot());
        for end in 0..text.len() - 2 {
            assert!(from_text(&text[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_missing_file_says_how_to_make_one() {
        let error = read(Path::new("/nowhere/x.snap")).unwrap_err();
        assert!(error.to_string().contains("trapline bless"), "{error}");
    }

    #[test]
    fn the_path_names_class_suite_and_scenario() {
        let at = path(Path::new("golden"), crate::TCG_ICOUNT, "self-ipi", "x2apic-hlt");
        assert_eq!(at, Path::new("golden/tcg-icount/self-ipi/x2apic-hlt.snap"));
    }
}
