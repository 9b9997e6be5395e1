//! A list of scenarios, in as few boots as it takes.

use super::{Accel, Boot, BootRun, Ending, Limits, Qemu, Start, TargetError};
use crate::transcript::{Decoder, Hello, Place, Problem, ScenarioRun, Transcript};
use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a boot may take until its first scenario, and the target between two.
const START: Duration = Duration::from_secs(20);

/// One scenario of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `suite::name`.
    pub name: String,
    /// Cores that it needs.
    pub cores: u16,
    /// Wall time after which it counts as hung.
    pub wall: Duration,
}

/// Makes the plan of a boot that runs a stretch of the list.
pub type Planner<'a> = &'a dyn Fn(Range<usize>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>>;

/// Runs lists of scenarios.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// QEMU.
    pub qemu: &'a Qemu,
    /// hv-core's image.
    pub core: &'a Path,
    /// What executes it.
    pub accel: Accel,
    /// Whether QEMU logs its VM exits.
    pub oracle: bool,
    /// Folder for the boots' folders, `boot-0` and so on.
    pub dir: PathBuf,
}

/// What came of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ended, well or badly, and all its records are there.
    Ended,
    /// It ran, but records are missing or corrupt.
    Damaged(String),
    /// The target died in it.
    Crashed(String),
    /// The target fell silent in it.
    Hung(String),
    /// The target could not be started again for it.
    NotRun(String),
}

/// One scenario's result.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What is known of it; `index` is its place in the list.
    pub run: ScenarioRun,
    /// What came of it.
    pub fate: Fate,
    /// Which boot ran it: a place in [`Report::boots`].
    pub boot: Option<usize>,
}

/// What came of a list.
#[derive(Clone, Debug)]
pub struct Report {
    /// What hv-core said about the machine.
    pub hello: Option<Hello>,
    /// One result per scenario, in the list's order.
    pub ran: Vec<Ran>,
    /// Every boot, in order.
    pub boots: Vec<BootRun>,
    /// Problems that belong to no scenario, with the boot's number.
    pub problems: Vec<String>,
}

/// What happens to a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The one with that place in the list began.
    Began(usize),
    /// It is over.
    Ended(usize),
}

impl Batch<'_> {
    /// Runs the whole list.
    ///
    /// # Errors
    /// When the first boot runs nothing. Later failures are results of the scenarios they hit.
    pub fn run(
        &self,
        list: &[Entry],
        plan: Planner<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, TargetError> {
        let mut report =
            Report { hello: None, ran: Vec::new(), boots: Vec::new(), problems: Vec::new() };
        while report.ran.len() < list.len() {
            let first = report.ran.len();
            let mut steps = Steps { first, begun: 0, over: 0, progress: &mut *progress };
            let end = stretch(list, first);
            let part = &list[..end];
            let boot = plan(first..end)
                .map_err(TargetError::Plan)
                .and_then(|plan| self.boot(&part[first..], &plan, report.boots.len(), &mut steps));
            steps.finish();
            let boot = match boot {
                // Nothing began: the target as a whole does not work, and no scenario is to blame.
                Ok(boot) if boot.transcript.scenarios.is_empty() => Err(boot.into_error()),
                other => other,
            };
            match boot {
                Ok(boot) => report.take(part, first, boot),
                Err(error) if first == 0 => return Err(error),
                Err(error) => report.give_up(list, &error.to_string()),
            }
        }
        Ok(report)
    }

    fn boot(
        &self,
        list: &[Entry],
        plan: &[u8],
        number: usize,
        steps: &mut Steps<'_>,
    ) -> Result<BootRun, TargetError> {
        let boot = Boot {
            qemu: self.qemu,
            core: self.core,
            accel: self.accel,
            start: Start::Qboot,
            cores: list.first().map_or(1, |entry| entry.cores),
            oracle: self.oracle,
            dir: self.dir.join(format!("boot-{number}")),
        };
        let limits =
            Limits { start: START, scenarios: list.iter().map(|entry| entry.wall).collect() };
        boot.run(plan, &limits, &mut |decoder| steps.look(decoder))
    }
}

/// Where the scenarios end that one boot runs: those with as many cores as the first. Under icount the
/// number of cores decides how long each one's turn is, so that a scenario's timings depend on it.
fn stretch(list: &[Entry], first: usize) -> usize {
    let same = list[first..].iter().take_while(|entry| entry.cores == list[first].cores).count();
    first + same
}

