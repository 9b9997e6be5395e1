//! What keeps two results, or two results of one scenario, from being one.

use crate::result::{Cpu, Environment, RunResult, ScenarioResult};
use std::fmt::Debug;
use trapline_golden::TCG_ICOUNT;
use trapline_golden::compare::compare;

/// What two runs were not alike in.
pub(super) fn runs(a: &RunResult, b: &RunResult) -> Option<String> {
    let part = |result: &RunResult| {
        result.part.as_ref().map(|part| (part.partition.of, part.scenarios, part.selection))
    };
    let shape = match (part(a), part(b)) {
        (None, Some(_)) => Some("one is a whole result, the other one a part".to_owned()),
        (Some(_), None) => Some("one is a part, the other one a whole result".to_owned()),
        (Some((a, ..)), Some((b, ..))) if a != b => Some(format!("one of {a} parts, one of {b}")),
        (a, b) if a != b => Some("they are parts of different selections of scenarios".to_owned()),
        _ => None,
    };
    shape
        .or_else(|| differ("repeats", &a.repeats, &b.repeats))
        .or_else(|| environments(&a.environment, &b.environment))
}

fn differ<T: PartialEq + Debug>(what: &str, a: &T, b: &T) -> Option<String> {
    (a != b).then(|| format!("{what} {a:?} and {b:?}"))
}

/// What two environments differ in. The number of cores is no difference: it is that of the first
/// boot, and each boot has as many as its scenarios want.
fn environments(a: &Environment, b: &Environment) -> Option<String> {
    differ("class", &a.class, &b.class)
        .or_else(|| differ("accelerator", &a.accelerator, &b.accelerator))
        .or_else(|| differ("hv-core", &a.built.core, &b.built.core))
        .or_else(|| differ("payloads", &a.built.payload, &b.built.payload))
        .or_else(|| differ("QEMU", &a.built.qemu, &b.built.qemu))
        .or_else(|| differ("rustc", &a.built.rustc, &b.built.rustc))
        .or_else(|| differ("revision", &a.revision, &b.revision))
        .or_else(|| {
            // A part may be empty; then no boot said what the processor is.
            let (left, right) = (a.cpu.as_ref()?, b.cpu.as_ref()?);
            processors(left, right, a.class == TCG_ICOUNT)
        })
}

fn processors(a: &Cpu, b: &Cpu, exact: bool) -> Option<String> {
    // A TSC's frequency that every boot measures for itself is never the same twice; one in a
    // thousand apart is still the same clock.
    let near = |a: u32, b: u32| u64::from(a.abs_diff(b)) * 1000 <= u64::from(a.max(b));
    let frequency = if !exact && near(a.tsc_khz, b.tsc_khz) {
        None
    } else {
        differ("TSC in kHz", &a.tsc_khz, &b.tsc_khz)
    };
    differ("processor", &a.brand, &b.brand)
        .or_else(|| differ("processor signature", &a.signature, &b.signature))
        .or_else(|| differ("SVM features", &a.svm_features, &b.svm_features))
        .or_else(|| differ("ASIDs", &a.asids, &b.asids))
        .or(frequency)
}

/// What two results of one scenario differ in.
pub(super) fn scenarios(
    a: &ScenarioResult,
    b: &ScenarioResult,
    environment: &Environment,
) -> Option<String> {
    if a == b {
        return None;
    }
    let measured = a.snapshot(environment).zip(b.snapshot(environment));
    let first = measured.and_then(|(a, b)| {
        let difference = compare(&a, &b).differences.into_iter().next()?;
        Some(format!("{}: {} and {}", difference.what, difference.golden, difference.seen))
    });
    let verdict = || differ("verdict", &a.judgement.verdict, &b.judgement.verdict);
    let params = || differ("parameters", &a.params, &b.params);
    let other = || "in its description or its details".to_owned();
    Some(first.or_else(params).or_else(verdict).unwrap_or_else(other))
}
