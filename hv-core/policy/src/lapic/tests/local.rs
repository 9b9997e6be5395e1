use super::*;
use crate::lapic::{Delivery, LocalSource};

#[test]
fn reserved_bits_of_each_entry_read_0() {
    let mut apic = xapic();
    let written = [0x7_10ff, 0x1_17ff, 0x1_17ff, 0x1_f7ff, 0x1_f7ff, 0x1_10ff];
    for (register, expected) in (offset::LVT_TIMER..=offset::LVT_ERROR).step_by(16).zip(written) {
        apic.write_mmio(register, u32::MAX, T0);
        assert_eq!(apic.read_mmio(register, T0), expected, "{register:#x}");
    }
}

#[test]
fn deadline_mode_is_a_reserved_bit_without_its_feature() {
    let mut apic = xapic();
    apic.offer_tsc_deadline(false);
    apic.write_mmio(offset::LVT_TIMER, 0x7_0030, T0);
    assert_eq!(apic.read_mmio(offset::LVT_TIMER, T0), 0x3_0030);
}

#[test]
fn software_disable_masks_every_entry_and_keeps_it_masked() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_LINT1, 0x400, T0);
    apic.write_mmio(offset::SVR, 0xff, T0);
    assert_eq!(apic.read_mmio(offset::LVT_LINT1, T0), 0x1_0400);
    apic.write_mmio(offset::LVT_LINT1, 0x400, T0);
    assert_eq!(apic.read_mmio(offset::LVT_LINT1, T0), 0x1_0400);
    apic.write_mmio(offset::SVR, ENABLED, T0);
    assert_eq!(apic.read_mmio(offset::LVT_LINT1, T0), 0x1_0400, "enabling opens nothing");
}

#[test]
fn enabling_by_software_requests_no_events() {
    let mut apic = Lapic::new(0, true);
    apic.event_request = false;
    apic.map_changed = false;
    apic.write_mmio(offset::SVR, ENABLED, T0);
    assert!(!requested(&mut apic));
    assert!(apic.map_changed);
}

#[test]
fn lint1_delivers_an_nmi_and_lint0_asks_the_8259() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_LINT1, 0x400, T0);
    assert_eq!(apic.local_interrupt(LocalSource::Lint1), Delivery::Nmi);
    apic.write_mmio(offset::LVT_LINT0, 0x700, T0);
    assert_eq!(apic.local_interrupt(LocalSource::Lint0), Delivery::ExtInt);
    assert!(apic.accepts_pic());
    apic.write_mmio(offset::LVT_LINT0, 0x1_0700, T0);
    assert_eq!(apic.local_interrupt(LocalSource::Lint0), Delivery::None);
    assert!(!apic.accepts_pic());
}

#[test]
fn a_disabled_apic_lets_the_8259_through() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_LINT0, 0x1_0000, T0);
    apic.set_base(0xfee0_0100, false).unwrap();
    assert!(apic.accepts_pic());
}

#[test]
fn a_fixed_entry_enters_irr_with_its_trigger_mode() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_LINT0, 0x8050, T0);
    let expected = Delivery::Interrupt { vector: 0x50, level: true };
    assert_eq!(apic.local_interrupt(LocalSource::Lint0), expected);
    assert_eq!(apic.highest_irr(), Some(0x50));
    assert_eq!(apic.tmr()[2], 1 << 16);
}

#[test]
fn the_performance_entry_stays_open_on_amd() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_PERFORMANCE, 0x400, T0);
    assert_eq!(apic.local_interrupt(LocalSource::Performance), Delivery::Nmi);
    assert_eq!(apic.local_interrupt(LocalSource::Performance), Delivery::Nmi);
    apic.write_mmio(offset::LVT_THERMAL, 0x55, T0);
    assert_ne!(apic.local_interrupt(LocalSource::Thermal), Delivery::None);
}
