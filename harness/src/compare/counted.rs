//! One side of a comparison that has an import in it: one table of counts and mean times.

use super::{Side, SideError};
use crate::import::{self, Import, ImportError, Table, canonical};
use crate::result::{self, RunResult, StoreError};
use crate::table;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use trapline_golden::snapshot::Snapshot;

/// Why there is no such table.
#[derive(Debug, thiserror::Error)]
pub enum CountedError {
    /// No import.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// No result.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No golden, or a damaged one.
    #[error(transparent)]
    Side(#[from] SideError),
    /// It is not clear which table or scenario is meant, or there is no such one.
    #[error("{name} {why}")]
    Which {
        /// What was named.
        name: String,
        /// Why it does not say enough, and what could be said.
        why: String,
    },
}

/// What a side's name says: a file or `last`, and what of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The file, `last` or `golden`.
    pub file: String,
    /// Behind a `#`: the number of a table, or the name of a scenario.
    pub part: Option<String>,
}

impl Selector {
    /// Splits at the last `#`, unless there is a file of the whole name.
    pub fn read(name: &str) -> Self {
        match name.rsplit_once('#') {
            Some((file, part)) if !Path::new(name).exists() => {
                Self { file: file.into(), part: Some(part.into()) }
            }
            _ => Self { file: name.into(), part: None },
        }
    }

    /// Whether it is `last` or `golden`, which a workspace has.
    pub fn is_word(&self) -> bool {
        ["last", "golden"].contains(&self.file.as_str())
    }
}

/// Count and mean of one kind of exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// How often.
    pub count: u64,
    /// Mean time in nanoseconds, where it is known.
    pub mean: Option<f64>,
}

/// One table, by names of today.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What was named, and what it is.
    pub name: String,
    /// What it counts: `VM-EXIT`, `MSR Access`.
    pub head: String,
    /// Whether a row that is not there may only have been cut.
    pub is_partial: bool,
    /// All samples.
    pub total: u64,
    /// The rows.
    pub rows: BTreeMap<String, Figure>,
}

impl Counted {
    /// The import that a side names, if it does name one.
    ///
    /// # Errors
    /// [`CountedError::Import`].
    pub fn import(side: &Selector) -> Result<Option<Import>, CountedError> {
        if side.is_word() {
            return Ok(None);
        }
        Ok(import::open(Path::new(&side.file))?)
    }

    /// The table of an import.
    ///
    /// # Errors
    /// [`CountedError::Which`].
    pub fn of_import(side: &Selector, import: &Import) -> Result<Self, CountedError> {
        let tables = &import.tables;
        let place = match &side.part {
            Some(part) => part.parse().ok().and_then(|number: usize| number.checked_sub(1)),
            None => {
                let exits = || tables.iter().enumerate().filter(|(_, t)| t.is_of_exits());
                match (tables.len(), exits().count()) {
                    (1, _) => Some(0),
                    (_, 1) => exits().next().map(|(place, _)| place),
                    _ => None,
                }
            }
        };
        match place.and_then(|place| Some((place, tables.get(place)?))) {
            Some((place, table)) => Ok(Self::of_table(side, place + 1, table)),
            None => Err(which(side, "tables of perf", &names(tables))),
        }
    }

    fn of_table(side: &Selector, number: usize, table: &Table) -> Self {
        let mut rows = BTreeMap::<String, Figure>::new();
        for row in &table.rows {
            let mean = row.mean_time().map(|mean| mean * table.unit.nanos());
            // A name that is there twice was warned of; the first one counts.
            rows.entry(canonical(&row.name)).or_insert(Figure { count: row.samples, mean });
        }
        Self {
            name: format!("{}#{number}, line {}: {}", side.file, table.line, table.title),
            head: if table.is_of_exits() { "VM-EXIT".into() } else { table.event.clone() },
            is_partial: table.cut || table.totals.is_none(),
            total: table.samples(),
            rows,
        }
    }

    /// The table of that head of a golden, all its windows and vCPUs together.
    ///
    /// # Errors
    /// [`CountedError::Which`].
    fn of_golden(side: &Selector, goldens: &Side, head: &str) -> Result<Self, CountedError> {
        let all: Vec<_> = goldens.scenarios.keys().cloned().collect();
        let golden = side.part.as_ref().and_then(|part| goldens.scenarios.get(part));
        let golden = golden.ok_or_else(|| which(side, "scenarios", &all))?;
        let rows = rows_of(golden, head);
        Ok(Self {
            name: format!("{}#{}", side.file, side.part.as_deref().unwrap_or_default()),
            head: head.into(),
            is_partial: false,
            total: rows.values().map(|figure| figure.count).sum(),
            rows,
        })
    }

