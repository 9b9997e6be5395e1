use trapline_defs::apic::Icr;

use super::*;
use crate::fault::Gp;
use crate::lapic::{ErrorReporting, Mode};

#[test]
fn power_on_values_are_kvm_s() {
    let mut apic = Lapic::new(3, false);
    assert_eq!(apic.base(), 0xfee0_0800);
    assert_eq!(apic.mode(), Mode::XApic);
    let read = |apic: &mut Lapic, register| apic.read_mmio(register, T0);
    assert_eq!(read(&mut apic, offset::ID), 3 << 24);
    assert_eq!(read(&mut apic, offset::VERSION), 0x0005_0014);
    assert_eq!(read(&mut apic, offset::SVR), 0xff);
    assert_eq!(read(&mut apic, offset::DFR), 0xffff_ffff);
    assert_eq!(read(&mut apic, offset::LDR), 0);
    for register in (offset::LVT_TIMER..=offset::LVT_ERROR).step_by(16) {
        assert_eq!(read(&mut apic, register), 0x1_0000, "{register:#x}");
    }
}

#[test]
fn the_bootstrap_apic_starts_with_lint0_open_for_the_8259() {
    let mut apic = Lapic::new(0, true);
    assert_eq!(apic.base(), 0xfee0_0900);
    assert_eq!(apic.read_mmio(offset::LVT_LINT0, T0), 0x700);
    assert!(apic.accepts_pic());
    assert!(!Lapic::new(1, false).accepts_pic());
}

#[test]
fn init_keeps_base_mode_and_id_and_resets_the_rest() {
    let mut apic = x2apic(5);
    apic.write_msr(0x808, 0x30, T0).unwrap();
    apic.accept(0x50, true);
    apic.reset();
    assert_eq!(apic.mode(), Mode::X2Apic);
    assert_eq!(apic.read_msr(0x802, T0), Ok(5));
    assert_eq!(apic.read_msr(0x80d, T0), Ok(0x20));
    assert_eq!((apic.tpr(), apic.ppr(), apic.highest_irr()), (0, 0, None));
    assert_eq!(apic.tmr(), &[0; 8]);
    assert!(!apic.software_enabled());
}

#[test]
fn the_base_goes_through_the_legal_changes_of_mode_only() {
    let mut apic = Lapic::new(0, true);
    let off = 0xfee0_0100;
    assert_eq!(apic.set_base(off | 0x400, true), Err(Gp), "x2APIC without enable");
    assert_eq!(apic.set_base(off | 0xc00, false), Err(Gp), "x2APIC not offered");
    assert_eq!(apic.set_base(off | 0xc00, true), Ok(()));
    assert_eq!(apic.set_base(off | 0x800, true), Err(Gp), "x2APIC to xAPIC");
    assert_eq!(apic.set_base(off, true), Ok(()));
    assert_eq!(apic.set_base(off | 0xc00, true), Err(Gp), "disabled to x2APIC");
    assert_eq!(apic.set_base(off | 0x800, true), Ok(()));
    assert_eq!(apic.mode(), Mode::XApic);
}

#[test]
fn the_base_refuses_reserved_bits() {
    let mut apic = Lapic::new(0, true);
    for bit in [0, 7, 9, 48, 51, 52, 63] {
        assert_eq!(apic.set_base(apic.base() | 1 << bit, true), Err(Gp), "bit {bit}");
    }
    assert_eq!(apic.set_base(0xfed0_0800, true), Ok(()));
    assert_eq!(apic.base_address(), 0xfed0_0000);
}

#[test]
fn entering_x2apic_mode_fixes_id_and_ldr() {
    let mut apic = Lapic::new(0x12, false);
    apic.write_mmio(offset::ID, 0xaa00_0000, T0);
    apic.set_base(apic.base() | 0x400, true).unwrap();
    assert_eq!(apic.read_msr(0x802, T0), Ok(0x12));
    assert_eq!(apic.read_msr(0x80d, T0), Ok(0x0001_0004));
}

