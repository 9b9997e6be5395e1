//! I/O ports: the RTC and the PICs; nothing else is there.

use crate::handle::{Handled, Stop};
use crate::rtc::{DATA_PORT, INDEX_PORT};
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use bitfield_struct::bitfield;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

/// EXITINFO1 of an IOIO exit (APM §15.10.2).
#[bitfield(u64)]
struct IoInfo {
    /// IN.
    input: bool,
    _rsvd_1: bool,
    /// INS or OUTS.
    string: bool,
    /// REP.
    repeat: bool,
    #[bits(3)]
    size: u8,
    #[bits(3)]
    address_size: u8,
    #[bits(3)]
    segment: u8,
    #[bits(3)]
    _rsvd_15_13: u8,
    port: u16,
    _rsvd_63_32: u32,
}

/// IN or OUT. EXITINFO2 is the next RIP, on every processor.
#[inline(never)]
pub fn access(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, at: u64) -> Handled {
    let info = IoInfo::from_bits(vmcb.control.exit_info_1);
    let (first, size) = (info.port(), info.size());
    let key = ExitKey::access(exit::IOIO, u32::from(first), !info.input());
    if info.string() {
        return Handled::stop(key, Stop::CannotEmulate);
    }
    let now = vm.clock.at(at);
    if info.input() {
        let mut value = 0;
        for byte in 0..u16::from(size) {
            let read = read(vm, vcpu, first.wrapping_add(byte), now);
            value |= u64::from(read) << (byte * 8);
        }
        vcpu.gprs.write_register(vmcb, 0, size, value);
    } else {
        for byte in 0..u16::from(size) {
            let value = (vmcb.save.rax >> (byte * 8)) as u8;
            write(vm, vcpu, first.wrapping_add(byte), value, now);
        }
    }
    let length = vmcb.control.exit_info_2.wrapping_sub(vmcb.save.rip);
    vmcb.skip(length);
    Handled::enter(key)
}

fn read(vm: &mut Vm, vcpu: &mut Vcpu, port: u16, now: Ns) -> u8 {
    match port {
        INDEX_PORT | DATA_PORT => vm.with_devices(vcpu, now, |devices| devices.rtc.read(port, now)),
        0x20 | 0x21 | 0xa0 | 0xa1 | 0x4d0 | 0x4d1 => {
            vm.with_devices(vcpu, now, |devices| devices.pic.read(port))
        }
        // Nobody drives the bus.
        _ => 0xff,
    }
}

fn write(vm: &mut Vm, vcpu: &mut Vcpu, port: u16, value: u8, now: Ns) {
    match port {
        INDEX_PORT | DATA_PORT => {
            vm.with_devices(vcpu, now, |devices| devices.rtc.write(port, value, now));
        }
        0x20 | 0x21 | 0xa0 | 0xa1 | 0x4d0 | 0x4d1 => {
            vm.with_devices(vcpu, now, |devices| devices.pic.write(port, value));
        }
        _ => {}
    }
}
