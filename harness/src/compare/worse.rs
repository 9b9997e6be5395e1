//! What became worse from an old result to a new one, held to a budget.
//!
//! Less is better of everything here. Under icount figures are exact, and every difference is real.
//! Elsewhere times scatter: a mean counts as worse only if Welch's test says that chance is no likely
//! explanation, and one window's length, a single value, is held to its limit without a test.

use super::budget::{Budget, Limit, Quantity};
use super::welch::{LEVEL, Welch};
use super::{Side, ratio};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use trapline_golden::figures::Figures;
use trapline_golden::snapshot::Snapshot;

/// Two values of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The old one.
    pub old: f64,
    /// The new one.
    pub new: f64,
    /// New to old; none where the old one is 0.
    pub ratio: Option<f64>,
}

/// One kind of exit of a scenario, all windows and vCPUs together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name, with its detail.
    pub exit: String,
    /// How often.
    pub count: Pair,
    /// Its mean time in ticks; none where there was no such exit on one side.
    pub mean: Option<Pair>,
    /// Welch's t and p of the means; none where figures are exact or one side has fewer than two.
    pub welch: Option<(f64, f64)>,
    /// Whether the means differ by more than chance; none where that cannot be said.
    pub significant: Option<bool>,
}

/// A scenario of both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// `suite::name`.
    pub name: String,
    /// All exits.
    pub exits: Pair,
    /// The length of its windows.
    pub ticks: Pair,
    /// Its exits.
    pub rows: Vec<Row>,
    /// What became worse than the budget allows.
    pub worse: Vec<String>,
}

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worse {
    /// What was named as old.
    pub old: String,
    /// What was named as new.
    pub new: String,
    /// The limits.
    pub budget: Vec<String>,
    /// `exact`, or the name of the test and its level.
    pub significance: String,
    /// The scenarios of both.
    pub scenarios: Vec<Scenario>,
    /// Scenarios that only the old one has: of those nothing can be said.
    pub missing: Vec<String>,
    /// Scenarios that only the new one has.
    pub added: Vec<String>,
}

impl Worse {
    /// Compares two sides.
    pub fn new(old: &Side, new: &Side, budget: &Budget) -> Self {
        let exact = old.is_exact && new.is_exact;
        let significance = match exact {
            true => "exact: every difference is one".into(),
            false => format!("means by Welch's t-test at {LEVEL}; counts and lengths as they are"),
        };
        let both = old.scenarios.iter().filter_map(|(name, snapshot)| {
            let there = !old.lost.contains(name) && !new.lost.contains(name);
            Some(scenario(
                name,
                snapshot,
                new.scenarios.get(name).filter(|_| there)?,
                budget,
                exact,
            ))
        });
        let only = |a: &Side, b: &Side| {
            let has = |name: &String| b.scenarios.contains_key(name) && !b.lost.contains(name);
            let lacking = a.scenarios.keys().filter(|name| !has(name));
            lacking.cloned().collect::<Vec<_>>()
        };
        // The goldens hold every scenario, a result those that were run.
        let missing = match old.is_golden {
            true => new.lost.iter().cloned().collect(),
            false => only(old, new),
        };
        let added = if new.is_golden { Vec::new() } else { only(new, old) };
        Self {
            old: old.name.clone(),
            new: new.name.clone(),
            budget: budget.0.iter().map(ToString::to_string).collect(),
            significance,
            scenarios: both.collect(),
            missing,
            added,
        }
    }

    /// Scenarios that became worse.
    pub fn worse(&self) -> usize {
        self.scenarios.iter().filter(|scenario| !scenario.worse.is_empty()).count()
    }

    /// Why nothing can be said, if that is so.
    pub fn untestable(&self) -> Option<String> {
        match (self.missing.first(), self.scenarios.is_empty()) {
            (Some(name), _) => {
                let count = self.missing.len();
                Some(format!("{} has no result of {name} ({count} missing)", self.new))
            }
            (None, true) => {
                Some(format!("{} and {} have no scenario in common", self.old, self.new))
            }
            (None, false) => None,
        }
    }

    /// For people: a line a scenario, with its rows where it became worse or all are wanted.
    pub fn text(&self, all: bool) -> String {
        let mut text = format!(
            "old: {}\nnew: {}\nbudget: {}\nsignificance: {}\n\n",
            self.old,
            self.new,
            self.budget.join(", "),
            self.significance
        );
        let width = self.scenarios.iter().map(|s| s.name.len()).max().unwrap_or_default();
        for scenario in &self.scenarios {
            let Scenario { name, exits, ticks, worse, .. } = scenario;
            let word = if worse.is_empty() { "OK   " } else { "WORSE" };
            let _ = writeln!(
                text,
                "{word} {name:<width$}  exits {} -> {} ({}), ticks {} -> {} ({})",
                exits.old,
                exits.new,
                ratio(exits.old, exits.new),
                ticks.old,
                ticks.new,
                ratio(ticks.old, ticks.new)
            );
            for worse in worse {
                let _ = writeln!(text, "      {worse}");
            }
            if all || !worse.is_empty() {
                scenario.rows.iter().for_each(|row| row.print(&mut text));
            }
        }
        for name in &self.missing {
            let _ = writeln!(text, "GONE  {name}: only in {}", self.old);
        }
        for name in &self.added {
            let _ = writeln!(text, "NEW   {name}: only in {}", self.new);
        }
        let (worse, of) = (self.worse(), self.scenarios.len());
        let _ = writeln!(text, "{worse} of {of} scenarios worse than the budget");
        text
    }
}

