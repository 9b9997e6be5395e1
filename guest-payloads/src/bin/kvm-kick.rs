//! KICK_CPU: what a paravirtual spinlock does to the next one in the queue (HC-6).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, barrier, call, cpu, interrupt, kvm, payload, smp};

payload! {
    about: "A vCPU halts with interrupts off; an IPI must not wake it, a kick must.";
    number n = 20, "How often.";
    number period = 50000, "TSC ticks until the IPI, and from there until the kick.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    choice first: First { Halt = "halt", Kick = "kick" } = "halt", "Whether the halt or the kick comes first.";
    run: run;
}

const VECTOR: u8 = 0x41;

static N: Count = Count::new();
static KICK_FIRST: Count = Count::new();
static HALTING: Count = Count::new();
static KICKED: Count = Count::new();
static WOKEN: Count = Count::new();
static IPIS: Count = Count::new();
static TOO_EARLY: Count = Count::new();
static WRONG: Count = Count::new();

fn handler() {
    IPIS.add();
    apic::eoi();
}

fn run(Params { n, period, mode, first }: Params) {
    assert!(smp::vcpus() == 2, "this payload needs `vcpus = 2`");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    N.set(n);
    KICK_FIRST.set(u64::from(first == First::Kick));
    smp::start(wait_in_line);
    let mut answers = 0;
    barrier::meet();
    cpu::wait_until(|| HALTING.get() == 1);
    call::begin("unlocker");
    for round in 1..=n {
        cpu::wait_until(|| HALTING.get() == round);
        if first == First::Halt {
            smp::rest(period);
            smp::send(1, VECTOR);
            smp::rest(period);
            TOO_EARLY.add_if(WOKEN.get() != round - 1);
        }
        answers |= kvm::kick(1);
        KICKED.set(round);
        cpu::wait_until(|| WOKEN.get() == round);
    }
    call::end();
    barrier::meet();
    let ipis = if first == First::Halt { n } else { 0 };
    call::check("HC-6 what a kick answers", 0, answers as u64);
    call::check("HC-6 halts that ended before the kick", 0, TOO_EARLY.get());
    call::check("HC-6 interrupts that came by a kick", 0, WRONG.get());
    call::check("HC-6 IPIs that came behind STI", ipis, IPIS.get());
}

fn wait_in_line(_number: u32) {
    barrier::meet();
    call::begin("waiter");
    for round in 1..=N.get() {
        let before = IPIS.get();
        HALTING.set(round);
        if KICK_FIRST.get() != 0 {
            cpu::wait_until(|| KICKED.get() == round);
        }
        cpu::hlt();
        WRONG.add_if(IPIS.get() != before);
        WOKEN.set(round);
        cpu::sti_nop();
        if KICK_FIRST.get() == 0 {
            cpu::wait_until(|| IPIS.get() == before + 1);
        }
        cpu::cli();
    }
    call::end();
    barrier::meet();
}
