//! The assist page is on, and nobody looks at it: Windows where CPUID recommends against Hyper-V's MSRs. Each
//! EOI is written to the APIC, the one that the page offers to do without as well as any other. None may count
//! twice: it would end the lower interrupt in whose handler all of this happens.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, interrupt, payload, vapic};

payload! {
    about: "Ends interrupts by the APIC, although the assist page is on.";
    number n = 1000, "How many.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const LOWER: u8 = 0x41;
const VECTOR: u8 = 0xb0;

static WANTED: Count = Count::new();
static CAME: Count = Count::new();
static LATE: Count = Count::new();

fn handler() {
    CAME.add();
    apic::eoi();
}

fn lower() {
    cpu::sti();
    call::begin("ipi");
    for sent in 1..=WANTED.get() {
        apic::self_ipi(VECTOR);
        LATE.add_if(CAME.get() != sent);
    }
    call::end();
    cpu::cli();
    call::check("HV-246: the lower one is in service yet", 1, u64::from(apic::in_service(LOWER)));
    apic::eoi();
}

fn run(Params { n, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    interrupt::on(LOWER, lower);
    apic::settle(VECTOR);
    CAME.set(0);
    WANTED.set(n);
    call::check("leaf 4 EAX bit 3", 0, u64::from(vapic::choose()));
    vapic::open_assist(0);
    cpu::sti();
    apic::self_ipi(LOWER);
    cpu::cli();
    call::check("HV-246: EOIs that were lost", 0, LATE.get());
    call::check("HV-246: interrupts", n, CAME.get());
    let left = u64::from(apic::in_service(VECTOR)) + u64::from(apic::in_service(LOWER));
    call::check("HV-246: in service afterwards", 0, left);
}
