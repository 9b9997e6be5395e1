use super::*;
use crate::lapic::TscClock;

const ONE_SHOT: u32 = 0x30;
const PERIODIC: u32 = 0x2_0030;
const DEADLINE: u32 = 0x4_0030;
const MASKED: u32 = 0x1_0000;

fn timer(mode: u32) -> Lapic {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_TIMER, mode, T0);
    // Divide by 1.
    apic.write_mmio(offset::TIMER_DIVIDE, 0xb, T0);
    apic
}

fn fired(apic: &mut Lapic) -> bool {
    let fired = apic.highest_irr() == Some(0x30);
    if fired {
        apic.acknowledge(0x30, true);
    }
    fired
}

#[test]
fn a_one_shot_count_fires_once_and_reads_down() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.next_deadline(), T0.after(1000));
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, T0.after(400)), 600);
    apic.advance(T0.after(999));
    assert!(!fired(&mut apic));
    apic.advance(T0.after(1000));
    assert!(fired(&mut apic));
    assert_eq!(apic.next_deadline(), Ns::NEVER);
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, T0.after(1500)), 0);
    assert_eq!(apic.read_mmio(offset::TIMER_INITIAL, T0), 1000);
}

#[test]
fn an_expiry_requests_events() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 10, T0);
    assert!(!requested(&mut apic));
    apic.advance(T0.after(10));
    assert!(requested(&mut apic));
}

#[test]
fn the_divider_is_2_after_reset_and_decodes_all_values() {
    let mut apic = xapic();
    apic.write_mmio(offset::LVT_TIMER, ONE_SHOT, T0);
    apic.write_mmio(offset::TIMER_INITIAL, 100, T0);
    assert_eq!(apic.next_deadline(), T0.after(200));
    let dividers =
        [(0x0, 2), (0x1, 4), (0x2, 8), (0x3, 16), (0x8, 32), (0x9, 64), (0xa, 128), (0xb, 1)];
    for (value, divider) in dividers {
        apic.write_mmio(offset::TIMER_DIVIDE, value, T0);
        apic.write_mmio(offset::TIMER_INITIAL, 100, T0);
        assert_eq!(apic.next_deadline(), T0.after(100 * divider), "{value:#x}");
    }
}

#[test]
fn a_new_divider_stretches_what_is_left() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    let half = T0.after(500);
    apic.write_mmio(offset::TIMER_DIVIDE, 0x1, half);
    assert_eq!(apic.next_deadline(), half.after(2000));
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, half), 500);
}

#[test]
fn a_new_divider_after_a_one_shot_count_fires_again_as_in_kvm() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    apic.advance(T0.after(1000));
    assert!(fired(&mut apic));
    apic.write_mmio(offset::TIMER_DIVIDE, 0x1, T0.after(5000));
    assert!(fired(&mut apic));
}

#[test]
fn a_periodic_count_keeps_its_phase() {
    let mut apic = timer(PERIODIC);
    apic.write_mmio(offset::TIMER_INITIAL, 1_000_000, T0);
    for period in 1..=3 {
        apic.advance(T0.after(period * 1_000_000 + 7));
        assert!(fired(&mut apic));
        assert_eq!(apic.next_deadline(), T0.after((period + 1) * 1_000_000));
    }
}

#[test]
fn missed_periods_merge_into_one_interrupt() {
    let mut apic = timer(PERIODIC);
    apic.write_mmio(offset::TIMER_INITIAL, 1_000_000, T0);
    apic.advance(T0.after(5_500_000));
    assert!(fired(&mut apic));
    apic.advance(T0.after(5_500_000));
    assert!(!fired(&mut apic));
    assert_eq!(apic.next_deadline(), T0.after(6_000_000));
}

#[test]
fn kvm_lengthens_short_periods_but_not_one_shot_counts() {
    let mut apic = timer(PERIODIC);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.next_deadline(), T0.after(200_000));
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.next_deadline(), T0.after(1000));
}

#[test]
fn the_count_reads_0_in_the_nanosecond_of_its_start_as_in_kvm() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, T0), 0);
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, T0.after(1)), 999);
}

