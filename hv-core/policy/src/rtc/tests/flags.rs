//! Flags, enables and IRQ 8.

use super::*;

#[test]
fn rtc_008_2048_ticks_a_second_when_c_is_read() {
    let mut guest = Guest::new();
    guest.write(A, 0x25);
    guest.write(B, PERIODIC | HOUR_24);
    assert_eq!(guest.serve(SECOND), 2048);
}

#[test]
fn rtc_009_rates() {
    let rates = [256, 128, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2];
    for (rate, hz) in (1..).zip(rates) {
        let mut guest = Guest::new();
        guest.write(A, 0x20 | rate);
        guest.write(B, PERIODIC | HOUR_24);
        assert_eq!(guest.serve(SECOND), hz, "rate {rate}");
    }
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    guest.write(B, PERIODIC | HOUR_24);
    assert_eq!(guest.serve(10 * SECOND), 0);
    assert_eq!(guest.read(C) & PERIODIC, 0);
}

#[test]
fn rtc_010_without_a_read_of_c_there_is_one_edge() {
    let mut guest = Guest::new();
    guest.write(B, PERIODIC | HOUR_24);
    assert_eq!(guest.wait(SECOND), 1);
    assert!(guest.rtc.irq());
    assert_eq!(guest.read(C) & (IRQF | PERIODIC), IRQF | PERIODIC);
}

#[test]
fn rtc_011_reading_c_returns_and_clears_it_and_drops_the_line() {
    let mut guest = Guest::new();
    guest.write(B, PERIODIC | HOUR_24);
    guest.wait(MILLISECOND);
    assert_eq!(guest.read(C), IRQF | PERIODIC);
    assert!(!guest.rtc.irq());
    assert_eq!(guest.read(C), 0);
    assert_eq!(guest.wait(MILLISECOND), 1, "the next tick comes");
}

#[test]
fn rtc_031_a_good_rtc_ticks_on_though_c_is_not_read() {
    for good in [false, true] {
        let mut guest = Guest::new();
        guest.rtc.good = good;
        guest.write(A, 0x26);
        guest.write(B, HOUR_24 | PERIODIC);
        let mut ticks = 0;
        for _ in 0..10 {
            guest.now = guest.now.after(976_563);
            let before = guest.rtc.irq();
            guest.rtc.advance(guest.now);
            ticks += u32::from(!before && guest.rtc.irq()) + u32::from(guest.rtc.take_tick());
        }
        assert_eq!(ticks, if good { 10 } else { 1 });
        // A read of C lowers the line, and the next tick is an edge again.
        assert_eq!(guest.read(C), IRQF | PERIODIC);
        guest.now = guest.now.after(976_563);
        guest.rtc.advance(guest.now);
        assert!(guest.rtc.irq() && !guest.rtc.take_tick());
    }
}

#[test]
fn rtc_011_the_seeded_fault_is_visible() {
    let mut guest = Guest::new();
    guest.rtc.keep_c = true;
    guest.write(B, PERIODIC | HOUR_24);
    guest.wait(MILLISECOND);
    assert_eq!(guest.read(C), IRQF | PERIODIC);
    assert_eq!(guest.read(C), IRQF | PERIODIC);
    assert!(guest.rtc.irq());
    assert_eq!(guest.wait(SECOND), 0);
}

#[test]
fn rtc_012_pf_is_set_at_the_rate_without_pie() {
    let mut guest = Guest::new();
    guest.write(A, 0x2f);
    for half in 1..=4u64 {
        assert_eq!(guest.rtc.next_deadline(), Ns::NEVER, "nothing to do until somebody looks");
        guest.wait(SECOND / 2 - 1);
        assert_eq!(guest.read(C), 0);
        guest.wait(1);
        assert!(!guest.rtc.irq());
        assert_eq!(guest.read(C), if half % 2 == 0 { PERIODIC | UPDATE } else { PERIODIC });
        assert!(!guest.rtc.irq());
    }
}

#[test]
fn rtc_013_enabling_with_the_flag_set_is_an_edge_at_once() {
    for flag in [PERIODIC, ALARM, UPDATE] {
        let mut guest = Guest::new();
        for alarm in [1, 3, 5] {
            guest.write(alarm, 0xff);
        }
        guest.wait(SECOND);
        assert!(!guest.rtc.irq());
        guest.write(B, flag | HOUR_24);
        assert!(guest.rtc.irq());
        assert_eq!(guest.rtc.next_deadline(), Ns::NEVER);
        assert_eq!(guest.read(C), IRQF | FLAGS);
    }
}

