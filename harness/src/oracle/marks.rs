//! Where a payload's calls are.

use super::OracleError;
use object::{Object, ObjectSymbol};
use std::path::Path;
use trapline_abi::descriptor::{BEGIN_SYMBOL, END_SYMBOL};

/// All symbols on VMMCALLs that are payload calls start like this.
const CALL_PREFIX: &str = "trapline_call_";

/// Addresses of a payload's call instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The VMMCALL that begins a window; `None` when the payload has none.
    pub begin: Option<u64>,
    /// The VMMCALL that ends it.
    pub end: Option<u64>,
    /// All of them, begin and end included. They are trapped and never counted in a window.
    pub calls: Vec<u64>,
}

impl Marks {
    /// Reads them from a payload's ELF file.
    ///
    /// # Errors
    /// When it cannot be read, is no ELF file, or was stripped.
    pub fn read(path: &Path) -> Result<Self, OracleError> {
        let bytes = std::fs::read(path)
            .map_err(|source| OracleError::File { path: path.to_owned(), source })?;
        let elf = object::File::parse(&bytes[..]).map_err(|error| OracleError::Elf {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        if elf.symbols().next().is_none() {
            let reason = "it has no symbols".to_owned();
            return Err(OracleError::Elf { path: path.to_owned(), reason });
        }
        let mut marks = Self::default();
        for symbol in elf.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if name.starts_with(CALL_PREFIX) {
                marks.calls.push(symbol.address());
            }
            match name {
                BEGIN_SYMBOL => marks.begin = Some(symbol.address()),
                END_SYMBOL => marks.end = Some(symbol.address()),
                _ => {}
            }
        }
        marks.calls.sort_unstable();
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_of_payloads_begin_and_end_at_different_calls() {
        let payloads = trapline_images::images().payloads;
        let marks = payloads.iter().map(|(_, path)| Marks::read(path).unwrap());
        let marked: Vec<_> = marks.filter(|marks| marks.begin.is_some()).collect();
        assert!(!marked.is_empty());
        for marks in marked {
            assert!(marks.end.is_some() && marks.begin != marks.end, "{marks:?}");
            assert!(marks.calls.contains(&marks.begin.unwrap()), "{marks:?}");
        }
    }

    #[test]
    fn files_that_are_no_payload_are_refused() {
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(matches!(Marks::read(&text), Err(OracleError::Elf { .. })));
        assert!(matches!(Marks::read(Path::new("/no/such/elf")), Err(OracleError::File { .. })));
    }
}
