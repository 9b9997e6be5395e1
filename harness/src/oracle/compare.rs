//! The log against a transcript.

use super::{LoggedExit, Marks};
use crate::transcript::{ScenarioRun, Transcript};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use trapline_abi::exit;

/// Something that QEMU and hv-core do not agree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// How many exits there were in all: nothing can be cut then.
    Total {
        /// By QEMU.
        logged: u64,
        /// By hv-core.
        counted: u64,
    },
    /// How many exits of one code.
    Count {
        /// The scenario; empty for the whole boot.
        scenario: String,
        /// The window's label, for a window.
        window: Option<String>,
        /// The exit code.
        code: u64,
        /// By QEMU.
        logged: u64,
        /// By hv-core.
        counted: u64,
    },
    /// How many windows a scenario had.
    Windows {
        /// The scenario.
        scenario: String,
        /// By QEMU.
        logged: usize,
        /// By hv-core.
        counted: usize,
    },
    /// A begin mark within a window, or an end mark outside.
    UnpairedMark {
        /// The scenario.
        scenario: String,
        /// The mark's address.
        rip: u64,
    },
    /// The scenario's payload has no known marks.
    NoMarks {
        /// The scenario.
        scenario: String,
    },
}

type Counts = BTreeMap<u64, u64>;

/// Sets a boot's log against its transcript. `marks` knows the call addresses of the payload of
/// each scenario. Returns everything that differs: nothing, when all is well.
pub fn compare<'m>(
    exits: &[LoggedExit],
    transcript: &Transcript,
    marks: impl Fn(&ScenarioRun) -> Option<&'m Marks>,
) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut whole = Counts::new();
    for trap in transcript.scenarios.iter().flat_map(|run| &run.traps) {
        *whole.entry(trap.code).or_default() += trap.count;
    }
    differences(&by_code(exits), &whole, "", None, &mut all);
    let (logged, counted) = (exits.len() as u64, whole.values().sum::<u64>());
    if logged != counted {
        all.push(Difference::Total { logged, counted });
        return all;
    }
    let mut rest = exits;
    for run in &transcript.scenarios {
        let mut traps = Counts::new();
        for trap in &run.traps {
            *traps.entry(trap.code).or_default() += trap.count;
        }
        let (mine, later) = rest.split_at(traps.values().sum::<u64>() as usize);
        rest = later;
        differences(&by_code(mine), &traps, &run.name, None, &mut all);
        // Where hv-core models silicon, a window's exits are not its traps.
        let is_alone = !run.silicon.is_modeled() && run.traps.iter().all(|trap| trap.vcpu == 0);
        match marks(run) {
            Some(marks) if !is_alone => window_marks(mine, run, marks, &mut all),
            Some(marks) => windows(mine, run, marks, &mut all),
            None => all.push(Difference::NoMarks { scenario: run.name.clone() }),
        }
    }
    all
}

/// Whether a scenario had as many windows, where its exits cannot be cut by them: the log mixes those
/// of several vCPUs.
fn window_marks(exits: &[LoggedExit], run: &ScenarioRun, marks: &Marks, all: &mut Vec<Difference>) {
    let ends = |e: &&LoggedExit| e.code == exit::VMMCALL && Some(e.rip) == marks.end;
    let (logged, counted) = (exits.iter().filter(ends).count(), run.windows.len());
    if logged != counted {
        all.push(Difference::Windows { scenario: run.name.clone(), logged, counted });
    }
}

fn windows(exits: &[LoggedExit], run: &ScenarioRun, marks: &Marks, all: &mut Vec<Difference>) {
    let mut logged: Vec<Counts> = Vec::new();
    let mut open: Option<Counts> = None;
    for exit in exits {
        let call = exit.code == exit::VMMCALL;
        let unpaired = || Difference::UnpairedMark { scenario: run.name.clone(), rip: exit.rip };
        if call && Some(exit.rip) == marks.begin {
            if open.replace(Counts::new()).is_some() {
                all.push(unpaired());
            }
        } else if call && Some(exit.rip) == marks.end {
            match open.take() {
                Some(counts) => logged.push(counts),
                None => all.push(unpaired()),
            }
        } else if let Some(counts) = &mut open
            && !(call && marks.calls.contains(&exit.rip))
        {
            *counts.entry(exit.code).or_default() += 1;
        }
    }
    if logged.len() != run.windows.len() {
        let (logged, counted) = (logged.len(), run.windows.len());
        all.push(Difference::Windows { scenario: run.name.clone(), logged, counted });
    }
    for (logged, window) in logged.iter().zip(&run.windows) {
        let mut counted = Counts::new();
        for row in &window.rows {
            *counted.entry(row.key.code()).or_default() += row.stats.count;
        }
        differences(logged, &counted, &run.name, Some(&window.label), all);
    }
}

fn by_code(exits: &[LoggedExit]) -> Counts {
    let mut counts = Counts::new();
    for exit in exits {
        *counts.entry(exit.code).or_default() += 1;
    }
    counts
}

fn differences(
    logged: &Counts,
    counted: &Counts,
    scenario: &str,
    window: Option<&str>,
    all: &mut Vec<Difference>,
) {
    let codes: BTreeSet<u64> = logged.keys().chain(counted.keys()).copied().collect();
    for code in codes {
        let of = |counts: &Counts| counts.get(&code).copied().unwrap_or(0);
        let (logged, counted) = (of(logged), of(counted));
        if logged != counted {
            let (scenario, window) = (scenario.to_owned(), window.map(str::to_owned));
            all.push(Difference::Count { scenario, window, code, logged, counted });
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total { logged, counted } => {
                write!(f, "in all: QEMU logged {logged} exits, hv-core counted {counted}")
            }
            Self::Count { scenario, window, code, logged, counted } => {
                match (scenario.as_str(), window) {
                    ("", _) => write!(f, "in all: ")?,
                    (name, None) => write!(f, "in `{name}`: ")?,
                    (name, Some(window)) => write!(f, "in `{name}`, window `{window}`: ")?,
                }
                let name = exit::name(*code);
                write!(f, "QEMU logged {logged} {name} ({code:#x}), hv-core counted {counted}")
            }
            Self::Windows { scenario, logged, counted } => {
                write!(f, "in `{scenario}`: QEMU logged {logged} windows, hv-core {counted}")
            }
            Self::UnpairedMark { scenario, rip } => {
                write!(f, "in `{scenario}`: the window mark at {rip:#x} has no partner")
            }
            Self::NoMarks { scenario } => {
                write!(f, "in `{scenario}`: its payload's marks are not known")
            }
        }
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