#[test]
fn rtc_014_disabling_drops_the_line_and_keeps_the_flag() {
    let mut guest = Guest::new();
    guest.write(B, PERIODIC | HOUR_24);
    guest.wait(MILLISECOND);
    assert!(guest.rtc.irq());
    guest.write(B, HOUR_24);
    assert!(!guest.rtc.irq());
    assert_eq!(guest.read(C), PERIODIC);
}

#[test]
fn rtc_015_update_ended_once_per_second_gated_by_uie() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    guest.wait(SECOND - 1);
    assert_eq!(guest.read(C), 0);
    guest.wait(1);
    assert!(!guest.rtc.irq());
    assert_eq!(guest.read(C), UPDATE);
    guest.write(B, UPDATE | HOUR_24);
    assert_eq!(guest.serve(10 * SECOND), 10);
}

#[test]
fn rtc_018_an_exact_alarm_comes_once_a_day() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    for (index, value) in [(1, 0x30), (3, 0x15), (5, 0x06)] {
        guest.write(index, value);
    }
    guest.write(B, ALARM | HOUR_24);
    let six_fifteen_thirty = (6 * 3600 + 15 * 60 + 30) * SECOND;
    assert_eq!(guest.rtc.next_deadline(), Ns(six_fifteen_thirty));
    assert_eq!(guest.serve(3 * 86_400 * SECOND), 3);
}

#[test]
fn rtc_018_an_alarm_of_dont_cares_comes_each_second() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    for index in [1, 3, 5] {
        guest.write(index, 0xc0);
    }
    guest.write(B, ALARM | HOUR_24);
    assert_eq!(guest.serve(100 * SECOND), 100);
}

#[test]
fn rtc_018_af_is_set_without_aie() {
    let mut guest = Guest::new();
    guest.write(A, 0x20);
    for (index, value) in [(1, 0x03), (3, 0x00), (5, 0xff)] {
        guest.write(index, value);
    }
    guest.wait(2 * SECOND);
    assert_eq!(guest.read(C), UPDATE);
    guest.wait(5 * SECOND);
    assert_eq!(guest.read(C), UPDATE | ALARM);
    guest.wait(3000 * SECOND);
    assert_eq!(guest.read(C), UPDATE, "the next one is an hour later");
    guest.wait(1000 * SECOND);
    assert_eq!(guest.read(C), UPDATE | ALARM);
}

/// What the Windows HAL does to start the clock; it gets IRQ 8 no earlier than a period later,
/// provided that no tick went by unread before (RTC-013).
fn arm_as_windows(guest: &mut Guest) {
    guest.write(A, 0x25);
    guest.read(C);
    let b = guest.read(B);
    guest.write(B, b & 1 | PERIODIC | HOUR_24);
    guest.read(C);
    guest.read(D);
}

#[test]
fn rtc_026_arming_gives_no_interrupt_before_the_next_tick() {
    let mut guest = Guest::new();
    guest.wait(10 * MILLISECOND);
    arm_as_windows(&mut guest);
    assert!(!guest.rtc.irq());
    assert_eq!(guest.read(B), PERIODIC | HOUR_24);
    // 10 ms are 20.48 periods.
    assert_eq!(guest.rtc.next_deadline(), Ns((21 * SECOND).div_ceil(2048)));
}

#[test]
fn rtc_027_stopping_gives_no_further_interrupt() {
    let mut guest = Guest::new();
    arm_as_windows(&mut guest);
    assert_eq!(guest.serve(100 * MILLISECOND), 204);
    let b = guest.read(B);
    guest.write(B, b & !PERIODIC);
    assert_eq!(guest.wait(10 * SECOND), 0);
    assert!(!guest.rtc.irq());
}

#[test]
fn rtc_028_the_acknowledge_loop_ends_at_8192_hz() {
    let mut guest = Guest::new();
    guest.write(A, 0x23);
    guest.write(B, PERIODIC | HOUR_24);
    for tick in 0..8192 {
        assert_eq!(guest.wait(guest.rtc.next_deadline().since(guest.now)), 1);
        let mut reads = 1;
        while guest.read(C) & IRQF != 0 {
            reads += 1;
            guest.now = guest.now.after(700); // an exit takes its time
        }
        assert!(reads <= 3, "tick {tick}: {reads} reads");
    }
}
