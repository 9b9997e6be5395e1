use super::register::*;
use super::*;
use proptest::prelude::*;

const LEVEL: u64 = 1 << 1;
const INTERRUPTS: u64 = 1 << 2;
const PERIODIC: u64 = 1 << 3;
const SET_VALUE: u64 = 1 << 6;
const FORCE_32: u64 = 1 << 8;

const fn pin(pin: u64) -> u64 {
    pin << 9
}

const fn timer(n: u16) -> u16 {
    TIMER + 0x20 * n
}

/// Counts from `Ns(0)` on.
fn running() -> Hpet {
    let mut hpet = Hpet::new();
    hpet.write(CONFIGURATION, 8, 1, Ns(0));
    hpet
}

fn configure(hpet: &mut Hpet, n: u16, bits: u64, now: Ns) {
    hpet.write(timer(n), 8, bits, now);
}

fn compare(hpet: &mut Hpet, n: u16, value: u64, now: Ns) {
    hpet.write(timer(n) + COMPARATOR, 8, value, now);
}

#[test]
fn the_capabilities_name_the_period_in_femtoseconds() {
    let mut hpet = Hpet::new();
    assert_eq!(hpet.read(CAPABILITIES, 4, Ns(0)), 0x8086_2201);
    assert_eq!(hpet.read(CAPABILITIES + 4, 4, Ns(0)), 10_000_000);
    assert_eq!(hpet.read(CAPABILITIES, 8, Ns(0)), 10_000_000 << 32 | 0x8086_2201);
    hpet.write(CAPABILITIES, 8, 0, Ns(0));
    assert_eq!(hpet.read(CAPABILITIES, 4, Ns(0)), 0x8086_2201);
    for n in 0..3 {
        // Pins 16 to 23; periodic and 64 bits wide.
        assert_eq!(hpet.read(timer(n) + 4, 4, Ns(0)), 0x00ff_0000);
        assert_eq!(hpet.read(timer(n), 4, Ns(0)) & 0x30, 0x30);
    }
    assert_eq!(hpet.read(timer(3), 8, Ns(0)), 0, "there is no fourth");
}

#[test]
fn the_counter_runs_while_enabled_and_is_written_while_not() {
    let mut hpet = Hpet::new();
    assert_eq!(hpet.read(COUNTER, 8, Ns(1000)), 0);
    hpet.write(COUNTER, 8, 0xffff_fff0, Ns(1000));
    hpet.write(CONFIGURATION, 4, 1, Ns(1000));
    assert_eq!(hpet.read(COUNTER, 8, Ns(1159)), 0xffff_ffff);
    assert_eq!(hpet.read(COUNTER, 8, Ns(1160)), 0x1_0000_0000);
    assert_eq!(hpet.read(COUNTER + 4, 4, Ns(1160)), 1);
    hpet.write(COUNTER, 8, 0, Ns(1160));
    assert_eq!(hpet.read(COUNTER, 8, Ns(1160)), 0x1_0000_0000);
    hpet.write(CONFIGURATION, 4, 0, Ns(1170));
    assert_eq!(hpet.read(COUNTER, 8, Ns(9999)), 0x1_0000_0001);
}

#[test]
fn a_one_shot_timer_pulses_its_pin_once_and_never_early() {
    let mut hpet = running();
    configure(&mut hpet, 0, INTERRUPTS | pin(19), Ns(0));
    compare(&mut hpet, 0, 100, Ns(0));
    assert_eq!(hpet.next_deadline(), Ns(1000));
    hpet.advance(Ns(999));
    assert_eq!(hpet.take_pulses(), 0);
    hpet.advance(Ns(1000));
    assert_eq!((hpet.take_pulses(), hpet.lines()), (1 << 19, 0));
    assert_eq!(hpet.next_deadline(), Ns::NEVER);
}

#[test]
fn a_comparator_in_the_past_is_due_with_the_next_tick() {
    let mut hpet = running();
    configure(&mut hpet, 0, INTERRUPTS, Ns(0));
    compare(&mut hpet, 0, 5, Ns(1000));
    assert_eq!(hpet.next_deadline(), Ns(1010));
}

#[test]
fn a_comparator_that_was_never_written_is_never_due() {
    for bits in [INTERRUPTS, INTERRUPTS | FORCE_32, INTERRUPTS | PERIODIC | FORCE_32 | SET_VALUE] {
        let mut hpet = running();
        configure(&mut hpet, 0, bits, Ns(1000));
        assert_eq!(hpet.next_deadline(), Ns::NEVER);
    }
}

#[test]
fn a_periodic_timer_keeps_its_phase() {
    let mut hpet = running();
    configure(&mut hpet, 1, INTERRUPTS | PERIODIC | SET_VALUE | pin(20), Ns(0));
    compare(&mut hpet, 1, 150, Ns(0));
    // The second write is the period.
    compare(&mut hpet, 1, 100, Ns(0));
    for at in [1500, 2500, 3500] {
        assert_eq!(hpet.next_deadline(), Ns(at));
        hpet.advance(Ns(at + 7));
        assert_eq!(hpet.take_pulses(), 1 << 20);
    }
    // Missed ones are one.
    hpet.advance(Ns(9999));
    assert_eq!((hpet.take_pulses(), hpet.next_deadline()), (1 << 20, Ns(10_500)));
    assert_eq!(hpet.read(timer(1) + COMPARATOR, 8, Ns(9999)), 1050);
}

