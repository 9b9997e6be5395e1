//! Several cores at once, each in a thread of its own.

use super::bench::{Bench, PHYSICAL_BITS, Ram, VMCB, host, page, silicon};
use crate::{AvicMode, Boundary, Gate, Halt, Knobs, Memory, Outcome, Processor, Taken};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use trapline_defs::apic::offset;
use trapline_defs::avic::{FailureId, IncompleteIpi, PhysicalEntry};
use trapline_defs::intercept::Word5;
use trapline_defs::vmcb::ControlArea;

/// A core that runs vCPU `id` of the bench's VM, in guest mode.
fn core(bench: &Bench, id: u16, change: impl FnOnce(&mut ControlArea)) -> Processor {
    let mut control = bench.control;
    control.avic_backing_page = page(id);
    change(&mut control);
    let mut cpu = Processor::new(silicon("zen5"), Knobs::default(), host(id), PHYSICAL_BITS);
    cpu.vmrun(VMCB + u64::from(id) * 0x1000, &control, &bench.ram).unwrap();
    cpu
}

fn send(cpu: &mut Processor, ram: &Ram, vector: u8, id: u16, ring: impl FnMut(u16)) -> Outcome {
    cpu.write_msr(0x830, u64::from(id) << 32 | u64::from(vector), Gate::OPEN, ram, ring)
}

/// Two senders post to vCPU 0 at the same time, again and again.
fn two_senders(vectors: [u8; 2], check: impl Fn(&Ram)) {
    let bench = Bench::ready(AvicMode::X2Avic);
    let start = Barrier::new(2);
    let (ram, start) = (&bench.ram, &start);
    for _ in 0..200 {
        thread::scope(|scope| {
            for (id, vector) in [(1, vectors[0]), (2, vectors[1])] {
                let mut cpu = core(&bench, id, |_| {});
                scope.spawn(move || {
                    start.wait();
                    assert_eq!(send(&mut cpu, ram, vector, 0, |_| {}), Outcome::Absorbed(()));
                });
            }
        });
        check(ram);
        (0x200..0x280).step_by(16).for_each(|register| ram.set_reg(0, register, 0));
        (0x100..0x180).step_by(16).for_each(|register| ram.set_reg(0, register, 0));
    }
}

#[test]
fn avic_146_two_senders_of_one_vector_deliver_it_once() {
    let mut target = Bench::new(AvicMode::X2Avic);
    two_senders([0x50, 0x50], |ram| assert_eq!(ram.all(offset::IRR), [(0, 0x50)]));
    target.ram.set(0, offset::IRR, 0x50);
    target.doorbell();
    target.doorbell();
    assert_eq!(target.boundary(), Taken::Interrupt(0x50));
    assert_eq!(target.boundary(), Taken::Nothing);
}

#[test]
fn avic_147_two_senders_into_one_word_lose_nothing() {
    two_senders([0x41, 0x42], |ram| {
        assert_eq!(ram.all(offset::IRR), [(0, 0x41), (0, 0x42)]);
    });
}

/// Sender: OR IRR, barrier, load IsRunning. Hypervisor of the target: IsRunning=0, barrier, load
/// IRR. If neither saw the other the interrupt is lost.
#[test]
fn a_sender_and_a_blocking_hypervisor_never_both_miss() {
    let bench = Bench::ready(AvicMode::X2Avic);
    let mut sender = core(&bench, 1, |_| {});
    let (ram, round) = (&bench.ram, Barrier::new(2));
    let (reported, mut lost) = (AtomicU32::new(0), 0);
    let rounds = 20_000;
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..rounds {
                round.wait();
                let sent = send(&mut sender, ram, 0x50, 0, |_| {});
                let exit = matches!(sent, Outcome::Exit(exit)
                    if IncompleteIpi::from_bits(exit.info_2).id() == FailureId::NOT_RUNNING);
                reported.store(u32::from(exit), Ordering::SeqCst);
                round.wait();
            }
        });
        for _ in 0..rounds {
            ram.set_entry(0, PhysicalEntry::running(page(0), host(0)));
            ram.set_reg(0, offset::IRR + 0x20, 0);
            round.wait();
            ram.set_entry(0, PhysicalEntry::parked(page(0)));
            ram.barrier();
            let seen = ram.has(0, offset::IRR, 0x50);
            round.wait();
            // A panic here would leave the other thread waiting.
            lost += u32::from(!seen && reported.load(Ordering::SeqCst) == 0);
        }
    });
    assert_eq!(lost, 0, "of {rounds} interrupts");
}

/// The target runs STI;HLT with Idle HLT, and its hypervisor blocks it as Linux does. The sender
/// waits for each IPI to be consumed, so every one meets the target somewhere around its HLT.
#[test]
fn ihlt_030_no_wake_up_is_lost_at_the_hlt_boundary() {
    let bench = Bench::ready(AvicMode::X2Avic);
    let ram = &bench.ram;
    let mut sender = core(&bench, 1, |_| {});
    let mut control = bench.control;
    control.intercept_5 = Word5::IDLE_HLT;
    let mut target = core(&bench, 0, |c| *c = control);
    // Doorbells and kicks that are on their way to the target's core.
    let (bells, kicks, consumed) =
        (AtomicU32::new(0), AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
    let hops = 20_000;
    // A lost wake-up would leave both threads waiting.
    let started = Instant::now();
    let in_time = || started.elapsed() < Duration::from_secs(60);
    thread::scope(|scope| {
        let done = Arc::clone(&consumed);
        let (bells, kicks) = (&bells, &kicks);
        scope.spawn(move || {
            for hop in 0..hops {
                let ring = |_| {
                    bells.fetch_add(1, Ordering::SeqCst);
                };
                if send(&mut sender, ram, 0x50, 0, ring) != Outcome::Absorbed(()) {
                    kicks.fetch_add(1, Ordering::SeqCst);
                }
                while done.load(Ordering::SeqCst) == hop && in_time() {
                    std::hint::spin_loop();
                    thread::yield_now();
                }
            }
        });
        let open = Boundary { interrupts: true, host_interrupts: true, ..Boundary::default() };
        while consumed.load(Ordering::SeqCst) < hops && in_time() {
            if bells.swap(0, Ordering::SeqCst) != 0 {
                target.doorbell(ram);
            }
            if let Taken::Interrupt(vector) = target.boundary(open, ram) {
                assert_eq!(vector, 0x50);
                let eoi = target.write_msr(0x80b, 0, Gate::OPEN, ram, |_| {});
                assert_eq!(eoi, Outcome::Absorbed(()));
                consumed.fetch_add(1, Ordering::SeqCst);
            }
            if target.halt(0, true) == Halt::Halts {
                continue;
            }
            // A6h: IsRunning off, barrier, look once more, then sleep until kicked.
            target.vmexit(&mut control);
            ram.set_entry(0, PhysicalEntry::parked(page(0)));
            ram.barrier();
            while !ram.has(0, offset::IRR, 0x50)
                && kicks.swap(0, Ordering::SeqCst) == 0
                && consumed.load(Ordering::SeqCst) < hops
                && in_time()
            {
                thread::yield_now();
            }
            ram.set_entry(0, PhysicalEntry::running(page(0), host(0)));
            target.vmrun(VMCB, &control, ram).unwrap();
        }
    });
    assert_eq!(consumed.load(Ordering::SeqCst), hops);
}
