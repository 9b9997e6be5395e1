//! Nested page faults: the pages of APIC, IOAPIC and HPET, evicted RAM, and everything that is not there.

mod hpet;

use crate::avic::registers;
use crate::avic::tables::{LEAF_PRESENT, LEAF_WRITABLE};
use crate::decode::{Decoded, Operation};
use crate::handle::{Handled, Next, Stop};
use crate::lapic::Mode;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::apic::offset::{EOI, TPR};
use trapline_defs::vmcb::Vmcb;

/// Where the IOAPIC is.
const IOAPIC_PAGE: u64 = 0xfec0_0000;
/// EXITINFO1 bit 33: the guest's own page-table walk faulted, not its access.
const TABLE_WALK: u64 = 1 << 33;
/// EXITINFO1 bit 4: an instruction fetch.
const FETCH: u64 = 1 << 4;

/// A nested page fault. EXITINFO2 is the guest-physical address. `saved` says whether all registers
/// are up to date; [`Next::Registers`] asks for them.
#[inline(always)]
pub fn fault<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    saved: bool,
) -> Handled {
    let address = vmcb.control.exit_info_2;
    if address & !0xfff == vcpu.apic_page {
        // APIC registers by their offset, as everybody names them.
        let offset = address as u32 & 0xfff;
        return access(vm, vcpu, vmcb, memory, at, (Device::Apic, offset), saved);
    }
    beside_apic(vm, vcpu, vmcb, memory, at, saved)
}

#[cold]
#[inline(never)]
fn beside_apic<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    saved: bool,
) -> Handled {
    let address = vmcb.control.exit_info_2;
    if address & !0xfff == IOAPIC_PAGE {
        return access(vm, vcpu, vmcb, memory, at, (Device::Ioapic, address as u32), saved);
    }
    if address & !0xfff == crate::hpet::PAGE {
        return hpet::access(vm, vcpu, vmcb, memory, at, saved);
    }
    let frame = ExitKey::number(exit::NPF, (address >> 12) as u32);
    if vcpu.avic.active && vcpu.lapic.mode() == Mode::XApic && is_apic_page(vcpu, address) {
        // Once per VM and activation (INH-1): the leaf stays until AVIC is inhibited.
        vm.avic.set_leaf(LEAF_PRESENT | LEAF_WRITABLE);
        return Handled { key: frame, next: Next::MapApic };
    }
    if address < vm.memory {
        return Handled { key: frame, next: Next::Map };
    }
    Handled::stop(frame, Stop::BadMemory)
}

fn is_apic_page(vcpu: &Vcpu, address: u64) -> bool {
    address & !0xfff == vcpu.lapic.base_address()
}

/// Emulates the access that AVIC faulted (exit 402h), which names no linear address: the instruction
/// at RIP is decoded, and works on the software APIC.
pub fn unaccelerated<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    offset: u16,
    at: u64,
    saved: bool,
) -> Next {
    let Some(decoded) = vcpu.decoder.decode(memory, vmcb.save.cr3, vmcb.save.rip) else {
        return Next::Stop(Stop::CannotEmulate);
    };
    if names_unsaved(decoded) && !saved {
        return Next::Registers;
    }
    let page = vm.avic.page(vcpu.index);
    registers::take_over(&mut vcpu.lapic, page);
    let next = emulate(vm, vcpu, vmcb, Device::Apic, offset, decoded, at);
    registers::hand_back(&mut vcpu.lapic, page);
    vmcb.skip(u64::from(decoded.length));
    next.unwrap_or(Next::Stop(Stop::CannotEmulate))
}

#[derive(Clone, Copy)]
enum Device {
    Apic,
    Ioapic,
}

/// Whether the instruction names one of the registers that the world switch leaves in the processor
/// (RBP, R12 to R15).
#[inline(always)]
pub fn names_unsaved(decoded: Decoded) -> bool {
    const UNSAVED: u32 = 1 << 5 | 0xf << 12;
    decoded.operation != Operation::StoreImmediate && UNSAVED >> decoded.register & 1 != 0
}

/// An access to a device's page, counted under `number`, whose low 12 bits are the offset.
#[inline(always)]
fn access<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    (device, number): (Device, u32),
    saved: bool,
) -> Handled {
    let (cr3, rip) = (vmcb.save.cr3, vmcb.save.rip);
    // A page-table walk that ends at a device has no instruction behind it to emulate.
    // Neither has a fetch, nor the delivery of an event onto a stack there.
    let walk =
        vmcb.control.exit_info_1 & (TABLE_WALK | FETCH) != 0 || vcpu.events.interrupted.valid();
    let decoded = if walk { None } else { vcpu.decoder.decode(memory, cr3, rip) };
    let Some(decoded) = decoded else {
        return Handled::stop(ExitKey::plain(exit::NPF), Stop::CannotEmulate);
    };
    if names_unsaved(decoded) && !saved {
        return Handled { key: ExitKey::plain(exit::NPF), next: Next::Registers };
    }
    let write = !matches!(decoded.operation, Operation::Load | Operation::LoadSigned);
    let key = ExitKey::access(exit::NPF, number, write);
    match emulate(vm, vcpu, vmcb, device, number as u16 & 0xfff, decoded, at) {
        Some(next) => {
            vmcb.skip(u64::from(decoded.length));
            Handled { key, next }
        }
        None => Handled::stop(key, Stop::CannotEmulate),
    }
}

