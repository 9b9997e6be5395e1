//! What is wrong with a suite file, and where.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a suite cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file cannot be read.
    #[error("cannot read suite {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says something that it must not.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there and what to do about it.
        message: String,
    },
}

/// A suite file's text, to turn places in it into lines.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at the start of `span` (bytes).
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> SuiteError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SuiteError::Wrong {
            path: self.path.into(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

/// ` (did you mean ...?)` when a known word is near enough to the one that was written, else the
/// known words.
pub(super) fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((_, candidate)) => format!(" (did you mean `{candidate}`?)"),
        None if known.is_empty() => String::new(),
        None if known.len() <= 16 => format!(" (known: {})", known.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_listed() {
        assert_eq!(suggest("paload", ["name", "payload"]), " (did you mean `payload`?)");
        assert_eq!(suggest("hlt2", ["hlt", "vintr"]), " (did you mean `hlt`?)");
        assert_eq!(suggest("zebra", ["hlt", "nop"]), " (known: hlt, nop)");
        assert_eq!(suggest("zebra", []), "");
    }

    #[test]
    fn a_place_is_a_line_and_a_column_in_characters() {
        let source = Source { path: Path::new("x.toml"), text: "a\nöö = 1\n" };
        assert_eq!(source.error(7..8, "bad").to_string(), "x.toml:2:4: bad");
        assert_eq!(source.error(0..1, "bad").to_string(), "x.toml:1:1: bad");
        assert_eq!(source.error(99..100, "bad").to_string(), "x.toml:3:1: bad");
    }
}
