//! Runs: scenarios booted, measured and judged.

use crate::images::Images;
use crate::payload::Catalogue;
use crate::plan;
use crate::result::{Cpu, Environment, FORMAT, Measured, RunResult, ScenarioResult};
use crate::revision;
use crate::silicon;
use crate::suite::Scenario;
use crate::target::{Accel, Batch, Entry, Fate, Progress, Qemu, Ran, Report, TargetError};
use crate::verdict::{Verdict, hold_against_golden, judge};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trapline_abi::trace::Event;
use trapline_golden::TCG_ICOUNT;
use trapline_golden::compare::compare;
use trapline_golden::snapshot::Built;

/// What a run needs besides its scenarios.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// QEMU.
    pub qemu: &'a Qemu,
    /// What executes hv-core.
    pub accel: Accel,
    /// hv-core and the payloads.
    pub images: &'a Images,
    /// What the payloads say about themselves.
    pub catalogue: &'a Catalogue,
    /// The checkout, for the git revision.
    pub root: &'a Path,
    /// The folder of the goldens; without one, the rules alone decide.
    pub golden: Option<&'a Path>,
    /// A folder for the boots' files.
    pub dir: PathBuf,
    /// How often everything is run; all of them must give the same.
    pub repeats: u32,
    /// Whether QEMU logs its VM exits into the boots' folders.
    pub oracle: bool,
}

/// A run's result, and where its boots left their files.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result.
    pub result: RunResult,
    /// The folders of all boots, in order.
    pub boots: Vec<PathBuf>,
    /// What each scenario's vCPUs did in the first repeat, if it was traced.
    pub events: Vec<Vec<(u16, Event)>>,
}

impl Run<'_> {
    /// Runs the scenarios, in order, as often as asked. `progress` gets the repeat, from 0.
    ///
    /// # Errors
    /// When nothing could be run at all; later failures are results of the scenarios they hit.
    pub fn run(
        &self,
        scenarios: &[Scenario],
        progress: &mut dyn FnMut(u32, Progress),
    ) -> Result<Outcome, TargetError> {
        if self.accel == Accel::Tcg {
            scenarios.iter().try_for_each(fits_tcg)?;
        }
        let list: Vec<Entry> = scenarios.iter().map(entry).collect();
        let clock = self.accel.clock();
        let plan =
            |stretch: Range<usize>| Ok(plan::build(&scenarios[stretch], self.catalogue, clock)?);
        let mut boots = Vec::new();
        let mut reports = Vec::new();
        for repeat in 0..self.repeats.max(1) {
            let batch = Batch {
                qemu: self.qemu,
                core: &self.images.core,
                accel: self.accel,
                oracle: self.oracle,
                dir: self.dir.join(format!("repeat-{repeat}")),
            };
            let report = batch.run(&list, &plan, &mut |step| progress(repeat, step))?;
            boots.extend(report.boots.iter().map(|boot| boot.dir.clone()));
            reports.push(report);
        }
        let result = self.result(scenarios, &reports);
        let first = reports.swap_remove(0);
        let events = first.ran.into_iter().map(|ran| ran.run.events).collect();
        Ok(Outcome { result, boots, events })
    }

    fn result(&self, scenarios: &[Scenario], reports: &[Report]) -> RunResult {
        let environment = self.environment(reports);
        let judge = |(index, scenario)| {
            let ran: Vec<_> = reports.iter().map(|report| &report.ran[index]).collect();
            self.judge(scenario, &ran, &environment)
        };
        let scenarios = scenarios.iter().enumerate().map(judge).collect();
        RunResult {
            format: FORMAT,
            repeats: reports.len() as u32,
            part: None,
            scenarios,
            problems: reports.iter().flat_map(|report| report.problems.clone()).collect(),
            environment,
        }
    }

    /// Judges the first run of a scenario, and every other one by it.
    fn judge(
        &self,
        scenario: &Scenario,
        ran: &[&Ran],
        environment: &Environment,
    ) -> ScenarioResult {
        let mut result = judged(scenario, ran[0], environment, self.golden);
        for (repeat, again) in ran.iter().enumerate().skip(1) {
            let difference = if again.fate == ran[0].fate {
                differs(result.measured.as_ref(), measured(again).as_ref(), environment)
            } else {
                judge(scenario, &again.run, &again.fate).reasons.into_iter().next()
            };
            let Some(difference) = difference else { continue };
            let (repeat, times) = (repeat + 1, ran.len());
            let judgement = &mut result.judgement;
            judgement.fail(format!("run {repeat} of {times} differs from run 1: {difference}"));
            if again.fate != Fate::Ended {
                judgement.verdict = Verdict::CouldNotRun;
            }
            break;
        }
        result
    }

    fn environment(&self, reports: &[Report]) -> Environment {
        let class = match self.accel {
            Accel::Tcg => TCG_ICOUNT,
            Accel::Kvm => "kvm",
        };
        Environment {
            class: class.into(),
            accelerator: self.accel.to_string(),
            cpu: reports.iter().find_map(|report| report.hello.as_ref()).map(Cpu::from),
            built: Built {
                core: self.images.core_id.clone(),
                payload: self.images.payloads_id.clone(),
                qemu: self.qemu.version.to_string(),
                rustc: self.images.rustc.clone(),
            },
            revision: revision::of(self.root),
        }
    }
}

