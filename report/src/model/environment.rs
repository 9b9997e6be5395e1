//! Where it was run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything outside of the scenarios that their results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// What waivers and goldens go by: `tcg-icount`, `kvm`.
    pub class: String,
    /// Who executed hv-core: `tcg`, `kvm`.
    pub accelerator: String,
    /// The processor that hv-core saw; `null` when it never said hello.
    pub cpu: Option<TargetCpu>,
    /// QEMU.
    pub qemu: Qemu,
    /// What was built.
    pub build: Build,
    /// The machine that QEMU ran on.
    pub host: Host,
}

impl Environment {
    /// TSC frequency in kHz; that of icount where it is unknown.
    pub fn tsc_khz(&self) -> u32 {
        self.cpu.as_ref().map_or(1_000_000, |cpu| cpu.tsc_khz.max(1))
    }
}

/// The processor that hv-core saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetCpu {
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
    /// TSC frequency in kHz.
    pub tsc_khz: u32,
}

/// The QEMU that was the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// Its version.
    pub version: String,
    /// Its arguments, for a machine of one core.
    pub arguments: Vec<String>,
}

/// What was built, of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// hv-core's image: the hash of what it was built from.
    pub core: String,
    /// The payloads' images, likewise.
    pub payloads: String,
    /// The compiler of both.
    pub rustc: String,
    /// The checkout's commit, with `-dirty` behind it where files differ from it.
    pub revision: Option<String>,
}

/// The machine that QEMU ran on, as far as its kernel tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its processor.
    pub cpu: HostCpu,
    /// Its firmware: vendor, version, date.
    pub firmware: Option<String>,
    /// Its maker's name for it.
    pub product: Option<String>,
    /// The kernel's release and build.
    pub kernel: Option<String>,
    /// The distribution.
    pub system: Option<String>,
    /// The modules that decide about virtualization, those that are loaded or built in.
    pub modules: Vec<Module>,
}

/// A host's processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCpu {
    /// The brand.
    pub model: Option<String>,
    /// Family, model and stepping.
    pub signature: Option<String>,
    /// The microcode's revision.
    pub microcode: Option<String>,
    /// Logical processors that are online.
    pub online: u32,
}

/// A kernel module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
}
