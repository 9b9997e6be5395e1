use super::*;
use proptest::prelude::*;

/// A time in which the oscillator makes `clocks`, and not one more.
fn after(clocks: u64) -> Ns {
    Ns((clocks * 1_000_000_000).div_ceil(HZ))
}

/// A control word: both bytes, of a mode.
fn both(channel: u8, mode: u8) -> u8 {
    channel << 6 | 0x30 | mode << 1
}

fn load(pit: &mut Pit, channel: u8, mode: u8, count: u16, now: Ns) {
    pit.write(CONTROL_PORT, both(channel, mode), now);
    for byte in count.to_le_bytes() {
        pit.write(FIRST_PORT + u16::from(channel), byte, now);
    }
}

fn latched(pit: &mut Pit, channel: u8, now: Ns) -> u16 {
    pit.write(CONTROL_PORT, channel << 6, now);
    read_both(pit, channel, now)
}

fn read_both(pit: &mut Pit, channel: u8, now: Ns) -> u16 {
    let mut byte = || pit.read(FIRST_PORT + u16::from(channel), now);
    u16::from_le_bytes([byte(), byte()])
}

/// Pulses up to `now`, advancing at each deadline.
fn pulses(pit: &mut Pit, until: Ns) -> u64 {
    let mut pulses = 0;
    while pit.next_deadline() <= until {
        let at = pit.next_deadline();
        pit.advance(at);
        pulses += u64::from(pit.take_pulse());
    }
    pulses
}

#[test]
fn nothing_ticks_before_a_count_is_loaded() {
    let mut pit = Pit::new(false);
    assert_eq!(pit.next_deadline(), Ns::NEVER);
    pit.write(CONTROL_PORT, both(0, 2), Ns(5));
    pit.write(FIRST_PORT, 0x10, Ns(5));
    assert_eq!(pit.next_deadline(), Ns::NEVER, "half a count");
    pit.write(FIRST_PORT, 0x10, Ns(5));
    assert!(pit.next_deadline() > Ns(5) && pit.next_deadline() < Ns::NEVER);
}

#[test]
fn modes_0_and_4_tick_once_and_modes_2_and_3_again_and_again() {
    for mode in 0..8 {
        let mut pit = Pit::new(false);
        load(&mut pit, 0, mode, 11_932, Ns(0));
        // Ten periods of 10 ms and a little; modes 6 and 7 are 2 and 3.
        let expected = match mode {
            0 | 1 | 4 => 1,
            2 | 3 | 6 | 7 => 10,
            _ => 0,
        };
        assert_eq!(pulses(&mut pit, Ns(100_100_000)), expected, "mode {mode}");
    }
}

#[test]
fn modes_0_and_4_count_on_below_zero() {
    for mode in [0, 4] {
        let mut pit = Pit::new(false);
        load(&mut pit, 2, mode, 1000, Ns(0));
        assert_eq!(latched(&mut pit, 2, after(1)), 999);
        assert_eq!(latched(&mut pit, 2, after(1000)), 0);
        assert_eq!(latched(&mut pit, 2, after(1001)), 0xffff, "mode {mode}");
    }
}

#[test]
fn mode_2_counts_by_one_and_mode_3_by_two() {
    let mut pit = Pit::new(false);
    load(&mut pit, 2, 2, 1000, Ns(0));
    assert_eq!(
        [0, 1, 999, 1000, 1001].map(|n| latched(&mut pit, 2, after(n))),
        [1000, 999, 1, 1000, 999]
    );
    load(&mut pit, 2, 3, 1000, Ns(0));
    assert_eq!(
        [0, 1, 499, 500, 999].map(|n| latched(&mut pit, 2, after(n))),
        [1000, 998, 2, 1000, 2]
    );
}

#[test]
fn a_latched_count_waits_for_its_two_bytes_and_a_second_latch_for_the_first() {
    let mut pit = Pit::new(false);
    load(&mut pit, 2, 0, 0xabcd, Ns(0));
    pit.write(CONTROL_PORT, 2 << 6, after(0));
    pit.write(CONTROL_PORT, 2 << 6, after(0x1000));
    assert_eq!(pit.read(FIRST_PORT + 2, after(0x2000)), 0xcd);
    assert_eq!(pit.read(FIRST_PORT + 2, after(0x3000)), 0xab);
    // And then it runs again.
    assert_eq!(read_both(&mut pit, 2, after(0x1000)), 0x9bcd);
}

#[test]
fn a_read_back_latches_status_before_count() {
    let mut pit = Pit::new(false);
    load(&mut pit, 0, 2, 1000, Ns(0));
    load(&mut pit, 2, 0, 1000, Ns(0));
    // Both of channel 2, neither of channel 0.
    pit.write(CONTROL_PORT, 0xc8, after(10));
    assert_eq!(pit.read(FIRST_PORT + 2, after(50)), 0x30, "both bytes, mode 0, OUT low");
    assert_eq!(read_both(&mut pit, 2, after(50)), 990);
    assert_eq!(read_both(&mut pit, 0, after(50)), 950);
    // Status alone, of 0 and 2, when channel 2 is through.
    pit.write(CONTROL_PORT, 0xea, after(1500));
    assert_eq!(pit.read(FIRST_PORT + 2, after(1500)), 0xb0, "OUT high");
    assert_eq!(pit.read(FIRST_PORT, after(1500)) & 0x7f, 0x34);
}

