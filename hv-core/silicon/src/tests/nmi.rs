//! Virtual NMI.

use super::bench::{Bench, OPEN, VMCB};
use crate::{AvicMode, Boundary, Exit, Invalid, Taken};
use trapline_defs::apic::offset;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word3;

/// A guest with VNMI: pending and masked as given.
fn vnmi(pending: bool, masked: bool) -> Bench {
    let mut bench = Bench::ready(AvicMode::XAvic);
    bench.control.v_intr =
        bench.control.v_intr.with_v_nmi_enable(true).with_v_nmi(pending).with_v_nmi_mask(masked);
    bench.enter();
    bench
}

/// Pending and mask, as the VMCB has them after an exit.
fn saved(bench: &mut Bench) -> (bool, bool) {
    bench.cpu.vmexit(&mut bench.control);
    (bench.control.v_intr.v_nmi(), bench.control.v_intr.v_nmi_mask())
}

#[test]
fn vnmi_001_vnmi_needs_the_nmi_intercept() {
    let mut bench = Bench::ready(AvicMode::Off);
    bench.control.v_intr.set_v_nmi_enable(true);
    bench.control.intercept_3 = Word3::INTR;
    let result = bench.cpu.vmrun(VMCB, &bench.control, &bench.ram);
    assert_eq!(result, Err(Invalid::NmiNotIntercepted));
}

#[test]
fn vnmi_002_a_pending_nmi_is_taken_first_and_masks_the_next() {
    let mut bench = vnmi(true, false);
    assert_eq!(bench.boundary(), Taken::Nmi);
    assert_eq!(saved(&mut bench), (false, true));
}

#[test]
fn vnmi_003_a_masked_nmi_waits_for_iret() {
    let mut bench = vnmi(true, true);
    assert_eq!(bench.boundary(), Taken::Nothing);
    bench.cpu.iret();
    assert_eq!(bench.boundary(), Taken::Nmi);
}

#[test]
fn vnmi_004_iret_unmasks() {
    let mut bench = vnmi(true, false);
    assert_eq!(bench.boundary(), Taken::Nmi);
    bench.cpu.iret();
    assert_eq!(saved(&mut bench), (false, false));
}

#[test]
fn vnmi_005_if_does_not_matter() {
    let mut bench = vnmi(true, false);
    assert_eq!(bench.at(Boundary { interrupts: false, ..OPEN }), Taken::Nmi);
}

#[test]
fn vnmi_006_an_interrupt_shadow_delays_it() {
    let mut bench = vnmi(true, false);
    assert_eq!(bench.at(Boundary { shadow: true, ..OPEN }), Taken::Nothing);
    assert_eq!(bench.boundary(), Taken::Nmi);
}

#[test]
fn vnmi_007_a_clear_vgif_holds_it_until_stgi() {
    let mut bench = vnmi(true, false);
    bench.reenter(|c, _| c.v_intr = c.v_intr.with_v_gif_enable(true).with_v_gif(false));
    assert_eq!(bench.boundary(), Taken::Nothing);
    let _ = bench.cpu.stgi();
    assert_eq!(bench.boundary(), Taken::Nmi);
}

#[test]
fn vnmi_008_a_delivery_that_is_cut_short_is_unmasked_again() {
    let mut bench = vnmi(true, false);
    let taken = bench.boundary();
    let event = bench.cpu.cut_short(taken);
    assert_eq!(event.into_bits(), 0x8000_0202);
    assert_eq!(saved(&mut bench), (false, false));
}

#[test]
fn vnmi_009_an_injected_nmi_masks() {
    let mut bench = vnmi(false, false);
    bench.reenter(|c, _| c.event_injection = Event::nmi());
    assert_eq!(saved(&mut bench), (false, true));
    bench.control.event_injection = Event::interrupt(0x40);
    bench.control.v_intr.set_v_nmi_mask(false);
    bench.enter();
    assert_eq!(saved(&mut bench), (false, false));
}

#[test]
fn vnmi_010_a_physical_nmi_exits_and_leaves_the_virtual_one() {
    let mut bench = vnmi(true, false);
    let exit = Exit::intercept(ExitCode::NMI);
    assert_eq!(bench.at(Boundary { physical_nmi: true, ..OPEN }), Taken::Exit(exit));
    assert_eq!(saved(&mut bench), (true, false));
}

#[test]
fn vnmi_011_an_nmi_goes_before_interrupts_model_defined() {
    let mut bench = vnmi(true, false);
    bench.reenter(|_, ram| ram.set(0, offset::IRR, 0x50));
    assert_eq!(bench.boundary(), Taken::Nmi);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x50));
    let mut bench = vnmi(true, false);
    bench.reenter(|c, _| {
        c.v_intr = c.v_intr.with_avic_enable(false).with_v_irq(true).with_v_ign_tpr(true);
        c.v_intr.set_v_intr_vector(0x60);
    });
    assert_eq!(bench.boundary(), Taken::Nmi);
    assert_eq!(bench.boundary(), Taken::Interrupt(0x60));
}

#[test]
fn vnmi_012_without_the_enable_its_bits_are_ignored_and_kept_model_defined() {
    for masked in [false, true] {
        let mut bench = vnmi(true, masked);
        bench.reenter(|c, _| {
            c.v_intr.set_v_nmi_enable(false);
            c.event_injection = Event::nmi();
        });
        assert_eq!(bench.boundary(), Taken::Nothing);
        bench.cpu.iret();
        assert_eq!(saved(&mut bench), (true, masked));
    }
}

#[test]
fn vnmi_013_one_nmi_waits_in_the_handler_and_a_third_is_merged() {
    let mut bench = vnmi(true, false);
    assert_eq!(bench.boundary(), Taken::Nmi);
    for _ in 0..2 {
        bench.reenter(|c, _| c.v_intr.set_v_nmi(true));
        assert_eq!(bench.boundary(), Taken::Nothing);
    }
    bench.cpu.iret();
    assert_eq!(bench.boundary(), Taken::Nmi);
    bench.cpu.iret();
    assert_eq!(bench.boundary(), Taken::Nothing);
}
