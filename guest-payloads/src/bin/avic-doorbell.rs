//! Requests and doorbells from another core (APM vol. 2 §15.29.8). The first vCPU is the guest; the second
//! one does what a hypervisor or a device does meanwhile: it writes the first one's backing page and rings.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::laboratory::{self as lab, Field, code, control};
use guest_payloads::trial::{self, NONE, chosen, fresh, outcome};
use guest_payloads::{apic, call::check, cpu, payload, smp};
use trapline_defs::apic::offset::{EOI, IRR, ISR, TPR};

payload! {
    about: "Is sent interrupts by another core, with and without a doorbell, while it spins or halts.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's interface.";
    choice idle: Idle { Nothing = "lacks", IdleHlt = "has" } = "lacks", "Whether it has Idle HLT.";
    run: run;
}

const HLT: u64 = 1 << 24;
const IDLE: u64 = 1 << 6;
/// What the guest grants the other core, in turns of a loop.
const PATIENCE: u64 = 40_000;

/// Doorbells around HLT; each comes this many ticks later than the one before, up to a limit.
const ROUNDS: u64 = 300;
const STEP: u64 = 61;
const LATEST: u64 = 9000;

/// The vector that is wanted; 0 when it is done.
static WANTED: Count = Count::new();
static RING: Count = Count::new();
/// Ticks before it is done.
static LATER: Count = Count::new();
static HOST: Count = Count::new();

fn other(_number: u32) {
    loop {
        cpu::wait_until(|| WANTED.get() != 0);
        smp::rest(LATER.get());
        trial::request(WANTED.get() as u8);
        if RING.get() != 0 {
            lab::poke(Field::Doorbell, HOST.get());
        }
        WANTED.set(0);
    }
}

/// Asks the other core for a vector.
fn ask(vector: u8, ring: bool, later: u64) {
    RING.set(ring.into());
    LATER.set(later);
    WANTED.set(vector.into());
}

/// Spins, with no exit and no access to the APIC, until the other core is done and then for a while.
fn spin() {
    cpu::wait_until(|| WANTED.get() == 0);
    for _ in 0..PATIENCE {
        cpu::pause();
    }
}

fn run(Params { registers, idle }: Params) {
    assert!(smp::vcpus() == 2, "one is the guest, one the rest of the world");
    let x2apic = registers == Registers::X2Apic;
    apic::open(if x2apic { apic::Mode::X2Apic } else { apic::Mode::XApic });
    smp::start(other);
    trial::take_over(x2apic);
    HOST.set(lab::peek(Field::HostId));
    running();
    halted();
    if idle == Idle::IdleHlt {
        idle_hlt();
        boundary();
    }
}

fn running() {
    fresh();
    cpu::sti_nop();
    ask(0x40, true, 0);
    spin();
    cpu::cli();
    check("AVIC-153 IRR and doorbell", 0x40, trial::taken());
    check("AVIC-153 ISR", 0x40, trial::top(ISR));
    check("AVIC-153 exits", NONE, outcome());

    fresh();
    cpu::sti_nop();
    ask(0x41, false, 0);
    spin();
    let spun = trial::taken();
    // A call is an exit, and a VMRUN.
    lab::poke(Field::Meanwhile, 0);
    cpu::cli();
    chosen("AVIC-154 IRR without a doorbell", 0, spun);
    check("AVIC-156 taken at the next VMRUN", 0x41, trial::taken());

    for register in [EOI, TPR] {
        fresh();
        // For EOI to end: of nothing it has no effect (AVIC-093).
        trial::serve(0x31);
        cpu::sti_nop();
        ask(0x42, false, 0);
        spin();
        let spun = trial::taken();
        apic::write(register, 0);
        cpu::cli();
        chosen("AVIC-154 and again", 0, spun);
        check("AVIC-155 taken at EOI or TPR write", 0x42, trial::taken());
        check("AVIC-155 exits", NONE, outcome());
    }
}

/// Without intercepts.
fn halted() {
    fresh();
    lab::change(control::INTERCEPT_3, HLT, 0);
    lab::clear();
    ask(0x43, true, 20_000);
    let hlt = trial::sti_hlt();
    check("IHLT-005 a doorbell wakes", 0x43, trial::taken());
    check("IHLT-005 behind HLT", hlt + 1, trial::came_at());
    check("IHLT-005 exits", NONE, outcome());
    cpu::wait_until(|| WANTED.get() == 0);
}

fn idle_hlt() {
    fresh();
    lab::change(control::INTERCEPT_5, 0, IDLE);
    lab::clear();
    ask(0x44, false, 0);
    spin();
    trial::sti_hlt();
    chosen("IHLT-014 IRR without a doorbell", trial::one(code::IDLE_HLT), outcome());
    check("IHLT-014 taken at VMRUN", 0x44, trial::taken());

    // With interrupts off the doorbell is seen and kept: for HLT it is the same as one in the shadow of STI.
    fresh();
    lab::clear();
    ask(0x45, true, 0);
    spin();
    let hlt = trial::sti_hlt();
    check("IHLT-015 doorbell before HLT", NONE, outcome());
    check("IHLT-015 taken", 0x45, trial::taken());
    check("IHLT-015 behind HLT", hlt + 1, trial::came_at());
    check("IHLT-015 IRR", 0, trial::top(IRR));
}

/// Whatever the moment, the interrupt is taken, or HLT exits and VMRUN finds it. In small, and rung by the
/// hypervisor: the rule wants 10^6 and another guest's ICR.
fn boundary() {
    fresh();
    let (mut lost, mut exits) = (0, 0);
    for round in 0..ROUNDS {
        trial::forget();
        trial::end_each();
        ask(0x46, true, round * STEP % LATEST);
        while WANTED.get() != 0 {
            trial::sti_hlt();
        }
        trial::sti_hlt();
        lost += u64::from(trial::taken() != 0x46);
        exits += lab::exits();
    }
    check("IHLT-030 doorbells that were lost", 0, lost);
    chosen("IHLT-030 HLT exited now and then", 1, u64::from(exits > ROUNDS / 10));
    lab::change(control::INTERCEPT_5, IDLE, 0);
}
