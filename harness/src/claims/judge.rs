//! Whether a claim holds in a result.

use super::book::{Book, Claim};
use super::quantity;
use crate::import::{self, Table};
use crate::result::{MeasuredWindow, RunResult, ScenarioResult};
use crate::table;
use crate::verdict::Verdict;
use serde::Serialize;

/// Exits of the host's own, which no order contains.
const HOST: &str = "interrupt";

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It holds.
    Holds,
    /// It cannot be decided here.
    Recorded,
    /// It cannot be decided yet.
    Open,
    /// A scenario of it is not in the result.
    NotRun,
    /// It does not hold.
    Fails,
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged<'c> {
    /// The claim.
    pub claim: &'c Claim,
    /// What became of it.
    pub standing: Standing,
    /// Its configurations: letter, scenario, silicon and policy.
    pub configurations: Vec<String>,
    /// Each comparison, with its numbers, as text.
    pub evidence: Vec<String>,
    /// What the exits would have taken on the document's own machine, by its own means: predicted.
    pub predicted: Vec<String>,
    /// The same as data.
    pub compared: Vec<Compared>,
}

/// One thing that must hold, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// `a.msr == 2*a.n`, or the rounds of an order.
    pub what: String,
    /// What was asked of the left side.
    pub expected: String,
    /// The left side; why it is unknown, where it is.
    pub measured: String,
    /// Whether it holds.
    pub holds: bool,
}

/// Holds a claim of a book against what scenarios gave; without a result nothing was run.
pub fn judge<'c>(claim: &'c Claim, book: &Book, result: Option<&RunResult>) -> Judged<'c> {
    let results = result.map(|result| result.scenarios.as_slice()).unwrap_or_default();
    let find = |name: &str| results.iter().find(|s| s.full_name() == name);
    let mut judged = Judged {
        claim,
        standing: Standing::Holds,
        configurations: Vec::new(),
        evidence: Vec::new(),
        predicted: Vec::new(),
        compared: Vec::new(),
    };
    if claim.recorded.is_some() || claim.open.is_some() {
        judged.standing =
            if claim.recorded.is_some() { Standing::Recorded } else { Standing::Open };
        return judged;
    }
    for (letter, name) in &claim.scenarios {
        match find(name) {
            None => {
                judged.standing = Standing::NotRun;
                judged.evidence.push(format!("{name} is not in the result"));
            }
            Some(scenario) => {
                judged.configurations.push(configuration(letter, scenario));
                // A scenario that breaks its own rules proves nothing about anything else.
                if scenario.judgement.verdict != Verdict::Pass {
                    let why = scenario.judgement.reasons.first().map_or("", String::as_str);
                    judged.fail(format!("{name} did not pass: {why}"));
                }
            }
        }
    }
    if judged.standing != Standing::NotRun {
        let of = |letter: &str| claim.scenarios.get(letter).and_then(|name| find(name));
        judged.compare(&of);
        judged.follow(&of);
        judged.read(book, result, &of);
        judged.predict(book, &of);
    }
    judged
}

/// `a = self-ipi::x2apic-icr-hlt (none, kvm-6.12)`.
fn configuration(letter: &str, scenario: &ScenarioResult) -> String {
    let (name, silicon, policy) = (scenario.full_name(), &scenario.silicon, &scenario.policy);
    format!("{letter} = {name}: silicon {silicon}; policy {policy}")
}

