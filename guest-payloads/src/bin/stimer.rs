//! A synthetic timer, as Windows uses it (spec hyperv.md 5).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::page::Page;
use guest_payloads::{apic, call, cpu, interrupt, payload, reference, synic};

payload! {
    about: "Arms a synthetic timer and waits for it, halted; checks messages and reference time.";
    number n = 10, "How many expiries.";
    number period = 1000, "Units of 100 ns.";
    choice mode: Mode { OneShot = "one-shot", Periodic = "periodic" }
        = "one-shot", "The timer's mode.";
    choice way: Way { Message = "message", Direct = "direct" }
        = "message", "What an expiry is: a message with the interrupt of its SINT, or an interrupt.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const SINT: u32 = 3;
/// The slot's bytes in the message page.
const SLOT: usize = SINT as usize * 256;

static MESSAGES: Page = Page::new();
static FIRED: Count = Count::new();
static EARLY: Count = Count::new();
static STRANGE: Count = Count::new();
/// When the last one was due, if that is known.
static DUE: Count = Count::new();

fn on_message() {
    let [header, timer, expired, delivered] = [0, 16, 24, 32].map(|at| MESSAGES.read(SLOT + at));
    // A type, 24 bytes, nothing that waits behind it.
    let is_strange = header != 24 << 32 | 0x8000_0010 || timer != 0;
    STRANGE.add_if(is_strange);
    EARLY.add_if(delivered < expired || reference::by_page() < expired);
    MESSAGES.write(SLOT, 0);
    FIRED.add();
    apic::eoi();
}

fn on_interrupt() {
    EARLY.add_if(reference::by_page() < DUE.get());
    FIRED.add();
    apic::eoi();
}

fn run(Params { n, period, mode, way }: Params) {
    apic::open(apic::Mode::X2Apic);
    call::check("HV-162: a valid sequence", 1, u64::from(reference::open() != 0));
    let before = reference::by_msr();
    let between = reference::by_page();
    let in_order = before <= between && between <= reference::by_msr();
    call::check("HV-163: MSR, page, MSR in order", 1, u64::from(in_order));

    interrupt::on(VECTOR, if way == Way::Direct { on_interrupt } else { on_message });
    let mut config = synic::timer::AUTO_ENABLE;
    match way {
        Way::Message => {
            synic::set_message_page(MESSAGES.address());
            synic::set_source(SINT, u64::from(VECTOR));
            config |= synic::timer::sint(SINT);
        }
        Way::Direct => config |= synic::timer::direct(VECTOR),
    }
    if mode == Mode::Periodic {
        config |= synic::timer::PERIODIC;
    }
    synic::timer::configure(config);
    call::begin("timer");
    let start = reference::by_page();
    if mode == Mode::Periodic {
        synic::timer::arm(period);
    }
    for expiry in 1..=n {
        if mode == Mode::OneShot {
            DUE.set(reference::by_page() + period);
            synic::timer::arm(DUE.get());
        } else {
            DUE.set(start + expiry * period);
        }
        while FIRED.get() < expiry {
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    call::end();
    let runs = u64::from(mode == Mode::Periodic);
    call::check("HV-130, HV-132: Enable afterwards", runs, synic::timer::enabled());
    synic::timer::arm(0);
    call::check("HV-133: Enable after COUNT 0", 0, synic::timer::enabled());
    call::check("expiries", n, FIRED.get());
    call::check("HV-130, HV-137: early expiries", 0, EARLY.get());
    call::check("HV-137, HV-244: strange messages", 0, STRANGE.get());
}
