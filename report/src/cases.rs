//! Scenarios, rules and claims as suites of test cases: what JUnit and KTAP know.

use crate::judge;
use crate::model::{
    Claim, ClaimStanding, Ended, Report, Rule, RuleStanding, Scenario, Subject, Waiver,
};

/// What a case came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All held.
    Passed,
    /// Something differed.
    Failed,
    /// It could not run.
    Broken,
    /// Something differed, and is accepted; by whom and until when.
    Waived(String),
    /// There is nothing to say about it; why.
    Skipped(String),
}

/// A test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Its name, unique in its suite.
    pub name: String,
    /// What it came to.
    pub outcome: Outcome,
    /// What there is to say about it, line by line.
    pub lines: Vec<String>,
}

/// Cases under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Its name.
    pub name: String,
    /// Its cases, at least one.
    pub cases: Vec<Case>,
}

impl Suite {
    /// How many cases came to one of these.
    pub fn count(&self, of: impl Fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| of(&case.outcome)).count()
    }
}

/// The scenarios by suite, then the rules by area, then the claims.
pub(crate) fn suites(report: &Report) -> Vec<Suite> {
    let scenarios = report.scenarios.chunk_by(|a, b| a.suite == b.suite);
    let rules = report.rules.chunk_by(|a, b| a.area == b.area);
    let mut suites: Vec<_> = scenarios
        .map(|suite| Suite {
            name: suite[0].suite.clone(),
            cases: suite.iter().map(|scenario| self::scenario(report, scenario)).collect(),
        })
        .collect();
    suites.extend(rules.map(|area| Suite {
        name: format!("rules.{}", area[0].area),
        cases: area.iter().map(|rule| self::rule(report, rule)).collect(),
    }));
    if !report.claims.is_empty() {
        let cases = report.claims.iter().map(|claim| self::claim(report, claim)).collect();
        suites.push(Suite { name: "claims".into(), cases });
    }
    suites
}

fn scenario(report: &Report, scenario: &Scenario) -> Case {
    let name = scenario.full_name();
    let waiver = report.waiver(&Subject::Scenario(name));
    let outcome = match scenario.ended {
        Ended::Pass => Outcome::Passed,
        Ended::NotRun => Outcome::Skipped("it did not run".into()),
        _ if waiver.is_some() => waived(waiver),
        Ended::Fail => Outcome::Failed,
        Ended::CouldNotRun => Outcome::Broken,
    };
    let mut lines = scenario.broken.clone();
    lines.extend(scenario.differences.iter().map(ToString::to_string));
    Case { name: scenario.name.clone(), outcome, lines }
}

fn rule(report: &Report, rule: &Rule) -> Case {
    let outcome = match rule.standing() {
        RuleStanding::Held => Outcome::Passed,
        RuleStanding::Uncovered => Outcome::Skipped("nothing exercises it".into()),
        RuleStanding::NotRun => Outcome::Skipped("nothing that exercises it ran".into()),
        RuleStanding::Failed if judge::is_rule_waived(report, rule) => {
            waived(report.waiver(&Subject::Rule(rule.id.clone())))
        }
        RuleStanding::Failed => Outcome::Failed,
    };
    let tests = rule.tests.iter().filter(|test| test.ended.is_bad());
    let scenarios = rule.scenarios.iter().filter(|scenario| scenario.ended.is_bad());
    let lines = tests
        .map(|test| format!("host test {}::{} failed", test.package, test.name))
        .chain(scenarios.map(|evidence| format!("scenario {} did not pass", evidence.scenario)));
    Case { name: rule.id.clone(), outcome, lines: lines.collect() }
}

fn claim(report: &Report, claim: &Claim) -> Case {
    let undecided = claim.undecided.clone().unwrap_or_default();
    let outcome = match claim.standing {
        ClaimStanding::Holds => Outcome::Passed,
        ClaimStanding::Recorded => Outcome::Skipped(format!("recorded only: {undecided}")),
        ClaimStanding::Open => Outcome::Skipped(format!("open: {undecided}")),
        ClaimStanding::NotRun => Outcome::Skipped("a scenario of it did not run".into()),
        ClaimStanding::Fails if judge::is_claim_waived(report, claim) => {
            waived(report.waiver(&Subject::Claim(claim.id.clone())))
        }
        ClaimStanding::Fails => Outcome::Failed,
    };
    let broken = claim.comparisons.iter().filter(|comparison| !comparison.holds);
    let broken =
        broken.map(|c| format!("{}: expected {}, measured {}", c.what, c.expected, c.measured));
    Case {
        name: claim.id.clone(),
        outcome,
        lines: claim.obstacles.iter().cloned().chain(broken).collect(),
    }
}

/// By a waiver of its own, or by those of its scenarios.
fn waived(waiver: Option<&Waiver>) -> Outcome {
    Outcome::Waived(match waiver {
        Some(waiver) => {
            format!("waived by {} until {}: {}", waiver.owner, waiver.expires, waiver.reason)
        }
        None => "waived with its scenarios".into(),
    })
}
