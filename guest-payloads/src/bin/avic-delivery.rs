//! Delivery of what the backing page holds (APM vol. 2 §15.29.8, §15.20, §15.21, §15.7.2).
#![no_std]
#![no_main]

use guest_payloads::laboratory::{self as lab, Field, Part, code, control, v_intr};
use guest_payloads::trial::{self, NONE, chosen, enter_open, fresh, one, outcome, request};
use guest_payloads::{apic, call, call::check, cpu, interrupt, payload};
use trapline_defs::apic::offset::{IRR, ISR, PPR, SVR};

payload! {
    about: "Requests interrupts in its backing page, and sees when and where they are taken.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's interface.";
    run: run;
}

/// Something to write that changes nothing: how the guest asks for VMRUN.
const AGAIN: Field = Field::Meanwhile;
/// EVENTINJ: valid, interrupt 31h; and #XF.
const INJECT_31: u64 = 1 << 31 | 0x31;
const INJECT_XF: u64 = 1 << 31 | 3 << 8 | 0x13;
const TIMER: u64 = 1;

fn run(Params { registers }: Params) {
    trial::prepare(registers == Registers::X2Apic);
    // Of the handlers and the IDT, lest a nested page fault comes first.
    request(0x40);
    check("AVIC-158 40h, once IF is set", 0x40, trial::open());
    doorbell_msr();
    vmrun();
    injected();
    order();
    cut_short();
    physical();
    odd();
}

fn doorbell_msr() {
    if lab::is_modeled() {
        check("AVIC-150 RDMSR C001_011Bh is #GP", 1, lab::peek(Field::Doorbell));
        let refused = !lab::try_poke(Field::Doorbell, 1 << 12);
        check("AVIC-151 WRMSR of bit 12 is #GP", 1, refused.into());
        check("AVIC-151 and of bit 63", 0, u64::from(lab::try_poke(Field::Doorbell, 1 << 63)));
    }
}

fn vmrun() {
    fresh();
    request(0x40);
    let behind = enter_open(AGAIN, 0);
    check("AVIC-157 VMRUN with IRR 40h, IF=1", 0x40, trial::taken());
    check("AVIC-157 before the first instruction", behind, trial::came_at());
    check("AVIC-157 exits", NONE, outcome());
    check("AVIC-163 IRR", 0, trial::top(IRR));
    check("AVIC-163 ISR", 0x40, trial::top(ISR));
    check("AVIC-163 PPR", 0x40, lab::page(0, PPR).into());

    fresh();
    request(0x41);
    check("AVIC-158 IF=0", 0, trial::taken());
    check("AVIC-158 IRR", 0x41, trial::top(IRR));
    check("AVIC-158 STI and one instruction later", 0x41, trial::open());

    fresh();
    request(0x42);
    let behind = enter_open(Field::Control(control::SHADOW), 1);
    check("AVIC-159 VMRUN with a shadow", 0x42, trial::taken());
    check("AVIC-159 one instruction first", behind + 1, trial::came_at());

    fresh();
    lab::change(control::V_INTR, 0, v_intr::V_GIF_ENABLE);
    lab::change(control::INTERCEPT_3 + 4, 0x30, 0);
    request(0x43);
    check("AVIC-160 vGIF 0 holds", 0, trial::open());
    check("AVIC-160 IRR", 0x43, trial::top(IRR));
    trial::stgi_open();
    check("AVIC-160 until STGI", 0x43, trial::taken());
    check("AVIC-160 exits", NONE, outcome());
    lab::change(control::V_INTR, v_intr::V_GIF_ENABLE, 0);
    lab::change(control::INTERCEPT_3 + 4, 0, 0x30);
}

fn injected() {
    fresh();
    request(0x45);
    let behind = enter_open(Field::Control(control::EVENT_INJECTION), INJECT_31);
    check("AVIC-161 31h, then 45h", 0x3145, trial::taken());
    check("AVIC-161 31h comes first of all", behind, trial::came_at());
    check("AVIC-161 ISR of 31h", 0, lab::has(0, ISR, 0x31).into());
    check("AVIC-161 exits", NONE, outcome());

    fresh();
    request(0x46);
    enter_open(Field::Control(control::EVENT_INJECTION), INJECT_XF);
    check("AVIC-162 #XF, then 46h", 0x1346, trial::taken());
}

fn order() {
    fresh();
    request(0x41);
    request(0x61);
    check("AVIC-164 the higher one alone", 0x61, trial::open());
    check("AVIC-164 the other waits", 0x41, trial::top(IRR));
    fresh();
    trial::end_each();
    request(0x41);
    request(0x61);
    check("AVIC-164 and comes after EOI", 0x6141, trial::open());

    fresh();
    request(0x40);
    let word = lab::control(control::V_INTR) | v_intr::V_NMI_ENABLE | v_intr::V_NMI;
    enter_open(Field::Control(control::V_INTR), word);
    chosen("AVIC-169 NMI, then 40h", 0x0240, trial::taken());
}

/// A nested page fault between the backing page and the handler.
fn cut_short() {
    fresh();
    request(0x40);
    call::evict(interrupt::idt_page());
    lab::clear();
    let taken = trial::open();
    check("AVIC-165 fault in the IDT", one(code::NPF), outcome());
    check("AVIC-165 EXITINTINFO", 0x8000_0040, trial::part(Part::IntInfo) & 0xffff_ffff);
    check("AVIC-165 IRR", 0, trial::top(IRR));
    check("AVIC-165 ISR", 0x40, trial::top(ISR));
    check("AVIC-166 injected again: taken once", 0x40, taken);
    lab::set_vector(0, ISR, 0x40, false);
    check("AVIC-166 ISR had one bit", 0, trial::top(ISR));
}

fn physical() {
    fresh();
    request(0x40);
    let behind = enter_open(Field::Timer, TIMER);
    check("AVIC-167 both at VMRUN: exit", one(code::INTR), outcome());
    check("AVIC-167 before the first instruction", behind, trial::part(Part::Rip));
    check("AVIC-167 nothing in delivery", 0, trial::part(Part::IntInfo) & 1 << 31);
    check("AVIC-167 40h is taken afterwards", 0x40, trial::taken());
    check("AVIC-167 at the same place", behind, trial::came_at());

    fresh();
    lab::poke(Field::Timer, TIMER);
    for _ in 0..10_000 {
        cpu::pause();
    }
    check("AVIC-168 guest IF=0 hides no physical", one(code::INTR), outcome());
    check("AVIC-168 IF was 0", 0, trial::part(Part::Rflags) & 1 << 9);
}

fn odd() {
    fresh();
    lab::set_page(0, SVR, 0xff);
    request(0x40);
    chosen("AVIC-170 SVR does not matter", 0x40, trial::open());
    lab::set_page(0, SVR, 0x1ff);

    fresh();
    request(0x0f);
    chosen("AVIC-171 vector Fh", 0, trial::open());
    chosen("AVIC-171 IRR", 0x0f, trial::top(IRR));

    fresh();
    request(0x10);
    check("AVIC-172 vector 10h", 0x10, trial::open());
    apic::eoi();
}
