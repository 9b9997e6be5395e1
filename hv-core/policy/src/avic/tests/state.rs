//! What has to agree between the software APIC, the VMCB and the backing page (rules AVH-009, AVH-010,
//! AVH-021, AVH-022, AVH-027, AVH-031).

use super::bench::{Bench, FEATURES};
use crate::avic::activation;
use crate::inhibit::Reason;
use crate::lapic::Vectors;
use trapline_defs::apic::offset;
use trapline_defs::avic::NoAccel;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::vmcb::{CleanBits, TlbControl, Vmcb};

const CR8_WRITE: u32 = 1 << 24;

fn inhibit(bench: &mut Bench, on: bool) {
    crate::avic::inhibits::change(&bench.vm, &mut bench.vcpus[0], Reason::PitReinject, on);
    bench.enter_all();
}

#[test]
fn avh_009_a_tpr_that_software_writes_is_in_both_places() {
    let mut bench = Bench::new(1);
    // WRMSR of 808h that exits, as in hybrid mode.
    bench.x2apic(0);
    bench.vcpus[0].gprs.rcx = 0x808;
    (bench.vmcb(0).save.rax, bench.vcpus[0].gprs.rdx) = (0x50, 0);
    bench.exit(0, ExitCode::MSR, 1, 0);
    assert_eq!(bench.vmcb(0).control.v_intr.v_tpr(), 5);
    assert_eq!(bench.page(0).load(offset::TPR), 0x50);
    assert!(!bench.vmcb(0).control.clean.contains(CleanBits::TPR));
}

#[test]
fn avh_009_the_page_follows_v_tpr_at_every_exit() {
    let mut bench = Bench::new(1);
    bench.vmcb(0).control.v_intr.set_v_tpr(3);
    bench.page(0).store(offset::TPR, 0x35);
    bench.exit(0, ExitCode::HLT, 0, 0);
    assert_eq!(
        (bench.page(0).load(offset::TPR), bench.vcpus[0].lapic.tpr()),
        (0x30, 0x30),
        "TPR-1"
    );
}

#[test]
fn avh_010_no_clean_bit_vouches_for_what_changed() {
    let mut bench = Bench::new(2);
    assert!(!bench.vmcb(0).control.clean.contains(CleanBits::AVIC));
    inhibit(&mut bench, true);
    assert!(!bench.vmcb(0).control.clean.contains(CleanBits::AVIC));
    inhibit(&mut bench, false);
    bench.x2apic(0);
    assert!(!bench.vmcb(0).control.clean.intersects(CleanBits::AVIC | CleanBits::TPR));
}

#[test]
fn avh_021_vectors_move_with_avic_both_ways() {
    let mut bench = Bench::new(1);
    let page = bench.page(0);
    page.set(offset::ISR, 0x41);
    page.set(offset::IRR, 0x91);
    page.set(offset::TMR, 0x91);
    inhibit(&mut bench, true);
    let lapic = &bench.vcpus[0].lapic;
    let isr = Vectors(*lapic.isr());
    // What could be taken was injected at once: the evaluation was asked for.
    assert!(isr.has(0x41) && isr.has(0x91) && Vectors(*lapic.tmr()).has(0x91));
    assert_eq!(bench.vmcb(0).control.event_injection.vector(), 0x91);
    assert_eq!(page.vectors(offset::IRR), Vectors::EMPTY);

    bench.vcpus[0].lapic.accept(0xa1, false);
    inhibit(&mut bench, false);
    assert!(page.vectors(offset::IRR).has(0xa1) || page.vectors(offset::ISR).has(0xa1));
    assert!(page.vectors(offset::ISR).has(0x41) && page.vectors(offset::ISR).has(0x91));
}

#[test]
fn avh_022_the_tlb_is_flushed_when_avic_goes_on_or_off_or_changes_its_mode() {
    let mut bench = Bench::new(1);
    let flushed = |bench: &mut Bench| {
        let control = &mut bench.vmcb(0).control;
        core::mem::replace(&mut control.tlb_control, TlbControl::NONE) != TlbControl::NONE
    };
    assert!(flushed(&mut bench), "on");
    inhibit(&mut bench, true);
    assert!(flushed(&mut bench), "off");
    inhibit(&mut bench, false);
    assert!(flushed(&mut bench), "on again");
    bench.x2apic(0);
    assert!(flushed(&mut bench), "x2AVIC");
    bench.update(0);
    assert!(!flushed(&mut bench), "nothing changed");
}

#[test]
fn avh_027_no_cr8_write_is_intercepted_while_avic_is_on() {
    let mut bench = Bench::off(1, FEATURES, None);
    bench.vmcb(0).control.intercept_cr |= CR8_WRITE;
    bench.update(0);
    assert_eq!(bench.vmcb(0).control.intercept_cr & CR8_WRITE, 0);
    // A vector below TPR would bring the intercept without AVIC (CR8-1).
    bench.vmcb(0).control.v_intr.set_v_tpr(0xf);
    bench.page(0).set(offset::IRR, 0x50);
    bench.exit(0, ExitCode::AVIC_NOACCEL, NoAccel::at(offset::ESR, true).into_bits(), 0);
    bench.evaluate(0);
    assert_eq!(bench.vmcb(0).control.intercept_cr & CR8_WRITE, 0);
    inhibit(&mut bench, true);
    assert_ne!(bench.vmcb(0).control.intercept_cr & CR8_WRITE, 0);
}

#[test]
fn avh_031_a_reset_vcpu_starts_from_an_empty_page_and_no_core() {
    let mut bench = Bench::new(1);
    bench.page(0).set(offset::IRR, 0xb0);
    bench.page(0).store(offset::TPR, 0x50);
    bench.vcpus[0].init();
    activation::reset(&bench.vm, &mut bench.vcpus[0]);
    assert!(!bench.vm.avic.entry(0).is_running() && !bench.vm.avic.is_active(0));
    *bench.vmcbs[0] = Vmcb::zeroed();
    activation::prepare(&bench.vm, &bench.vcpus[0], &mut bench.vmcbs[0]);
    bench.update(0);
    let page = bench.page(0);
    assert_eq!(page.vectors(offset::IRR), Vectors::EMPTY);
    assert_eq!((page.load(offset::TPR), bench.vmcb(0).control.v_intr.v_tpr()), (0, 0));
    assert!(bench.vm.avic.entry(0).is_running());
    let address = bench.vm.avic.backing_page(0);
    assert_eq!(bench.vmcb(0).control.avic_backing_page, address);
}
