//! Direct mode.

use super::*;
use crate::hyperv::timer::DIRECT;

/// Vector 52h, SINT 3 all the same.
const CONFIG: u64 = ONE_SHOT | DIRECT | 0x52 << 4;

#[test]
fn hv_143_direct_mode_needs_neither_page_nor_sint() {
    for sint in [0, SINT] {
        let mut bench = Bench::new(1);
        bench.write(0, SIMP, SIM);
        bench.write(0, SINT0 + SINT as u32, MASKED);
        let config = CONFIG & !(0xf << 16) | sint << 16;
        // Twice, as Enable together with SINT0 is refused only without Direct.
        for time in [1000, 2000] {
            bench.count(0, time);
            bench.config(0, config);
            bench.config(0, config);
            bench.pass_until(time);
            assert_eq!((bench.interrupt(0), bench.enabled(0)), (Some(0x52), false));
        }
        assert!(bench.ram.0.borrow().iter().all(|&byte| byte == 0));
    }
}

#[test]
fn hv_144_only_the_vector_decides_on_auto_eoi() {
    // The SINT of CONFIG has AutoEOI; then another one, which has the timer's vector.
    for (sint, vector, in_service) in [(SINT, VECTOR, true), (9, 0x52, false)] {
        let mut bench = Bench::new(1);
        bench.write(0, SINT0 + sint as u32, AUTO_EOI | u64::from(vector));
        bench.count(0, 1000);
        bench.config(0, CONFIG);
        bench.pass_until(1000);
        assert_eq!(bench.acknowledge(0), Some(0x52));
        assert_eq!(bench.lapics[0].eoi().is_some(), in_service);
    }
}

#[test]
fn a_direct_vector_below_16_delivers_nothing_and_ends_the_shot() {
    let mut bench = Bench::new(1);
    bench.count(0, 1000);
    bench.config(0, ONE_SHOT | DIRECT | 15 << 4);
    bench.pass_until(1000);
    assert_eq!((bench.interrupt(0), bench.enabled(0)), (None, false));
}

#[test]
fn a_direct_expiry_that_an_apic_refused_is_not_retried_by_eom() {
    let mut bench = Bench::new(1);
    bench.lapics[0].write_mmio(0xf0, 0xff, Ns(0));
    bench.count(0, 1000);
    bench.config(0, CONFIG);
    bench.pass_until(1000);
    assert!(bench.enabled(0));
    bench.lapics[0].write_mmio(0xf0, 0x1ff, Ns(0));
    bench.write(0, EOM, 0);
    assert_eq!(bench.interrupt(0), None);
    bench.config(0, CONFIG);
    assert_eq!((bench.interrupt(0), bench.enabled(0)), (Some(0x52), false));
}