#[test]
fn writing_0_stops_the_count() {
    let mut apic = timer(PERIODIC);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    apic.write_mmio(offset::TIMER_INITIAL, 0, T0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
}

#[test]
fn an_expiry_behind_a_mask_fires_when_the_entry_opens_as_in_kvm() {
    let mut apic = timer(ONE_SHOT | MASKED);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    apic.advance(T0.after(2000));
    assert!(!fired(&mut apic));
    apic.write_mmio(offset::LVT_TIMER, ONE_SHOT, T0.after(3000));
    assert!(fired(&mut apic));
}

#[test]
fn a_delivered_expiry_does_not_fire_again_when_the_entry_is_rewritten() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    apic.advance(T0.after(1000));
    assert!(fired(&mut apic));
    apic.write_mmio(offset::LVT_TIMER, ONE_SHOT, T0.after(2000));
    assert!(!fired(&mut apic));
}

#[test]
fn disabling_drops_an_expiry_that_waits_behind_a_mask() {
    let mut apic = timer(ONE_SHOT | MASKED);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    apic.advance(T0.after(2000));
    apic.write_mmio(offset::SVR, 0xff, T0);
    apic.write_mmio(offset::SVR, ENABLED, T0);
    apic.write_mmio(offset::LVT_TIMER, ONE_SHOT, T0.after(3000));
    assert!(!fired(&mut apic));
}

#[test]
fn a_deadline_in_the_future_arms_and_reads_back_until_it_fires() {
    let mut apic = timer(DEADLINE);
    apic.write_tsc_deadline(5000, T0);
    assert_eq!(apic.read_tsc_deadline(), 5000);
    assert_eq!(apic.next_deadline(), Ns(5000));
    apic.advance(Ns(5000));
    assert!(fired(&mut apic));
    assert_eq!(apic.read_tsc_deadline(), 0);
}

#[test]
fn a_deadline_in_the_past_fires_at_once_and_0_disarms() {
    let mut apic = timer(DEADLINE);
    apic.write_tsc_deadline(5, T0);
    assert!(fired(&mut apic));
    apic.write_tsc_deadline(5000, T0);
    apic.write_tsc_deadline(0, T0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
    assert!(!fired(&mut apic));
}

#[test]
fn deadline_and_counting_ignore_each_other_s_registers() {
    let mut apic = timer(DEADLINE);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.read_mmio(offset::TIMER_INITIAL, T0), 0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
    let mut apic = timer(ONE_SHOT);
    apic.write_tsc_deadline(5000, T0);
    assert_eq!(apic.read_tsc_deadline(), 0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
}

#[test]
fn changing_to_deadline_mode_stops_the_count_and_changing_to_periodic_does_not() {
    let mut apic = timer(ONE_SHOT);
    apic.write_mmio(offset::TIMER_INITIAL, 300_000, T0);
    apic.write_mmio(offset::LVT_TIMER, PERIODIC, T0);
    apic.advance(T0.after(300_000));
    assert!(fired(&mut apic));
    assert_eq!(apic.next_deadline(), T0.after(600_000));
    apic.write_mmio(offset::LVT_TIMER, DEADLINE, T0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
    assert_eq!(apic.read_mmio(offset::TIMER_INITIAL, T0), 0);
}

#[test]
fn the_reserved_mode_never_starts() {
    let mut apic = timer(0x6_0030);
    apic.write_mmio(offset::TIMER_INITIAL, 1000, T0);
    assert_eq!(apic.next_deadline(), Ns::NEVER);
}

#[test]
fn deadlines_follow_the_guest_s_tsc() {
    let clock = TscClock { khz: 2_500_000, offset: 1_000_000 };
    assert_eq!(clock.ticks(Ns(2000)), 1_005_000);
    assert_eq!(clock.when(1_005_000 + 2500, Ns(2000)), Ns(3000));
    assert_eq!(clock.when(1_005_001, Ns(2000)), Ns(2001), "rounded up");
    assert_eq!(clock.when(u64::MAX, Ns(2000)).since(Ns(0)) >> 60, 6, "far, without overflow");
    let mut apic = timer(DEADLINE);
    apic.set_tsc_clock(clock);
    apic.write_tsc_deadline(1_007_500, Ns(2000));
    assert_eq!(apic.next_deadline(), Ns(3000));
}

#[test]
fn a_standing_tsc_never_reaches_a_deadline() {
    assert_eq!(TscClock { khz: 0, offset: 0 }.when(1, T0), Ns::NEVER);
}

#[test]
fn init_stops_the_timer() {
    let mut apic = timer(PERIODIC);
    apic.write_mmio(offset::TIMER_INITIAL, 300_000, T0);
    apic.reset();
    assert_eq!(apic.next_deadline(), Ns::NEVER);
    assert_eq!(apic.read_mmio(offset::TIMER_CURRENT, T0.after(1)), 0);
}
