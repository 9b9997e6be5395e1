//! How an interrupt reaches a vCPU, and what keeps it from being lost.

use super::bench::{Bench, FEATURES, host_id};
use crate::avic::features::Features;
use crate::avic::{activation, post, running};
use crate::lapic::{Delivery, Vectors};
use crate::mailbox::State;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use trapline_defs::apic::{Icr, offset};
use trapline_defs::avic::PhysicalEntry;

fn send(bench: &mut Bench, to: u32, vector: u8) {
    let icr = Icr::from_xapic(vector.into(), to << 24);
    let own = bench.vm.send_ipi(&mut bench.vcpus[0], icr);
    assert_eq!(own, Delivery::None);
}

#[test]
fn avh_011_a_vector_is_posted_before_its_target_is_looked_at() {
    for (state, kicks, doorbells) in
        [(State::Guest, 0, 1 << 1), (State::Asleep, 1 << 1, 0), (State::Host, 0, 0)]
    {
        let mut bench = Bench::new(2);
        bench.set_state(1, state);
        send(&mut bench, 1, 0xb0);
        assert!(bench.page(1).vectors(offset::IRR).has(0xb0));
        assert_eq!((bench.vcpus[0].kicks, bench.vcpus[0].doorbells), (kicks, doorbells));
    }
}

/// Both sides of the race at once, as often as it takes: whoever comes second sees the other.
#[test]
fn avh_012_a_vcpu_that_blocks_never_sleeps_over_a_vector() {
    let mut bench = Bench::new(2);
    let vm = bench.vm;
    let mut sleeper = bench.vcpus.pop().unwrap();
    let mut sender = bench.vcpus.pop().unwrap();
    let (rounds, woken) = (AtomicU32::new(0), AtomicBool::new(false));
    const ROUNDS: u32 = 20_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                while rounds.load(SeqCst) < round {
                    std::hint::spin_loop();
                }
                // What the processor does, and KVM at exit 401h: OR, barrier, IsRunning; else wake.
                vm.avic.page(1).set(offset::IRR, 0xb0);
                if !vm.avic.entry(1).is_running() {
                    vm.notify(&mut sender, 1);
                    if sender.kicks != 0 {
                        sender.kicks = 0;
                        woken.store(true, SeqCst);
                    }
                }
            }
        });
        for round in 1..=ROUNDS {
            vm.mailbox(1).set_state(State::Guest);
            running::load(&vm, &mut sleeper, host_id(1));
            rounds.store(round, SeqCst);
            vm.mailbox(1).set_state(State::Host);
            running::put(&vm, &mut sleeper);
            vm.mailbox(1).set_state(State::Asleep);
            while !post::is_pending(vm.avic, &sleeper) && !woken.swap(false, SeqCst) {
                std::hint::spin_loop();
            }
            // The vector is on its way if the wake-up came first.
            while !vm.avic.page(1).clear(offset::IRR, 0xb0) {
                std::hint::spin_loop();
            }
            woken.store(false, SeqCst);
        }
    });
}

#[test]
fn avh_013_host_id_and_is_running_come_in_one_word() {
    let mut bench = Bench::new(2);
    let page = bench.vm.avic.backing_page(1);
    assert_eq!(bench.vm.avic.entry(1), PhysicalEntry::running(page, host_id(1)));
    running::put(&bench.vm, &mut bench.vcpus[1]);
    let parked = PhysicalEntry::parked(page).with_host_id(host_id(1));
    assert_eq!(bench.vm.avic.entry(1), parked, "the host id stays");
    running::load(&bench.vm, &mut bench.vcpus[1], 7);
    assert_eq!(bench.vm.avic.entry(1), PhysicalEntry::running(page, 7));
}

#[test]
fn avh_014_tmr_says_how_a_vector_came_before_irr_says_that_it_did() {
    let bench = Bench::new(2);
    let page = bench.page(1);
    assert!(post::post(bench.vm.avic, 1, 0xb0, true));
    assert!(page.vectors(offset::TMR).has(0xb0));
    assert!(post::post(bench.vm.avic, 1, 0xb0, false));
    assert!(!page.vectors(offset::TMR).has(0xb0));
    // Whoever sees the vector sees how it came.
    let tables = bench.vm.avic;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..20_000u32 {
                let _ = post::post(tables, 1, 0x51, round % 2 == 0);
                while page.vectors(offset::IRR).has(0x51) {
                    std::hint::spin_loop();
                }
            }
        });
        for round in 0..20_000u32 {
            while !page.vectors(offset::IRR).has(0x51) {
                std::hint::spin_loop();
            }
            assert_eq!(page.vectors(offset::TMR).has(0x51), round % 2 == 0);
            page.clear(offset::IRR, 0x51);
        }
    });
}

#[test]
fn avh_015_every_vcpu_has_a_valid_entry_before_any_runs() {
    let bench = Bench::off(4, FEATURES, None);
    for n in 0..4 {
        let entry = bench.vm.avic.entry(n);
        assert!(entry.valid() && !entry.is_running(), "vCPU {n}");
        assert_eq!(entry.page(), bench.vm.avic.backing_page(n));
    }
    assert!(!bench.vm.avic.entry(4).valid());
}

#[test]
fn avh_023_without_ipi_virtualization_nobody_ever_runs() {
    let features = Features { ipi_virtualization: false, ..FEATURES };
    let mut bench = Bench::with(2, features, None);
    for n in 0..2 {
        assert!(!bench.vm.avic.entry(n).is_running());
        running::load(&bench.vm, &mut bench.vcpus[n as usize], host_id(n));
        assert!(!bench.vm.avic.entry(n).is_running());
        assert_eq!(bench.vm.avic.entry(n).host_id(), host_id(n), "for the doorbell");
    }
    bench.set_state(1, State::Guest);
    send(&mut bench, 1, 0xb0);
    assert_eq!(bench.vcpus[0].doorbells, 1 << 1, "posting goes on as ever");
}

/// AVIC goes off for a vCPU while others post to it: each vector arrives once, by one way or the other.
#[test]
fn avh_021_nothing_is_lost_or_doubled_when_avic_goes_off_under_a_sender() {
    for round in 0..300u32 {
        let mut bench = Bench::new(2);
        let vm = bench.vm;
        let mut target = bench.vcpus.pop().unwrap();
        let mut vmcb = bench.vmcbs.pop().unwrap();
        let go = AtomicBool::new(false);
        let boxed = std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                while !go.load(SeqCst) {
                    std::hint::spin_loop();
                }
                (32..=255u8).filter(|&vector| !post::post(vm.avic, 1, vector, false)).count()
            });
            go.store(true, SeqCst);
            (0..round * 7 % 500).for_each(|_| std::hint::spin_loop());
            vm.devices().inhibits.set(crate::inhibit::Reason::PitReinject);
            crate::avic::inhibits::announce(&vm, &mut target);
            activation::update(&vm, &mut target, &mut vmcb);
            sender.join().unwrap()
        });
        let taken = Vectors(*target.lapic.irr()).count();
        assert_eq!(usize::from(taken) + boxed, 224, "round {round}");
        assert_eq!(vm.avic.page(1).vectors(offset::IRR), Vectors::EMPTY);
    }
}
