//! Descriptors: what a payload's ELF file says about itself.
//!
//! The section [`SECTION`] holds text lines, so that the harness can list and check parameters
//! without booting anything:
//!
//! ```text
//! about Sends itself IPIs and waits for them.
//! param n number 1000 How many.
//! param wait choice hlt|nop|spin hlt How it waits.
//! ```
//! `number` is an unsigned integer with its default; `choice` lists words, of which the payload
//! receives the position, and the default word.

/// The ELF section's name.
pub const SECTION: &str = ".trapline.descriptor";

/// The symbol on the VMMCALL instruction of [`crate::call::Call::Begin`].
pub const BEGIN_SYMBOL: &str = "trapline_call_begin";

/// The symbol on the VMMCALL instruction of [`crate::call::Call::End`].
pub const END_SYMBOL: &str = "trapline_call_end";

/// The symbol on hv-core's instruction after its only VMRUN.
pub const AFTER_VMRUN_SYMBOL: &str = "svm_after_vmrun";

/// What a parameter can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind<'a> {
    /// An unsigned integer.
    Number {
        /// Its value where the scenario says nothing.
        default: u64,
    },
    /// One of some words, separated by `|`; the payload gets its position.
    Choice {
        /// The words.
        words: &'a str,
        /// The word where the scenario says nothing.
        default: &'a str,
    },
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it can be.
    pub kind: ParamKind<'a>,
    /// What it means.
    pub about: &'a str,
}

/// One line of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// What the payload does.
    About(&'a str),
    /// A parameter.
    Param(Param<'a>),
}

/// Reads a descriptor's lines; an `Err` holds the line that is none.
pub fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, &str>> {
    text.trim_matches(['\0', '\n'])
        .split('\n')
        .filter(|line| !line.trim().is_empty())
        .map(|line| parse(line.trim()).ok_or(line))
}

fn parse(line: &str) -> Option<Line<'_>> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "about" => Some(Line::About(rest)),
        "param" => {
            let (name, rest) = rest.split_once(' ')?;
            let (kind, rest) = rest.split_once(' ')?;
            let (kind, about) = match kind {
                "number" => {
                    let (default, about) = rest.split_once(' ').unwrap_or((rest, ""));
                    (ParamKind::Number { default: default.parse().ok()? }, about)
                }
                "choice" => {
                    let (words, rest) = rest.split_once(' ')?;
                    let (default, about) = rest.split_once(' ').unwrap_or((rest, ""));
                    words.split('|').any(|w| w == default).then_some(())?;
                    (ParamKind::Choice { words, default }, about)
                }
                _ => return None,
            };
            Some(Line::Param(Param { name, kind, about: about.trim() }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_bad_ones_named() {
        let text = "about Does things.\nparam n number 5 How many.\nparam w choice a|b b\nparam x choice a|b c\n\0\0";
        let read: Vec<_> = lines(text).collect();
        assert_eq!(read[0], Ok(Line::About("Does things.")));
        let n = Param { name: "n", kind: ParamKind::Number { default: 5 }, about: "How many." };
        assert_eq!(read[1], Ok(Line::Param(n)));
        let w =
            Param { name: "w", kind: ParamKind::Choice { words: "a|b", default: "b" }, about: "" };
        assert_eq!(read[2], Ok(Line::Param(w)));
        assert!(read[3].is_err());
        assert_eq!(read.len(), 4);
    }
}
