//! AutoEOI at the local APIC, and the inhibit while interrupts are on their way.

use super::*;
use crate::handle::Next;

const AUTO_EOI: u64 = 1 << 17;
const MASKED: u64 = 1 << 16;

fn sint(bench: &mut Bench, n: u32, value: u64) {
    bench.write_msr(0, SINT0 + n, value).unwrap();
}

fn arrive(bench: &mut Bench, vector: u8) -> Option<u8> {
    bench.vcpus[0].lapic.accept(vector, false);
    bench.evaluate(0);
    bench.injected(0).map(|event| event.vector())
}

fn in_service(bench: &Bench) -> Option<u8> {
    bench.top(0, offset::ISR)
}

#[test]
fn hv_008_leaf_4_says_not_to_use_it_and_it_works_and_inhibits_all_the_same() {
    let hyperv = HyperV::USUAL | HyperV::AVIC;
    let mut bench = Bench::of(&machine(hyperv), 1, FEATURES, None);
    assert_eq!(bench.vcpus[0].cpuid.get(0x4000_0004, 0).eax, 1 << 9);
    sint(&mut bench, 2, AUTO_EOI | 0x61);
    assert_eq!(bench.read_msr(0, SINT0 + 2), Some(AUTO_EOI | 0x61));
    bench.enter_all();
    assert!(!bench.vmcb(0).control.v_intr.avic_enable());
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!(in_service(&bench), None);
}

#[test]
fn hv_080_081_082_nothing_is_in_service_and_nothing_is_owed() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    for _ in 0..3 {
        assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
        let lapic = &bench.vcpus[0].lapic;
        assert_eq!((bench.top(0, offset::ISR), bench.top(0, offset::IRR)), (None, None));
        assert_eq!(lapic.ppr(), 0);
    }
    bench.write_msr(0, TPR, 0x20).unwrap();
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!(bench.vcpus[0].lapic.ppr(), 0x20);
}

#[test]
fn hv_083_without_it_the_second_one_waits_for_the_eoi() {
    let mut bench = plain();
    sint(&mut bench, 1, 0x61);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!(arrive(&mut bench, 0x61), None);
    assert_eq!((in_service(&bench), bench.top(0, offset::IRR)), (Some(0x61), Some(0x61)));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
}

#[test]
fn hv_084_its_handler_is_no_bar_to_the_same_class_or_a_lower_one() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    // The handler's STI is that IF of the bench's VMCB is set.
    assert_eq!(arrive(&mut bench, 0x62), Some(0x62));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(arrive(&mut bench, 0x41), Some(0x41));
}

#[test]
fn hv_085_086_over_a_lower_vector_it_leaves_that_one_and_a_stray_eoi_ends_it() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    assert_eq!(arrive(&mut bench, 0x41), Some(0x41));
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!((in_service(&bench), bench.vcpus[0].lapic.ppr()), (Some(0x41), 0x40));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(in_service(&bench), None);
}

#[test]
fn hv_087_088_any_interrupt_with_the_vector_of_any_such_source_ends_itself() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    sint(&mut bench, 2, 0x61);
    bench.write_msr(0, ICR, TO_SELF | 0x61).unwrap();
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    assert_eq!(in_service(&bench), None);
    sint(&mut bench, 1, AUTO_EOI | MASKED | 0x61);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!(in_service(&bench), Some(0x61));
}

#[test]
fn hv_089_090_a_switch_in_the_handler_is_for_the_next_interrupt() {
    let mut bench = plain();
    sint(&mut bench, 1, 0x61);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    assert_eq!(in_service(&bench), Some(0x61));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(in_service(&bench), None);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    sint(&mut bench, 1, 0x61);
    assert_eq!(in_service(&bench), None);
    assert_eq!(arrive(&mut bench, 0x61), Some(0x61));
    assert_eq!(in_service(&bench), Some(0x61));
}

#[test]
fn hv_091_an_injection_that_is_cut_short_is_repeated_once() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    bench.vcpus[0].lapic.accept(0x61, false);
    bench.evaluate(0);
    let event = bench.injected(0).unwrap();
    // The stack or the IDT is not mapped.
    bench.vmcb(0).control.exit_int_info = event;
    assert_eq!(bench.exit(0, ExitCode::NPF, 1 << 32, 0x9000).next, Next::Map);
    assert_eq!(bench.injected(0), Some(event));
    bench.vmcb(0).control.exit_int_info = Event::new();
    bench.cpuid();
    bench.vcpus[0].lapic.event_request = true;
    bench.evaluate(0);
    assert_eq!((bench.injected(0), in_service(&bench)), (None, None));
}

