//! Comparison: a run held against its golden.
//!
//! Counts, values and outcomes are always exact. Timings are exact when the same code was
//! measured ([`Built`] is equal): under icount a tick is an instruction,
//! so any difference is a change of behaviour. When another hv-core, payload, compiler or QEMU was
//! measured, the mean of each row, the window lengths and reported `ticks` may drift by
//! [`TOLERANCE_PERCENT`]: an unrelated instruction more or less must not ask for a new blessing.

use crate::snapshot::{Built, Snapshot, Value, Window};
use std::collections::BTreeMap;
use std::fmt;

/// How far timings may drift when other code was measured.
pub const TOLERANCE_PERCENT: u64 = 10;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs: `window loop, vCPU 0: count of msr 0x830:W`.
    pub what: String,
    /// What the golden holds.
    pub golden: String,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: golden {}, seen {}", self.what, self.golden, self.seen)
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What differs; empty when the run holds.
    pub differences: Vec<Difference>,
    /// What a reader should know of how it was compared.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Whether the run holds.
    pub fn holds(&self) -> bool {
        self.differences.is_empty()
    }

    fn differs(&mut self, what: String, golden: impl ToString, seen: impl ToString) {
        self.differences.push(Difference {
            what,
            golden: golden.to_string(),
            seen: seen.to_string(),
        });
    }

    fn equal<T: PartialEq + ToString>(&mut self, what: String, golden: &T, seen: &T) {
        if golden != seen {
            self.differs(what, golden.to_string(), seen.to_string());
        }
    }

    fn near(&mut self, what: String, golden: u64, seen: u64) {
        let drift = u128::from(golden.abs_diff(seen)) * 100;
        if drift > u128::from(golden) * u128::from(TOLERANCE_PERCENT) {
            let percent = drift as f64 / golden.max(1) as f64;
            let seen = format!("{seen} ({percent:.1} % off, {TOLERANCE_PERCENT} % allowed)");
            self.differs(what, golden, seen);
        }
    }

    fn timing(&mut self, exact: bool, what: String, golden: u64, seen: u64) {
        if exact { self.equal(what, &golden, &seen) } else { self.near(what, golden, seen) }
    }
}

/// Holds `seen` against `golden`.
pub fn compare(golden: &Snapshot, seen: &Snapshot) -> Comparison {
    let mut result = Comparison::default();
    let changed = changes(&golden.built, &seen.built);
    let exact = changed.is_empty();
    if !exact {
        result.notes.push(format!(
            "timings compared within {TOLERANCE_PERCENT} %: {} from the blessed run",
            changed.join(", ")
        ));
    }
    result.equal("outcome".into(), &golden.outcome, &seen.outcome);
    values(&mut result, exact, &golden.values, &seen.values);
    let name = |w: &Window| format!("window {}, vCPU {}", w.label, w.vcpu);
    let names = |windows: &[Window]| windows.iter().map(name).collect::<Vec<_>>();
    if names(&golden.windows) == names(&seen.windows) {
        for (golden, seen) in golden.windows.iter().zip(&seen.windows) {
            window(&mut result, exact, &name(golden), golden, seen);
        }
    } else {
        let list = |w: &[Window]| format!("[{}]", names(w).join("; "));
        result.differs("windows".into(), list(&golden.windows), list(&seen.windows));
    }
    result
}

fn changes(golden: &Built, seen: &Built) -> Vec<String> {
    let mut changed = Vec::new();
    if golden.core != seen.core {
        changed.push("hv-core differs".to_owned());
    }
    if golden.payload != seen.payload {
        changed.push("the payload differs".to_owned());
    }
    for (what, golden, seen) in
        [("rustc", &golden.rustc, &seen.rustc), ("QEMU", &golden.qemu, &seen.qemu)]
    {
        if golden != seen {
            changed.push(format!("{what} {seen} differs from {golden}"));
        }
    }
    changed
}

fn values(result: &mut Comparison, exact: bool, golden: &[Value], seen: &[Value]) {
    let names = |v: &[Value]| {
        let names: Vec<_> = v.iter().map(|v| format!("{} (vCPU {})", v.label, v.vcpu)).collect();
        format!("[{}]", names.join("; "))
    };
    if names(golden) != names(seen) {
        result.differs("reported values".into(), names(golden), names(seen));
        return;
    }
    for (golden, seen) in golden.iter().zip(seen) {
        let what = format!("value {}, vCPU {}", golden.label, golden.vcpu);
        let exact = exact || !golden.label.ends_with("ticks");
        result.timing(exact, what, golden.value, seen.value);
    }
}

fn window(result: &mut Comparison, exact: bool, name: &str, golden: &Window, seen: &Window) {
    let rows = |w: &Window| -> BTreeMap<String, _> {
        w.exits.iter().map(|row| (row.exit.clone(), row.figures.clone())).collect()
    };
    let (golden_rows, seen_rows) = (rows(golden), rows(seen));
    for (exit, figures) in &seen_rows {
        if !golden_rows.contains_key(exit) {
            result.differs(format!("{name}: count of {exit}"), 0, figures.count);
        }
    }
    for (exit, golden) in &golden_rows {
        let seen = seen_rows.get(exit).cloned().unwrap_or_default();
        if golden.count != seen.count {
            result.differs(format!("{name}: count of {exit}"), golden.count, seen.count);
            continue;
        }
        if !exact {
            // Counts are equal here, so the sums compare as the means do, without rounding.
            result.near(format!("{name}: total ticks of {exit}"), golden.sum, seen.sum);
            continue;
        }
        for (what, golden, seen) in [
            ("shortest", golden.min, seen.min),
            ("longest", golden.max, seen.max),
            ("total ticks of", golden.sum, seen.sum),
        ] {
            result.equal(format!("{name}: {what} {exit}"), &golden, &seen);
        }
        if (golden.min, golden.max, golden.sum) == (seen.min, seen.max, seen.sum) {
            let what = format!("{name}: spread of {exit} (sum of squares)");
            result.equal(what, &golden.sum_squares, &seen.sum_squares);
            if golden.histogram != seen.histogram {
                let (golden, seen) = (&golden.histogram, &seen.histogram);
                let what = format!("{name}: histogram of {exit}");
                result.differs(what, format!("{golden:?}"), format!("{seen:?}"));
            }
        }
    }
    result.timing(exact, format!("{name}: length in ticks"), golden.ticks, seen.ticks);
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
