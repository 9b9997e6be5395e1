//! NMIs by IPI: they ask neither IF nor priorities, one waits for the handler's IRET, and a further one
//! is the same (APM vol. 2 §8.2.3).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};

payload! {
    about: "Sends NMIs with interrupts off all the time: to itself, from its handler, to another vCPU.";
    number n = 20, "How many, but for those from the handler.";
    number nested = 0, "NMIs that the handler of each of them sends to itself.";
    number burst = 1, "How many at once to another vCPU, 1 or 2: KVM keeps one in delivery and one that waits.";
    number gap = 20000, "TSC ticks before each to another vCPU: time to halt.";
    choice to: To { Itself = "self", Spinning = "spinning", Halted = "halted" }
        = "self", "Itself, or the last vCPU, which spins or has executed CLI and HLT.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const NMI: u8 = 2;
/// What an NMI has to come early.
const PATIENCE: u64 = 500;

static N: Count = Count::new();
static BURST: Count = Count::new();
static NESTED: Count = Count::new();
static HALTS: Count = Count::new();
/// NMIs of the sender's that came, and those that were latched for them.
static CAME: Count = Count::new();
static LATCHED: Count = Count::new();
/// Handlers that run.
static INSIDE: Count = Count::new();
static TOO_EARLY: Count = Count::new();
static NO_WAKE_UP: Count = Count::new();

fn handler() {
    TOO_EARLY.add_if(INSIDE.get() != 0);
    let is_latched = NESTED.get() != 0 && CAME.get() > LATCHED.get();
    if is_latched {
        return LATCHED.add();
    }
    INSIDE.set(1);
    for _ in 0..NESTED.get() {
        smp::send_nmi(smp::number());
    }
    smp::rest(if NESTED.get() == 0 { 0 } else { PATIENCE });
    INSIDE.set(0);
    CAME.add();
}

fn all_came(count: u64) -> bool {
    CAME.get() >= count && (NESTED.get() == 0 || LATCHED.get() >= count)
}

fn target(_number: u32) {
    call::begin("target");
    barrier::meet();
    let burst = BURST.get();
    for count in 1..=N.get() {
        if HALTS.get() != 0 {
            cpu::hlt();
            // Nothing else can have woken it.
            NO_WAKE_UP.add_if(CAME.get() <= (count - 1) * burst);
        }
        cpu::wait_until(|| all_came(count * burst));
    }
    call::end();
    barrier::meet();
}

fn run(params: Params) {
    let Params { n, nested, burst, .. } = params;
    let last = smp::vcpus() - 1;
    assert!((last > 0) == (params.to != To::Itself), "one vCPU sends to itself, two to another");
    apic::open(apic::Mode::xapic_if(params.mode == Mode::XApic));
    interrupt::on(NMI, handler);
    N.set(n);
    NESTED.set(nested);
    BURST.set(burst);
    HALTS.set(u64::from(params.to == To::Halted));
    if last > 0 {
        smp::start(target);
    }
    barrier::meet();
    call::begin("sender");
    for count in 1..=n {
        if last > 0 {
            // An NMI right before HLT would be an NMI too early: nothing can be checked and halted
            // for at once.
            smp::rest(params.gap);
        }
        for _ in 0..burst {
            smp::send_nmi(last);
        }
        cpu::wait_until(|| all_came(count * burst));
    }
    call::end();
    barrier::meet();
    smp::rest(PATIENCE);
    call::check("NMIs", n * burst, CAME.get());
    call::check("NMIs that were latched", if nested > 0 { n * burst } else { 0 }, LATCHED.get());
    call::check("NMIs in an NMI's handler", 0, TOO_EARLY.get());
    call::check("halts that no NMI ended", 0, NO_WAKE_UP.get());
}
