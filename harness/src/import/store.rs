//! Import files: read with a limit, written whole or not at all, and never over something else.

use super::{FORMAT, Import, ImportError, KIND, read};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use trapline_golden::replace::Replacement;

/// Largest text that is read, in MiB. A report has a few kilobytes.
const LIMIT: u64 = 16;

/// Reads a file whole, or standard input where it is `-`.
///
/// # Errors
/// [`ImportError::Unreadable`], [`ImportError::TooLarge`].
fn text_of(path: &Path) -> Result<Vec<u8>, ImportError> {
    let source: Result<Box<dyn Read>, _> = match path.to_str() {
        Some("-") => Ok(Box::new(std::io::stdin().lock())),
        _ => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut bytes = Vec::new();
    let read = source.and_then(|source| source.take((LIMIT << 20) + 1).read_to_end(&mut bytes));
    match read {
        Err(why) => Err(ImportError::Unreadable { path: path.into(), why }),
        Ok(size) if size as u64 > LIMIT << 20 => {
            Err(ImportError::TooLarge { path: path.into(), limit: LIMIT })
        }
        Ok(_) => Ok(bytes),
    }
}

/// Reads the tables of a file of perf's text.
///
/// # Errors
/// See [`ImportError`].
pub fn load(path: &Path) -> Result<Import, ImportError> {
    let malformed = |why| ImportError::Malformed { path: path.into(), why };
    read(&text_of(path)?).map_err(malformed)
}

/// Reads a file that is an import or perf's text; `None` where it is other JSON, or a pipe, which
/// could be read only once.
///
/// # Errors
/// See [`ImportError`].
pub fn open(path: &Path) -> Result<Option<Import>, ImportError> {
    if !path.is_file() || is_large_json(path) {
        return Ok(None);
    }
    let bytes = text_of(path)?;
    if !is_json(&bytes) {
        let malformed = |why| ImportError::Malformed { path: path.into(), why };
        return read(&bytes).map(Some).map_err(malformed);
    }
    if !is_import(&bytes) {
        return Ok(None);
    }
    let refuse = |why: String| ImportError::NotAnImport { path: path.into(), why };
    let import: Import = serde_json::from_slice(&bytes).map_err(|e| refuse(e.to_string()))?;
    if import.format != FORMAT {
        return Err(refuse(format!("it has format {}, not {FORMAT}", import.format)));
    }
    if import.has_control_characters() {
        return Err(refuse("there is a control character in one of its texts".into()));
    }
    Ok(Some(import))
}

fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

/// Whether it is JSON beyond the limit: a result can be, an import cannot.
fn is_large_json(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    let is_large = path.metadata().is_ok_and(|about| about.len() > LIMIT << 20);
    is_large && read.is_ok() && is_json(&start)
}

/// Whether it says of itself that it is one, of whichever version.
fn is_import(bytes: &[u8]) -> bool {
    let json: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
    json.is_some_and(|json| json.get("kind").and_then(|kind| kind.as_str()) == Some(KIND))
}

/// Saves an import. What is there already is kept, unless it is an import too or `force` is said.
///
/// # Errors
/// See [`ImportError`].
pub fn save(path: &Path, import: &Import, force: bool) -> Result<(), ImportError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(why) => return Err(ImportError::Unreadable { path: path.into(), why }),
        Ok(_) if !path.is_file() => return Err(ImportError::NoFile(path.into())),
        Ok(_) if force => {}
        Ok(_) if text_of(path).is_ok_and(|bytes| is_import(&bytes)) => {}
        Ok(_) => return Err(ImportError::Occupied(path.into())),
    }
    Replacement::stage([(path.to_path_buf(), import.to_json())])?.commit()?;
    Ok(())
}

impl Import {
    /// Whether printing it could do more to a terminal than print.
    fn has_control_characters(&self) -> bool {
        let tables = self.tables.iter().flat_map(|table| {
            let names = table.rows.iter().map(|row| &row.name);
            [&table.title, &table.event].into_iter().chain(names)
        });
        let drawn = self.drawn.iter().flat_map(|drawn| {
            let names = drawn.rows.iter().map(|row| &row.name);
            [&drawn.title, &drawn.head].into_iter().chain(&drawn.columns).chain(names)
        });
        let warnings = self.warnings.iter().map(|warning| &warning.what);
        tables.chain(drawn).chain(warnings).any(|text| text.chars().any(char::is_control))
    }

    /// The canonical JSON, with a line end.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("imports have string keys and no floats") + "\n"
    }
}
