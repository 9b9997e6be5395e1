//! When AVIC has to be off (rules AVH-016 to AVH-020).

use super::bench::{Bench, features};
use crate::inhibit::Reason;
use crate::time::Ns;
use trapline_abi::plan::Policy;
use trapline_defs::apic::{base as base_bits, offset};

fn has(bench: &Bench, reason: Reason) -> bool {
    bench.vm.devices().inhibits.has(reason)
}

fn write(bench: &mut Bench, n: u32, register: u16, value: u32) {
    let _ = bench.vcpus[n as usize].lapic.write_mmio(register, value, Ns(0));
    bench.map_changed(n);
}

fn is_on(bench: &mut Bench, n: u32) -> bool {
    bench.vmcb(n).control.v_intr.avic_enable()
}

#[test]
fn avh_016_ids_that_are_not_one_to_one_turn_avic_off() {
    let mut bench = Bench::new(2);
    write(&mut bench, 1, offset::ID, 0);
    assert!(has(&bench, Reason::PhysicalIdAliased) && has(&bench, Reason::ApicIdModified));
    bench.enter_all();
    assert!(!is_on(&mut bench, 0) && !is_on(&mut bench, 1));
    // An id of its own again, but not the one that it was made with.
    write(&mut bench, 1, offset::ID, 5 << 24);
    assert!(!has(&bench, Reason::PhysicalIdAliased) && has(&bench, Reason::ApicIdModified));
}

#[test]
fn avh_017_logical_ids_that_are_not_one_to_one_turn_avic_off() {
    let mut bench = Bench::new(3);
    for (n, ldr) in [(0, 1), (1, 2), (2, 4)] {
        write(&mut bench, n, offset::LDR, ldr << 24);
        let entry = bench.vm.avic.logical_entry(n as u16);
        assert!(entry.valid() && u32::from(entry.guest_id()) == n);
    }
    assert!(!has(&bench, Reason::LogicalIdAliased));
    // The bit of another one: its entry stays with whoever wrote last, and AVIC goes off.
    write(&mut bench, 2, offset::LDR, 2 << 24);
    assert!(has(&bench, Reason::LogicalIdAliased));
    assert!(!bench.vm.avic.logical_entry(2).valid());
    write(&mut bench, 2, offset::LDR, 4 << 24);
    assert!(!has(&bench, Reason::LogicalIdAliased));
    // Two bits have no entry.
    write(&mut bench, 2, offset::LDR, 0xc << 24);
    assert!(has(&bench, Reason::LogicalIdAliased) && !bench.vm.avic.logical_entry(2).valid());
    // None at all is no reason: guests have none at boot.
    write(&mut bench, 2, offset::LDR, 0);
    assert!(!has(&bench, Reason::LogicalIdAliased));
}

#[test]
fn avh_017_a_new_format_takes_the_entry_away_until_the_ldr_is_written() {
    let mut bench = Bench::new(1);
    write(&mut bench, 0, offset::LDR, 1 << 24);
    write(&mut bench, 0, offset::DFR, 0x0fff_ffff);
    assert!(!bench.vm.avic.logical_entry(0).valid());
    // Cluster 3, third bit: entry 14 (AVIC-133).
    write(&mut bench, 0, offset::LDR, 0x34 << 24);
    assert!(bench.vm.avic.logical_entry(14).valid());
    // There is no cluster 15.
    write(&mut bench, 0, offset::LDR, 0xf4 << 24);
    assert!((0..1024).all(|index| !bench.vm.avic.logical_entry(index).valid()));
}

#[test]
fn avh_018_apic_base_decides_the_mode_or_turns_avic_off() {
    let mut bench = Bench::new(1);
    assert!(is_on(&mut bench, 0) && !bench.vmcb(0).control.v_intr.x2avic_enable());
    bench.x2apic(0);
    let control = &bench.vmcb(0).control;
    assert!(control.v_intr.x2avic_enable() && control.msrpm_base == 0x20_0000);
    let lapic = &mut bench.vcpus[0].lapic;
    lapic.set_base(lapic.base() & !(base_bits::ENABLE | base_bits::X2APIC), true).unwrap();
    bench.map_changed(0);
    bench.update(0);
    assert!(!is_on(&mut bench, 0) && bench.vmcb(0).control.msrpm_base == 0x10_0000);

    let mut moved = Bench::new(1);
    let lapic = &mut moved.vcpus[0].lapic;
    lapic.set_base(lapic.base() & 0xfff | 0xfed0_0000, true).unwrap();
    moved.map_changed(0);
    assert!(has(&moved, Reason::ApicBaseModified));
    moved.enter_all();
    assert!(!is_on(&mut moved, 0));
}

/// KVM leaves AVIC on for an APIC that software turned off, and masks only what goes through itself:
/// another vCPU's processor still posts.
#[test]
fn avh_019_an_apic_off_by_software_takes_nothing_from_the_hypervisor() {
    let mut bench = Bench::new(1);
    write(&mut bench, 0, offset::SVR, 0xff);
    assert!(!bench.vcpus[0].lapic.accept(0xb0, false));
    bench.evaluate(0);
    assert!(!bench.page(0).vectors(offset::IRR).has(0xb0));
    assert!(is_on(&mut bench, 0));
}

#[test]
fn avh_020_an_interrupt_window_turns_avic_off_for_all() {
    let mut bench = Bench::new(2);
    // The 8259 has something, and the guest cannot take it.
    bench.vmcb(0).save.rflags = 2;
    {
        let mut devices = bench.vm.devices();
        let pic = &mut devices.pic;
        for (port, value) in [(0x20, 0x11), (0x21, 0x20), (0x21, 4), (0x21, 1), (0x21, 0xfe)] {
            pic.write(port, value);
        }
        pic.set_line(0, true);
    }
    bench.vm.with_devices(&mut bench.vcpus[0], Ns(0), |_| ());
    bench.evaluate(0);
    assert!(has(&bench, Reason::IrqWindow), "INH-2");
    bench.enter_all();
    assert!(!is_on(&mut bench, 0) && !is_on(&mut bench, 1));
    assert!(bench.vmcb(0).control.v_intr.v_irq(), "the window is open");
    bench.vmcb(0).save.rflags = 0x202;
    bench.exit(0, trapline_defs::exit_code::ExitCode::VINTR, 0, 0);
    assert!(!has(&bench, Reason::IrqWindow));
}

/// The machine offers x2APIC and the SynIC.
#[test]
fn hv_100_only_before_5_15_the_synic_itself_inhibits() {
    let mask = |policy| Bench::off(1, features(policy), None).vm.devices().inhibits.mask();
    let x2apic = Reason::X2Apic.bit();
    assert_eq!(mask(Policy::Kvm58), x2apic | Reason::Hyperv.bit());
    assert_eq!(mask(Policy::Kvm58Patch1), x2apic);
    assert_eq!(mask(Policy::Kvm515), x2apic);
    assert_eq!(mask(Policy::Kvm612), 0);
}

/// `svm_check_apicv_inhibit_reasons` of 5.15 has none of these.
#[test]
fn avh_016_older_releases_do_not_look_at_ids() {
    let mut bench = Bench::with(2, features(Policy::Kvm515), None);
    write(&mut bench, 1, offset::ID, 0);
    write(&mut bench, 1, offset::LDR, 0xc << 24);
    assert_eq!(bench.vm.devices().inhibits.mask(), Reason::X2Apic.bit());
}
