//! Nested page faults: the APIC and IOAPIC pages, evicted RAM, and everything that is not there.

use crate::decode::{Decoded, Operation};
use crate::handle::{Handled, Next, Stop};
use crate::lapic::Mode;
use crate::memory::{GuestMemory, fetch};
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

/// Where the IOAPIC is.
const IOAPIC_PAGE: u64 = 0xfec0_0000;
/// EXITINFO1 bit 33: the guest's own page-table walk faulted, not its access.
const TABLE_WALK: u64 = 1 << 33;

/// A nested page fault. EXITINFO2 is the guest-physical address.
#[inline]
pub fn fault<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    let address = vmcb.control.exit_info_2;
    let page = address & !0xfff;
    let frame = ExitKey::number(exit::NPF, (address >> 12) as u32);
    if address < vm.memory {
        return Handled { key: frame, next: Next::Map };
    }
    let device = if page == vcpu.lapic.base_address() && vcpu.lapic.mode() == Mode::XApic {
        Device::Apic
    } else if page == IOAPIC_PAGE {
        Device::Ioapic
    } else {
        return Handled::stop(frame, Stop::BadMemory);
    };
    let Some(decoded) = (vmcb.control.exit_info_1 & TABLE_WALK == 0)
        .then(|| fetch(memory, vmcb.save.cr3, vmcb.save.rip))
        .flatten()
        .and_then(|bytes| vcpu.decoder.decode(vmcb.save.rip, bytes))
    else {
        return Handled::stop(frame, Stop::CannotEmulate);
    };
    let offset = (address & 0xfff) as u16;
    let write = !matches!(decoded.operation, Operation::Load { .. });
    // APIC registers by their offset, as everybody names them.
    let number = match device {
        Device::Apic => u32::from(offset),
        Device::Ioapic => address as u32,
    };
    let key = ExitKey::access(exit::NPF, number, write);
    match emulate(vm, vcpu, vmcb, device, offset, decoded, at) {
        Some(next) => {
            vmcb.skip(u64::from(decoded.length));
            Handled { key, next }
        }
        None => Handled::stop(key, Stop::CannotEmulate),
    }
}

#[derive(Clone, Copy)]
enum Device {
    Apic,
    Ioapic,
}

/// Carries the access out; `None` where the policy does not know how.
#[inline]
fn emulate(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    device: Device,
    offset: u16,
    decoded: Decoded,
    at: u64,
) -> Option<Next> {
    let size = decoded.size;
    match decoded.operation {
        Operation::Store { register } => {
            let value = *vcpu.gprs.register(vmcb, register);
            return Some(write(vm, vcpu, vmcb, device, offset, value as u32, at));
        }
        Operation::StoreImmediate { value } => {
            return Some(write(vm, vcpu, vmcb, device, offset, value, at));
        }
        Operation::Load { register, width, sign } => {
            let value = read(vm, vcpu, device, offset, at);
            let value = extend(value, size, sign);
            vcpu.gprs.write_register(vmcb, register, width, value);
        }
        Operation::Exchange { register } => {
            let new = *vcpu.gprs.register(vmcb, register);
            let old = read(vm, vcpu, device, offset, at);
            let next = write(vm, vcpu, vmcb, device, offset, new as u32, at);
            vcpu.gprs.write_register(vmcb, register, size, u64::from(old));
            return Some(next);
        }
        Operation::WriteControl { .. } | Operation::ReadControl { .. } => return None,
    }
    Some(Next::Enter)
}

fn extend(value: u32, size: u8, sign: bool) -> u64 {
    match (size, sign) {
        (1, false) => u64::from(value as u8),
        (2, false) => u64::from(value as u16),
        (1, true) => i64::from(value as i8) as u64,
        (2, true) => i64::from(value as i16) as u64,
        (4, true) => i64::from(value as i32) as u64,
        _ => u64::from(value),
    }
}

#[inline]
fn read(vm: &mut Vm, vcpu: &mut Vcpu, device: Device, offset: u16, at: u64) -> u32 {
    match device {
        Device::Apic => vcpu.lapic.read_mmio(offset, vm.clock.at(at)),
        Device::Ioapic => vm.ioapic.read_mmio(offset, 4),
    }
}

#[inline]
fn write(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    device: Device,
    offset: u16,
    value: u32,
    at: u64,
) -> Next {
    match device {
        Device::Apic => {
            let effect = vcpu.lapic.write_mmio(offset, value, vm.clock.at(at));
            crate::msr::carry_out(vm, vcpu, vmcb, effect)
        }
        Device::Ioapic => {
            if let Some(message) = vm.ioapic.write_mmio(offset, 4, value) {
                vm.deliver(vcpu, message);
            }
            crate::msr::map_changed(vm, vcpu);
            Next::Enter
        }
    }
}
