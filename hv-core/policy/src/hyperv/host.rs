//! Writes by the host: how state is put into a VM that is to go on from it, as by KVM_SET_MSRS.
//!
//! They mean the register and nothing beyond it: no page becomes zero, no timer is enabled by its count,
//! nothing interrupts (HV-039). What the VM counts follows, in whatever order vCPUs and MSRs come (HV-117,
//! HV-119).

use super::{
    APIC_FREQUENCY, EOI, EOM, Effect, GUEST_OS_ID, HYPERCALL, ICR, Partition, REFERENCE_TSC, RESET,
    SCONTROL, SIEFP, SIMP, SINT0, SINT15, STIMER0_CONFIG, STIMER3_COUNT, SVERSION, TIME_REF_COUNT,
    TPR, TSC_FREQUENCY, VP_ASSIST_PAGE, VP_INDEX, VP_RUNTIME,
};
use crate::fault::Gp;
use crate::inhibit::Inhibits;
use crate::time::Ns;
use crate::vcpu::Vcpu;

/// Writes an MSR of a vCPU, or of its VM, at guest time `now`; CPUID is not asked. What it answers is owed as
/// after a guest's write, but there is less of it.
///
/// # Errors
/// `#GP`, and nothing changes, for MSRs that are no state of their own, and values that no guest could
/// have written.
pub fn write(
    partition: &mut Partition,
    inhibits: &mut Inhibits,
    vcpu: &mut Vcpu,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<Effect, Gp> {
    match msr {
        GUEST_OS_ID => partition.set_guest_os_id(value),
        // The page comes with memory, but KVM writes the same bytes once more.
        HYPERCALL => return partition.set_hypercall(value),
        REFERENCE_TSC => return Ok(partition.set_reference_tsc(value)),
        VP_RUNTIME => vcpu.runtime.restore(value, now),
        VP_ASSIST_PAGE => return vcpu.assist.write(partition, &mut vcpu.pv_eoi, value),
        SCONTROL | SIEFP | SIMP | SINT0..=SINT15 => {
            let transitions = vcpu.synic.restore(partition, inhibits, msr, value);
            return Ok(Effect::SintChanged { transitions });
        }
        STIMER0_CONFIG..=STIMER3_COUNT => {
            vcpu.stimers.restore(msr - STIMER0_CONFIG, value, now);
            return Ok(Effect::TimerChanged);
        }
        // Read-only to the guest, and what they are: taken if they are the same. RESET and EOM hold nothing.
        VP_INDEX if value != u64::from(vcpu.synic.vp_index()) => return Err(Gp),
        SVERSION if value != 1 => return Err(Gp),
        VP_INDEX | SVERSION | TIME_REF_COUNT | TSC_FREQUENCY | APIC_FREQUENCY | RESET | EOM => {}
        // The local APIC's state is not restored through these.
        EOI | ICR | TPR => return Err(Gp),
        _ => return Err(Gp),
    }
    Ok(Effect::None)
}
