//! Control registers: CR8 where its writes exit, and CR0 and CR4, which the guest may not set to
//! anything that its machine does not have.

use crate::decode::Operation;
use crate::events;
use crate::fault::Gp;
use crate::handle::{Handled, Stop, finish};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use trapline_abi::exit::ExitKey;
use trapline_defs::msr::efer;
use trapline_defs::vmcb::Vmcb;

const CR0_PE: u64 = 1;
const CR0_ET: u64 = 1 << 4;
const CR0_NW: u64 = 1 << 29;
const CR0_CD: u64 = 1 << 30;
const CR0_PG: u64 = 1 << 31;
/// PE MP EM TS ET NE, WP, AM, NW CD PG.
const CR0_DEFINED: u64 = 0x3f | 1 << 16 | 1 << 18 | 7 << 29;
const CR4_PSE: u64 = 1 << 4;
const CR4_PAE: u64 = 1 << 5;
const CR4_PGE: u64 = 1 << 7;
/// VME PVI TSD DE PSE PAE MCE PGE PCE OSFXSR OSXMMEXCPT: what the guest's CPUID offers.
const CR4_OFFERED: u64 = 0x7ff;

/// An access to a control register that exited.
pub fn access<M: GuestMemory>(
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    key: ExitKey,
) -> Handled {
    let decoded = vcpu.decoder.decode(memory, vmcb.save.cr3, vmcb.save.rip);
    let Some(decoded) = decoded else { return Handled::stop(key, Stop::CannotEmulate) };
    let result = match decoded.operation {
        Operation::WriteControl => {
            let value = *vcpu.gprs.register(vmcb, decoded.register);
            write(vcpu, vmcb, decoded.control_register(), value)
        }
        Operation::ReadControl => {
            let value = match decoded.control_register() {
                0 => vmcb.save.cr0,
                3 => vmcb.save.cr3,
                4 => vmcb.save.cr4,
                8 => u64::from(vcpu.lapic.tpr() >> 4),
                _ => return Handled::stop(key, Stop::CannotEmulate),
            };
            *vcpu.gprs.register(vmcb, decoded.register) = value;
            Ok(())
        }
        _ => return Handled::stop(key, Stop::CannotEmulate),
    };
    finish(vcpu, vmcb, u64::from(decoded.length), result);
    Handled::enter(key)
}

fn write(vcpu: &mut Vcpu, vmcb: &mut Vmcb, control: u8, value: u64) -> Result<(), Gp> {
    match control {
        0 => {
            let bad = value & !CR0_DEFINED != 0
                || value & CR0_PG != 0 && value & CR0_PE == 0
                || value & CR0_NW != 0 && value & CR0_CD == 0
                // Payloads live in 64-bit mode; there is no way out of it by CR0 alone.
                || value & CR0_PG == 0 && vmcb.save.efer & efer::LMA != 0;
            if bad {
                return Err(Gp);
            }
            vmcb.save.cr0 = value | CR0_ET;
        }
        4 => {
            let leaves_pae = value & CR4_PAE == 0 && vmcb.save.efer & efer::LMA != 0;
            if value & !CR4_OFFERED != 0 || leaves_pae {
                return Err(Gp);
            }
            if (value ^ vmcb.save.cr4) & (CR4_PSE | CR4_PAE | CR4_PGE) != 0 {
                // The instruction flushes the TLB; a CR4 that comes with the VMCB does not.
                events::flush_tlb(vcpu, vmcb);
            }
            vmcb.save.cr4 = value;
        }
        8 => {
            if value > 15 {
                return Err(Gp);
            }
            vcpu.lapic.set_tpr((value as u8) << 4);
            vmcb.control.v_intr.set_v_tpr(value as u8);
        }
        _ => return Err(Gp),
    }
    Ok(())
}
