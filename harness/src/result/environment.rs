//! Where a result was measured.

use crate::transcript::Hello;
use serde::{Deserialize, Serialize};
use trapline_golden::snapshot::Built;

/// The processor that hv-core saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// CPUID Fn8000_0002..4.
    pub brand: String,
    /// CPUID Fn0000_0001 EAX.
    pub signature: u32,
    /// CPUID Fn8000_000A EDX.
    pub svm_features: u32,
    /// CPUID Fn8000_000A EBX.
    pub asids: u32,
    /// Cores that hv-core could use.
    pub cores: u32,
    /// TSC frequency in kHz: what turns ticks into time.
    pub tsc_khz: u32,
}

impl From<&Hello> for Cpu {
    fn from(hello: &Hello) -> Self {
        Self {
            brand: hello.brand.clone(),
            signature: hello.signature,
            svm_features: hello.svm_features,
            asids: hello.asids,
            cores: hello.cores,
            tsc_khz: hello.tsc_khz,
        }
    }
}

/// Everything outside of the scenarios that their results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Which goldens apply: `tcg-icount` or `kvm`.
    pub class: String,
    /// `tcg` or `kvm`.
    pub accelerator: String,
    /// The processor; `None` when hv-core never said hello.
    pub cpu: Option<Cpu>,
    /// The images, their compiler and QEMU.
    pub built: Built,
    /// The checkout's commit.
    pub revision: Option<String>,
}

impl Environment {
    /// TSC frequency in kHz; that of icount where it is unknown.
    pub fn tsc_khz(&self) -> u32 {
        self.cpu.as_ref().map_or(1_000_000, |cpu| cpu.tsc_khz.max(1))
    }
}
