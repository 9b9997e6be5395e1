//! Hyper-V's interface: identification, hypercall page, reference time, SynIC with its messages, and synthetic timers.
//!
//! [`Partition`] is what a VM has once, [`Synic`] and [`Timers`] what each vCPU has; the MSRs of all are
//! read and written here. Behaviour is KVM 6.12's, with the MSRs that the guest's CPUID does not
//! offer refused as under `hv-enforce-cpuid`. The MSRs that reach beyond Hyper-V's own state, those of the
//! local APIC, the run time and RESET, are in [`crate::msr`]'s `vp`; VP_ASSIST_PAGE is [`Assist`]'s.
//!
//! No MSR touches guest memory: a write answers with the [`Effect`] that the caller owes.

pub mod assist;
mod auto_eoi;
pub mod delivery;
pub mod expiry;
pub mod host;
pub mod message;
mod partition;
pub mod ports;
mod reference;
pub mod runtime;
mod synic;
#[cfg(test)]
mod tests;
pub mod timer;
mod timers;
mod view;

use crate::fault::Gp;
use crate::inhibit::Inhibits;
use crate::time::Ns;
pub use assist::Assist;
pub use auto_eoi::DecrementRule;
pub use partition::Partition;
pub use reference::ReferenceClock;
pub use runtime::Runtime;
pub use synic::Synic;
pub use timers::Timers;
use trapline_abi::machine::HyperV;
pub use view::View;

/// GUEST_OS_ID: who the guest says it is.
pub const GUEST_OS_ID: u32 = 0x4000_0000;
/// HYPERCALL: where the hypercall page is.
pub const HYPERCALL: u32 = 0x4000_0001;
/// VP_INDEX: which vCPU this is.
pub const VP_INDEX: u32 = 0x4000_0002;
/// RESET: a write of 1 resets the VM.
pub const RESET: u32 = 0x4000_0003;
/// VP_RUNTIME: how long the vCPU ran, in units of 100 ns.
pub const VP_RUNTIME: u32 = 0x4000_0010;
/// TIME_REF_COUNT: guest time in units of 100 ns.
pub const TIME_REF_COUNT: u32 = 0x4000_0020;
/// REFERENCE_TSC: where the page is by which the guest computes that from its TSC.
pub const REFERENCE_TSC: u32 = 0x4000_0021;
/// TSC_FREQUENCY, in Hz.
pub const TSC_FREQUENCY: u32 = 0x4000_0022;
/// APIC_FREQUENCY, in Hz.
pub const APIC_FREQUENCY: u32 = 0x4000_0023;
/// EOI: the local APIC's register, in any mode.
pub const EOI: u32 = 0x4000_0070;
/// ICR, both halves at once.
pub const ICR: u32 = 0x4000_0071;
/// TPR.
pub const TPR: u32 = 0x4000_0072;
/// VP_ASSIST_PAGE: where the word is that says that no EOI is needed.
pub const VP_ASSIST_PAGE: u32 = 0x4000_0073;
/// SCONTROL: enables the SynIC.
pub const SCONTROL: u32 = 0x4000_0080;
/// SVERSION: the SynIC's version.
pub const SVERSION: u32 = 0x4000_0081;
/// SIEFP: where the event flags are.
pub const SIEFP: u32 = 0x4000_0082;
/// SIMP: where the messages are.
pub const SIMP: u32 = 0x4000_0083;
/// EOM: a message slot was emptied.
pub const EOM: u32 = 0x4000_0084;
/// SINT0, the first of sixteen interrupt sources.
pub const SINT0: u32 = 0x4000_0090;
/// SINT15, the last one.
pub const SINT15: u32 = SINT0 + 15;

/// STIMER0_CONFIG; each timer has a CONFIG and a COUNT.
pub const STIMER0_CONFIG: u32 = 0x4000_00b0;
/// STIMER0_COUNT.
pub const STIMER0_COUNT: u32 = STIMER0_CONFIG + 1;
/// STIMER3_COUNT, the last register of the last timer.
pub const STIMER3_COUNT: u32 = STIMER0_CONFIG + 7;