#[test]
fn one_byte_counts_are_read_and_written_alone() {
    let mut pit = Pit::new(false);
    pit.write(CONTROL_PORT, 0x90, Ns(0));
    pit.write(FIRST_PORT + 2, 200, Ns(0));
    assert_eq!(pit.read(FIRST_PORT + 2, after(50)), 150);
    pit.write(CONTROL_PORT, 0xa0, Ns(0));
    pit.write(FIRST_PORT + 2, 2, Ns(0));
    assert_eq!(pit.read(FIRST_PORT + 2, after(0)), 2);
    assert_eq!(pit.read(FIRST_PORT + 2, after(1)), 1);
}

#[test]
fn a_count_of_zero_is_the_largest() {
    let mut pit = Pit::new(false);
    load(&mut pit, 0, 0, 0, Ns(0));
    assert_eq!(pit.next_deadline(), Ns(65_536 * 1_000_000_000 / HZ));
}

#[test]
fn port_61h_shows_gate_speaker_and_out_of_channel_2() {
    let mut pit = Pit::new(false);
    load(&mut pit, 2, 0, 100, Ns(0));
    assert_eq!(pit.read(SPEAKER_PORT, Ns(0)) & 0x23, 0);
    pit.write(SPEAKER_PORT, 0xff, Ns(0));
    assert_eq!(pit.read(SPEAKER_PORT, Ns(0)) & 0x23, 3);
    assert_eq!(pit.read(SPEAKER_PORT, after(100)) & 0x20, 0x20);
    assert_ne!(pit.read(SPEAKER_PORT, Ns(0)) & 0x10, pit.read(SPEAKER_PORT, Ns(1 << 14)) & 0x10);
}

#[test]
fn the_gate_starts_mode_2_again() {
    let mut pit = Pit::new(false);
    load(&mut pit, 2, 2, 1000, Ns(0));
    pit.write(SPEAKER_PORT, 1, after(300));
    assert_eq!(latched(&mut pit, 2, after(400)), 900);
}

#[test]
fn a_short_period_is_lengthened() {
    let mut pit = Pit::new(false);
    load(&mut pit, 0, 2, 100, Ns(0));
    assert_eq!(pit.next_deadline(), Ns(83_809));
    pit.advance(Ns(83_809));
    assert_eq!(pit.next_deadline(), Ns(283_809));
}

#[test]
fn missed_ticks_are_one_pulse_where_they_are_not_made_up_for() {
    let mut pit = Pit::new(false);
    load(&mut pit, 0, 2, 1193, Ns(0));
    pit.advance(Ns(50_000_000));
    assert!(pit.take_pulse() && !pit.take_pulse());
    pit.ended();
    assert!(!pit.take_pulse());
    assert!(pit.next_deadline() > Ns(50_000_000));
}

#[test]
fn missed_ticks_follow_each_end_where_they_are() {
    let mut pit = Pit::new(true);
    load(&mut pit, 0, 2, 1193, Ns(0));
    // A little over five periods of 0.9998 ms.
    pit.advance(Ns(5_100_000));
    let mut pulses = 0;
    while pit.take_pulse() {
        pulses += 1;
        pit.ended();
    }
    assert_eq!(pulses, 5);
    // Nothing before the last one is ended, and then all of it.
    pit.advance(Ns(6_100_000));
    assert!(pit.take_pulse());
    pit.advance(Ns(8_100_000));
    assert!(!pit.take_pulse());
    pit.ended();
    assert!(pit.take_pulse());
    // What was lost before the line was unmasked is forgotten.
    pit.unmasked();
    pit.ended();
    assert!(!pit.take_pulse());
}

proptest! {
    /// Whoever looks how often and when: pulses are as many as periods went by, counted one by one.
    #[test]
    fn a_periodic_channel_ticks_once_a_period(count in 300u16.., looks in prop::collection::vec(1u64..100_000_000, 1..20)) {
        let mut pit = Pit::new(false);
        load(&mut pit, 0, 3, count, Ns(0));
        let period = u64::from(count) * 1_000_000_000 / HZ;
        let mut now = Ns(0);
        let mut seen = 0;
        for ns in looks {
            now = now.after(ns);
            seen += pulses(&mut pit, now);
            prop_assert_eq!(seen, now.0 / period);
            prop_assert!(pit.next_deadline() > now);
        }
    }

    /// Of a one-shot channel: the count and the deadline are one clock, to the clock.
    #[test]
    fn count_and_tick_agree(count in 1u16.., at in 0u64..60_000_000) {
        let mut pit = Pit::new(false);
        load(&mut pit, 0, 0, count, Ns(0));
        let deadline = pit.next_deadline();
        let left = latched(&mut pit, 0, Ns(at.min(deadline.0)));
        // Not rounded to clocks: the count is the remaining clocks rounded up, the deadline lost less than 1 ns.
        let remaining = deadline.0.saturating_sub(at) * HZ;
        let one_clock = 1_000_000_000;
        let most = u64::from(left) * one_clock;
        prop_assert!(remaining <= most && remaining + one_clock + HZ > most, "{left} {remaining}");
    }

    /// Nothing that a guest writes breaks it.
    #[test]
    fn any_traffic_is_survived(steps in prop::collection::vec((0u16..6, any::<u8>(), 0u64..1 << 50, any::<bool>()), 1..100)) {
        let mut pit = Pit::new(true);
        let mut now = Ns(0);
        for (port, value, wait, is_write) in steps {
            let port = if port == 4 { SPEAKER_PORT } else { FIRST_PORT + port % 4 };
            now = now.after(wait);
            pit.advance(now);
            prop_assert!(pit.next_deadline() > now);
            if is_write { pit.write(port, value, now) } else { _ = pit.read(port, now) }
            if pit.take_pulse() { pit.ended() }
            // Counts of 0 ns do not exist: a deadline is in the future, or it is now.
            prop_assert!(pit.next_deadline() >= now);
        }
    }
}
