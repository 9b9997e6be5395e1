//! EOIs in the order of priorities: handlers that interrupt each other, or vectors that wait for each
//! other, one in every priority class (APM vol. 2 §16.6.3, §16.6.4).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_defs::apic::offset;

payload! {
    about: "Sends itself one IPI a priority class, in handlers or in advance, and ends them in order.";
    number n = 20, "How many rounds.";
    number depth = 4, "Priority classes, 1 to 14.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    choice order: Order { Nested = "nested", Queued = "queued" }
        = "nested", "Each handler lets a higher class in; or all wait and the highest goes first.";
    choice look: Look { None = "none", Registers = "registers" }
        = "none", "Whether handlers look at ISR and PPR, before and after EOI.";
    choice cold: Cold { None = "none", Idt = "idt" }
        = "none", "A page that is evicted right before the window.";
    run: run;
}

const DEEPEST: u64 = 14;
/// A vector that no level has.
const SETTLING: u8 = 0x20;

static DEPTH: Count = Count::new();
static NESTED: Count = Count::new();
static LOOKS: Count = Count::new();
/// The level that has to come next.
static NEXT: Count = Count::new();
static ENDED: Count = Count::new();
static OUT_OF_ORDER: Count = Count::new();
static WRONG_REGISTERS: Count = Count::new();

/// The vector of a level: classes 2 to 15.
fn vector(level: u64) -> u8 {
    (level as u8 + 1) << 4 | 1
}

fn handler(vector: u8) {
    let level = u64::from(vector >> 4) - 1;
    let nested = NESTED.get() != 0;
    OUT_OF_ORDER.add_if(level != NEXT.get());
    NEXT.set(if nested { level + 1 } else { level - 1 });
    look(vector, true, vector & 0xf0);
    if nested && level < DEPTH.get() {
        let all = ENDED.get() + DEPTH.get() - level;
        apic::self_ipi(vector + 0x10);
        cpu::sti();
        cpu::wait_until(|| ENDED.get() == all);
        cpu::cli();
    }
    apic::eoi();
    ENDED.add();
    look(vector, false, if nested && level > 1 { (vector - 0x10) & 0xf0 } else { 0 });
}

fn look(vector: u8, in_service: bool, ppr: u8) {
    if LOOKS.get() != 0 {
        WRONG_REGISTERS.add_if(apic::in_service(vector) != in_service);
        WRONG_REGISTERS.add_if(apic::read(offset::PPR) != u64::from(ppr));
    }
}

fn run(Params { n, depth, mode, order, look, cold }: Params) {
    assert!((1..=DEEPEST).contains(&depth), "there are 14 classes above the exceptions");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(SETTLING, apic::eoi);
    apic::settle(SETTLING);
    interrupt::on_each((1..=depth).map(vector), handler);
    DEPTH.set(depth);
    NESTED.set(u64::from(order == Order::Nested));
    LOOKS.set(u64::from(look == Look::Registers));
    if cold == Cold::Idt {
        call::evict(interrupt::idt_page());
    }
    let mut extra = 0;
    call::begin("eoi");
    for round in 1..=n {
        let sent = if order == Order::Nested { 1 } else { depth };
        NEXT.set(if order == Order::Nested { 1 } else { depth });
        cpu::cli();
        for level in 1..=sent {
            apic::self_ipi(vector(level));
        }
        cpu::sti();
        cpu::wait_until(|| ENDED.get() >= round * depth);
        extra += u64::from(ENDED.get() != round * depth);
    }
    cpu::cli();
    call::end();
    call::check("rounds with too many", 0, extra);
    call::check("interrupts", n * depth, ENDED.get());
    call::check("interrupts out of order", 0, OUT_OF_ORDER.get());
    call::check("ISR or PPR that were wrong", 0, WRONG_REGISTERS.get());
}
