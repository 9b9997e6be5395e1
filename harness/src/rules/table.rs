//! The rules as text: a line a rule, and a summary.

use super::report::{Cited, Family, Last, Report, RuleReport};
use std::collections::BTreeMap;
use std::fmt::Write;

fn word(last: Last) -> &'static str {
    match last {
        Last::NotRun => "not run",
        Last::Pass => "pass",
        Last::Fail => "FAIL",
        Last::CouldNotRun => "COULD NOT RUN",
    }
}

/// Id, `D` if it is model-defined, and what exercises it; of an uncovered rule, what it says.
pub fn line(rule: &RuleReport) -> String {
    let mark = if rule.rule.model_defined { 'D' } else { ' ' };
    let mut parts: Vec<_> =
        rule.tests.iter().map(|test| format!("{} {}", test.name, word(test.last))).collect();
    parts.extend(scenarios(&rule.scenarios));
    let said = if rule.is_covered() {
        parts.join(", ")
    } else {
        format!("uncovered: {}", rule.rule.statement)
    };
    format!("{:<8} {mark} {said}\n", rule.rule.id)
}

/// A scenario by its name, several of a suite by their number, those that failed by name.
fn scenarios(cited: &[Cited]) -> Vec<String> {
    let mut groups: BTreeMap<(&str, Last), Vec<&str>> = BTreeMap::new();
    for scenario in cited {
        let suite = scenario.name.split("::").next().unwrap_or_default();
        groups.entry((suite, scenario.last)).or_default().push(&scenario.name);
    }
    let mut parts = Vec::new();
    for ((suite, last), names) in groups {
        match last {
            Last::NotRun | Last::Pass if names.len() > 1 => {
                parts.push(format!("{suite}:: ({} scenarios) {}", names.len(), word(last)));
            }
            _ => parts.extend(names.iter().map(|name| format!("{name} {}", word(last)))),
        }
    }
    parts
}

/// How many rules are covered, by family and by set, and which ids are no rules.
pub fn summary(report: &Report) -> String {
    let mut text = format!(
        "{:<8} {:<6} {:>9} {:>5} {:>13} {:>11}\n",
        "set", "family", "covered", "of", "by host test", "by payload"
    );
    let mut all = Family { set: "all".into(), ..Family::default() };
    for family in report.families() {
        if family.family.is_empty() {
            all.rules += family.rules;
            all.covered += family.covered;
            all.by_test += family.by_test;
            all.by_payload += family.by_payload;
        }
        text += &row(&family);
    }
    text += &row(&all);
    for unknown in &report.unknown {
        let _ = writeln!(text, "{} is no rule, but {} names it", unknown.id, unknown.by);
    }
    text
}

fn row(family: &Family) -> String {
    let Family { set, family, rules, covered, by_test, by_payload } = family;
    let family = if family.is_empty() { "-" } else { family };
    format!("{set:<8} {family:<6} {covered:>9} {rules:>5} {by_test:>13} {by_payload:>11}\n")
}
