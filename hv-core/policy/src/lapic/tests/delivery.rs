use super::*;
use crate::lapic::{Eoi, Vectors};

#[test]
fn an_accepted_vector_is_deliverable_and_requests_events() {
    let mut apic = xapic();
    assert!(apic.accept(0x50, false));
    assert!(requested(&mut apic));
    assert_eq!(apic.deliverable(), Some(0x50));
    assert_eq!(apic.irr()[2], 1 << 16);
}

#[test]
fn a_software_disabled_apic_loses_new_interrupts_but_delivers_old_ones() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    apic.write_mmio(offset::SVR, 0xff, T0);
    requested(&mut apic);
    assert!(!apic.accept(0x60, false));
    assert!(!requested(&mut apic));
    assert_eq!(apic.deliverable(), Some(0x50));
}

#[test]
fn an_apic_switched_off_by_its_base_delivers_nothing() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    apic.set_base(0xfee0_0000, false).unwrap();
    assert_eq!(apic.deliverable(), None);
    assert!(!apic.accept(0x60, false));
}

#[test]
fn injection_moves_the_vector_from_irr_to_isr() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    assert_eq!(inject(&mut apic), Some(0x50));
    assert_eq!(apic.highest_irr(), None);
    assert_eq!(apic.highest_isr(), Some(0x50));
    assert_eq!(apic.ppr(), 0x50);
    assert!(!apic.irr_pending());
}

#[test]
fn the_class_must_be_strictly_above_that_in_service() {
    let mut apic = xapic();
    apic.accept(0x51, false);
    inject(&mut apic);
    apic.accept(0x5f, false);
    assert_eq!(apic.deliverable(), None);
    apic.accept(0x60, false);
    assert_eq!(apic.deliverable(), Some(0x60));
}

#[test]
fn the_class_must_be_strictly_above_the_task_priority() {
    let mut apic = xapic();
    apic.set_tpr(0x50);
    apic.accept(0x5f, false);
    assert_eq!(apic.deliverable(), None);
    apic.set_tpr(0x4f);
    assert_eq!(apic.deliverable(), Some(0x5f));
}

#[test]
fn ppr_is_the_whole_tpr_or_the_class_in_service() {
    let mut apic = xapic();
    apic.set_tpr(0x35);
    assert_eq!(apic.ppr(), 0x35);
    apic.accept(0x47, false);
    inject(&mut apic);
    assert_eq!(apic.ppr(), 0x40);
    apic.set_tpr(0x4a);
    assert_eq!(apic.ppr(), 0x4a);
}

#[test]
fn eoi_ends_the_highest_and_requests_events() {
    let mut apic = xapic();
    for vector in [0x50, 0x60] {
        apic.accept(vector, false);
        inject(&mut apic);
    }
    requested(&mut apic);
    assert_eq!(apic.eoi(), Some(Eoi { vector: 0x60, level: false, ioapic: false }));
    assert!(requested(&mut apic));
    assert_eq!(apic.ppr(), 0x50);
    assert_eq!(apic.eoi().unwrap().vector, 0x50);
    assert_eq!(apic.ppr(), 0);
}

#[test]
fn a_stray_eoi_requests_nothing() {
    let mut apic = xapic();
    assert_eq!(apic.eoi(), None);
    assert!(!requested(&mut apic));
}

#[test]
fn eoi_reports_the_trigger_mode_of_the_last_arrival() {
    let mut apic = xapic();
    apic.accept(0x50, true);
    inject(&mut apic);
    assert!(apic.eoi().unwrap().level);
    apic.accept(0x50, false);
    inject(&mut apic);
    assert!(!apic.eoi().unwrap().level);
}

#[test]
fn cr8_1_raising_the_task_priority_requests_nothing() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    requested(&mut apic);
    apic.set_tpr(0xf0);
    assert!(!requested(&mut apic));
}

#[test]
fn cr8_1_lowering_it_requests_only_if_a_vector_gets_free() {
    let mut apic = xapic();
    apic.set_tpr(0xf0);
    apic.accept(0x50, false);
    requested(&mut apic);
    apic.set_tpr(0x80);
    assert!(!requested(&mut apic), "the vector is still held back");
    apic.set_tpr(0x40);
    assert!(requested(&mut apic));
    apic.set_tpr(0x10);
    assert!(requested(&mut apic), "PPR fell again and the vector still waits");
}

