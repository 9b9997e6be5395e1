//! What was measured of one scenario, with names instead of codes.

use crate::suite::outcome_word;
use crate::transcript::{Check, LastExit, Postmortem, ScenarioRun, Stats, Trap, Value};
use serde::{Deserialize, Serialize};
use trapline_abi::exit::{self, Detail, ExitKey};
use trapline_abi::record::Level;
use trapline_golden::figures::Figures;
use trapline_golden::snapshot::{self, Built, Snapshot};

/// What was measured of one scenario. Times are TSC ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// How it ended: the word of a suite's `outcome`, or `lost` when its end never arrived.
    pub outcome: String,
    /// What there is to say about it.
    pub detail: String,
    /// When it ended, since its start.
    pub ticks: u64,
    /// What the payload compared.
    pub checks: Vec<Check>,
    /// What the payload reported.
    pub values: Vec<Value>,
    /// Its windows.
    pub windows: Vec<MeasuredWindow>,
    /// All traps by vCPU and code.
    pub traps: Vec<Trap>,
    /// Its log lines: level and text.
    pub logs: Vec<(Level, String)>,
    /// Where its vCPUs were, when it ended badly.
    pub postmortem: Vec<Postmortem>,
}

/// One window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredWindow {
    /// Whose window.
    pub vcpu: u16,
    /// Its name.
    pub label: String,
    /// How long it was.
    pub ticks: u64,
    /// Its exits, sorted by code and detail.
    pub exits: Vec<Exit>,
    /// The names of its last exits, at most 64, oldest first.
    pub order: Vec<String>,
}

/// One kind of exit in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exit {
    /// The exit code.
    pub code: u64,
    /// Its name, as `perf kvm stat` has it.
    pub exit: String,
    /// `0x71:PIN`, `0x830:W`, `leaf 0x1`; empty where there is nothing to say.
    pub detail: String,
    /// How often, how long.
    pub stats: Stats,
}

impl Exit {
    fn new(key: ExitKey, stats: Stats) -> Self {
        let detail = match key.detail() {
            Detail::None => String::new(),
            Detail::Number(_) | Detail::Access(..) => key.to_string(),
        };
        Self { code: key.code(), exit: exit_name(key.code()), detail, stats }
    }

    /// Name and detail.
    pub fn full_name(&self) -> String {
        if self.detail.is_empty() {
            self.exit.clone()
        } else {
            format!("{} {}", self.exit, self.detail)
        }
    }
}

/// The exit's name; where perf has none, with the code, so that two of them stay apart.
pub(crate) fn exit_name(code: u64) -> String {
    match exit::name(code) {
        "UNKNOWN" => format!("UNKNOWN {code:#x}"),
        name => name.into(),
    }
}

/// `msr 0x830:W`.
pub(crate) fn exit_text(key: ExitKey) -> String {
    Exit::new(key, Stats::default()).full_name()
}

/// `msr 0x830:W at rip 0x1000a4, tick 5000`.
pub(crate) fn last_exit_text(last: &LastExit) -> String {
    let name = exit_text(last.key);
    format!("{name} at rip {:#x}, tick {}", last.rip, last.at)
}

impl Measured {
    /// What hv-core's records say of one scenario.
    pub fn new(run: &ScenarioRun) -> Self {
        let (outcome, detail, ticks) = match &run.end {
            Some(end) => (outcome_word(end.outcome), end.detail.clone(), end.ticks),
            None => ("lost", String::new(), 0),
        };
        let window = |window: &crate::transcript::Window| {
            let mut rows: Vec<_> = window.rows.iter().collect();
            rows.sort_by_key(|row| row.key);
            MeasuredWindow {
                vcpu: window.vcpu,
                label: window.label.clone(),
                ticks: window.ticks,
                exits: rows.iter().map(|row| Exit::new(row.key, row.stats.clone())).collect(),
                order: window.order.iter().map(|&key| exit_text(key)).collect(),
            }
        };
        Self {
            outcome: outcome.into(),
            detail,
            ticks,
            checks: run.checks.clone(),
            values: run.values.clone(),
            windows: run.windows.iter().map(window).collect(),
            traps: run.traps.clone(),
            logs: run.logs.clone(),
            postmortem: run.postmortem.clone(),
        }
    }

    /// What of it can be blessed.
    pub fn snapshot(&self, built: Built) -> Snapshot {
        let value =
            |v: &Value| snapshot::Value { vcpu: v.vcpu, label: v.label.clone(), value: v.value };
        let row =
            |exit: &Exit| snapshot::Row { exit: exit.full_name(), figures: figures(&exit.stats) };
        let window = |w: &MeasuredWindow| snapshot::Window {
            vcpu: w.vcpu,
            label: w.label.clone(),
            ticks: w.ticks,
            exits: w.exits.iter().map(row).collect(),
        };
        Snapshot {
            built,
            outcome: self.outcome.clone(),
            values: self.values.iter().map(value).collect(),
            windows: self.windows.iter().map(window).collect(),
        }
    }
}

fn figures(stats: &Stats) -> Figures {
    Figures {
        count: stats.count,
        sum: stats.sum,
        sum_squares: stats.sum_squares,
        min: stats.min,
        max: stats.max,
        histogram: stats.histogram.clone(),
    }
}
