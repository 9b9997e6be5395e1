use crate::avic::features::Features;
use crate::avic::tables::Tables;
use crate::cpuid::Host;
use crate::hpet::register;
use crate::lapic::Vectors;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::{GuestClock, Shared, Vm};
use trapline_abi::machine::Machine;
use trapline_defs::apic::{ioapic, offset};

const PIT_VECTOR: u8 = 0x90;
const HPET_VECTOR: u8 = 0x91;
const HPET_PIN: u8 = 20;
const MS: u64 = 1_000_000;

struct Guest {
    vm: Vm<'static>,
    vcpu: Vcpu,
}

impl Guest {
    /// Its APIC is on, pins 2 and 20 are open, and so is line 0 of the PIC.
    fn new(pit_reinject: bool) -> Self {
        let machine = Machine { pit_reinject, ..Machine::PLAIN };
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(&machine, None, 4 << 20)));
        let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
        let clock = GuestClock { offset: 0, khz: MS as u32 };
        let mut vm = Vm::new(shared, tables, machine, None, 4 << 20, clock, 1);
        vm.use_features(Features::default());
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
        let vcpu = Vcpu::new(&machine, &host, MS as u32, 0, 1);
        let mut guest = Self { vm, vcpu };
        let _ = guest.vcpu.lapic.write_mmio(offset::SVR, 0x1ff, Ns(0));
        guest.vm.mailbox(0).publish(guest.vcpu.lapic.identity());
        for (pin, vector) in [(2, PIT_VECTOR), (HPET_PIN, HPET_VECTOR)] {
            let mut devices = guest.vm.devices();
            let _ = devices.ioapic.write_mmio(ioapic::SELECT, 4, (0x10 + 2 * pin).into());
            let _ = devices.ioapic.write_mmio(ioapic::WINDOW, 4, vector.into());
        }
        crate::msr::map_changed(&guest.vm, &mut guest.vcpu);
        guest
    }

    fn start_pit(&mut self, clocks: u16) {
        let [low, high] = clocks.to_le_bytes();
        for (port, value) in [(0x43, 0x34), (0x40, low), (0x40, high)] {
            self.vm.with_clocks(&mut self.vcpu, Ns(0), |d| d.pit.write(port, value, Ns(0)));
        }
    }

    fn pass(&mut self, until: u64) {
        self.vm.advance(&mut self.vcpu, Ns(until));
    }

    fn waits(&self, vector: u8) -> bool {
        Vectors(*self.vcpu.lapic.irr()).has(vector)
    }

    /// The vector is taken, and ended.
    fn take(&mut self, vector: u8) {
        assert!(self.waits(vector), "{vector:#x}");
        self.vcpu.lapic.acknowledge(vector, false);
        if let Some(eoi) = self.vcpu.lapic.eoi() {
            self.vm.end_of_interrupt(&mut self.vcpu, eoi);
        }
    }
}

#[test]
fn the_pit_is_line_0_of_the_pic_and_pin_2_of_the_ioapic() {
    let mut guest = Guest::new(false);
    guest.start_pit(11_932);
    guest.pass(9 * MS);
    assert!(!guest.waits(PIT_VECTOR) && !guest.vm.pic_output());
    guest.pass(11 * MS);
    assert!(guest.waits(PIT_VECTOR) && guest.vm.pic_output());
    assert_eq!(guest.vm.devices().pic.read(0x20), 1, "request of line 0");
}

#[test]
fn the_deadline_of_all_devices_is_the_first_of_them() {
    let mut guest = Guest::new(false);
    assert_eq!(guest.vm.next_deadline(), Ns::NEVER);
    guest.start_pit(11_932);
    let pit = guest.vm.next_deadline();
    assert!((9 * MS..11 * MS).contains(&pit.0));
    // An RTC that ticks at 1024 Hz comes first, and its reads do not forget the PIT.
    for (index, value) in [(0x0a, 0x26), (0x0b, 0x42)] {
        guest.vm.with_devices(&mut guest.vcpu, Ns(0), |d| {
            d.rtc.write(0x70, index, Ns(0));
            d.rtc.write(0x71, value, Ns(0));
        });
    }
    assert!(guest.vm.next_deadline().0 < MS);
    guest.pass(5 * MS);
    assert_eq!(guest.vm.next_deadline(), pit, "the RTC waits for a read of C");
}

#[test]
fn a_level_triggered_hpet_timer_holds_its_pin() {
    let mut guest = Guest::new(false);
    let level = 1 << 1 | 1 << 2 | u64::from(HPET_PIN) << 9;
    guest.vm.with_clocks(&mut guest.vcpu, Ns(0), |d| {
        // Level-triggered at both ends.
        let _ = d.ioapic.write_mmio(ioapic::WINDOW, 4, 1 << 15 | u32::from(HPET_VECTOR));
        d.hpet.write(register::CONFIGURATION, 4, 1, Ns(0));
        d.hpet.write(register::TIMER, 4, level, Ns(0));
        d.hpet.write(register::TIMER + register::COMPARATOR, 8, 100_000, Ns(0));
    });
    crate::msr::map_changed(&guest.vm, &mut guest.vcpu);
    guest.pass(MS);
    // Ended with the line high it comes again, and not once that is low.
    guest.take(HPET_VECTOR);
    assert!(guest.waits(HPET_VECTOR));
    guest.vm.with_clocks(&mut guest.vcpu, Ns(MS), |d| d.hpet.write(register::STATUS, 4, 1, Ns(MS)));
    guest.take(HPET_VECTOR);
    assert!(!guest.waits(HPET_VECTOR));
}

#[test]
fn the_ioapics_eoi_brings_the_next_tick_that_was_lost() {
    for (reinjects, expected) in [(false, 1), (true, 5)] {
        let mut guest = Guest::new(reinjects);
        guest.start_pit(1193);
        guest.pass(5 * MS + MS / 2);
        let mut taken = 0;
        while guest.waits(PIT_VECTOR) {
            guest.take(PIT_VECTOR);
            taken += 1;
        }
        assert_eq!(taken, expected);
    }
}