#[test]
fn the_page_is_a_hole_in_x2apic_mode_and_msrs_fault_outside() {
    let mut apic = x2apic(0);
    assert_eq!(apic.read_mmio(offset::VERSION, T0), u32::MAX);
    apic.write_mmio(offset::TPR, 0x50, T0);
    assert_eq!(apic.tpr(), 0);
    let mut apic = xapic();
    assert_eq!(apic.read_msr(0x803, T0), Err(Gp));
    assert_eq!(apic.write_msr(0x808, 0, T0), Err(Gp));
}

#[test]
fn x2apic_msrs_that_are_not_there_fault() {
    let mut apic = x2apic(0);
    for msr in [0x800, 0x809, 0x80b, 0x80c, 0x80e, 0x82f, 0x831, 0x83f, 0x840, 0x8ff] {
        assert_eq!(apic.read_msr(msr, T0), Err(Gp), "read of {msr:#x}");
    }
    for msr in [0x802, 0x803, 0x80a, 0x80d, 0x80e, 0x810, 0x820, 0x831, 0x839, 0x82f, 0x8ff] {
        assert_eq!(apic.write_msr(msr, 0, T0), Err(Gp), "write of {msr:#x}");
    }
}

#[test]
fn x2apic_high_halves_are_reserved_except_the_icr_s() {
    let mut apic = x2apic(0);
    assert_eq!(apic.write_msr(0x808, 1 << 32, T0), Err(Gp));
    assert_eq!(apic.write_msr(0x80b, 1 << 32, T0), Err(Gp));
    let value = 0x0000_0007_0000_0050;
    assert_eq!(apic.write_msr(0x830, value, T0), Ok(Effect::Ipi(Icr::from_bits(value))));
    assert_eq!(apic.read_msr(0x830, T0), Ok(value));
}

#[test]
fn hv_038_reserved_icr_bits_fault_and_busy_reads_0() {
    let mut apic = x2apic(0);
    for bit in (20..32).chain([13, 16, 17]) {
        assert_eq!(apic.write_msr(0x830, 1 << bit, T0), Err(Gp), "bit {bit}");
    }
    apic.write_msr(0x830, 0x4_1050, T0).unwrap();
    assert_eq!(apic.read_msr(0x830, T0), Ok(0x4_0050));
}

#[test]
fn a_lent_icr_in_xapic_mode_has_its_destination_on_top() {
    let mut apic = xapic();
    let effect = apic.write_wide(offset::ICR, 0x0500_0000_0000_0050, T0).unwrap();
    assert_eq!(effect, Effect::Ipi(Icr::new().with_vector(0x50).with_destination(5)));
    assert_eq!(apic.read_mmio(offset::ICR_HIGH, T0), 0x0500_0000);
}

#[test]
fn self_ipi_exists_in_x2apic_mode_for_8_bits() {
    let mut apic = x2apic(0);
    assert_eq!(apic.write_msr(0x83f, 0x50, T0), Ok(Effect::Ipi(Icr::to_self(0x50))));
    assert_eq!(apic.write_msr(0x83f, 0x150, T0), Err(Gp));
    assert_eq!(xapic().write_mmio(offset::SELF_IPI, 0x50, T0), Effect::None);
}

#[test]
fn an_xapic_ipi_is_sent_by_the_low_half() {
    let mut apic = xapic();
    assert_eq!(apic.write_mmio(offset::ICR_HIGH, 0x03ff_ffff, T0), Effect::None);
    assert_eq!(apic.read_mmio(offset::ICR_HIGH, T0), 0x0300_0000);
    let Effect::Ipi(icr) = apic.write_mmio(offset::ICR, 0x5050, T0) else { panic!("no IPI") };
    assert_eq!((icr.destination(), icr.vector(), icr.busy()), (3, 0x50, false));
    assert_eq!(apic.read_mmio(offset::ICR, T0), 0x4050, "the busy bit is dropped");
}

