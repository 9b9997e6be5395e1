//! The assist page: bit 0 of its first word, NoEoiRequired.

use super::*;
use crate::lapic::Mode;

/// A vCPU with the page on, and bytes in the rest of it.
fn with_page(mut bench: Bench) -> Bench {
    bench.ram.put(PAGE, &[0xa5; 4096]);
    bench.write_msr(0, VP_ASSIST_PAGE, PAGE | 1).unwrap();
    bench
}

fn send(bench: &mut Bench, vector: u8) {
    bench.write_msr(0, ICR, TO_SELF | u64::from(vector)).unwrap();
}

#[test]
fn hv_036_enabling_zeroes_the_first_word_alone_and_faults_outside_of_ram() {
    let mut bench = with_page(plain());
    assert_eq!(bench.read_msr(0, VP_ASSIST_PAGE), Some(PAGE | 1));
    assert_eq!(bench.word(), 0);
    assert!((4..4096).all(|at| bench.ram.read_u8(PAGE + at) == Some(0xa5)));
    for page in [4 << 20, 1 << 40, !0xfff] {
        assert_eq!(bench.write_msr(0, VP_ASSIST_PAGE, page | 1), None);
        assert_eq!(bench.read_msr(0, VP_ASSIST_PAGE), Some(PAGE | 1));
    }
    // Not enabled, it may be anything; reserved bits are stored.
    assert!(bench.write_msr(0, VP_ASSIST_PAGE, !1).is_some());
    assert_eq!(bench.read_msr(0, VP_ASSIST_PAGE), Some(!1));
    assert!(bench.write_msr(0, VP_ASSIST_PAGE, PAGE | 0xfff).is_some());
}

#[test]
fn hv_180_without_the_page_nothing_is_written() {
    let mut bench = plain();
    bench.ram.put(PAGE, &[0xa5; 4096]);
    bench.write_msr(0, VP_ASSIST_PAGE, PAGE).unwrap();
    send(&mut bench, 0x61);
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    bench.cpuid();
    assert!((0..4096).all(|at| bench.ram.read_u8(PAGE + at) == Some(0xa5)));
}

#[test]
fn hv_181_the_bit_stands_for_one_edge_and_clearing_it_is_the_eoi() {
    let mut bench = with_page(plain());
    for _ in 0..3 {
        send(&mut bench, 0x61);
        assert!(bench.take_offer());
        assert_eq!(bench.top(0, offset::ISR), Some(0x61), "nobody has looked yet");
        bench.cpuid();
        assert_eq!((bench.top(0, offset::ISR), bench.word()), (None, 0));
    }
}

#[test]
fn hv_182_without_the_bit_an_eoi_is_owed() {
    let mut bench = with_page(plain());
    send(&mut bench, 0x61);
    // An exit that evaluates nothing takes the offer back.
    bench.cpuid();
    assert_eq!(bench.word(), 0);
    assert!(!bench.take_offer());
    assert_eq!(bench.top(0, offset::ISR), Some(0x61));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(bench.top(0, offset::ISR), None);
}

#[test]
fn hv_183_a_level_triggered_interrupt_never_sets_it() {
    let mut bench = with_page(plain());
    route(&mut bench, 9, 1 << 15 | 0x61);
    raise(&mut bench, 9);
    bench.evaluate(0);
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    assert_eq!(bench.word(), 0);
}

#[test]
fn hv_184_a_lower_vector_that_waits_takes_it_back() {
    let mut bench = with_page(plain());
    send(&mut bench, 0x61);
    assert_eq!(bench.word(), 1);
    send(&mut bench, 0x41);
    assert_eq!((bench.word(), bench.injected(0)), (0, None));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x41)));
}

#[test]
fn hv_185_an_ordinary_eoi_with_the_bit_set_retires_one_vector_once() {
    let mut bench = with_page(plain());
    bench.x2apic(0);
    send(&mut bench, 0x41);
    send(&mut bench, 0x61);
    assert_eq!(bench.word(), 1);
    bench.write_msr(0, 0x80b, 0).unwrap();
    assert_eq!((bench.top(0, offset::ISR), bench.word()), (Some(0x41), 0));
    bench.cpuid();
    assert_eq!(bench.top(0, offset::ISR), Some(0x41));
}

#[test]
fn hv_186_under_avic_it_is_never_set() {
    for mut bench in ways(1).filter(Bench::avic).map(with_page) {
        send(&mut bench, 0x61);
        assert_eq!(bench.word(), 0);
        assert!(bench.page(0).clear(offset::IRR, 0x61));
        bench.serve(0, 0x61);
        bench.vcpus[0].lapic.event_request = true;
        bench.evaluate(0);
        bench.cpuid();
        assert_eq!((bench.word(), bench.top(0, offset::ISR)), (0, Some(0x61)));
    }
}

#[test]
fn hv_187_198_it_means_the_highest_in_service_and_one_exit_ends_both() {
    let mut bench = with_page(plain());
    send(&mut bench, 0x41);
    send(&mut bench, 0x61);
    assert!(bench.take_offer());
    // 61h is over without an exit; the next EOI is for 41h.
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(bench.top(0, offset::ISR), None);
    // The same without the second EOI: 41h is still in service.
    send(&mut bench, 0x41);
    send(&mut bench, 0x61);
    assert!(bench.take_offer());
    bench.cpuid();
    assert_eq!((bench.top(0, offset::ISR), bench.word()), (Some(0x41), 0));
}

#[test]
fn hv_188_disabling_the_page_with_the_bit_set_leaves_the_vector_in_service() {
    let mut bench = with_page(plain());
    send(&mut bench, 0x61);
    assert_eq!(bench.word(), 1);
    bench.write_msr(0, VP_ASSIST_PAGE, 0).unwrap();
    assert_eq!((bench.word(), bench.top(0, offset::ISR)), (0, Some(0x61)));
    bench.write_msr(0, EOI, 0).unwrap();
    assert_eq!(bench.top(0, offset::ISR), None);
}

#[test]
fn hv_094_a_vector_with_auto_eoi_never_sets_it() {
    let mut bench = with_page(plain());
    bench.write_msr(0, SINT0, 1 << 17 | 0x61).unwrap();
    send(&mut bench, 0x61);
    assert_eq!(bench.injected(0), Some(Event::interrupt(0x61)));
    assert_eq!((bench.word(), bench.top(0, offset::ISR)), (0, None));
}

#[test]
fn init_turns_the_assist_off_but_leaves_the_register() {
    let mut bench = with_page(plain());
    bench.vcpus[0].init();
    assert_eq!(bench.vcpus[0].lapic.mode(), Mode::XApic);
    assert!(!bench.vcpus[0].pv_eoi.enabled());
    assert_eq!(bench.read_msr(0, VP_ASSIST_PAGE), Some(PAGE | 1));
}
