//! I/O ports: RTC, PICs, PIT and ACPI's timer; nothing else is there.

use crate::handle::{Handled, Stop};
use crate::pit::{CONTROL_PORT, FIRST_PORT, SPEAKER_PORT};
use crate::pm_timer;
use crate::rtc::{DATA_PORT, INDEX_PORT};
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use bitfield_struct::bitfield;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::plan::Seed;
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
        0x20 | 0x21 | 0xa0 | 0xa1 | 0x4d0 | 0x4d1 => read_pic(vm, vcpu, port, now),
        FIRST_PORT..=CONTROL_PORT | SPEAKER_PORT | pm_timer::PORT..=pm_timer::LAST_PORT => {
            read_clock(vm, vcpu, port, now)
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
        0x20 | 0x21 | 0xa0 | 0xa1 | 0x4d0 | 0x4d1 => write_pic(vm, vcpu, port, value, now),
        FIRST_PORT..=CONTROL_PORT | SPEAKER_PORT => {
            vm.with_clocks(vcpu, now, |devices| devices.pit.write(port, value, now));
        }
        _ => {}
    }
}

#[inline(never)]
fn read_pic(vm: &mut Vm, vcpu: &mut Vcpu, port: u16, now: Ns) -> u8 {
    let value = vm.with_devices(vcpu, now, |devices| devices.pic.read(port));
    // A poll ends what it reports.
    vm.tell_pit(vcpu);
    value
}

#[inline(never)]
fn write_pic(vm: &mut Vm, vcpu: &mut Vcpu, port: u16, value: u8, now: Ns) {
    vm.with_devices(vcpu, now, |devices| devices.pic.write(port, value));
    vm.tell_pit(vcpu);
}

/// The clocks that are not asked all the time.
#[cold]
#[inline(never)]
fn read_clock(vm: &mut Vm, vcpu: &mut Vcpu, port: u16, now: Ns) -> u8 {
    if port < pm_timer::PORT {
        return vm.with_clocks(vcpu, now, |devices| devices.pit.read(port, now));
    }
    let error = if vm.seed == Some(Seed::PmTimerFast) { now.0 / 1000 } else { 0 };
    pm_timer::read(port, now.after(error))
}
