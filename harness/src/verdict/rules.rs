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
    if !expect.order.is_empty()
        && let Some(order) = out_of_order(expect, window)
    {
        reasons.push(format!("order {place}: {order}{}", cite(&scenario.cite)));
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

/// Where the window's last exits leave the expected round; nothing if they do not.
fn out_of_order(expect: &WindowExpect, window: &Window) -> Option<String> {
    let counted: Vec<_> =
        window.order.iter().filter(|key| !expect.allow.contains(&key.code())).collect();
    // The window ends with a whole round; what was left of the first one may be cut.
    let round = expect.order.iter().rev().cycle();
    let wrong = counted.iter().rev().zip(round).position(|(key, want)| !want.covers(**key))?;
    let at = counted.len() - 1 - wrong;
    let name = |key: &ExitKey| match key.detail() {
        Detail::None => exit::name(key.code()).to_owned(),
        _ => format!("{} {key}", exit::name(key.code())),
    };
    let around: Vec<_> = counted[at.saturating_sub(2)..].iter().take(6).map(|k| name(k)).collect();
    let round: Vec<_> = expect.order.iter().map(ToString::to_string).collect();
    Some(format!("expected rounds of {}, seen ... {} ...", round.join(", "), around.join(", ")))
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