/// Tells the progress of one boot: each scenario's beginning once, and its end once.
struct Steps<'a> {
    /// The place in the list of the boot's first scenario.
    first: usize,
    begun: usize,
    over: usize,
    progress: &'a mut dyn FnMut(Progress),
}

impl Steps<'_> {
    fn look(&mut self, decoder: &Decoder) {
        let seen = decoder.so_far().scenarios.len();
        while self.begun < seen {
            // One that begins is the end of the one before it, come what may.
            self.finish();
            (self.progress)(Progress::Began(self.first + self.begun));
            self.begun += 1;
        }
        if decoder.running().is_none() {
            self.finish();
        }
    }

    /// Ends the scenario that is under way, if there is one.
    fn finish(&mut self) {
        if self.over < self.begun {
            (self.progress)(Progress::Ended(self.first + self.over));
            self.over = self.begun;
        }
    }
}

impl Report {
    /// Keeps what there is and says of the rest why it was not run.
    fn give_up(&mut self, list: &[Entry], reason: &str) {
        for place in self.ran.len()..list.len() {
            self.ran.push(nothing(list, place, None, Fate::NotRun(reason.to_owned())));
        }
    }

    /// Takes a boot's results for the scenarios from `first` on, up to and including the one that the
    /// boot did not survive.
    fn take(&mut self, list: &[Entry], first: usize, boot: BootRun) {
        let transcript = &boot.transcript;
        let number = self.boots.len();
        if self.hello.is_none() {
            self.hello.clone_from(&transcript.hello);
        }
        let left = list.len() - first;
        let culprit = (boot.ending != Ending::Good).then(|| {
            let last = transcript.scenarios.last();
            last.map_or(0, |run| run.index as usize + usize::from(run.end.is_some()))
        });
        let covered = culprit.map_or(left, |culprit| (culprit + 1).min(left));
        for place in 0..covered {
            let run = transcript.scenario(place as u32);
            let fate = match run {
                _ if culprit == Some(place) => blame(&boot),
                _ => fate(transcript, place),
            };
            let mut ran = nothing(list, first + place, Some(number), fate);
            if let Some(run) = run {
                ran.run = ScenarioRun { index: ran.run.index, ..run.clone() };
            }
            self.ran.push(ran);
        }
        for problem in transcript.problems.iter().filter(|problem| problem.scenario().is_none()) {
            if problem.is_loss() {
                self.problems.push(format!("boot {number}, {problem}"));
            }
        }
        if culprit.is_some_and(|culprit| culprit >= left) {
            self.problems.push(format!("boot {number}, after the last scenario: {}", boot.ending));
        }
        self.boots.push(boot);
    }
}

fn nothing(list: &[Entry], index: usize, boot: Option<usize>, fate: Fate) -> Ran {
    let name = list[index].name.clone();
    Ran { run: ScenarioRun { index: index as u32, name, ..ScenarioRun::default() }, fate, boot }
}

/// What to say of the scenario that a boot did not survive.
fn blame(boot: &BootRun) -> Fate {
    let mut text = boot.ending.to_string();
    for more in [boot.transcript.panic().unwrap_or_default(), &boot.stderr] {
        if !more.is_empty() {
            text.push_str(": ");
            text.push_str(more);
        }
    }
    match boot.ending {
        Ending::Silent(_) => Fate::Hung(text),
        _ => Fate::Crashed(text),
    }
}

/// What came of a scenario whose boot went on behind it.
pub(crate) fn fate(transcript: &Transcript, place: usize) -> Fate {
    match transcript.scenario(place as u32) {
        Some(run) if run.end.is_some() => intact_or_damaged(&transcript.problems, place),
        _ => Fate::Damaged(loss(&transcript.problems)),
    }
}

fn intact_or_damaged(problems: &[Problem], place: usize) -> Fate {
    let hit = |problem: &&Problem| {
        matches!(problem.place, Place::In { index, .. } if index as usize == place)
            && problem.is_loss()
    };
    match problems.iter().find(hit) {
        Some(problem) => Fate::Damaged(problem.fault.to_string()),
        None => Fate::Ended,
    }
}

fn loss(problems: &[Problem]) -> String {
    let first = problems.iter().find(|problem| problem.is_loss());
    first.map_or_else(
        || "its records never came".to_owned(),
        |p| format!("its records never came: {p}"),
    )
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
