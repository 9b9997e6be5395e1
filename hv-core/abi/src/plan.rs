//! The plan: what hv-core is asked to do in one boot.
//!
//! One blob: [`MAGIC`], the CRC-32/ISCSI and the length of what follows, then postcard values in a
//! row: a [`Head`], as many [`Payload`]s and as many [`Scenario`]s as it says. Everything borrows
//! from the blob, so hv-core needs no allocator to read it.

use crate::frame::CRC;
use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// The first bytes of a plan.
pub const MAGIC: [u8; 8] = *b"TRPLPLAN";

/// Bytes in front of the postcard values: magic, CRC and length.
pub const PREFIX: usize = 16;

/// The name of the plan's file in QEMU's fw_cfg, and the first word of the module's command line
/// under GRUB.
pub const FILE_NAME: &str = "opt/trapline/plan";

/// vCPUs that a scenario can have, at most.
pub const MAX_VCPUS: u16 = 16;

/// The largest plan, in bytes.
pub const MAX_PLAN: usize = 32 << 20;

/// What is known about the time stamp counter and the APIC timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// QEMU with `-icount shift=0`: one tick is one instruction is one nanosecond, and so is a
    /// tick of the APIC timer.
    Icount,
    /// Anything else: hv-core measures both against the PIT at boot.
    Measure,
}

/// The first value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// [`crate::PROTOCOL`].
    pub protocol: u32,
    /// See [`Clock`].
    pub clock: Clock,
    /// How many payloads follow.
    pub payloads: u32,
    /// How many scenarios follow them.
    pub scenarios: u32,
}

/// A payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its ELF file.
    pub elf: &'a [u8],
}

/// How the hypervisor behaves; named after what it copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Linux 5.8 KVM (`kvm-5.8`).
    Kvm58,
    /// The same with the first patch that was posted for AutoEOI (`kvm-5.8-patch1`).
    Kvm58Patch1,
    /// Linux 5.15 KVM (`kvm-5.15`).
    Kvm515,
    /// Linux 6.12 KVM (`kvm-6.12`).
    Kvm612,
    /// Linux 6.18 KVM (`kvm-6.18`), as far as it differs in interrupt virtualization.
    Kvm618,
    /// Xen's AVIC series of 2016 to 2018 (`xen-avic-rfc`): KVM 6.12 but for its answers to AVIC's exits.
    XenAvicRfc,
    /// None: the payload is the hypervisor of its own vCPU (`laboratory`).
    Laboratory,
    /// Xen 4.17's SVM code (`xen-4.17`), which uses no AVIC.
    Xen417,
}

/// Parameters of the hypervisor's module, named as those of `kvm_amd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// `avic`: use AVIC where the processor has it.
    pub avic: bool,
    /// `enable_ipiv`: set IsRunning, so that the processor sends IPIs by itself.
    pub enable_ipiv: bool,
    /// `force_avic`: use an AVIC that CPUID does not announce.
    pub force_avic: bool,
}

impl Module {
    /// Everything that the processor announces is used. (Linux 6.12 itself has `avic=0` unless told
    /// otherwise; a scenario that describes silicon with AVIC wants it used.)
    pub const DEFAULT: Self = Self { avic: true, enable_ipiv: true, force_avic: false };
}

/// A fault that is put in on purpose, to prove that a suite notices it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seed {
    /// The HYPERV inhibit's decrement tests the increment's condition, as the first posted patch
    /// did (seeds/000; spec hyperv.md 4.1, Feb 2021).
    AutoEoiDecrement,
    /// The HLT exit leaves the interrupt shadow in place (rule HLT-1).
    HltKeepsShadow,
    /// Events are evaluated on the HLT exit (against rule HLT-2).
    HltEvaluates,
    /// A read of RTC register C does not clear it (rule RTC-011).
    RtcKeepsC,
    /// An interrupted injection is forgotten instead of repeated (rule INJ-1).
    InjectionLost,
    /// An IPI is left for its target, but the target is not kicked (rule KICK-1).
    KickLost,
    /// On exit 401h with id 1 the IPI is sent again (rule AVH-001).
    IncompleteIpiResent,
    /// A vCPU blocks without a look into its backing page (rules AVH-012, AVH-025).
    BlockWithoutLook,
    /// SEND_IPI forgets the highest APIC id of its bitmap (rule HC-2).
    PvIpiTopLost,
    /// An EOM does not bring the message that waits (rule HV-058).
    EomIgnored,
    /// KICK_CPU yields, and ends no halt (rule HC-6).
    UnhaltLost,
    /// Xen's window ignores V_TPR whatever waits in it (against rule WIN-2).
    WindowIgnoresTpr,
    /// ACPI's timer is fast by one tick in a thousand.
    PmTimerFast,
}

