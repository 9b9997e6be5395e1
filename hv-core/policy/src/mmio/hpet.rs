//! Accesses to the HPET's page: loads and stores of 4 and 8 bytes.

use super::{FETCH, TABLE_WALK, names_unsaved};
use crate::decode::Operation;
use crate::handle::{Handled, Next, Stop};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

/// An access at EXITINFO2. It is counted under its whole address: the page's offsets are the APIC's.
#[inline(never)]
pub(super) fn access<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    saved: bool,
) -> Handled {
    let address = vmcb.control.exit_info_2;
    // As for the other devices: what has no instruction behind it cannot be emulated.
    let walk =
        vmcb.control.exit_info_1 & (TABLE_WALK | FETCH) != 0 || vcpu.events.interrupted.valid();
    let decoded =
        if walk { None } else { vcpu.decoder.decode(memory, vmcb.save.cr3, vmcb.save.rip) };
    let Some(decoded) = decoded else {
        return Handled::stop(ExitKey::plain(exit::NPF), Stop::CannotEmulate);
    };
    if names_unsaved(decoded) && !saved {
        return Handled { key: ExitKey::plain(exit::NPF), next: Next::Registers };
    }
    let (offset, size, now) = (address as u16 & 0xfff, decoded.size(), vm.clock.at(at));
    let write = !matches!(decoded.operation, Operation::Load | Operation::LoadSigned);
    let key = ExitKey::access(exit::NPF, address as u32, write);
    match (decoded.operation, size) {
        (Operation::Load, 4 | 8) => {
            let value = vm.with_clocks(vcpu, now, |devices| devices.hpet.read(offset, size, now));
            vcpu.gprs.write_register(vmcb, decoded.register, decoded.width(), value);
        }
        (Operation::Store | Operation::StoreImmediate, 4 | 8) => {
            let value = match decoded.operation {
                Operation::Store => *vcpu.gprs.register(vmcb, decoded.register),
                // The processor extends it by its sign.
                _ => i64::from(decoded.immediate as i32) as u64,
            };
            let value = if size == 4 { value & 0xffff_ffff } else { value };
            vm.with_clocks(vcpu, now, |devices| devices.hpet.write(offset, size, value, now));
        }
        _ => return Handled::stop(key, Stop::CannotEmulate),
    }
    vmcb.skip(u64::from(decoded.length));
    Handled::enter(key)
}
