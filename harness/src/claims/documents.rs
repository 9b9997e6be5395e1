//! The tables that the claims' documents print, as they came by mail: `claims/tables/*.txt`.

use super::ClaimsError;
use crate::import::{self, Import, Table};
use std::collections::BTreeMap;
use std::path::Path;

/// The folder beside the claims.
const FOLDER: &str = "tables";

/// Imported texts, by file name.
#[derive(Clone, Debug, Default)]
pub struct Documents(BTreeMap<String, Import>);

impl Documents {
    /// Imports every text; none, if there is no such folder.
    ///
    /// # Errors
    /// A text that is no report.
    pub fn load(claims: &Path) -> Result<Self, ClaimsError> {
        let folder = claims.join(FOLDER);
        let mut documents = BTreeMap::new();
        if folder.is_dir() {
            for path in crate::files::entries(&folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                documents.insert(name, import::load(&path)?);
            }
        }
        Ok(Self(documents))
    }

    /// A table of perf: `rtc-clock.txt/2` is the second one of that text.
    ///
    /// # Errors
    /// There is none, in words.
    pub fn table(&self, name: &str) -> Result<&Table, String> {
        let (file, number) = name.split_once('/').unwrap_or((name, "1"));
        let import = self.0.get(file).ok_or_else(|| {
            format!("`{name}`: {FOLDER}/{file} is not there; write a table as `FILE/NUMBER`")
        })?;
        let table = number.parse::<usize>().ok().and_then(|n| import.tables.get(n.wrapping_sub(1)));
        table.ok_or_else(|| {
            format!("`{name}`: {file} has tables 1 to {}, and no {number}", import.tables.len())
        })
    }
}