/// A scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario<'a> {
    /// `suite::name`.
    pub name: &'a str,
    /// Which of the plan's payloads, from 0.
    pub payload: u32,
    /// Parameters: little-endian `u64`s in the order of the payload's descriptor.
    pub params: &'a [u8],
    /// vCPUs.
    pub vcpus: u16,
    /// Cores that they run on: vCPU v on core v % cores.
    pub cores: u16,
    /// The machine.
    pub machine: Machine,
    /// The described silicon; hv-core refuses what cannot be run.
    pub silicon: &'a str,
    /// The policy.
    pub policy: Policy,
    /// Its module's parameters.
    pub module: Module,
    /// A fault put in on purpose.
    pub seed: Option<Seed>,
    /// Whether every trap is told ([`crate::trace`]), which makes it slower.
    pub trace: bool,
    /// Guest time after which it is ended, in TSC ticks.
    pub budget_ticks: u64,
    /// Traps after which it is ended.
    pub budget_exits: u64,
}

/// Why a blob is not a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// It does not start as a plan does, or is cut short.
    NotAPlan,
    /// The CRC is wrong.
    Corrupt,
    /// The CRC is right but the values are not what this version writes.
    BadShape,
    /// It is for another protocol version.
    WrongProtocol(u32),
}

impl core::fmt::Display for PlanError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotAPlan => f.write_str("the blob is not a plan, or is cut short"),
            Self::Corrupt => f.write_str("the plan's CRC is wrong: it is corrupt"),
            Self::BadShape => f.write_str("the plan does not have the shape of this version"),
            Self::WrongProtocol(v) => {
                write!(f, "the plan speaks protocol {v}, this image speaks {}", crate::PROTOCOL)
            }
        }
    }
}

/// A plan, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Its head.
    pub head: Head,
    values: &'a [u8],
}

impl<'a> Plan<'a> {
    /// Checks a blob and reads its head. Bytes behind the plan's own length are ignored.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn read(blob: &'a [u8]) -> Result<Self, PlanError> {
        let prefix = blob.get(..PREFIX).ok_or(PlanError::NotAPlan)?;
        if prefix[..8] != MAGIC {
            return Err(PlanError::NotAPlan);
        }
        let word = |at: usize| {
            u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]])
        };
        let values = blob[PREFIX..].get(..word(12) as usize).ok_or(PlanError::NotAPlan)?;
        if CRC.checksum(values) != word(8) {
            return Err(PlanError::Corrupt);
        }
        let (head, values) =
            postcard::take_from_bytes::<Head>(values).map_err(|_| PlanError::BadShape)?;
        if head.protocol != crate::PROTOCOL {
            return Err(PlanError::WrongProtocol(head.protocol));
        }
        let plan = Self { head, values };
        // Walk everything once: later accessors may then ignore errors.
        let mut rest = values;
        for _ in 0..head.payloads {
            rest = take::<Payload<'_>>(rest)?.1;
        }
        for _ in 0..head.scenarios {
            let (scenario, after) = take::<Scenario<'_>>(rest)?;
            if scenario.payload >= head.payloads || scenario.params.len() % 8 != 0 {
                return Err(PlanError::BadShape);
            }
            rest = after;
        }
        Ok(plan)
    }

    /// The plan's payloads, in order.
    pub fn payloads(&self) -> impl Iterator<Item = Payload<'a>> + use<'a> {
        Values::<Payload<'a>>::new(self.values, self.head.payloads)
    }

    /// The plan's scenarios, in order.
    pub fn scenarios(&self) -> impl Iterator<Item = Scenario<'a>> + use<'a> {
        let mut payloads = Values::<Payload<'a>>::new(self.values, self.head.payloads);
        payloads.by_ref().for_each(drop);
        Values::new(payloads.rest, self.head.scenarios)
    }
}

fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), PlanError> {
    postcard::take_from_bytes(bytes).map_err(|_| PlanError::BadShape)
}

struct Values<'a, T> {
    rest: &'a [u8],
    left: u32,
    kind: core::marker::PhantomData<T>,
}

impl<'a, T> Values<'a, T> {
    fn new(rest: &'a [u8], left: u32) -> Self {
        Self { rest, left, kind: core::marker::PhantomData }
    }
}

impl<'a, T: Deserialize<'a>> Iterator for Values<'a, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let (value, rest) = take(self.rest).ok()?;
        self.rest = rest;
        Some(value)
    }
}

/// Puts a plan's bytes together: `append` is called with each encoded part in turn.
///
/// The caller owns the buffer (a `Vec` in the harness): this crate has no allocator.
///
/// # Errors
/// Whatever postcard says when `scratch` is too small for one value; it must hold the largest
/// payload ELF and some hundred bytes.
pub fn write_values(
    clock: Clock,
    payloads: &[Payload<'_>],
    scenarios: &[Scenario<'_>],
    scratch: &mut [u8],
    mut append: impl FnMut(&[u8]),
) -> Result<(), postcard::Error> {
    let head = Head {
        protocol: crate::PROTOCOL,
        clock,
        payloads: payloads.len() as u32,
        scenarios: scenarios.len() as u32,
    };
    append(postcard::to_slice(&head, scratch)?);
    for payload in payloads {
        append(postcard::to_slice(payload, scratch)?);
    }
    for scenario in scenarios {
        append(postcard::to_slice(scenario, scratch)?);
    }
    Ok(())
}

/// The bytes that stand in front of a plan's values.
pub fn prefix(values: &[u8]) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(&MAGIC);
    prefix[8..12].copy_from_slice(&CRC.checksum(values).to_le_bytes());
    prefix[12..].copy_from_slice(&(values.len() as u32).to_le_bytes());
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str, payload: u32) -> Scenario<'_> {
        Scenario {
            name,
            payload,
            params: &[1, 0, 0, 0, 0, 0, 0, 0],
            vcpus: 1,
            cores: 1,
            machine: Machine::PLAIN,
            silicon: "none",
            policy: Policy::Kvm612,
            module: Module::DEFAULT,
            seed: None,
            trace: false,
            budget_ticks: 5,
            budget_exits: 6,
        }
    }

    fn blob(payloads: &[Payload<'_>], scenarios: &[Scenario<'_>]) -> Vec<u8> {
        let mut values = Vec::new();
        write_values(Clock::Icount, payloads, scenarios, &mut [0; 4096], |b| {
            values.extend_from_slice(b);
        })
        .unwrap();
        [&prefix(&values)[..], &values].concat()
    }

    #[test]
    fn a_plan_round_trips() {
        let payloads = [Payload { name: "a", elf: b"elf a" }, Payload { name: "b", elf: b"" }];
        let scenarios = [scenario("s::one", 1), scenario("s::two", 0)];
        let mut bytes = blob(&payloads, &scenarios);
        bytes.extend_from_slice(&[9; 40]); // what a loader rounds up to
        let plan = Plan::read(&bytes).unwrap();
        assert!(plan.payloads().eq(payloads));
        assert!(plan.scenarios().eq(scenarios));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = blob(&[Payload { name: "a", elf: b"elf" }], &[scenario("s", 0)]);
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert!(Plan::read(&bad).is_err(), "byte {at}");
            assert!(Plan::read(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_scenario_without_its_payload_is_refused() {
        let bytes = blob(&[Payload { name: "a", elf: b"" }], &[scenario("s", 1)]);
        assert_eq!(Plan::read(&bytes).unwrap_err(), PlanError::BadShape);
    }
}
