//! Hyper-V's interface: identification, hypercall page, reference counter and SynIC.
//!
//! [`Partition`] is what a VM has once, [`Synic`] what each vCPU has; the MSRs of both are read and
//! written here. Behaviour is KVM 6.12's, with the MSRs that the guest's CPUID does not offer
//! refused as under `hv-enforce-cpuid`. Synthetic timers, the VP assist page and the APIC MSRs
//! are not offered.
//!
//! Nothing here touches guest memory: a write answers with the [`Effect`] that the caller owes.

mod auto_eoi;
pub mod message;
mod partition;
mod synic;
#[cfg(test)]
mod tests;

use crate::fault::Gp;
use crate::inhibit::Inhibits;
use crate::time::Ns;
pub use auto_eoi::DecrementRule;
pub use partition::Partition;
pub use synic::Synic;

/// GUEST_OS_ID: who the guest says it is.
pub const GUEST_OS_ID: u32 = 0x4000_0000;
/// HYPERCALL: where the hypercall page is.
pub const HYPERCALL: u32 = 0x4000_0001;
/// VP_INDEX: which vCPU this is.
pub const VP_INDEX: u32 = 0x4000_0002;
/// TIME_REF_COUNT: guest time in units of 100 ns.
pub const TIME_REF_COUNT: u32 = 0x4000_0020;
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
        bytes: [u8; 4],
    },
    /// The page at that guest-physical address, which is in RAM, becomes zero.
    ZeroPage {
        /// Guest-physical address, page-aligned.
        address: u64,
    },
    /// The guest emptied a message slot: senders that wait for one may try again.
    EndOfMessage,
    /// A SINT changed, and with it perhaps the inhibits.
    SintChanged {
        /// How often AVIC was inhibited or released, each time with a kick of every vCPU (INH-1).
        /// Moving the last AutoEOI user from one vector to another does both (HV-111 as KVM has it).
        transitions: u8,
    },
}

/// RDMSR by the guest of any MSR from 4000_0000h to 4000_01FFh.
///
/// # Errors
/// `#GP` if the MSR is not offered (HV-006, HV-021, HV-022).
pub fn read_msr(partition: &Partition, synic: &Synic, msr: u32, now: Ns) -> Result<u64, Gp> {
    if !partition.offered() {
        return Err(Gp);
    }
    match msr {
        GUEST_OS_ID => Ok(partition.guest_os_id()),
        HYPERCALL => Ok(partition.hypercall()),
        VP_INDEX => Ok(synic.vp_index().into()),
        TIME_REF_COUNT => Ok(now.0 / 100),
        SCONTROL..=EOM | SINT0..=SINT15 => synic.read(msr),
        _ => Err(Gp),
    }
}

/// WRMSR by the guest of any MSR from 4000_0000h to 4000_01FFh.
///
/// # Errors
/// `#GP`, and nothing changes, if the MSR is not offered or not writable, or the value is not
/// allowed.
pub fn write_msr(
    partition: &mut Partition,
    synic: &mut Synic,
    inhibits: &mut Inhibits,
    msr: u32,
    value: u64,
) -> Result<Effect, Gp> {
    if !partition.offered() {
        return Err(Gp);
    }
    match msr {
        GUEST_OS_ID => {
            partition.set_guest_os_id(value);
            Ok(Effect::None)
        }
        HYPERCALL => partition.set_hypercall(value),
        SCONTROL..=EOM | SINT0..=SINT15 => synic.write(partition, inhibits, msr, value),
        _ => Err(Gp),
    }
}
