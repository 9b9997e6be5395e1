//! The message of an expiry, and what keeps it back.

use super::*;

fn bench_with_a_one_shot() -> Bench {
    let mut bench = Bench::new(1);
    bench.count(2, 1000);
    bench.config(2, ONE_SHOT);
    bench
}

#[test]
fn hv_137_the_message_of_a_timer() {
    let mut bench = bench_with_a_one_shot();
    // Five units late.
    bench.vm.now = bench.vm.clock().when(1005);
    bench.expire(0);
    assert_eq!(bench.word(0, 0), 24 << 32 | 0x8000_0010, "type, size, flags");
    assert_eq!(bench.word(0, 8), 0, "origin");
    assert_eq!(bench.word(0, 16), 2, "timer");
    assert_eq!((bench.word(0, 24), bench.word(0, 32)), (1000, 1005), "expiration, delivery");
    assert_eq!(bench.word(0, 40), 0, "beyond the payload");
}

#[test]
fn hv_139_a_full_slot_keeps_a_one_shot_until_eom() {
    let mut bench = bench_with_a_one_shot();
    bench.ram.put(bench.page(0) + SINT * 256, &[1, 0, 0, 0, 8, 0]);
    bench.pass_until(1000);
    assert!(bench.more_wait());
    assert_eq!(bench.word(0, 0) as u32, 1, "the message that was there");
    assert_eq!((bench.interrupt(0), bench.enabled(2)), (None, true));
    // Nothing happens by itself, nor by an EOM before the slot is empty.
    bench.pass_until(2000);
    bench.write(0, EOM, 0);
    assert_eq!(bench.interrupt(0), None);
    bench.message(0);
    bench.pass_until(3000);
    assert_eq!(bench.interrupt(0), None);
    bench.write(0, EOM, 0);
    assert_eq!(bench.interrupt(0), Some(VECTOR));
    assert_eq!((bench.message(0), bench.more_wait()), (Some((2, 1000, bench.reference())), false));
    assert!(!bench.enabled(2));
    bench.write(0, EOM, 0);
    assert_eq!(bench.interrupt(0), None);
}

/// KVM's timer stalls then: one message now, one more by an EOM (STIM-1).
#[test]
fn hv_141_stim_1_a_masked_sint_gets_the_message_and_no_interrupt() {
    for config in [ONE_SHOT, ONE_SHOT | PERIODIC] {
        let mut bench = bench_with_a_one_shot();
        bench.write(0, SINT0 + SINT as u32, MASKED | u64::from(VECTOR));
        bench.config(2, config);
        bench.pass_until(1000);
        assert_eq!((bench.interrupt(0), bench.enabled(2)), (None, true));
        assert_eq!(bench.message(0), Some((2, 1000, 1000)));
        bench.pass_until(10_000);
        assert_eq!(bench.message(0), None, "stalled");
        bench.write(0, EOM, 0);
        assert_eq!(bench.message(0), Some((2, 1000, 10_000)));
        assert_eq!(bench.interrupt(0), None);
    }
}

/// KVM keeps it until an EOM, not until the page is enabled (STIM-1).
#[test]
fn hv_142_stim_1_without_a_page_the_message_waits_for_eom() {
    let mut bench = bench_with_a_one_shot();
    bench.write(0, SIMP, SIM);
    bench.pass_until(1000);
    assert_eq!((bench.interrupt(0), bench.message(0), bench.enabled(2)), (None, None, true));
    bench.write(0, SIMP, SIM | 1);
    assert_eq!(bench.message(0), None);
    bench.write(0, EOM, 0);
    assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((2, 1000, 1000))));
}

#[test]
fn stim_1_an_apic_that_is_off_stalls_the_timer_after_its_message() {
    let mut bench = bench_with_a_one_shot();
    bench.lapics[0].write_mmio(0xf0, 0xff, Ns(0));
    bench.pass_until(1000);
    assert_eq!((bench.message(0), bench.enabled(2)), (Some((2, 1000, 1000)), true));
    bench.lapics[0].write_mmio(0xf0, 0x1ff, Ns(0));
    assert_eq!(bench.interrupt(0), None, "the interrupt is lost");
    bench.write(0, EOM, 0);
    assert_eq!((bench.interrupt(0), bench.enabled(2)), (Some(VECTOR), false));
}
