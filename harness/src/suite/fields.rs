//! Tables of a suite file: every key known, every value of the right kind.

use super::error::{Source, SuiteError, suggest};
use super::matrix::Bindings;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key's place (bytes), the key, and its value.
pub(super) type Named<'a> = (Range<usize>, &'a str, Entry<'a>);

/// One value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub source: Source<'a>,
    pub bindings: &'a Bindings,
    pub value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Entry<'a> {
    pub fn error(&self, message: impl Into<String>) -> SuiteError {
        self.source.error(self.value.span(), message)
    }

    fn wrong_kind<T>(&self, wanted: &str) -> Result<T, SuiteError> {
        let found = self.value.get_ref().type_str();
        Err(self.error(format!("{wanted} is wanted here, not {}", article(found))))
    }

    /// A string, with its placeholders filled in.
    pub fn text(&self) -> Result<String, SuiteError> {
        match self.value.get_ref().as_str() {
            Some(text) => self.bindings.fill(text).map_err(|message| self.error(message)),
            None => self.wrong_kind("a string"),
        }
    }

    pub fn number(&self) -> Result<u64, SuiteError> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            return self.wrong_kind("a number");
        };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| self.error("an unsigned 64-bit number is wanted here"))
    }

    pub fn flag(&self) -> Result<bool, SuiteError> {
        self.value.get_ref().as_bool().map_or_else(|| self.wrong_kind("true or false"), Ok)
    }

    /// A string, or a number's text.
    pub fn text_or_number(&self) -> Result<String, SuiteError> {
        if self.value.get_ref().is_integer() {
            return Ok(self.number()?.to_string());
        }
        if self.value.get_ref().is_str() {
            self.text()
        } else {
            self.wrong_kind("a string or number")
        }
    }

    pub fn list(&self) -> Result<Vec<Entry<'a>>, SuiteError> {
        let Some(items) = self.value.get_ref().as_array() else {
            return self.wrong_kind("a list");
        };
        Ok(items.iter().map(|value| Entry { value, ..*self }).collect())
    }

    /// A table with any keys, sorted by key.
    pub fn entries(&self) -> Result<Vec<Named<'a>>, SuiteError> {
        let Some(table) = self.value.get_ref().as_table() else {
            return self.wrong_kind("a table");
        };
        let entry = |value| Entry { value, ..*self };
        Ok(table.iter().map(|(k, v)| (k.span(), k.get_ref().as_ref(), entry(v))).collect())
    }

    /// A table with known keys only.
    pub fn fields(&self, what: &str, known: &[&'static str]) -> Result<Fields<'a>, SuiteError> {
        let Some(table) = self.value.get_ref().as_table() else {
            return self.wrong_kind("a table");
        };
        Fields::new(self.source, self.bindings, self.value.span(), table, what, known)
    }
}

/// A table whose keys are all known.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    source: Source<'a>,
    bindings: &'a Bindings,
    span: Range<usize>,
    table: &'a DeTable<'a>,
    what: String,
}

impl<'a> Fields<'a> {
    pub fn new(
        source: Source<'a>,
        bindings: &'a Bindings,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        what: &str,
        known: &[&'static str],
    ) -> Result<Self, SuiteError> {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let hint = suggest(name, known.iter().copied());
                let message = format!("unknown key `{name}` in {what}{hint}");
                return Err(source.error(key.span(), message));
            }
        }
        Ok(Self { source, bindings, span, table, what: what.into() })
    }

    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        let (source, bindings) = (self.source, self.bindings);
        self.table.get(key).map(|value| Entry { source, bindings, value })
    }

    pub fn need(&self, key: &str) -> Result<Entry<'a>, SuiteError> {
        self.get(key).ok_or_else(|| {
            self.source.error(self.span.clone(), format!("{} has no `{key}`", self.what))
        })
    }

    /// What `read` makes of the value, or the default where there is none.
    pub fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(Entry<'a>) -> Result<T, SuiteError>,
    ) -> Result<T, SuiteError> {
        self.get(key).map_or(Ok(default), read)
    }
}

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}