impl Judged<'_> {
    fn fail(&mut self, why: String) {
        self.standing = Standing::Fails;
        self.evidence.push(why);
    }

    fn compare<'r>(&mut self, of: &dyn Fn(&str) -> Option<&'r ScenarioResult>) {
        let lookup = |name: &str| {
            let (letter, quantity) =
                name.split_once('.').ok_or_else(|| format!("`{name}` names no quantity"))?;
            let scenario = of(letter).ok_or_else(|| format!("there is no scenario {letter}"))?;
            quantity::number(quantity, scenario)
        };
        let predicates = match self.claim.predicates() {
            Ok(predicates) => predicates,
            Err(why) => return self.fail(why),
        };
        for predicate in predicates {
            let text = predicate.text();
            let result = predicate.compare(&lookup);
            self.compared.push(match &result {
                Ok(compared) => Compared {
                    what: text.into(),
                    expected: compared.expected.clone(),
                    measured: compared.measured.to_string(),
                    holds: compared.holds,
                },
                Err(error) => Compared {
                    what: text.into(),
                    expected: "a number".into(),
                    measured: error.to_string(),
                    holds: false,
                },
            });
            match result {
                Ok(compared) if compared.holds => {
                    self.evidence.push(format!("{text}: {}", compared.text));
                }
                Ok(compared) => self.fail(format!("{text}: {}", compared.text)),
                Err(error) => self.fail(error.to_string()),
            }
        }
    }

    fn read<'r>(
        &mut self,
        book: &Book,
        result: Option<&RunResult>,
        of: &dyn Fn(&str) -> Option<&'r ScenarioResult>,
    ) {
        let tsc_khz = result.map_or(1, |result| result.environment.tsc_khz());
        for (property, letters) in &self.claim.printed {
            for letter in letters {
                let (name, table) = match (self.claim.tables.get(letter), of(letter)) {
                    (Some(name), _) => (name.clone(), book.documents.table(name).cloned()),
                    (None, Some(scenario)) => (scenario.full_name(), printed(scenario, tsc_khz)),
                    (None, None) => (letter.clone(), Err("it is no table".into())),
                };
                let what = format!("{letter} = {name} {}", property.word());
                let shown = table.and_then(|table| property.of(&table));
                self.compared.push(Compared {
                    what: what.clone(),
                    expected: property.word().into(),
                    measured: shown.clone().unwrap_or_else(|why| why),
                    holds: shown.is_ok(),
                });
                match shown {
                    Ok(shown) => self.evidence.push(format!("{what}: {shown}")),
                    Err(why) => self.fail(format!("{what}: no, {why}")),
                }
            }
        }
    }

    fn predict<'r>(&mut self, book: &Book, of: &dyn Fn(&str) -> Option<&'r ScenarioResult>) {
        for costs in book.costs.iter().filter(|costs| costs.source == self.claim.source) {
            let by_letter = self.claim.scenarios.keys().filter_map(|letter| {
                let prediction = costs.predict(of(letter)?)?;
                Some(format!("{letter} {}", prediction.text()))
            });
            let all: Vec<_> = by_letter.collect();
            // A single figure compares nothing.
            if all.len() > 1 {
                self.predicted.push(format!("{}: {}", costs.machine, all.join("; ")));
            }
        }
    }

    fn follow<'r>(&mut self, of: &dyn Fn(&str) -> Option<&'r ScenarioResult>) {
        for (letter, round) in &self.claim.order {
            let windows = of(letter).and_then(|scenario| scenario.measured.as_ref());
            let windows = windows.map(|measured| measured.windows.as_slice()).unwrap_or_default();
            let text = format!("{letter} in rounds of {}", round.join(", "));
            let holds =
                windows.iter().all(|window| is_in_rounds(window, round)) && !windows.is_empty();
            self.compared.push(Compared {
                what: format!("the order of {letter}'s last exits"),
                expected: format!("rounds of {}", round.join(", ")),
                measured: if holds { "such rounds" } else { "other exits" }.into(),
                holds,
            });
            match holds {
                true => self.evidence.push(text),
                false => self.fail(format!("{text}: no")),
            }
        }
    }
}

/// A scenario's exit table, as it is printed for people, read as any other report.
fn printed(scenario: &ScenarioResult, tsc_khz: u32) -> Result<Table, String> {
    let measured = scenario.measured.as_ref().ok_or("it was not measured")?;
    let tables = table::whole(measured);
    let exits = tables.first().ok_or("it has no window")?;
    let text = exits.render(&scenario.full_name(), tsc_khz);
    let import = import::read(text.as_bytes()).map_err(|error| error.to_string())?;
    import.tables.into_iter().next().ok_or_else(|| "it has no exits".into())
}

/// Whether the last exits of a window are rounds of these, and at least one whole round.
fn is_in_rounds(window: &MeasuredWindow, round: &[String]) -> bool {
    let seen: Vec<_> = window.order.iter().filter(|exit| *exit != HOST).collect();
    seen.len() >= round.len()
        && seen.iter().rev().zip(round.iter().rev().cycle()).all(|(a, b)| *a == b)
}

#[cfg(test)]
mod tests;