#[test]
fn a_level_triggered_timer_holds_its_pin_until_its_status_is_cleared() {
    let mut hpet = running();
    configure(&mut hpet, 2, INTERRUPTS | LEVEL | pin(23), Ns(0));
    compare(&mut hpet, 2, 10, Ns(0));
    hpet.advance(Ns(100));
    assert_eq!((hpet.take_pulses(), hpet.lines()), (0, 1 << 23));
    assert_eq!(hpet.read(STATUS, 4, Ns(100)), 4);
    hpet.write(STATUS, 4, 3, Ns(100));
    assert_eq!(hpet.lines(), 1 << 23, "other bits");
    hpet.write(STATUS, 4, 4, Ns(100));
    assert_eq!(hpet.lines(), 0);
    // And so does a timer that is turned off.
    compare(&mut hpet, 2, 20, Ns(100));
    hpet.advance(Ns(200));
    assert_eq!(hpet.lines(), 1 << 23);
    configure(&mut hpet, 2, LEVEL | pin(23), Ns(200));
    assert_eq!((hpet.lines(), hpet.read(STATUS, 4, Ns(200))), (0, 0));
}

#[test]
fn a_narrow_timer_wraps() {
    let mut hpet = Hpet::new();
    hpet.write(COUNTER, 8, 0x5_ffff_fff0, Ns(0));
    hpet.write(CONFIGURATION, 4, 1, Ns(0));
    configure(&mut hpet, 0, INTERRUPTS | FORCE_32, Ns(0));
    compare(&mut hpet, 0, 0x10, Ns(0));
    assert_eq!(hpet.next_deadline(), Ns(0x20 * 10));
    hpet.advance(Ns(0x20 * 10));
    assert_ne!(hpet.take_pulses(), 0);
    // The next match is the same value once more.
    assert_eq!(hpet.next_deadline(), Ns((0x1_0000_0020) * 10));
}

#[test]
fn a_pin_that_is_not_its_own_is_not_taken() {
    let mut hpet = running();
    for asked in 0..32 {
        configure(&mut hpet, 0, pin(asked), Ns(0));
        let taken = hpet.read(timer(0), 4, Ns(0)) >> 9 & 0x1f;
        assert_eq!(taken == asked, (16..24).contains(&asked), "{asked}");
        assert!((16..24).contains(&taken));
    }
}

#[test]
fn nothing_is_due_while_the_counter_stands() {
    let mut hpet = Hpet::new();
    configure(&mut hpet, 0, INTERRUPTS, Ns(0));
    compare(&mut hpet, 0, 10, Ns(0));
    hpet.advance(Ns(1 << 40));
    assert_eq!((hpet.next_deadline(), hpet.take_pulses()), (Ns::NEVER, 0));
    hpet.write(CONFIGURATION, 4, 1, Ns(1 << 40));
    assert_eq!(hpet.next_deadline(), Ns((1 << 40) + 100));
}

proptest! {
    /// However it is looked at, a periodic timer interrupts as often as its period went by.
    #[test]
    fn as_many_interrupts_as_periods(period in 1u64..1 << 34, narrow: bool, looks in prop::collection::vec(1u64..1 << 40, 1..20)) {
        let period = if narrow { period & 0x7fff_ffff | 1 } else { period };
        let mut hpet = running();
        let bits = INTERRUPTS | PERIODIC | SET_VALUE | if narrow { FORCE_32 } else { 0 };
        configure(&mut hpet, 0, bits, Ns(0));
        compare(&mut hpet, 0, period, Ns(0));
        let mut now = Ns(0);
        for ns in looks {
            now = now.after(ns);
            let due = hpet.next_deadline() <= now;
            hpet.advance(now);
            prop_assert_eq!(hpet.take_pulses() != 0, due);
            // The next one is the first multiple that is still to come.
            let next = (now.0 / 10 / period + 1) * period * 10;
            prop_assert_eq!(hpet.next_deadline(), Ns(next));
        }
    }

    /// The counter is guest time in units of its period, and halves of it make the whole.
    #[test]
    fn the_counter_is_guest_time(ns in 0u64..1 << 62) {
        let mut hpet = running();
        let count = hpet.read(COUNTER, 8, Ns(ns));
        prop_assert_eq!(count, ns / 10);
        let halves = [COUNTER, COUNTER + 4].map(|at| hpet.read(at, 4, Ns(ns)));
        prop_assert_eq!(halves[1] << 32 | halves[0], count);
    }

    /// Nothing that a guest writes breaks it, and what is due in the future was not due before.
    #[test]
    fn any_traffic_is_survived(steps in prop::collection::vec((0u16..0x180, any::<u64>(), 0u8..3, 0u64..1 << 44), 1..100)) {
        let mut hpet = Hpet::new();
        let mut now = Ns(0);
        for (offset, value, size, wait) in steps {
            now = now.after(wait);
            hpet.advance(now);
            prop_assert!(hpet.next_deadline() > now);
            let size = [4, 8, 4][usize::from(size)];
            let offset = if size == 8 { offset & !7 } else { offset & !3 };
            hpet.write(offset, size, value, now);
            _ = hpet.read(offset, size, now);
            prop_assert_eq!((hpet.take_pulses() | hpet.lines()) & !0x00ff_0000, 0);
            prop_assert!(hpet.next_deadline() > now);
        }
    }
}
