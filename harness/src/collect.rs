//! Collecting: what came over a serial line made into an ordinary result.
//!
//! hv-core says the same on a board's serial line as in QEMU: frames with sequence numbers and a
//! checksum, so that every byte that is lost, changed or made up shows. Text between the frames
//! (firmware, GRUB) is harmless. GRUB's text also says which images the ISO holds ([`label`]).

pub mod label;
pub mod line;

use crate::result::{Cpu, Environment, FORMAT, RunResult};
use crate::run::judged;
use crate::suite::Scenario;
use crate::target::{Ran, fate};
use crate::transcript::{Fault, Hello, ScenarioRun, Transcript};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trapline_abi::PROTOCOL;
use trapline_golden::TCG_ICOUNT;
use trapline_golden::snapshot::Built;

/// Which goldens apply to bare metal: none.
pub const METAL: &str = "metal";

/// Why a capture is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// There is no record in it.
    #[error("{name} holds no record of hv-core, but {bytes} bytes{of}")]
    NoRecords {
        /// The file or device.
        name: String,
        /// How many bytes came.
        bytes: usize,
        /// What they are, if they are text.
        of: String,
    },
    /// The image was built with another protocol.
    #[error(
        "{name} is from an image that speaks protocol {seen}, this trapline reads {PROTOCOL}: \
         collect it with the trapline that made the ISO"
    )]
    Protocol {
        /// The file or device.
        name: String,
        /// The image's.
        seen: u32,
    },
    /// A scenario that the suites do not have.
    #[error("{name} has the scenario `{scenario}`, which the suites do not have{hint}")]
    Unknown {
        /// The file or device.
        name: String,
        /// The scenario.
        scenario: String,
        /// The nearest name, or what to do.
        hint: String,
    },
    /// The scenarios are not those that were asked for.
    #[error("{name} is not of the scenarios that were asked for: {what}")]
    Other {
        /// The file or device.
        name: String,
        /// The first difference.
        what: String,
    },
}

/// What a capture is judged by.
#[derive(Clone, Debug)]
pub struct Collect<'a> {
    /// The file or device, for messages.
    pub name: &'a str,
    /// All scenarios that it may be of.
    pub known: &'a [Scenario],
    /// The scenarios that it must be of, in order; without, its own names decide.
    pub wanted: Option<&'a [Scenario]>,
    /// QEMU with `-icount shift=0` is at the other end: its class of goldens applies.
    pub icount: bool,
    /// The folder of the goldens.
    pub golden: Option<&'a Path>,
    /// The checkout's commit.
    pub revision: Option<String>,
}

/// A result, and what is missing in the capture.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The result. Scenarios with lost records are those that could not run.
    pub result: RunResult,
    /// What was lost, with the place; empty of a whole capture.
    pub lost: Vec<String>,
}

