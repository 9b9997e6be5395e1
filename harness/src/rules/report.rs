//! Every rule with what exercises it, and how that ended last.

use super::book::Rule;
use super::junit::TestVerdicts;
use super::names::{Ids, Named};
use super::sources::HostTest;
use crate::result::{RunResult, ScenarioResult};
use crate::suite::Scenario;
use crate::verdict::Verdict;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How something ended when it ran last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Last {
    /// It is not in the last result.
    NotRun,
    /// All held.
    Pass,
    /// Something differed.
    Fail,
    /// It could not run.
    CouldNotRun,
}

impl From<Verdict> for Last {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::CouldNotRun => Self::CouldNotRun,
        }
    }
}

/// A host test that exercises a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Test {
    /// Its package.
    pub package: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub last: Last,
}

/// A scenario that exercises a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cited {
    /// `suite::name`.
    pub name: String,
    /// It cites the rule.
    pub cite: bool,
    /// Its payload named the rule in the label of a check, in the last result.
    pub check: bool,
    /// How it ended.
    pub last: Last,
}

/// A rule with what exercises it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReport {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// The host tests.
    pub tests: Vec<Test>,
    /// The scenarios.
    pub scenarios: Vec<Cited>,
}

impl RuleReport {
    /// Whether anything exercises it.
    pub fn is_covered(&self) -> bool {
        !self.tests.is_empty() || !self.scenarios.is_empty()
    }

    /// The worst that a test or scenario came to.
    pub fn worst(&self) -> Last {
        let tests = self.tests.iter().map(|test| test.last);
        tests.chain(self.scenarios.iter().map(|s| s.last)).max().unwrap_or(Last::NotRun)
    }
}

/// How many rules of a family are covered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Family {
    /// The set: a rule file's name.
    pub set: String,
    /// The family; empty for a whole set.
    pub family: String,
    /// Rules.
    pub rules: usize,
    /// Rules that a host test or a scenario exercises.
    pub covered: usize,
    /// Rules that a host test exercises.
    pub by_test: usize,
    /// Rules that a scenario exercises.
    pub by_payload: usize,
}

impl Family {
    fn add(&mut self, rule: &RuleReport) {
        self.rules += 1;
        self.covered += usize::from(rule.is_covered());
        self.by_test += usize::from(!rule.tests.is_empty());
        self.by_payload += usize::from(!rule.scenarios.is_empty());
    }
}

/// An id that is no rule, and who names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The id.
    pub id: String,
    /// Who names it.
    pub by: String,
}

/// All rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The rules, in the order of their files.
    pub rules: Vec<RuleReport>,
    /// Ids that are no rules: misspelt, as a rule.
    pub unknown: Vec<Unknown>,
}

impl Report {
    /// Sets tests and scenarios against the rules.
    pub fn new(
        rules: Vec<Rule>,
        tests: &[HostTest],
        verdicts: &TestVerdicts,
        scenarios: &[Scenario],
        result: Option<&RunResult>,
    ) -> Self {
        let ids = Ids::new(&rules);
        let mut index = Index::default();
        for test in tests {
            let last = verdicts.last(test);
            let (package, name) = (test.package.clone(), test.name.clone());
            let file = test.file.display();
            index.add(ids.in_test_name(&name), format!("test {name} in {file}"), |exercised| {
                let test = Test { package: package.clone(), name: name.clone(), last };
                exercised.tests.push(test);
            });
        }
        let ran = |name: &str| result?.scenarios.iter().find(|ran| ran.full_name() == name);
        for scenario in scenarios {
            let name = scenario.full_name();
            let ran = ran(&name);
            let cited = ids.in_text(&cites(scenario));
            let checked = ids.in_text(&labels(ran));
            let last = ran.map_or(Last::NotRun, |ran| ran.judgement.verdict.into());
            let both = Named {
                rules: cited.rules.union(&checked.rules).cloned().collect(),
                unknown: cited.unknown.union(&checked.unknown).cloned().collect(),
            };
            index.add(both, format!("scenario {name}"), |exercised| {
                let cite = cited.rules.contains(&exercised.id);
                let check = checked.rules.contains(&exercised.id);
                exercised.scenarios.push(Cited { name: name.clone(), cite, check, last });
            });
        }
        let report = |rule: Rule| {
            let Exercised { tests, scenarios, .. } =
                index.rules.remove(&rule.id).unwrap_or_default();
            RuleReport { rule, tests, scenarios }
        };
        let rules = rules.into_iter().map(report).collect();
        Self { rules, unknown: index.unknown }
    }

    /// Set by set, its families and then, without a family, the set itself.
    pub fn families(&self) -> Vec<Family> {
        let mut families: Vec<Family> = Vec::new();
        let sets: BTreeSet<_> = self.rules.iter().map(|rule| rule.rule.set.as_str()).collect();
        for set in sets {
            let first = families.len();
            let mut whole = Family { set: set.into(), ..Family::default() };
            for rule in self.rules.iter().filter(|rule| rule.rule.set == set) {
                whole.add(rule);
                let family = rule.rule.family();
                let at = families[first..].iter().position(|f| f.family == family);
                let at = at.map_or(families.len(), |at| first + at);
                if at == families.len() {
                    let (set, family) = (set.into(), family.into());
                    families.push(Family { set, family, ..Family::default() });
                }
                families[at].add(rule);
            }
            families.push(whole);
        }
        families
    }

    /// The worst that any test or scenario of these rules came to.
    pub fn worst(&self) -> Last {
        self.rules.iter().map(RuleReport::worst).max().unwrap_or(Last::NotRun)
    }
}

/// What exercises each rule, as it is found.
#[derive(Default)]
struct Index {
    rules: BTreeMap<String, Exercised>,
    unknown: Vec<Unknown>,
}

#[derive(Default)]
struct Exercised {
    id: String,
    tests: Vec<Test>,
    scenarios: Vec<Cited>,
}

impl Index {
    fn add(&mut self, named: Named, by: String, add: impl Fn(&mut Exercised)) {
        for id in named.rules {
            let exercised = self.rules.entry(id.clone()).or_default();
            exercised.id = id;
            add(exercised);
        }
        let unknown = named.unknown.into_iter().map(|id| Unknown { id, by: by.clone() });
        self.unknown.extend(unknown);
    }
}

/// All that a scenario and its expectations cite.
fn cites(scenario: &Scenario) -> String {
    let windows = scenario.expect.windows.values().flat_map(|window| window.rules.values());
    let rules = windows.chain(scenario.expect.values.values());
    let mut cites = vec![scenario.cite.as_str()];
    cites.extend(rules.filter_map(|rule| rule.cite.as_deref()));
    cites.join("\n")
}

/// The labels of the checks that a payload made.
fn labels(ran: Option<&ScenarioResult>) -> String {
    let checks = ran.and_then(|ran| ran.measured.as_ref()).map(|measured| &measured.checks);
    let labels = checks.into_iter().flatten().map(|check| check.label.as_str());
    labels.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