/// Carries the access out; `None` where the policy does not know how.
#[inline(always)]
fn emulate(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    device: Device,
    offset: u16,
    decoded: Decoded,
    at: u64,
) -> Option<Next> {
    let Decoded { operation, register, .. } = decoded;
    let write = |vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, value: u64| {
        // As KVM: what is not 32 bits wide is dropped.
        if decoded.size() == 4 {
            write(vm, vcpu, vmcb, device, offset, value as u32, at)
        } else {
            Next::Enter
        }
    };
    // Most accesses read a register whole, end an interrupt or move TPR: those take the short way.
    if decoded.is_plain_load() {
        let value = read(vm, vcpu, device, offset, at);
        *vcpu.gprs.register(vmcb, register) = u64::from(value);
        return Some(Next::Enter);
    }
    let stores = matches!(operation, Operation::Store | Operation::StoreImmediate);
    if let Device::Apic = device
        && stores
        && decoded.size() == 4
    {
        if offset == EOI {
            if let Some(eoi) = vcpu.lapic.eoi()
                && eoi.ioapic
            {
                vm.end_of_interrupt(vcpu, eoi);
            }
            return Some(Next::Enter);
        }
        if offset == TPR {
            let value = match operation {
                Operation::Store => *vcpu.gprs.register(vmcb, register) as u8,
                _ => decoded.immediate as u8,
            };
            vcpu.lapic.set_tpr(value);
            vmcb.control.v_intr.set_v_tpr(value >> 4);
            return Some(Next::Enter);
        }
    }
    match operation {
        Operation::Store => {
            let value = *vcpu.gprs.register(vmcb, register);
            Some(write(vm, vcpu, vmcb, value))
        }
        Operation::StoreImmediate => Some(write(vm, vcpu, vmcb, u64::from(decoded.immediate))),
        Operation::Load | Operation::LoadSigned => {
            let value = read(vm, vcpu, device, offset, at);
            complete_load(vcpu, vmcb, decoded, value);
            Some(Next::Enter)
        }
        Operation::Exchange => {
            let new = *vcpu.gprs.register(vmcb, register);
            let old = read(vm, vcpu, device, offset, at);
            let next = write(vm, vcpu, vmcb, new);
            vcpu.gprs.write_register(vmcb, register, decoded.width(), u64::from(old));
            Some(next)
        }
        Operation::StoreString => {
            let value = vmcb.save.rax;
            let next = write(vm, vcpu, vmcb, value);
            if step_string(vcpu, vmcb, decoded) {
                // The caller moves RIP behind the instruction, which is not done.
                vmcb.save.rip = vmcb.save.rip.wrapping_sub(u64::from(decoded.length));
            }
            Some(next)
        }
        Operation::WriteControl | Operation::ReadControl => None,
    }
}

/// One iteration of a string instruction: whether another one follows. (A REP with RCX 0 touches no
/// memory, so it does not get here.)
#[cold]
pub fn step_string(vcpu: &mut Vcpu, vmcb: &Vmcb, decoded: Decoded) -> bool {
    const DIRECTION: u64 = 1 << 10;
    let size = u64::from(decoded.size());
    let gprs = &mut vcpu.gprs;
    gprs.rdi = if vmcb.save.rflags & DIRECTION == 0 {
        gprs.rdi.wrapping_add(size)
    } else {
        gprs.rdi.wrapping_sub(size)
    };
    if decoded.immediate == 0 {
        return false;
    }
    gprs.rcx = gprs.rcx.wrapping_sub(1);
    gprs.rcx != 0
}

/// Ends a load: what was read goes into the instruction's register.
#[inline]
pub fn complete_load(vcpu: &mut Vcpu, vmcb: &mut Vmcb, decoded: Decoded, value: u32) {
    let value = extend(value, decoded.size(), decoded.operation == Operation::LoadSigned);
    vcpu.gprs.write_register(vmcb, decoded.register, decoded.width(), value);
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

#[inline(always)]
fn read(vm: &mut Vm, vcpu: &mut Vcpu, device: Device, offset: u16, at: u64) -> u32 {
    match device {
        Device::Apic => vcpu.lapic.read_mmio(offset, vm.clock.at(at)),
        Device::Ioapic => vm.devices().ioapic.read_mmio(offset, 4),
    }
}

#[inline(always)]
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
            {
                let ioapic = &mut vm.devices().ioapic;
                if let Some(message) = ioapic.write_mmio(offset, 4, value) {
                    vm.deliver(vcpu, ioapic, message);
                }
            }
            // Selecting a register changes no entry.
            if offset & 0xff == trapline_defs::apic::ioapic::WINDOW {
                crate::msr::map_changed(vm, vcpu);
                vm.announce_entries(vcpu);
                vm.tell_pit(vcpu);
            }
            Next::Enter
        }
    }
}