/// What a write owes the guest beyond the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// These bytes belong at that guest-physical address, which is in RAM.
    WriteBytes {
        /// Guest-physical address.
        address: u64,
        /// What belongs there.
        bytes: &'static [u8],
    },
    /// The page at that guest-physical address, which is in RAM, becomes zero.
    ZeroPage {
        /// Guest-physical address, page-aligned.
        address: u64,
    },
    /// The page at that guest-physical address, which need not be in RAM, becomes the reference TSC
    /// page: [`ReferenceClock::publish`].
    ReferencePage {
        /// Guest-physical address, page-aligned.
        address: u64,
    },
    /// The guest emptied a message slot: senders that wait for one may try again.
    EndOfMessage,
    /// A timer changed: it may be due ([`crate::vcpu::Vcpu::tell`]), and the vCPU's deadline another one.
    TimerChanged,
    /// A SINT changed, and with it perhaps the inhibits.
    SintChanged {
        /// How often AVIC was inhibited or released, each time with a kick of every vCPU (INH-1).
        /// Moving the last AutoEOI user from one vector to another does both (HV-111 as KVM has it).
        transitions: u8,
    },
}

/// The switch that offers an MSR; `None`: there is no such MSR.
const fn switch(msr: u32) -> Option<HyperV> {
    Some(match msr {
        GUEST_OS_ID | HYPERCALL => HyperV::INTERFACE,
        VP_INDEX => HyperV::VP_INDEX,
        RESET => HyperV::RESET,
        VP_RUNTIME => HyperV::RUNTIME,
        EOI..=VP_ASSIST_PAGE => HyperV::VAPIC,
        TIME_REF_COUNT | REFERENCE_TSC => HyperV::TIME,
        TSC_FREQUENCY | APIC_FREQUENCY => HyperV::FREQUENCIES,
        SCONTROL..=EOM | SINT0..=SINT15 => HyperV::SYNIC,
        STIMER0_CONFIG..=STIMER3_COUNT => HyperV::STIMER,
        _ => return None,
    })
}

/// `#GP` unless the guest's CPUID offers the MSR (HV-006, HV-021, HV-022), as under QEMU's
/// `hv-enforce-cpuid`.
pub(crate) fn offered(partition: &Partition, msr: u32) -> Result<(), Gp> {
    if switch(msr).is_some_and(|switch| partition.offers(switch)) { Ok(()) } else { Err(Gp) }
}

/// RDMSR by the guest of any MSR from 4000_0000h to 4000_01FFh.
///
/// # Errors
/// `#GP` if the MSR is not offered (HV-006, HV-021, HV-022).
#[inline(never)]
pub fn read_msr(
    partition: &Partition,
    synic: &Synic,
    timers: &Timers,
    msr: u32,
    now: Ns,
) -> Result<u64, Gp> {
    offered(partition, msr)?;
    match msr {
        GUEST_OS_ID => Ok(partition.guest_os_id()),
        HYPERCALL => Ok(partition.hypercall()),
        VP_INDEX => Ok(synic.vp_index().into()),
        TIME_REF_COUNT => Ok(timers.clock.at(now)),
        REFERENCE_TSC => Ok(partition.reference_tsc()),
        TSC_FREQUENCY => Ok(timers.clock.tsc_hz()),
        APIC_FREQUENCY => Ok(reference::APIC_HZ),
        SCONTROL..=EOM | SINT0..=SINT15 => synic.read(msr),
        STIMER0_CONFIG..=STIMER3_COUNT => Ok(timers.read(msr - STIMER0_CONFIG)),
        _ => Err(Gp),
    }
}

/// WRMSR by the guest of any MSR from 4000_0000h to 4000_01FFh.
///
/// # Errors
/// `#GP`, and nothing changes, if the MSR is not offered or not writable, or the value is not
/// allowed.
#[inline(never)]
pub fn write_msr(
    partition: &mut Partition,
    synic: &mut Synic,
    timers: &mut Timers,
    inhibits: &mut Inhibits,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<Effect, Gp> {
    offered(partition, msr)?;
    match msr {
        GUEST_OS_ID => {
            partition.set_guest_os_id(value);
            Ok(Effect::None)
        }
        HYPERCALL => partition.set_hypercall(value),
        REFERENCE_TSC => Ok(partition.set_reference_tsc(value)),
        SCONTROL..=EOM | SINT0..=SINT15 => synic.write(partition, inhibits, msr, value),
        STIMER0_CONFIG..=STIMER3_COUNT => {
            let is_config = (msr - STIMER0_CONFIG).is_multiple_of(2);
            // As under QEMU's `hv-enforce-cpuid` (HV-145).
            if is_config && value & timer::DIRECT != 0 && !partition.offers(HyperV::STIMER_DIRECT) {
                return Err(Gp);
            }
            timers.write(msr - STIMER0_CONFIG, value, now);
            Ok(Effect::TimerChanged)
        }
        _ => Err(Gp),
    }
}