/// One run of a scenario, held against its rules and, where there are goldens, against its golden.
pub(crate) fn judged(
    scenario: &Scenario,
    ran: &Ran,
    environment: &Environment,
    golden: Option<&Path>,
) -> ScenarioResult {
    let judgement = judge(scenario, &ran.run, &ran.fate);
    let mut result = ScenarioResult::new(scenario, measured(ran), judgement);
    result.silicon = ran.run.silicon.describe(&scenario.silicon);
    if let Some(golden) = golden {
        let mut judgement = result.judgement.clone();
        hold_against_golden(&mut judgement, golden, environment, &result);
        result.judgement = judgement;
    }
    result
}

/// What is known of a scenario that ran, however it ended.
fn measured(ran: &Ran) -> Option<Measured> {
    (!matches!(ran.fate, Fate::NotRun(_))).then(|| Measured::new(&ran.run))
}

/// The first difference between two runs of one scenario.
fn differs(
    first: Option<&Measured>,
    again: Option<&Measured>,
    environment: &Environment,
) -> Option<String> {
    if first == again {
        return None;
    }
    let (Some(first), Some(again)) = (first, again) else {
        return Some("only one of them ran".into());
    };
    let snapshot = |m: &Measured| m.snapshot(environment.built.clone());
    let comparison = compare(&snapshot(first), &snapshot(again));
    let other = || {
        // The snapshot holds what is blessed; the rest of the records must repeat as well.
        let parts = [
            ("length in ticks", first.ticks != again.ticks),
            ("checks", first.checks != again.checks),
            ("trap totals", first.traps != again.traps),
            ("log lines", first.logs != again.logs),
            ("last exits", first.postmortem != again.postmortem),
        ];
        let named = parts.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name);
        format!("the {} of the scenario", named.collect::<Vec<_>>().join(" and the "))
    };
    let named = comparison
        .differences
        .first()
        .map(|difference| difference.to_string().replace("golden", "run 1").replace("seen", "now"));
    Some(named.unwrap_or_else(other))
}

/// A scenario that is to be refused is left to hv-core.
fn fits_tcg(scenario: &Scenario) -> Result<(), TargetError> {
    if scenario.expect.outcome == trapline_abi::record::Outcome::Refused {
        return Ok(());
    }
    let error = |why| TargetError::Silicon { scenario: scenario.full_name(), why };
    silicon::fits_tcg(&scenario.silicon).map_err(error)
}

/// What the target has to know of a scenario besides its plan.
fn entry(scenario: &Scenario) -> Entry {
    let budget = scenario.budget;
    // Twenty nanoseconds a tick and 40 us an exit are slow even for a busy machine; a target that
    // takes longer is silent and not slow, because hv-core ends the scenario by its budget. vCPUs that
    // wait for each other spin with PAUSE, at each of which QEMU changes to the next.
    let tick = if scenario.vcpus > 1 { 200 } else { 20 };
    let wall = Duration::from_secs(10)
        + Duration::from_nanos(budget.ticks.saturating_mul(tick))
        + Duration::from_micros(budget.exits.saturating_mul(40));
    Entry { name: scenario.full_name(), cores: scenario.cores, wall }
}

#[cfg(test)]
mod tests;
