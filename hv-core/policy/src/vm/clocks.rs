//! PIT and HPET: their time, and their lines to the interrupt controllers.
//!
//! Apart from the RTC, whose exits are among those that are counted most: nothing here is on their way.

#[cfg(test)]
mod tests;

use super::{Devices, Vm};
use crate::hpet::{END_PIN, FIRST_PIN};
use crate::time::Ns;
use crate::vcpu::Vcpu;
use core::mem::take;

/// The PIT's line at the PIC.
const PIT_IRQ: u8 = 0;
/// The PIT's pin at the IOAPIC, as QEMU routes it.
const PIT_PIN: u8 = 2;

impl Devices {
    fn tell_pit(&mut self) {
        for seen in [take(&mut self.pic.pit), take(&mut self.ioapic.pit)] {
            if seen.unmasked {
                self.pit.unmasked();
            }
            if seen.ended {
                self.pit.ended();
            }
        }
    }
}

impl Vm<'_> {
    /// Uses PIT or HPET at guest time `now`: what is due happens first, and what changed by the use is
    /// carried to those whom it concerns.
    #[cold]
    #[inline(never)]
    pub fn with_clocks<T>(
        &self,
        vcpu: &mut Vcpu,
        now: Ns,
        use_: impl FnOnce(&mut Devices) -> T,
    ) -> T {
        let mut devices = self.devices();
        self.pass(vcpu, &mut devices, now);
        let result = use_(&mut devices);
        self.carry_clock_lines(vcpu, &mut devices);
        devices.clock_deadline = devices.pit.next_deadline().min(devices.hpet.next_deadline());
        self.set_deadline(vcpu, &devices);
        result
    }

    /// Tells the PIT what the interrupt controllers saw of its interrupt. Where lost ticks are made up
    /// for, it has to hear of it at once: after a write of either of them and after an EOI. (Of an automatic
    /// EOI of the PIC it hears at its next tick; KVM's hears of that at once, too.)
    #[inline]
    pub fn tell_pit(&self, vcpu: &mut Vcpu) {
        if self.machine.pit_reinject {
            self.tell_pit_in(vcpu, &mut self.devices());
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn tell_pit_in(&self, vcpu: &mut Vcpu, devices: &mut Devices) {
        devices.tell_pit();
        self.carry_clock_lines(vcpu, devices);
    }

    /// Lets the time of both pass.
    pub(super) fn pass(&self, vcpu: &mut Vcpu, devices: &mut Devices, now: Ns) {
        devices.tell_pit();
        devices.pit.advance(now);
        devices.hpet.advance(now);
        self.carry_clock_lines(vcpu, devices);
    }

    fn carry_clock_lines(&self, vcpu: &mut Vcpu, devices: &mut Devices) {
        if devices.pit.take_pulse() {
            for level in [true, false] {
                devices.pic.set_line(PIT_IRQ, level);
                self.drive(vcpu, devices, PIT_PIN, level);
            }
            self.carry_pic_output(vcpu, devices);
        }
        let (pulses, lines) = (devices.hpet.take_pulses(), devices.hpet.lines());
        for pin in FIRST_PIN..END_PIN {
            if pulses >> pin & 1 != 0 {
                self.drive(vcpu, devices, pin, true);
            }
            self.drive(vcpu, devices, pin, lines >> pin & 1 != 0);
        }
    }

    fn drive(&self, vcpu: &mut Vcpu, devices: &mut Devices, pin: u8, level: bool) {
        if let Some(message) = devices.ioapic.set_line(pin, level) {
            self.deliver(vcpu, &mut devices.ioapic, message);
        }
    }
}
