//! Transcripts: what hv-core said in one boot, decoded and checked.
//!
//! The serial line carries frames ([`trapline_abi::frame`]), and between them whatever firmware,
//! GRUB or an accident put there. A [`Decoder`] turns the bytes into a [`Transcript`]. It never
//! fails: what is torn, corrupt, missing or out of place becomes a [`Problem`] that says where it
//! fell, and the transcript is then not [`complete`](Transcript::complete).

mod decoder;
mod problem;
mod scenario;
mod stats;
mod text_form;

pub use decoder::Decoder;
pub use problem::{Fault, Place, Problem};
pub use scenario::{Check, End, LastExit, Postmortem, Row, ScenarioRun, Trap, Used, Value, Window};
pub use stats::Stats;

use serde::{Deserialize, Serialize};
use trapline_abi::record::{BootPath, Level};

/// What hv-core says about itself and its processor, once per boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`trapline_abi::PROTOCOL`] of the image.
    pub protocol: u32,
    /// How it was started.
    pub boot: BootPath,
    /// CPUID Fn0000_0001 EAX.
    pub signature: u32,
    /// CPUID Fn8000_0002..4.
    pub brand: String,
    /// CPUID Fn8000_000A EBX: number of ASIDs. 0 where the processor has no SVM.
    pub asids: u32,
    /// CPUID Fn8000_000A EDX.
    pub svm_features: u32,
    /// TSC frequency in kHz.
    pub tsc_khz: u32,
    /// Cores that hv-core can use.
    pub cores: u32,
    /// Scenarios in the plan.
    pub scenarios: u32,
}

/// One boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// The first record, if it arrived.
    pub hello: Option<Hello>,
    /// Log lines outside of every scenario.
    pub logs: Vec<(Level, String)>,
    /// The scenarios that began, in order; the last may lack its end.
    pub scenarios: Vec<ScenarioRun>,
    /// Everything that is wrong with the stream.
    pub problems: Vec<Problem>,
    /// Goodbye was seen and nothing is missing or damaged before it.
    pub complete: bool,
}

impl Transcript {
    /// Decodes a whole stream.
    pub fn decode(bytes: &[u8]) -> Self {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        decoder.finish()
    }

    /// hv-core's own failure, if it reported one.
    pub fn panic(&self) -> Option<&str> {
        self.problems.iter().find_map(|problem| match &problem.fault {
            Fault::Panic(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The scenario with that place in the plan.
    pub fn scenario(&self, index: u32) -> Option<&ScenarioRun> {
        self.scenarios.iter().find(|run| run.index == index)
    }
}