#[test]
fn kvm_takes_a_nonzero_eoi_and_refuses_a_nonzero_esr() {
    let mut apic = x2apic(0);
    apic.accept(0x50, false);
    inject(&mut apic);
    assert!(matches!(apic.write_msr(0x80b, 1, T0), Ok(Effect::Eoi(eoi)) if eoi.vector == 0x50));
    assert_eq!(apic.write_msr(0x828, 1, T0), Err(Gp));
    assert_eq!(apic.write_msr(0x828, 0, T0), Ok(Effect::None));
}

#[test]
fn reserved_bits_of_svr_and_dfr_are_forced() {
    let mut apic = xapic();
    apic.write_mmio(offset::SVR, 0xffff_ffff, T0);
    assert_eq!(apic.read_mmio(offset::SVR, T0), 0x3ff);
    apic.write_mmio(offset::DFR, 0, T0);
    assert_eq!(apic.read_mmio(offset::DFR, T0), 0x0fff_ffff);
}

#[test]
fn tpr_1_a_write_keeps_the_low_nibble_and_cr8_drops_it() {
    let mut apic = x2apic(0);
    apic.write_msr(0x808, 0x35, T0).unwrap();
    assert_eq!(apic.read_msr(0x808, T0), Ok(0x35));
    // After an exit the caller writes V_TPR back.
    apic.set_tpr((apic.tpr() >> 4) << 4);
    assert_eq!(apic.read_msr(0x808, T0), Ok(0x30));
}

#[test]
fn narrow_reads_see_the_bytes_of_a_register() {
    let mut apic = xapic();
    assert_eq!(apic.read_mmio(offset::VERSION + 2, T0), 5);
    assert_eq!(apic.read_mmio(offset::VERSION + 4, T0), 0);
    apic.write_mmio(offset::TPR + 4, 0x50, T0);
    assert_eq!(apic.tpr(), 0);
}

#[test]
fn vector_maps_are_readable_words() {
    let mut apic = xapic();
    apic.accept(0x50, true);
    apic.accept(0xe1, false);
    assert_eq!(apic.read_mmio(0x220, T0), 1 << 16);
    assert_eq!(apic.read_mmio(0x270, T0), 2);
    assert_eq!(apic.read_mmio(0x1a0, T0), 1 << 16);
    inject(&mut apic);
    assert_eq!(apic.read_mmio(0x170, T0), 2);
    apic.write_mmio(0x170, 0, T0);
    assert_eq!(apic.read_mmio(0x170, T0), 2, "read-only");
}

#[test]
fn kvm_s_esr_reads_0_whatever_happens() {
    let mut apic = xapic();
    self_ipi(&mut apic, 3);
    apic.read_mmio(0x400, T0);
    apic.write_mmio(offset::ESR, 0, T0);
    assert_eq!(apic.read_mmio(offset::ESR, T0), 0);
}

#[test]
fn an_architectural_esr_shows_what_was_recorded_before_the_write() {
    let mut apic = xapic();
    apic.set_error_reporting(ErrorReporting::Architectural);
    apic.write_mmio(offset::LVT_ERROR, 0x71, T0);
    assert_eq!(apic.write_mmio(offset::ICR, 0x4_0005, T0), Effect::None);
    assert_eq!(apic.highest_irr(), Some(0x71), "the error entry's interrupt");
    assert!(!apic.accept(6, false));
    apic.read_mmio(0x400, T0);
    assert_eq!(apic.read_mmio(offset::ESR, T0), 0);
    apic.write_mmio(offset::ESR, 0, T0);
    assert_eq!(apic.read_mmio(offset::ESR, T0), 0xe0);
    apic.write_mmio(offset::ESR, 0, T0);
    assert_eq!(apic.read_mmio(offset::ESR, T0), 0);
}

#[test]
fn an_error_entry_with_an_illegal_vector_does_not_recurse() {
    let mut apic = xapic();
    apic.set_error_reporting(ErrorReporting::Architectural);
    apic.write_mmio(offset::LVT_ERROR, 0x05, T0);
    assert!(!apic.accept(6, false));
    assert_eq!(apic.highest_irr(), None);
}
