//! Random traffic: nothing is lost, invented or delivered twice, whatever is preempted, blocked, inhibited
//! or rung meanwhile. What comes outranks what runs, and comes with IF set (both in [`Machine`]).

use super::machine::{Machine, Place, VCPUS};
use proptest::prelude::*;
use trapline_policy::avic::features::Features;

fn step(machine: &mut Machine, bits: u64) {
    let n = bits as usize % VCPUS;
    let to = (bits >> 8) as usize % VCPUS;
    let vector = 0x20 + (bits >> 16) as u8 % 0xd0;
    // Kicks and doorbells take their time.
    if bits >> 48 & 3 != 0 {
        machine.boundary(n);
    }
    match bits >> 32 & 31 {
        0..=6 => machine.send(n, Some(to), vector),
        7 => machine.send(n, None, vector),
        8..=15 => machine.end_handler(n),
        16 | 17 => machine.set_interrupts(n, bits >> 40 & 1 != 0),
        18..=20 => machine.halt(n),
        21 => machine.preempt(n),
        22..=25 => machine.resume(n),
        26 => machine.inhibit(n, bits >> 40 & 1 != 0),
        _ => {}
    }
}

/// Lets everything come to its end.
fn settle(machine: &mut Machine) {
    for _ in 0..4000 {
        for n in 0..VCPUS {
            machine.boundary(n);
            machine.resume(n);
            machine.end_handler(n);
            machine.set_interrupts(n, true);
        }
        let waits = machine.outstanding.iter().flatten().any(|&waits| waits);
        if !waits && machine.cores.iter().all(|core| core.handlers.is_empty()) {
            return;
        }
    }
    let lost: Vec<_> = machine
        .outstanding
        .iter()
        .enumerate()
        .map(|(n, sent)| (n, machine.cores[n].place, sent.iter().filter(|&&waits| waits).count()))
        .collect();
    panic!("never came (vCPU, where it is, how many): {lost:?}");
}

fn features(bits: u64) -> Features {
    Features {
        avic: bits & 7 != 0,
        x2avic: bits & 7 != 0 && bits & 8 == 0,
        ipi_virtualization: bits & 0x30 != 0,
        idle_hlt: bits & 0x40 != 0,
        vnmi: true,
        ..Features::default()
    }
}

proptest! {
    // With `silicon`'s own traffic well over a million steps.
    #![proptest_config(ProptestConfig::with_cases(1200))]

    #[test]
    fn nothing_is_lost_invented_or_delivered_twice_under_kvm_s_policy(
        x2apic: bool,
        chosen: u64,
        steps in prop::collection::vec(any::<u64>(), 0..1600),
    ) {
        let mut machine = Machine::new(x2apic, features(chosen));
        steps.into_iter().for_each(|bits| step(&mut machine, bits));
        settle(&mut machine);
    }
}

#[test]
fn traffic_is_not_vacuous() {
    // AVIC, x2AVIC, IsRunning set, no Idle HLT.
    let mut machine = Machine::new(true, features(0x11));
    let mut random = 1u64;
    let mut places = [0; 4];
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        step(&mut machine, random >> 8 ^ random << 24);
        for core in &machine.cores {
            places[match core.place {
                Place::Guest => 0,
                Place::Preempted => 1,
                Place::Blocked => 2,
                Place::Halted => 3,
            }] += 1;
        }
    }
    settle(&mut machine);
    assert!(machine.delivered > 2000, "{}", machine.delivered);
    assert!(places[..3].iter().all(|&times| times > 100), "{places:?}");
}