    /// The table of that head of a result's scenario, all its windows and vCPUs together.
    ///
    /// # Errors
    /// [`CountedError::Store`], [`CountedError::Which`].
    pub fn of_run(side: &Selector, root: &Path, head: &str) -> Result<Self, CountedError> {
        let path = match side.file.as_str() {
            "golden" => return Self::of_golden(side, &Side::read("golden", root)?, head),
            "last" => result::last_path(root),
            file => PathBuf::from(file),
        };
        Self::of_result(side, &result::read(&path)?, head)
    }

    /// The same, of a result that was read.
    ///
    /// # Errors
    /// [`CountedError::Which`].
    pub fn of_result(
        side: &Selector,
        result: &RunResult,
        head: &str,
    ) -> Result<Self, CountedError> {
        let ran = result.scenarios.iter().filter_map(|s| Some((s, s.measured.as_ref()?)));
        let ran: Vec<_> = ran.collect();
        let wanted = |name: &str| side.part.as_ref().is_none_or(|part| name == part);
        let mut chosen = ran.iter().filter(|(scenario, _)| wanted(&scenario.full_name()));
        let (Some((scenario, measured)), None) = (chosen.next(), chosen.next()) else {
            let names: Vec<_> = ran.iter().map(|(s, _)| s.full_name()).collect();
            return Err(which(side, "scenarios that ran", &names));
        };
        let khz = result.environment.tsc_khz();
        let table = table::whole(measured)
            .into_iter()
            .find(|table| table.head().eq_ignore_ascii_case(head));
        let mut rows = BTreeMap::new();
        for (name, stats) in table.iter().flat_map(table::Table::rows) {
            let mean = Some(stats.mean() * 1e6 / f64::from(khz));
            rows.insert(canonical(name), Figure { count: stats.count, mean });
        }
        Ok(Self {
            name: format!("{}#{}", side.file, scenario.full_name()),
            head: head.into(),
            is_partial: false,
            total: rows.values().map(|figure| figure.count).sum(),
            rows,
        })
    }
}

/// A golden's rows under a head. Its ticks are nanoseconds, as there are goldens under icount alone.
fn rows_of(golden: &Snapshot, head: &str) -> BTreeMap<String, Figure> {
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    for row in golden.windows.iter().flat_map(|window| &window.exits) {
        // `msr 0x830:W`: the detail starts with its number.
        let (exit, detail) = match row.exit.find(" 0x") {
            Some(at) => (&row.exit[..at], &row.exit[at + 1..]),
            None => (row.exit.as_str(), ""),
        };
        let name = match table::detail_head(exit) {
            _ if head.eq_ignore_ascii_case("VM-EXIT") => table::exit_name(exit),
            Some(of) if of.eq_ignore_ascii_case(head) && detail.contains(':') => detail,
            _ => continue,
        };
        let sum = sums.entry(canonical(name)).or_default();
        sum.0 += row.figures.count;
        sum.1 += row.figures.sum;
    }
    let figure = |(count, sum): (u64, u64)| {
        let mean = (count > 0).then(|| sum as f64 / count as f64);
        Figure { count, mean }
    };
    sums.into_iter().map(|(name, sum)| (name, figure(sum))).collect()
}

/// What could be said behind `#`.
fn names(tables: &[Table]) -> Vec<String> {
    let name = |(place, table): (usize, &Table)| {
        format!("{} (line {}, {}: {})", place + 1, table.line, table.event, table.title)
    };
    tables.iter().enumerate().map(name).collect()
}

fn which(side: &Selector, what: &str, names: &[String]) -> CountedError {
    /// Names that are listed, the nearest first.
    const LISTED: usize = 10;
    let mut names: Vec<_> = names.iter().collect();
    if let Some(part) = &side.part {
        let near = |name: &str| strsim::jaro_winkler(part, name);
        names.sort_by(|a, b| near(b).total_cmp(&near(a)));
    }
    let mut why = match &side.part {
        Some(part) => format!("has no `{}` among its {what}", part.escape_debug()),
        None if names.is_empty() => format!("has no {what}"),
        None => format!("has {} {what}: name one behind a #", names.len()),
    };
    for name in names.iter().take(LISTED) {
        let _ = write!(why, "\n  {}#{name}", side.file);
    }
    if names.len() > LISTED {
        why += "\n  ...";
    }
    CountedError::Which { name: side.file.clone(), why }
}