#[test]
fn hv_092_task_priority_holds_it_back() {
    let mut bench = plain();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    bench.write_msr(0, TPR, 0x60).unwrap();
    assert_eq!(arrive(&mut bench, 0x61), None);
    assert_eq!(bench.top(0, offset::IRR), Some(0x61));
    bench.write_msr(0, TPR, 0x50).unwrap();
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    assert_eq!(bench.top(0, offset::IRR), None);
}

#[test]
fn hv_093_its_acceptance_is_no_eoi_for_the_ioapic() {
    let mut bench = plain();
    route(&mut bench, 9, 1 << 15 | 0x61);
    raise(&mut bench, 9);
    bench.evaluate(0);
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    sint(&mut bench, 1, AUTO_EOI | 0x71);
    assert_eq!(arrive(&mut bench, 0x71), Some(0x71));
    // Neither does an entry with its own vector hear of it.
    sint(&mut bench, 2, AUTO_EOI | 0x61);
    assert!(remote_irr(&bench, 9));
    let _ = bench.vm.devices().ioapic.set_line(9, false);
    bench.write_msr(0, EOI, 0).unwrap();
    assert!(!remote_irr(&bench, 9));
}

/// Under AVIC; and both vCPUs on their way into the guest.
fn under_avic() -> Bench {
    let mut bench = Bench::of(&MACHINE, 2, FEATURES, None);
    bench.enter_all();
    assert!(bench.vcpus[0].avic.active && bench.vcpus[1].avic.active);
    bench
}

#[test]
fn hv_101_123_an_inhibit_carries_what_waits_over_and_delivers_it_once() {
    let mut bench = under_avic();
    bench.page(1).set(offset::IRR, 0x51);
    bench.page(1).set(offset::IRR, 0x41);
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    bench.enter_all();
    for n in 0..2 {
        assert!(!bench.vmcb(n).control.v_intr.avic_enable(), "vCPU {n}");
    }
    assert_eq!(bench.page(1).vectors(offset::IRR).highest(), None);
    assert_eq!(bench.injected(1), Some(Event::interrupt(0x51)));
    assert_eq!(bench.top(1, offset::IRR), Some(0x41));
    bench.write_msr(1, EOI, 0).unwrap();
    assert_eq!(bench.injected(1), Some(Event::interrupt(0x41)));
    bench.write_msr(1, EOI, 0).unwrap();
    assert_eq!((bench.injected(1), bench.top(1, offset::IRR)), (None, None));
}

#[test]
fn hv_106_124_its_end_carries_what_waits_back_to_the_page() {
    let mut bench = under_avic();
    sint(&mut bench, 1, AUTO_EOI | 0x61);
    bench.enter_all();
    bench.vmcb(1).save.rflags &= !0x200;
    for vector in [0x41, 0x51] {
        bench.vcpus[1].lapic.accept(vector, false);
    }
    sint(&mut bench, 1, 0x61);
    bench.enter_all();
    for n in 0..2 {
        assert!(bench.vmcb(n).control.v_intr.avic_enable(), "vCPU {n}");
    }
    let mut waiting = bench.page(1).vectors(offset::IRR);
    assert!(waiting.has(0x41) && waiting.has(0x51));
    waiting.remove(0x41);
    waiting.remove(0x51);
    assert_eq!(waiting.highest(), None);
    assert_eq!((bench.injected(1), bench.vcpus[1].lapic.is_posted(0x51)), (None, false));
}

#[test]
fn hv_128_what_is_in_service_stays_so_whichever_way_the_inhibit_flips() {
    for begins_inhibited in [false, true] {
        let mut bench = under_avic();
        if begins_inhibited {
            sint(&mut bench, 1, AUTO_EOI | 0x61);
            bench.enter_all();
        }
        bench.serve(1, 0x41);
        sint(&mut bench, 1, if begins_inhibited { MASKED } else { AUTO_EOI | 0x61 });
        bench.enter_all();
        assert_eq!(bench.vcpus[1].avic.active, begins_inhibited);
        assert_eq!(bench.top(1, offset::ISR), Some(0x41));
        bench.write_msr(1, EOI, 0).unwrap();
        assert_eq!(bench.top(1, offset::ISR), None);
    }
}

#[test]
fn hv_120_init_leaves_the_sources_and_the_count() {
    let mut bench = under_avic();
    bench.write_msr(1, SINT0 + 1, AUTO_EOI | 0x61).unwrap();
    bench.vcpus[1].init();
    assert_eq!(bench.vm.devices().partition.auto_eoi_users(), 1);
    assert_eq!(bench.read_msr(1, SINT0 + 1), Some(AUTO_EOI | 0x61));
}
