//! The AutoEOI count with vCPUs on threads of their own.

use super::*;
use crate::vm::{Devices, Shared};
use std::sync::Barrier;
use trapline_abi::machine::Machine;

/// How often each vCPU turns AutoEOI on and off.
const TOGGLES: u32 = 100_000;
/// After so many both rest.
const ROUND: u32 = 500;

/// Two vCPUs toggle at once; whenever both rest, the inhibit is what the count says, and the count is that
/// of those that left it on.
fn toggle(shared: &Shared, vcpu: u32, barrier: &Barrier) -> u32 {
    let mut synic = Synic::new(vcpu);
    let mut timers = Timers::new(ReferenceClock::new(1_000_000));
    let mut wrong = 0;
    let mut write = |value| {
        let Devices { partition, inhibits, .. } = &mut *shared.devices();
        let now = Ns(0);
        let done = write_msr(partition, &mut synic, &mut timers, inhibits, SINT0 + 2, value, now);
        assert!(matches!(done, Ok(Effect::SintChanged { .. })));
    };
    for round in 0..TOGGLES / ROUND {
        for _ in 0..ROUND {
            write(AUTO_EOI | 0x40);
            write(0x40);
        }
        // In every other round one of them stays on.
        let stays_on = round % 2 == vcpu;
        if stays_on {
            write(AUTO_EOI | 0x40);
        }
        barrier.wait();
        let count = shared.devices().partition.auto_eoi_users();
        let inhibited = shared.devices().inhibits.has(Reason::Hyperv);
        wrong += u32::from(count != 1 || !inhibited);
        barrier.wait();
        write(0x40);
        barrier.wait();
        let count = shared.devices().partition.auto_eoi_users();
        let inhibited = shared.devices().inhibits.has(Reason::Hyperv);
        wrong += u32::from(count != 0 || inhibited);
        barrier.wait();
    }
    wrong
}

#[test]
fn hv_121_two_vcpus_that_toggle_at_once_leave_count_and_inhibit_in_agreement() {
    let machine = Machine { hyperv: HyperV::USUAL, ..Machine::PLAIN };
    let shared = Shared::new(&machine, None, RAM);
    let barrier = Barrier::new(2);
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| toggle(&shared, 1, &barrier));
        toggle(&shared, 0, &barrier) + other.join().unwrap()
    });
    assert_eq!(wrong, 0);
}
