//! The rules of a suite, held against a run.

use super::cite;
use crate::suite::{Rule, Scenario, Subject, WindowExpect};
use crate::transcript::{ScenarioRun, Window};
use std::collections::BTreeSet;
use trapline_abi::exit::{self, Detail, ExitKey};

/// What of the scenario's expectations a run breaks.
pub(super) fn broken(scenario: &Scenario, run: &ScenarioRun) -> Vec<String> {
    let mut reasons = Vec::new();
    for (label, rule) in &scenario.expect.values {
        let values: Vec<_> = run.values.iter().filter(|v| v.label == *label).collect();
        if values.is_empty() {
            reasons.push(format!("value `{label}` was never reported{}", source(scenario, rule)));
        }
        for value in values.iter().filter(|v| !rule.bound.allows(v.value)) {
            let what = format!("value `{label}` on vCPU {}", value.vcpu);
            reasons.push(mismatch(&what, rule, value.value, scenario));
        }
    }
    for (label, expect) in &scenario.expect.windows {
        match windows(scenario, run, label.as_deref()) {
            Ok(windows) => {
                reasons.extend(windows.iter().flat_map(|w| window(scenario, expect, w)));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    reasons
}

/// The windows with that label; without one, those of the only label that no other expectation
/// names.
fn windows<'r>(
    scenario: &Scenario,
    run: &'r ScenarioRun,
    label: Option<&str>,
) -> Result<Vec<&'r Window>, String> {
    let named = |w: &Window| scenario.expect.windows.contains_key(&Some(w.label.clone()));
    let found: Vec<_> = match label {
        Some(label) => run.windows.iter().filter(|w| w.label == label).collect(),
        None => run.windows.iter().filter(|w| !named(w)).collect(),
    };
    let labels: BTreeSet<_> = found.iter().map(|w| w.label.as_str()).collect();
    match (label, labels.len()) {
        (Some(label), 0) => Err(format!("there was no window `{label}`")),
        (None, 0) => Err("there was no window".into()),
        (None, 2..) => {
            let labels: Vec<_> = labels.into_iter().collect();
            let labels = labels.join("`, `");
            Err(format!("the expectations do not say which of the windows `{labels}` they mean"))
        }
        _ => Ok(found),
    }
}

fn window(scenario: &Scenario, expect: &WindowExpect, window: &Window) -> Vec<String> {
    let place = format!("in window `{}` on vCPU {}", window.label, window.vcpu);
    let mut reasons = Vec::new();
    for (subject, rule) in &expect.rules {
        let seen = seen(subject, expect, window);
        if !rule.bound.allows(seen) {
            reasons.push(mismatch(&format!("{subject} {place}"), rule, seen, scenario));
        }
    }
    let bound = |key: ExitKey| {
        expect.allow.contains(&key.code())
            || expect.rules.keys().any(|s| *s != Subject::Exits && s.covers(key))
    };
    for row in window.rows.iter().filter(|row| row.stats.count > 0 && !bound(row.key)) {
        let name = match row.key.detail() {
            Detail::None => exit::name(row.key.code()).to_owned(),
            _ => format!("{} {}", exit::name(row.key.code()), row.key),
        };
        let count = row.stats.count;
        let from = cite(&scenario.cite);
        reasons.push(format!("{name} {place}: no rule allows it, seen {count}{from}"));
    }
    reasons
}

fn seen(subject: &Subject, expect: &WindowExpect, window: &Window) -> u64 {
    let counted = |key: ExitKey| match subject {
        Subject::Exits => !expect.allow.contains(&key.code()),
        _ => subject.covers(key),
    };
    match subject {
        Subject::Ticks => window.ticks,
        _ => window.rows.iter().filter(|r| counted(r.key)).map(|r| r.stats.count).sum(),
    }
}

fn mismatch(what: &str, rule: &Rule, seen: u64, scenario: &Scenario) -> String {
    let (formula, bound) = (&rule.formula, rule.bound.to_string());
    let formula = if *formula == bound { String::new() } else { format!(" (`{formula}`)") };
    format!("{what}: expected {bound}{formula}, seen {seen}{}", source(scenario, rule))
}

fn source(scenario: &Scenario, rule: &Rule) -> String {
    cite(rule.cite.as_ref().unwrap_or(&scenario.cite))
}
