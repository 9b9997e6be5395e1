//! A spinlock as Linux has it under KVM: whoever waits too long halts, and whoever unlocks kicks it (PVI-5, HC-6;
//! spec pv-and-formats.md a.6).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::ipi_choice::{Driver, Kernel};
use guest_payloads::{apic, barrier, call, cpu, kvm, payload, smp};

payload! {
    about: "Two vCPUs take one lock in turn, and hold it for longer than the other one wants to spin.";
    number n = 20, "How often each.";
    number hold = 50000, "TSC ticks for which it is held.";
    number spin = 20000, "TSC ticks until a waiter halts, if it may.";
    run: run;
}

static N: Count = Count::new();
static HOLD: Count = Count::new();
static SPIN: Count = Count::new();
static IS_PV: Count = Count::new();
/// Whose the lock is, or will be as soon as it asks for it.
static OWNER: Count = Count::new();
/// Who halts, or is about to.
static WAITS: Counts = Counts::new();
/// Who is inside.
static INSIDE: Count = Count::new();
static WRONG: Count = Count::new();

fn lock(me: u32) {
    let start = cpu::tsc();
    while OWNER.get() != u64::from(me) {
        if IS_PV.get() != 0 && cpu::tsc() - start >= SPIN.get() {
            let waits = WAITS.of(me);
            waits.set(1);
            // Looked at once more: whoever unlocks looks at the two in the other order.
            if OWNER.get() != u64::from(me) {
                cpu::hlt();
            }
            waits.set(0);
        }
        cpu::pause();
    }
}

fn unlock(next: u32) {
    OWNER.set(next.into());
    if WAITS.of(next).get() != 0 {
        kvm::kick(next);
    }
}

fn take_turns(me: u32) {
    for _ in 0..N.get() {
        lock(me);
        INSIDE.add();
        smp::rest(HOLD.get());
        WRONG.add_if(INSIDE.get() != 1);
        INSIDE.set(0);
        unlock(1 - me);
    }
}

fn second(me: u32) {
    barrier::meet();
    call::begin("second");
    take_turns(me);
    call::end();
    barrier::meet();
}

fn run(Params { n, hold, spin }: Params) {
    assert!(smp::vcpus() == 2, "this payload needs `vcpus = 2`");
    apic::open(apic::Mode::X2Apic);
    let kernel = Kernel::booted(Driver::Physical);
    N.set(n);
    HOLD.set(hold);
    SPIN.set(spin);
    IS_PV.set(u64::from(kernel.uses_pv_locks()));
    smp::start(second);
    barrier::meet();
    // The lock is the first one's from the start; the other one waits for it already when it is given up.
    cpu::wait_until(|| !kernel.uses_pv_locks() || WAITS.of(1).get() != 0);
    call::begin("first");
    take_turns(0);
    call::end();
    barrier::meet();
    call::check("PVI-5 times that both were inside", 0, WRONG.get());
    call::check("PVI-5 whose the lock is in the end", 0, OWNER.get());
}