#[test]
fn cr8_1_the_intercept_is_on_while_a_waiting_vector_is_held_back() {
    let mut apic = xapic();
    apic.set_tpr(0xf0);
    assert!(!apic.cr8_intercept());
    apic.accept(0x50, false);
    assert!(apic.cr8_intercept());
    apic.set_tpr(0x50);
    assert!(apic.cr8_intercept(), "the same class holds back too");
    apic.set_tpr(0x40);
    assert!(!apic.cr8_intercept());
}

#[test]
fn auto_eoi_clears_irr_and_leaves_service_and_priority_alone() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    requested(&mut apic);
    apic.acknowledge(0x50, true);
    assert_eq!((apic.highest_irr(), apic.highest_isr(), apic.ppr()), (None, None, 0));
    assert!(!requested(&mut apic));
}

#[test]
fn a_stray_eoi_in_an_auto_eoi_handler_ends_another_vector() {
    let mut apic = xapic();
    apic.accept(0x50, false);
    inject(&mut apic);
    apic.accept(0x90, false);
    apic.acknowledge(0x90, true);
    assert_eq!(apic.eoi().unwrap().vector, 0x50);
}

#[test]
fn hv_181_pv_eoi_is_possible_for_the_last_vector_acknowledged() {
    let mut apic = xapic();
    assert!(!apic.pv_eoi_possible());
    apic.accept(0x50, false);
    assert!(!apic.pv_eoi_possible());
    inject(&mut apic);
    assert!(apic.pv_eoi_possible());
    apic.accept(0x51, false);
    assert!(!apic.pv_eoi_possible(), "something waits");
}

#[test]
fn pv_eoi_is_offered_for_the_top_of_two_but_not_after_an_eoi() {
    let mut apic = xapic();
    for vector in [0x50, 0x60] {
        apic.accept(vector, false);
        inject(&mut apic);
    }
    assert!(apic.pv_eoi_possible());
    apic.eoi();
    assert_eq!(apic.highest_isr(), Some(0x50));
    assert!(!apic.pv_eoi_possible(), "the cache is empty after an EOI");
}

#[test]
fn pv_eoi_is_refused_for_the_ioapic_s_vectors() {
    let mut apic = xapic();
    let mut handled = Vectors::EMPTY;
    handled.insert(0x50);
    apic.set_ioapic_handled(handled);
    apic.accept(0x50, false);
    inject(&mut apic);
    assert!(!apic.pv_eoi_possible());
    assert!(apic.eoi().unwrap().ioapic);
}

#[test]
fn pv_eoi_survives_a_re_injection() {
    // An injection that a nested page fault cuts short is repeated from EXITINTINFO: nothing is
    // acknowledged again, so the offer of the second entry is as good as that of the first.
    let mut apic = xapic();
    apic.accept(0x50, false);
    inject(&mut apic);
    assert!(apic.pv_eoi_possible());
    assert_eq!(apic.deliverable(), None);
    assert!(apic.pv_eoi_possible());
}

#[test]
fn under_avic_vectors_are_for_the_page_and_pv_eoi_is_never_possible() {
    let mut apic = xapic();
    apic.set_apicv_active(true);
    apic.accept(0x50, false);
    apic.accept(0x61, true);
    assert!(requested(&mut apic), "they have to be posted before the next entry");
    assert_eq!(apic.deliverable(), None);
    assert!(!apic.pv_eoi_possible());
    let (posted, level) = apic.take_posted();
    assert!(posted.has(0x50) && posted.has(0x61));
    assert!(!level.has(0x50) && level.has(0x61));
    let mut isr = Vectors::EMPTY;
    isr.insert(0x50);
    apic.set_apicv_active(false);
    apic.load_vectors(Vectors::EMPTY, isr, Vectors::EMPTY);
    assert_eq!(apic.ppr(), 0x50);
    assert!(apic.irr_pending(), "a hint only");
    assert_eq!(apic.highest_irr(), None);
    assert_eq!(apic.eoi().unwrap().vector, 0x50);
}

#[test]
fn vectors_find_their_highest_at_every_edge() {
    for vector in [0u8, 31, 32, 63, 128, 224, 255] {
        let mut set = Vectors::EMPTY;
        set.insert(0);
        set.insert(vector);
        assert_eq!(set.highest(), Some(vector));
        assert!(set.has(vector));
        set.remove(vector);
        assert!(!set.has(vector));
    }
    assert_eq!(Vectors::EMPTY.highest(), None);
}

#[test]
fn a_vector_below_16_waits_for_ever_as_in_kvm() {
    let mut apic = xapic();
    self_ipi(&mut apic, 5);
    assert_eq!(apic.highest_irr(), Some(5));
    assert_eq!(apic.deliverable(), None);
}
