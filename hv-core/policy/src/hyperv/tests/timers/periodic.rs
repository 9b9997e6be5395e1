//! Periodic timers.

use super::*;

/// 1 ms.
const PERIOD: u64 = 10_000;
const CONFIG: u64 = ONE_SHOT | PERIODIC;

#[test]
fn hv_132_a_thousand_periods_are_a_thousand_ticks() {
    let mut bench = Bench::new(1);
    bench.pass_until(77);
    bench.count(0, PERIOD);
    bench.config(0, CONFIG);
    for tick in 1..=1000 {
        let time = 77 + tick * PERIOD;
        bench.pass_until(time - 1);
        assert_eq!((bench.interrupt(0), bench.message(0)), (None, None), "early");
        bench.pass_until(time);
        assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, time, time))));
        assert!(bench.enabled(0));
    }
}

#[test]
fn hv_140_ticks_before_a_full_slot_are_dropped() {
    let mut bench = Bench::new(1);
    bench.count(0, PERIOD);
    bench.config(0, CONFIG);
    bench.pass_until(PERIOD);
    assert_eq!(bench.interrupt(0), Some(VECTOR));
    bench.pass_until(3 * PERIOD);
    assert_eq!(bench.interrupt(0), None);
    assert!(!bench.more_wait(), "KVM does not say that more wait");
    assert_eq!(bench.message(0), Some((0, PERIOD, PERIOD)), "the first message is as it was");
    bench.pass_until(4 * PERIOD);
    assert_eq!(bench.interrupt(0), Some(VECTOR));
    assert_eq!(bench.message(0), Some((0, 4 * PERIOD, 4 * PERIOD)));
}

#[test]
fn hv_148_missed_periods_are_dropped_and_the_phase_stays() {
    let mut bench = Bench::new(1);
    bench.count(0, PERIOD);
    bench.config(0, CONFIG);
    let late = 50 * PERIOD + PERIOD / 3;
    bench.vm.now = bench.vm.clock().when(late);
    bench.expire(0);
    assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, PERIOD, late))));
    bench.expire(0);
    assert_eq!(bench.interrupt(0), None, "caught up");
    for tick in 51..54 {
        bench.pass_until(tick * PERIOD);
        let time = tick * PERIOD;
        assert_eq!((bench.interrupt(0), bench.message(0)), (Some(VECTOR), Some((0, time, time))));
    }
}

/// KVM ignores the lazy bit: a tick that is late by any part of a period comes late, and the next one in its
/// phase. What is a period apart at least is their expiration times.
#[test]
fn hv_149_a_lazy_tick_that_is_late_drops_none_and_doubles_none() {
    const LAZY: u64 = 1 << 2;
    for late_by in [PERIOD / 2 - 1, PERIOD / 2 + 1, PERIOD - 1, PERIOD, 3 * PERIOD / 2] {
        let mut bench = Bench::new(1);
        bench.count(0, PERIOD);
        bench.config(0, CONFIG | LAZY);
        assert_eq!(bench.reads(0).0, CONFIG | LAZY);
        let mut expirations = vec![];
        bench.vm.now = bench.vm.clock().when(PERIOD + late_by);
        bench.expire(0);
        for tick in 2..6 {
            expirations.extend(bench.interrupt(0).and(bench.message(0)).map(|message| message.1));
            bench.pass_until(tick * PERIOD + PERIOD / 4);
        }
        assert!(expirations.len() >= 3, "{expirations:?}");
        assert!(expirations.windows(2).all(|two| two[1] - two[0] >= PERIOD), "{expirations:?}");
        assert!(expirations.iter().all(|time| time % PERIOD == 0), "{expirations:?}");
    }
}