impl Collect<'_> {
    /// Judges a capture.
    ///
    /// # Errors
    /// See [`CollectError`]. Lost records are none: they are in the result.
    pub fn judge(&self, bytes: &[u8]) -> Result<Collected, CollectError> {
        let transcript = Transcript::decode(bytes);
        self.is_ours(&transcript, bytes)?;
        let scenarios = self.scenarios(&transcript)?;
        let environment = self.environment(transcript.hello.as_ref(), label::read(bytes));
        let results = scenarios.iter().map(|(place, scenario)| {
            let run = transcript.scenario(*place as u32).cloned().unwrap_or_else(|| {
                let (index, name) = (*place as u32, scenario.full_name());
                ScenarioRun { index, name, ..ScenarioRun::default() }
            });
            let ran = Ran { run, fate: fate(&transcript, *place), boot: Some(0) };
            judged(scenario, &ran, &environment, self.golden)
        });
        let losses = transcript.problems.iter().filter(|problem| problem.is_loss());
        let mut lost: Vec<_> = losses.clone().map(ToString::to_string).collect();
        let outside = losses.filter(|problem| problem.scenario().is_none());
        let mut problems: Vec<_> = outside.map(ToString::to_string).collect();
        let announced = transcript.hello.as_ref().map_or(0, |hello| hello.scenarios as usize);
        if announced > scenarios.len() {
            let fewer = format!("the plan has {announced} scenarios, {} came", scenarios.len());
            lost.push(fewer.clone());
            problems.push(fewer);
        }
        let result = RunResult {
            format: FORMAT,
            repeats: 1,
            part: None,
            scenarios: results.collect(),
            problems,
            environment,
        };
        Ok(Collected { result, lost })
    }

    fn is_ours(&self, transcript: &Transcript, bytes: &[u8]) -> Result<(), CollectError> {
        let name = self.name.to_owned();
        match &transcript.hello {
            Some(hello) if hello.protocol != PROTOCOL => {
                Err(CollectError::Protocol { name, seen: hello.protocol })
            }
            None if transcript.scenarios.is_empty() => {
                let text = transcript.problems.iter().find_map(|problem| match &problem.fault {
                    Fault::StrayText(text) => Some(text.trim()),
                    _ => None,
                });
                let start = |text: &str| text.chars().take(60).collect::<String>();
                let of = text.map_or(String::new(), |text| format!(", from {:?} on", start(text)));
                Err(CollectError::NoRecords { name, bytes: bytes.len(), of })
            }
            _ => Ok(()),
        }
    }

    /// The scenarios with their places in the plan.
    fn scenarios(&self, transcript: &Transcript) -> Result<Vec<(usize, &Scenario)>, CollectError> {
        if let Some(wanted) = self.wanted {
            self.are_wanted(transcript, wanted)?;
            return Ok(wanted.iter().enumerate().collect());
        }
        let by_name: BTreeMap<_, _> = self.known.iter().map(|s| (s.full_name(), s)).collect();
        let mut seen = BTreeSet::new();
        let mut scenarios = Vec::new();
        for run in transcript.scenarios.iter().filter(|run| seen.insert(run.index)) {
            let scenario = by_name.get(&run.name).ok_or_else(|| CollectError::Unknown {
                name: self.name.to_owned(),
                scenario: run.name.clone(),
                hint: hint(&run.name, by_name.keys()),
            })?;
            scenarios.push((run.index as usize, *scenario));
        }
        scenarios.sort_by_key(|(place, _)| *place);
        Ok(scenarios)
    }

    fn are_wanted(&self, transcript: &Transcript, wanted: &[Scenario]) -> Result<(), CollectError> {
        let other = |what| Err(CollectError::Other { name: self.name.to_owned(), what });
        if let Some(hello) = &transcript.hello
            && hello.scenarios as usize != wanted.len()
        {
            let (seen, wanted) = (hello.scenarios, wanted.len());
            return other(format!("its plan has {seen} scenarios, {wanted} were asked for"));
        }
        for run in &transcript.scenarios {
            let name = wanted.get(run.index as usize).map(Scenario::full_name);
            if name.as_ref() != Some(&run.name) {
                let (place, seen) = (run.index + 1, &run.name);
                let name = name.unwrap_or_else(|| "nothing".into());
                return other(format!("number {place} is `{seen}`, `{name}` was asked for"));
            }
        }
        Ok(())
    }

    fn environment(&self, hello: Option<&Hello>, built: Option<Built>) -> Environment {
        let class = if self.icount { TCG_ICOUNT } else { METAL };
        let qemu = if self.icount { "unknown" } else { "none" };
        let unknown = || "unknown".to_owned();
        let unlabelled =
            || Built { core: unknown(), payload: unknown(), qemu: qemu.into(), rustc: unknown() };
        Environment {
            class: class.into(),
            accelerator: if self.icount { "tcg" } else { "none" }.into(),
            cpu: hello.map(Cpu::from),
            built: built.map_or_else(unlabelled, |built| Built { qemu: qemu.into(), ..built }),
            revision: self.revision.clone(),
        }
    }
}

/// The nearest name, or what to do about an unknown one.
fn hint<'n>(name: &str, names: impl Iterator<Item = &'n String>) -> String {
    let near = |other: &&String| strsim::jaro_winkler(name, other);
    let nearest = names.max_by(|a, b| near(a).total_cmp(&near(b)));
    match nearest.filter(|other| near(other) > 0.85) {
        Some(other) => format!(" (they have `{other}`)"),
        None => ": name its suite with --suite".into(),
    }
}

#[cfg(test)]
mod tests;
