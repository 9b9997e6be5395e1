//! Expectations: what a scenario must give.

use super::error::{SuiteError, suggest};
use super::fields::Entry;
use super::settings::Settings;
use super::subject::Subject;
use super::words::OUTCOMES;
use crate::formula::{Bound, Formula};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use trapline_abi::exit;
use trapline_abi::record::Outcome;

/// One number that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The formula, as it was written.
    pub formula: String,
    /// What it allows with the scenario's parameters.
    pub bound: Bound,
    /// Where it is from, if it says more than the scenario does.
    pub cite: Option<String>,
}

/// What is expected of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowExpect {
    /// The numbers.
    pub rules: BTreeMap<Subject, Rule>,
    /// Exit codes that may occur as they please. All that are in neither must not occur.
    pub allow: BTreeSet<u64>,
    /// The exits of one round, in order; the window's last exits must be rounds of it.
    pub order: Vec<Subject>,
}

/// What is expected of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// How it ends.
    pub outcome: Outcome,
    /// Of windows by label; without a label, of the payload's only window.
    pub windows: BTreeMap<Option<String>, WindowExpect>,
    /// Of the numbers that the payload reports, by label.
    pub values: BTreeMap<String, Rule>,
}

impl Default for Expect {
    fn default() -> Self {
        Self { outcome: Outcome::Done, windows: BTreeMap::new(), values: BTreeMap::new() }
    }
}

/// Reads `expect` tables into an [`Expect`]; a later table wins over an earlier one.
pub(super) struct Reader<'s> {
    pub settings: &'s Settings,
    pub vcpus: u16,
    pub cores: u16,
    pub cite: Option<String>,
    pub expect: Expect,
}

impl Reader<'_> {
    pub fn add(&mut self, table: Entry<'_>) -> Result<(), SuiteError> {
        for (span, key, entry) in table.entries()? {
            match key {
                "outcome" => self.expect.outcome = outcome(entry)?,
                "values" => {
                    for (_, label, entry) in entry.entries()? {
                        let rule = self.rule(entry)?;
                        self.expect.values.insert(label.into(), rule);
                    }
                }
                label if entry.value.get_ref().is_table() => {
                    for (span, key, entry) in entry.entries()? {
                        self.window(Some(label), span, key, entry)?;
                    }
                }
                _ => self.window(None, span, key, entry)?,
            }
        }
        Ok(())
    }

    fn window(
        &mut self,
        label: Option<&str>,
        span: Range<usize>,
        key: &str,
        entry: Entry<'_>,
    ) -> Result<(), SuiteError> {
        let label = label.map(str::to_owned);
        if key == "allow" {
            let codes = entry.list()?.into_iter().map(allowed).collect::<Result<Vec<_>, _>>()?;
            self.expect.windows.entry(label).or_default().allow.extend(codes);
            return Ok(());
        }
        if key == "order" {
            let round = entry.list()?.into_iter().map(subject).collect::<Result<Vec<_>, _>>()?;
            self.expect.windows.entry(label).or_default().order = round;
            return Ok(());
        }
        let subject = Subject::parse(key).map_err(|message| entry.source.error(span, message))?;
        let rule = self.rule(entry)?;
        self.expect.windows.entry(label).or_default().rules.insert(subject, rule);
        Ok(())
    }

    fn rule(&self, entry: Entry<'_>) -> Result<Rule, SuiteError> {
        let formula = entry.text_or_number()?;
        let lookup = |name: &str| match name {
            "vcpus" => Ok(u64::from(self.vcpus)),
            "cores" => Ok(u64::from(self.cores)),
            _ => self.settings.number(name),
        };
        let bound = Formula::parse(&formula)
            .and_then(|f| f.bound(&lookup))
            .map_err(|e| entry.error(e.to_string()))?;
        Ok(Rule { formula, bound, cite: self.cite.clone() })
    }
}

fn outcome(entry: Entry<'_>) -> Result<Outcome, SuiteError> {
    let word = entry.text()?;
    OUTCOMES.iter().find(|(w, _)| *w == word).map(|&(_, outcome)| outcome).ok_or_else(|| {
        let hint = suggest(&word, OUTCOMES.iter().map(|&(w, _)| w));
        entry.error(format!("unknown outcome `{word}`{hint}"))
    })
}

fn subject(entry: Entry<'_>) -> Result<Subject, SuiteError> {
    match Subject::parse(&entry.text()?).map_err(|message| entry.error(message))? {
        Subject::Ticks | Subject::Exits => Err(entry.error("an order is of exits")),
        subject => Ok(subject),
    }
}

fn allowed(entry: Entry<'_>) -> Result<u64, SuiteError> {
    let name = entry.text()?;
    exit::code(&name).ok_or_else(|| {
        entry.error(format!("unknown exit `{name}`{}", suggest(&name, exit::names())))
    })
}
