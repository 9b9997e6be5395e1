//! Imports: the text that `perf kvm stat report` prints, read back into figures.
//!
//! Three kinds of tables are read: those of the text report, 20 or 40 characters wide by name; those
//! of the browser view, bare or drawn with bars; and drawn tables of other figures, such as the
//! averages of a benchmark. Mailers wrap lines, quote them, and put no-break spaces into them, and
//! people cut rows: all of that is read, and said. What the figures contradict becomes a
//! [`Warning`], what cannot be read an error with its line.

mod check;
mod claim;
mod decimal;
mod drawn;
mod error;
mod head;
mod line;
mod name;
mod read;
mod row;
mod share;
mod store;
mod table;
mod text;

pub use decimal::Decimal;
pub use error::{ImportError, Malformed};
pub use name::canonical;
pub use read::read;
pub use store::{load, open, save};
pub use table::{Drawn, DrawnRow, Row, Table, Totals, Unit};
pub use text::{text, warnings};

use serde::{Deserialize, Serialize};

/// Version of the JSON form.
pub const FORMAT: u32 = 1;

/// What the JSON form calls itself, to be told from a result.
pub const KIND: &str = "perf-import";

/// The tables of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// [`KIND`].
    pub kind: String,
    /// [`FORMAT`].
    pub format: u32,
    /// The tables of perf, in the order of the text.
    pub tables: Vec<Table>,
    /// The other tables, in the order of the text.
    pub drawn: Vec<Drawn>,
    /// What is odd about them, by line.
    pub warnings: Vec<Warning>,
}

/// Something odd that does not keep a table from being read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// The line, from 1.
    pub line: u32,
    /// What is odd.
    pub what: String,
}

impl Warning {
    fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
