//! Scenarios and what they gave, as a report has them.

use crate::result::{self, Environment, RunResult, ScenarioResult};
use crate::suite::Scenario;
use crate::transcript;
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::path::Path;
use trapline_golden::compare::compare;
use trapline_golden::file;
use trapline_report::model::{self, Difference, Ended, LastExit, Measured, Postmortem};

/// All scenarios of a result. `scenarios` says of them what a result does not.
pub(super) fn all(
    scenarios: &[Scenario],
    result: &RunResult,
    golden: &Path,
) -> Vec<model::Scenario> {
    let described: BTreeMap<_, _> = scenarios.iter().map(|s| (s.full_name(), s)).collect();
    let of = |ran: &ScenarioResult| {
        let scenario = described.get(&ran.full_name()).copied();
        one(scenario, ran, &result.environment, golden)
    };
    result.scenarios.iter().map(of).collect()
}

fn one(
    scenario: Option<&Scenario>,
    ran: &ScenarioResult,
    environment: &Environment,
    golden: &Path,
) -> model::Scenario {
    let (modeled, real) = ran.features();
    let judgement = &ran.judgement;
    let (broken, from_golden) =
        judgement.reasons.split_at(judgement.reasons.len() - judgement.golden_differences);
    model::Scenario {
        suite: ran.suite.clone(),
        name: ran.name.clone(),
        about: scenario.map(|scenario| scenario.about.clone()).unwrap_or_default(),
        payload: ran.payload.clone(),
        params: ran.params.clone(),
        machine: ran.machine.clone(),
        silicon: ran.profile().into(),
        modeled,
        real,
        policy: ran.policy.clone(),
        seed: ran.seed.clone(),
        must_fail_with: scenario.and_then(|scenario| scenario.fails.clone()),
        vcpus: ran.vcpus,
        cores: ran.cores,
        cite: ran.cite.clone(),
        ended: ended(judgement.verdict),
        broken: broken.to_vec(),
        differences: differences(ran, from_golden, environment, golden),
        notes: judgement.notes.clone(),
        measured: ran.measured.as_ref().map(measured),
        timeline: None,
        links: Vec::new(),
    }
}

/// A verdict in the report's words.
pub(super) fn ended(verdict: Verdict) -> Ended {
    match verdict {
        Verdict::Pass => Ended::Pass,
        Verdict::Fail => Ended::Fail,
        Verdict::CouldNotRun => Ended::CouldNotRun,
    }
}

/// The differences from the golden, side by side. A verdict has them as text: they are compared
/// again, and where that is not possible, because there is no golden, the text stands alone.
fn differences(
    ran: &ScenarioResult,
    texts: &[String],
    environment: &Environment,
    golden: &Path,
) -> Vec<Difference> {
    if texts.is_empty() {
        return Vec::new();
    }
    let path = file::path(golden, &environment.class, &ran.suite, &ran.name);
    let snapshot = ran.snapshot(environment);
    if let (Ok(blessed), Some(seen)) = (file::read(&path), snapshot) {
        let again = compare(&blessed, &seen).differences;
        if again.len() == texts.len() {
            let of = |d: trapline_golden::compare::Difference| Difference {
                what: d.what,
                golden: d.golden,
                seen: d.seen,
            };
            return again.into_iter().map(of).collect();
        }
    }
    let alone = |text: &String| Difference {
        what: text.clone(),
        golden: "none".into(),
        seen: "a result".into(),
    };
    texts.iter().map(alone).collect()
}

fn measured(measured: &result::Measured) -> Measured {
    Measured {
        outcome: measured.outcome.clone(),
        detail: measured.detail.clone(),
        ticks: measured.ticks,
        checks: measured.checks.iter().map(check).collect(),
        values: measured.values.iter().map(value).collect(),
        windows: measured.windows.iter().map(window).collect(),
        traps: measured.traps.iter().map(trap).collect(),
        logs: measured.logs.iter().map(|(level, text)| format!("{level:?}: {text}")).collect(),
        postmortem: measured.postmortem.iter().map(postmortem).collect(),
    }
}

fn check(check: &transcript::Check) -> model::Check {
    model::Check {
        vcpu: check.vcpu,
        label: check.label.clone(),
        expected: check.expected,
        actual: check.actual,
    }
}

fn value(value: &transcript::Value) -> model::Value {
    model::Value { vcpu: value.vcpu, label: value.label.clone(), value: value.value }
}

fn window(window: &result::MeasuredWindow) -> model::Window {
    let exit = |exit: &result::Exit| model::Exit {
        code: exit.code,
        exit: exit.exit.clone(),
        detail: exit.detail.clone(),
        stats: stats(&exit.stats),
    };
    model::Window {
        vcpu: window.vcpu,
        label: window.label.clone(),
        ticks: window.ticks,
        exits: window.exits.iter().map(exit).collect(),
        order: window.order.clone(),
    }
}

fn stats(stats: &transcript::Stats) -> model::Stats {
    model::Stats {
        count: stats.count,
        sum: stats.sum,
        sum_squares: stats.sum_squares,
        min: stats.min,
        max: stats.max,
        histogram: stats.histogram.clone(),
    }
}

fn trap(trap: &transcript::Trap) -> model::Trap {
    let exit = result::exit_name(trap.code);
    model::Trap { vcpu: trap.vcpu, code: trap.code, exit, count: trap.count }
}

fn postmortem(seen: &transcript::Postmortem) -> Postmortem {
    let last = |last: &transcript::LastExit| LastExit {
        exit: result::exit_text(last.key),
        rip: last.rip,
        at: last.at,
    };
    Postmortem {
        vcpu: seen.vcpu,
        rip: seen.rip,
        rsp: seen.rsp,
        rflags: seen.rflags,
        cr2: seen.cr2,
        interrupt_shadow: seen.interrupt_shadow,
        halted: seen.halted,
        tpr: seen.tpr,
        ppr: seen.ppr,
        irr: seen.irr.clone(),
        isr: seen.isr.clone(),
        last: seen.last.iter().map(last).collect(),
    }
}
