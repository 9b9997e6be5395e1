//! Interrupts as Windows sends and ends them: by Hyper-V's MSRs where CPUID recommends them (leaf
//! 4000_0004h EAX bit 3), by the local APIC elsewhere, and not at all where the assist page says so.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, interrupt, payload, vapic};

payload! {
    about: "Sends itself IPIs and ends them by Hyper-V's MSRs or the APIC, as CPUID recommends.";
    number n = 100, "How many IPIs.";
    number msrs = 1, "1 if CPUID has to recommend the MSRs, 0 if not.";
    number offers = 0, "How many of them the assist page ends.";
    choice assist: Assist { Off = "off", On = "on" } = "off", "The VP assist page.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const VECTOR: u8 = 0xb0;
/// What the assist page is full of when it is off.
const FILLING: u64 = 0x5a5a_5a5a_5a5a_5a5a;

static CAME: Count = Count::new();
static OFFERS: Count = Count::new();

fn handler() {
    CAME.add();
    vapic::eoi();
}

fn handler_with_assist() {
    CAME.add();
    if vapic::take_offer() {
        OFFERS.add();
    } else {
        vapic::eoi();
    }
}

fn run(Params { n, msrs, offers, assist, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    apic::settle(VECTOR);
    CAME.set(0);
    call::check("HV-007: leaf 4 EAX bit 3", msrs, u64::from(vapic::choose()));
    if assist == Assist::On {
        vapic::open_assist(0);
        interrupt::on(VECTOR, handler_with_assist);
    } else {
        vapic::fill_assist(FILLING);
    }
    let mut lost = 0;
    cpu::sti();
    call::begin("ipi");
    for sent in 1..=n {
        vapic::self_ipi(VECTOR);
        // It is here before the next instruction, whoever sends it (HV-192).
        lost += u64::from(CAME.get() != sent);
    }
    call::end();
    cpu::cli();
    call::check("HV-192: IPIs that came later", 0, lost);
    call::check("interrupts", n, CAME.get());
    call::check("in service afterwards", 0, u64::from(apic::in_service(VECTOR)));
    if assist == Assist::On {
        call::check("HV-181, HV-186: NoEoiRequired was set", offers, OFFERS.get());
    } else {
        let page = vapic::assist();
        let changed = (0..4096).step_by(8).filter(|&at| page.read(at) != FILLING).count();
        call::check("HV-180: words of the page that changed", 0, changed as u64);
    }
}