impl Row {
    fn print(&self, text: &mut String) {
        let Self { exit, count, mean, .. } = self;
        let counts = ratio(count.old, count.new);
        let _ = write!(text, "      {exit:<34} {:>9} -> {:<9} ({counts})", count.old, count.new);
        if let Some(mean) = mean {
            let means = ratio(mean.old, mean.new);
            let _ = write!(text, "  mean {:.2} -> {:.2} ({means})", mean.old, mean.new);
        }
        if let Some((t, p)) = self.welch {
            let _ = write!(text, "  t {t:.2}, p {p:.2e}");
        }
        text.push('\n');
    }
}

fn pair(old: f64, new: f64) -> Pair {
    Pair { old, new, ratio: (old != 0.0).then(|| new / old) }
}

fn scenario(name: &str, old: &Snapshot, new: &Snapshot, budget: &Budget, exact: bool) -> Scenario {
    let ticks = |s: &Snapshot| s.windows.iter().map(|window| window.ticks).sum::<u64>() as f64;
    let (before, after) = (kinds(old), kinds(new));
    let count = |kinds: &BTreeMap<String, Figures>| {
        kinds.values().map(|figures| figures.count).sum::<u64>() as f64
    };
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let none = Figures::default();
    let of = |kinds: &'_ BTreeMap<String, Figures>, name: &String| {
        kinds.get(name).cloned().unwrap_or_else(|| none.clone())
    };
    let rows =
        names.into_iter().map(|name| row(name, &of(&before, name), &of(&after, name), exact));
    let mut scenario = Scenario {
        name: name.into(),
        exits: pair(count(&before), count(&after)),
        ticks: pair(ticks(old), ticks(new)),
        rows: rows.collect(),
        worse: Vec::new(),
    };
    let mut worse = Vec::new();
    if old.outcome != new.outcome {
        worse.push(format!("ended with {}, and with {} before", new.outcome, old.outcome));
    }
    worse.extend(budget.0.iter().flat_map(|limit| exceeded(&scenario, limit)));
    scenario.worse = worse;
    scenario
}

/// The kinds of exits, all windows and vCPUs together.
fn kinds(snapshot: &Snapshot) -> BTreeMap<String, Figures> {
    let mut kinds = BTreeMap::<String, Figures>::new();
    for row in snapshot.windows.iter().flat_map(|window| &window.exits) {
        let sum = kinds.entry(row.exit.clone()).or_default();
        sum.count += row.figures.count;
        sum.sum += row.figures.sum;
        sum.sum_squares += row.figures.sum_squares;
    }
    kinds
}

fn row(exit: &str, old: &Figures, new: &Figures, exact: bool) -> Row {
    let mean = |figures: &Figures| figures.sum as f64 / figures.count as f64;
    let there = old.count > 0 && new.count > 0;
    let welch = if exact { None } else { Welch::test(old, new) };
    Row {
        exit: exit.into(),
        count: pair(old.count as f64, new.count as f64),
        mean: there.then(|| pair(mean(old), mean(new))),
        significant: match (exact, &welch) {
            (true, _) => there.then(|| mean(old) != mean(new)),
            (false, welch) => welch.as_ref().map(Welch::is_significant),
        },
        welch: welch.map(|welch| (welch.t, welch.p)),
    }
}

/// What of a scenario is above a limit.
fn exceeded(scenario: &Scenario, limit: &Limit) -> Vec<String> {
    let above = |what: &str, pair: &Pair| {
        let Pair { old, new, .. } = *pair;
        let percent = if old == 0.0 {
            "from none".into()
        } else {
            format!("{:+.2} %", (new / old - 1.0) * 100.0)
        };
        let text = format!("{what}: {old} -> {new}, {percent}, {limit} allowed");
        limit.more.is_exceeded(old, new).then_some(text)
    };
    match &limit.of {
        Quantity::Exits => above("exits", &scenario.exits).into_iter().collect(),
        Quantity::Ticks => above("ticks", &scenario.ticks).into_iter().collect(),
        Quantity::Exit(name) => {
            let is = |row: &&Row| {
                let rest = row.exit.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            };
            let rows: Vec<_> = scenario.rows.iter().filter(is).collect();
            let sum = |of: fn(&Pair) -> f64| rows.iter().map(|row| of(&row.count)).sum();
            above(name, &pair(sum(|p| p.old), sum(|p| p.new))).into_iter().collect()
        }
        Quantity::Mean => {
            let tested = scenario.rows.iter().filter(|row| row.significant == Some(true));
            let above = |row: &Row| above(&format!("mean of {}", row.exit), row.mean.as_ref()?);
            tested.filter_map(above).collect()
        }
    }
}

#[cfg(test)]
mod tests;
